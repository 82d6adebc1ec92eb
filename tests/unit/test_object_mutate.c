/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Damaged ELF files: cut at every length, bits flipped. Each is either read or
 * refused with one clear error, and nothing the sanitizers object to happens. The
 * damage is the same in every run.
 */

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/code/boundary.h"
#include "engine/code/coverage.h"
#include "engine/elf/ifunc_slots.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"
#include "tests/unit/fixture_file.h"
#include "tests/unit/run_next.h"

/* A quarter of it, but with UBP_ALL=1. */
static unsigned part(void)
{
	return getenv("UBP_ALL") ? 1 : 4;
}

static unsigned fewer(unsigned n)
{
	return run_rounds(n) / part();
}

static unsigned step(unsigned n)
{
	return run_step(n) * part();
}

/* What became of the copies of one patient. */
static struct {
	size_t n_read, n_refused, n_cut_short;
} tally;

static struct patient admit(const char *path)
{
	memset(&tally, 0, sizeof(tally));
	return patient_admit(path);
}

static int count_one(void *ctx, const struct object_symbol *symbol)
{
	assert_non_null(symbol->name);
	++*(size_t *)ctx;
	return 0;
}

/* A failure is a negative errno with a text of one line that names the file or symbol. */
static void check_failure(int rc, const struct ubp_err *err)
{
	if (rc >= 0)
		return;
	assert_int_equal(rc, -err->code);
	assert_true(strlen(err->text) > 10);
	assert_null(strchr(err->text, '\n'));
}

/* Everything there is to ask. */
static void ask_all(struct object *object, struct ubp_err *err)
{
	static const char *const names[] = { "main",      "plain", "puts",
					     "data_word", "xyzzy", "f@V" };
	struct object_coverage coverage;
	struct object_symbol symbol;
	uint64_t slots[2], vaddr, len;
	size_t n = 0;

	check_failure(object_each_wanted(object, NULL, count_one, &n, err), err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ubp_err_reset(err);
		check_failure(object_find_symbol(object, names[i], &symbol, err), err);
		(void)object_symbol_value(object, names[i], &vaddr);
	}
	for (uint64_t foffset = 0; foffset < object_size(object);
	     foffset += object_size(object) / 37 + 1) {
		uint64_t start = 0;

		(void)object_function_at(object, foffset, &symbol);
		(void)object_check_boundary(object, foffset, &start);
	}
	(void)object_ifunc_slots(object, "strlen", 0x1139, slots, 2);
	(void)object_find_bytes_slack(object, 16, &vaddr, &len);
	ubp_err_reset(err);
	check_failure(object_coverage(object, false, &coverage, err), err);
}

static void examine(struct patient *p)
{
	struct object *object = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = object_open(p->path, &object, &err);
	if (rc < 0) {
		check_failure(rc, &err);
		assert_int_equal(rc, -ENOEXEC);
		assert_memory_equal(err.text, p->path, strlen(p->path));
		tally.n_cut_short += strstr(err.text, "cut short") != NULL;
		tally.n_refused++;
		return;
	}
	tally.n_read++;
	ask_all(object, &err);
	object_free(object);
}

static void patch(struct patient *p, size_t at, uint8_t byte)
{
	assert_int_equal(pwrite(p->fd, &byte, 1, (off_t)at), 1);
}

static void damage_byte(struct patient *p, size_t at, uint8_t byte)
{
	if (p->bytes[at] == byte)
		return;
	patch(p, at, byte);
	examine(p);
	patch(p, at, p->bytes[at]);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void test_cut(void **state)
{
	struct patient p = admit(fixture_path("obj_funcs"));
	size_t n = 0, less;

	(void)state;
	for (size_t len = p.len - 1; len > 0; len -= less < len ? less : len, n++) {
		less = step(len > 200 ? (unsigned)(len / 190) : 1);
		assert_int_equal(ftruncate(p.fd, (off_t)len), 0);
		examine(&p);
	}
	/* The section headers stand at the end: no cut file is whole. */
	assert_int_equal(tally.n_refused, n);
	assert_true(tally.n_cut_short >= n - 4);
	patient_discharge(&p);
}

static void test_cut_bash(void **state)
{
	struct patient p = admit("/bin/bash");
	size_t n = 0, less;

	(void)state;
	for (size_t len = p.len - 1; len > 0; len -= less < len ? less : len, n++) {
		less = step((unsigned)(len / 50) + 1);
		assert_int_equal(ftruncate(p.fd, (off_t)len), 0);
		examine(&p);
	}
	assert_int_equal(tally.n_refused, n);
	patient_discharge(&p);
}

/* Cut after it was opened: libelf must not have mapped it. */
static void test_cut_while_open(void **state)
{
	struct patient p = admit("/bin/bash");

	(void)state;
	for (size_t len = 64; len < p.len; len += step((unsigned)(p.len / 20))) {
		struct object *object = NULL;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(pwrite(p.fd, p.bytes, p.len, 0), p.len);
		assert_int_equal(object_open(p.path, &object, &err), 0);
		assert_int_equal(ftruncate(p.fd, (off_t)len), 0);
		ask_all(object, &err);
		object_free(object);
	}
	patient_discharge(&p);
}

/* Each byte of the header, of the program headers and of the section headers. */
static void test_headers(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct patient p = admit(fixture_path("obj_funcs"));
	Elf64_Ehdr ehdr;
	size_t head_end, sections;

	(void)state;
	memcpy(&ehdr, p.bytes, sizeof(ehdr));
	head_end = ehdr.e_phoff + (size_t)ehdr.e_phnum * ehdr.e_phentsize;
	sections = ehdr.e_shoff;
	assert_true(head_end < sections && sections < p.len);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		for (size_t at = 4 + i % step(1); at < head_end; at += step(1))
			damage_byte(&p, at, bytes[i]);
		for (size_t at = sections; at < p.len; at += step(3))
			damage_byte(&p, at + i % 3 < p.len ? at + i % 3 : at, bytes[i]);
	}
	assert_true(tally.n_read > fewer(100) && tally.n_refused > fewer(100));
	patient_discharge(&p);
}

/* Bits anywhere in the tables in front of the code: dynamic symbols, versions, relocs. */
static void flip(const char *path, size_t from, size_t to, unsigned n)
{
	uint64_t seed = 0x9e3779b97f4a7c15u + from;
	struct patient p = admit(path);

	n = fewer(n);
	to = to && to < p.len ? to : p.len;
	for (unsigned i = 0; i < n; i++) {
		size_t at[4];

		for (size_t k = 0; k < 4; k++) {
			at[k] = from + next_random(&seed) % (to - from);
			patch(&p, at[k],
			      p.bytes[at[k]] ^ (uint8_t)(1u << (next_random(&seed) & 7)));
		}
		examine(&p);
		for (size_t k = 0; k < 4; k++)
			patch(&p, at[k], p.bytes[at[k]]);
	}
	assert_int_equal(tally.n_read + tally.n_refused, n);
	patient_discharge(&p);
}

static void test_flips(void **state)
{
	(void)state;
	flip(fixture_path("obj_funcs"), 0, 0x1000, 1000);
	flip(fixture_path("obj_funcs"), 0x1000, 0, 1000);
	flip(fixture_path("obj_versions"), 0x40, 0x1000, 1000);
	flip(fixture_path("obj_versions"), 0x1000, 0, 500);
	flip(fixture_path("obj_static_s"), 0x90000, 0, 100);
	flip("/bin/bash", 0, 0, 40);
}

static void test_flips_in_windows(void **state)
{
	(void)state;
	flip(fixture_or_skip("obj_windows"), 0, 0, 2000);
	flip(fixture_or_skip("obj_windows_fixed"), 0, 0, 500);
}

/* A table of symbols, counts and offsets made to overflow on purpose. */
static void test_large_numbers(void **state)
{
	static const uint64_t values[] = { UINT64_MAX,     INT64_MAX,  (uint64_t)INT64_MIN,
					   UINT64_MAX - 7, UINT32_MAX, 1ull << 40 };
	struct patient p = admit(fixture_path("obj_funcs"));
	Elf64_Ehdr ehdr;

	(void)state;
	memcpy(&ehdr, p.bytes, sizeof(ehdr));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t at = 24; at + 8 <= p.len; at += step(8)) {
			if (at >= ehdr.e_phoff + (size_t)ehdr.e_phnum * ehdr.e_phentsize &&
			    at < ehdr.e_shoff)
				at = ehdr.e_shoff & ~(size_t)7;
			assert_int_equal(pwrite(p.fd, &values[i], 8, (off_t)at), 8);
			examine(&p);
			assert_int_equal(pwrite(p.fd, p.bytes + at, 8, (off_t)at), 8);
		}
	assert_true(tally.n_refused > fewer(50));
	patient_discharge(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_bash),
		cmocka_unit_test(test_cut_while_open),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_flips_in_windows),
		cmocka_unit_test(test_large_numbers),
	};

	return cmocka_run_group_tests_name("object_mutate", tests, NULL, NULL);
}
