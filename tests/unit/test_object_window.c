/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where jumps may stand: a fixture function for each rule, and what whole files give. */

#include <errno.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/coverage.h"
#include "engine/code/window.h"
#include "engine/elf/notes.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "tests/unit/fixture_file.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

static struct ubp_err err;

static struct object *open_fixture(const char *name)
{
	struct object *object = NULL;

	ubp_err_reset(&err);
	if (object_open(fixture_or_skip(name), &object, &err) != 0)
		fail_msg("%s", err.text);
	return object;
}

/* A place of a fixture, and what must be found there. */
struct row {
	const char *symbol;
	uint64_t offset;
	enum window_refusal why; /* WINDOW_OK: a window */
	uint8_t n, len;          /* of that */
	const char *says;        /* else */
};

static uint64_t foffset_of(struct object *object, const char *name)
{
	uint64_t elf_vaddr, foffset = 0;

	if (object_symbol_value(object, name, &elf_vaddr) < 0 ||
	    object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0)
		fail_msg("%s is not there", name);
	return foffset;
}

static void check_row(struct object *object, const struct row *row)
{
	uint64_t foffset = foffset_of(object, row->symbol) + row->offset;
	struct window window;
	int rc;

	ubp_err_reset(&err);
	rc = object_window(object, foffset, &window, &err);
	if (rc != (row->why == WINDOW_OK ? 0 : -EOPNOTSUPP) || window.why != row->why)
		fail_msg("%s+%d: %d, kind %d, '%s'", row->symbol, (int)row->offset, rc,
			 window.why, err.text);
	if (row->why != WINDOW_OK) {
		if (!strstr(err.text, row->says))
			fail_msg("%s: '%s' should say '%s'", row->symbol, err.text, row->says);
		return;
	}
	if (window.n != row->n || window.len != row->len)
		fail_msg("%s: %d instructions, %d bytes", row->symbol, window.n, window.len);
	assert_in_range(window.jump_len, 5, window.len < 6 ? 5 : 6);
}

static void check_rows(const char *fixture, const struct row *rows, size_t n)
{
	struct object *object = open_fixture(fixture);

	for (size_t i = 0; i < n; i++)
		check_row(object, &rows[i]);
	object_free(object);
}

static void test_landings(void **state)
{
	static const struct row rows[] = {
		{ "plain", 0, WINDOW_OK, 3, 6, NULL },
		{ "single", 0, WINDOW_OK, 1, 5, NULL },
		{ "jumped_to", 0, WINDOW_BRANCH, 0, 0, "to 1 bytes on" },
		{ "called_to", 0, WINDOW_BRANCH, 0, 0, "to 4 bytes on" },
		{ "branched_to", 0, WINDOW_BRANCH, 0, 0, "to 2 bytes on" },
		{ "aborted_to", 0, WINDOW_BRANCH, 0, 0, "to 3 bytes on" },
		{ "at_start", 0, WINDOW_OK, 5, 5, NULL },
		{ "at_end", 0, WINDOW_OK, 5, 5, NULL },
		{ "loops_short", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "loops_not", 0, WINDOW_OK, 5, 5, NULL },
		{ "led_from_behind", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "led_behind", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "led_in_two", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "not_led", 0, WINDOW_OK, 5, 5, NULL },
		{ "loops_prefixed", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "has_neighbour", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "has_symbol", 0, WINDOW_LANDING, 0, 0, "to 3 bytes on" },
		{ "has_fde", 0, WINDOW_LANDING, 0, 0, "to 1 bytes on" },
		{ "pointed_to", 0, WINDOW_POINTER, 0, 0, "to 4 bytes on" },
		{ "tabled", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "named_by_lea", 0, WINDOW_ADDRESS, 0, 0, "to 2 bytes on" },
		{ "knows_itself", 0, WINDOW_OWN, 0, 0, "its own code" },
		{ "loads", 0, WINDOW_OK, 5, 5, NULL },
		{ "uses_table", 0, WINDOW_OK, 1, 7, NULL },
		{ "overrun_to", 0, WINDOW_OK, 5, 5, NULL },
		{ "uses_second", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "overrun_to_too", 0, WINDOW_OK, 5, 5, NULL },
		{ "told_to", 0, WINDOW_OK, 5, 5, NULL },
		{ "told_far_to", 0, WINDOW_OK, 5, 5, NULL },
		{ "told_less_to", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "told_of_other_to", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "told_entered_to", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "uses_whole", 0, WINDOW_TABLE, 0, 0, "to 3 bytes on" },
		{ "uses_whole.cold", 0, WINDOW_TABLE, 0, 0, "to 2 bytes on" },
		{ "catches", 0, WINDOW_LANDING, 0, 0, "to 4 bytes on" },
		{ "catches_elsewhere", 0, WINDOW_OK, 5, 5, NULL },
		{ "caught", 0, WINDOW_LANDING, 0, 0, "to 2 bytes on" },
		{ "called_not", 0, WINDOW_OK, 5, 5, NULL },
		{ "named_not", 0, WINDOW_OK, 5, 5, NULL },
		{ "called_unknown", 0, WINDOW_BRANCH, 0, 0, "a branch may lead to 2 bytes on" },
		{ "named_unknown", 0, WINDOW_ADDRESS, 0, 0, "code makes may lead to 2 bytes" },
		{ "keeps_pc", 0, WINDOW_OK, 5, 5, NULL },
		{ "keeps_spilled", 0, WINDOW_OWN, 0, 0, "its own code" },
		{ "keeps_in_frame", 0, WINDOW_OWN, 0, 0, "its own code" },
		{ "keeps_and_adds", 0, WINDOW_OWN, 0, 0, "its own code" },
		{ "keeps_and_calls", 0, WINDOW_OWN, 0, 0, "its own code" },
		{ "keeps_kept", 0, WINDOW_OWN, 0, 0, "its own code" },
	};

	(void)state;
	check_rows("obj_windows", rows, N_ELEMS(rows));
}

static void test_ends(void **state)
{
	static const struct row rows[] = {
		{ "short_padded", 0, WINDOW_OK, 2, 3, NULL },
		{ "short_followed", 0, WINDOW_SHORT, 0, 0, "ends the code 3 bytes on" },
		{ "short_filled", 0, WINDOW_OK, 2, 3, NULL },
		{ "short_jumped", 0, WINDOW_BRANCH, 0, 0, "branch near by" },
		{ "falls_through", 0, WINDOW_SHORT, 0, 0, "function ends 2 bytes on" },
		{ "calls", 0, WINDOW_CALL, 0, 0, "return to under the jump" },
		{ "enters_kernel", 0, WINDOW_KERNEL, 0, 0, "call of the kernel" },
		{ "to_itself", 0, WINDOW_SELF, 0, 0, "refers to" },
		{ "gate", 0, WINDOW_INSN, 0, 0, "can't displace 'int" },
		{ "plain", 1, WINDOW_OK, 2, 5, NULL },
		{ "plain", 2, WINDOW_UNKNOWN, 0, 0, "no instruction is known" },
		{ "plain", 4, WINDOW_OK, 2, 3, NULL },
		{ "plain", 12, WINDOW_UNKNOWN, 0, 0, "no function is known" },
		{ "table", 0, WINDOW_UNKNOWN, 0, 0, "not in code" },
	};

	(void)state;
	check_rows("obj_windows", rows, N_ELEMS(rows));
}

/* One table of landing pads that can't be read, and nobody knows where they are. */
static void test_bad_pads(void **state)
{
	static const struct row rows[] = {
		{ "catches", 0, WINDOW_LANDING, 0, 0, "to 1 bytes on" },
		{ "other", 0, WINDOW_LANDING, 0, 0, "to 1 bytes on" },
		{ "single", 0, WINDOW_LANDING, 0, 0, "to 1 bytes on" },
	};

	(void)state;
	check_rows("obj_windows_bad", rows, N_ELEMS(rows));
}

static void test_fixed(void **state)
{
	static const struct row rows[] = {
		{ "by_constant", 0, WINDOW_ADDRESS, 0, 0, "constant in code" },
		{ "by_word", 0, WINDOW_POINTER, 0, 0, "to 2 bytes on" },
		{ "by_pointer", 0, WINDOW_POINTER, 0, 0, "to 2 bytes on" },
		{ "by_nothing", 0, WINDOW_OK, 5, 5, NULL },
		{ "uses", 0, WINDOW_OK, 5, 5, NULL },
		{ "by_disp", 0, WINDOW_ADDRESS, 0, 0, "constant in code" },
		{ "by_wide", 0, WINDOW_ADDRESS, 0, 0, "constant in code" },
		{ "by_parts", 0, WINDOW_OK, 5, 5, NULL },
		{ "_ZN7fixture7by_wordEv", 0, WINDOW_OK, 5, 5, NULL },
		{ "_ZN7fixture10by_pointerEv", 0, WINDOW_POINTER, 0, 0, "a pointer may" },
		{ "knows_itself", 0, WINDOW_OWN, 0, 0, "its own code" },
	};

	(void)state;
	check_rows("obj_windows_fixed", rows, N_ELEMS(rows));
}

/* An address in memory is one only if the loader puts it there. */
static enum window_refusal with_number(const struct patient *p, const char *symbol)
{
	struct object *object = NULL;
	struct window window;
	uint64_t elf_vaddr, foffset;

	assert_int_equal(object_open(p->path, &object, &err), 0);
	foffset = foffset_of(object, "no_pointer");
	assert_int_equal(object_symbol_value(object, symbol, &elf_vaddr), 0);
	object_free(object);
	elf_vaddr += 2;
	assert_int_equal(pwrite(p->fd, &elf_vaddr, sizeof(elf_vaddr), (off_t)foffset),
			 sizeof(elf_vaddr));
	assert_int_equal(object_open(p->path, &object, &err), 0);
	(void)object_window(object, foffset_of(object, symbol), &window, &err);
	object_free(object);
	return window.why;
}

/* Make the entry @from of the dynamic section one of kind @to. */
static void rename_entry(const struct patient *p, uint64_t from, uint64_t to)
{
	Elf *elf = elf_begin(p->fd, ELF_C_READ, NULL);
	uint64_t foffset = 0, tag = 0;
	GElf_Phdr phdr;

	assert_non_null(elf);
	for (int i = 0; gelf_getphdr(elf, i, &phdr) && !foffset; i++)
		if (phdr.p_type == PT_DYNAMIC)
			foffset = phdr.p_offset;
	elf_end(elf);
	for (assert_true(foffset > 0); tag != from; foffset += 16) {
		assert_int_equal(pread(p->fd, &tag, sizeof(tag), (off_t)foffset), sizeof(tag));
		assert_true(tag != DT_NULL);
	}
	assert_int_equal(pwrite(p->fd, &to, sizeof(to), (off_t)foffset - 16), sizeof(to));
}

static void test_relocs(void **state)
{
	static const uint64_t unread[] = { DT_REL, 0x6000000f, 0x70000012 };
	struct patient p = patient_admit(fixture_or_skip("obj_windows"));

	(void)state;
	ubp_err_reset(&err);
	assert_int_equal(with_number(&p, "plain"), WINDOW_OK);
	assert_int_equal(with_number(&p, "pointed_to"), WINDOW_POINTER);
	/* Some are of a form that is not known: any word may be one. */
	for (size_t i = 0; i < N_ELEMS(unread); i++) {
		assert_int_equal(pwrite(p.fd, p.bytes, p.len, 0), p.len);
		rename_entry(&p, DT_RELACOUNT, unread[i]);
		assert_int_equal(with_number(&p, "called_not"), WINDOW_POINTER);
	}
	/* There are none. */
	assert_int_equal(pwrite(p.fd, p.bytes, p.len, 0), p.len);
	rename_entry(&p, DT_RELASZ, DT_DEBUG);
	assert_int_equal(with_number(&p, "called_not"), WINDOW_POINTER);
	patient_discharge(&p);
}

static void test_packed_relocs(void **state)
{
	static const struct row rows[] = {
		{ "pointed_first", 0, WINDOW_POINTER, 0, 0, "to 1 bytes on" },
		{ "pointed_next", 0, WINDOW_POINTER, 0, 0, "to 2 bytes on" },
		{ "pointed_far", 0, WINDOW_POINTER, 0, 0, "to 3 bytes on" },
		{ "pointed_not", 0, WINDOW_OK, 5, 5, NULL },
	};
	struct patient p = patient_admit(fixture_or_skip("obj_windows_relr"));

	(void)state;
	check_rows("obj_windows_relr", rows, N_ELEMS(rows));
	ubp_err_reset(&err);
	assert_int_equal(with_number(&p, "pointed_not"), WINDOW_OK);
	assert_int_equal(pwrite(p.fd, p.bytes, p.len, 0), p.len);
	rename_entry(&p, 37 /* DT_RELRENT */, DT_DEBUG);
	assert_int_equal(with_number(&p, "pointed_not"), WINDOW_OK);
	rename_entry(&p, 35 /* DT_RELRSZ */, DT_DEBUG);
	assert_int_equal(with_number(&p, "pointed_not"), WINDOW_POINTER);
	patient_discharge(&p);
}

static void test_entry(void **state)
{
	static const struct row row = { "entered", 0, WINDOW_LANDING, 0, 0, "to 2 bytes on" };

	(void)state;
	check_rows("obj_windows_entry", &row, 1);
}

static void test_go(void **state)
{
	static const struct row rows[] = {
		{ "checked", 0, WINDOW_OK, 2, 6, NULL },
		{ "middle", 0, WINDOW_GO, 0, 0, "may be parked" },
		{ "middle_one", 0, WINDOW_OK, 1, 5, NULL },
		{ "checked_lea", 0, WINDOW_OK, 1, 5, NULL },
		{ "checked_huge", 0, WINDOW_OK, 2, 10, NULL },
		{ "checked_old", 0, WINDOW_OK, 1, 9, NULL },
		{ "nosplit", 0, WINDOW_OK, 1, 5, NULL },
		{ "nosplit", 5, WINDOW_GO, 0, 0, "flags may be in use" },
		{ "nosplit_several", 0, WINDOW_GO, 0, 0, "may be parked" },
		{ "nosplit_faults", 0, WINDOW_GO, 0, 0, "may panic" },
		{ "nosplit_flags", 0, WINDOW_GO, 0, 0, "may ask for the flags" },
	};

	(void)state;
	check_rows("obj_windows_go", rows, N_ELEMS(rows));
}

/* --- short jumps ------------------------------------------------------------------------ */

/* A place that a longer jump is refused at, and where the first hops are, from there. */
struct short_row {
	const char *symbol;
	enum window_refusal why;
	uint8_t len, n_hops;
	int16_t first, last;
	const char *says;
};

static void check_short(struct object *object, const struct short_row *row)
{
	uint64_t foffset = foffset_of(object, row->symbol);
	struct window window;
	int rc;

	ubp_err_reset(&err);
	assert_int_equal(object_window(object, foffset, &window, &err), -EOPNOTSUPP);
	ubp_err_reset(&err);
	rc = object_window_short(object, foffset, &window, &err);
	if (rc != (row->why == WINDOW_OK ? 0 : -EOPNOTSUPP) || window.why != row->why)
		fail_msg("%s: %d, kind %d, '%s'", row->symbol, rc, window.why, err.text);
	if (rc < 0) {
		if (!strstr(err.text, row->says))
			fail_msg("%s: '%s' should say '%s'", row->symbol, err.text, row->says);
		return;
	}
	assert_int_equal(object_window_first(object, foffset, &window, &err), rc);
	if (window.n != 1 || window.len != row->len || window.jump_len != 2 ||
	    window.n_hops != row->n_hops || window.hops[0].at != row->first ||
	    window.hops[row->n_hops - 1].at != row->last)
		fail_msg("%s: %d instructions, %d bytes, %d hops, at %d to %d", row->symbol,
			 window.n, window.len, window.n_hops, window.hops[0].at,
			 window.hops[window.n_hops - 1].at);
	for (size_t i = 0; i < window.n_hops; i++) {
		uint8_t now[UBP_HOP_LEN];

		assert_int_equal(object_read(object,
					     foffset + (uint64_t)(int64_t)window.hops[i].at,
					     now, sizeof(now)),
				 sizeof(now));
		assert_memory_equal(now, window.hops[i].orig, sizeof(now));
	}
}

static void test_short(void **state)
{
	static const struct short_row rows[] = {
		{ "after_ret", WINDOW_OK, 3, 3, -5, -15, NULL },
		{ "has_int3", WINDOW_OK, 3, 3, -5, -15, NULL },
		{ "has_zeros", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "has_code", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "has_symbol", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "branched_into", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "after_fall", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "after_call", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "led_short", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "before_all", WINDOW_OK, 3, 1, 11, 11, NULL },
		{ "too_short", WINDOW_FILL, 0, 0, 0, 0, "no unused bytes" },
		{ "one_byte", WINDOW_SHORT, 0, 0, 0, 0, "has 1 byte" },
		{ "past_prefix", WINDOW_BRANCH, 0, 0, 0, 0, "to 1 bytes on" },
		{ "calls", WINDOW_OK, 2, 3, -37, -47, NULL },
		{ "loops_to_itself", WINDOW_OK, 2, 3, -53, -63, NULL },
	};
	struct object *object = open_fixture("obj_windows_short");

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++)
		check_short(object, &rows[i]);
	object_free(object);
}

/* --- punned jumps ----------------------------------------------------------------------- */

struct punned_row {
	const char *file, *symbol;
	enum window_refusal why;
	uint8_t n, jump_len, n_prefix, n_fixed;
	const char *fixed;
};

static void check_punned(const struct punned_row *row)
{
	struct object *object = open_fixture(row->file);
	uint64_t foffset = foffset_of(object, row->symbol);
	struct window window, first;
	const struct pun *pun = &window.pun;
	int rc;

	ubp_err_reset(&err);
	rc = object_window_punned(object, foffset, &window, &err);
	if (rc != (row->why == WINDOW_OK ? 0 : -EOPNOTSUPP) || window.why != row->why)
		fail_msg("%s: %d, kind %d, '%s'", row->symbol, rc, window.why, err.text);
	ubp_err_reset(&err);
	if (rc == 0 && (window.n != row->n || window.jump_len != row->jump_len ||
			pun->n_prefix != row->n_prefix || pun->n_fixed != row->n_fixed ||
			memcmp(pun->fixed, row->fixed, row->n_fixed) != 0))
		fail_msg("%s: %d instructions, %d bytes with %d in front, %d fixed",
			 row->symbol, window.n, window.jump_len, pun->n_prefix, pun->n_fixed);
	if (rc == 0) {
		assert_int_equal(object_window_first(object, foffset, &first, &err), 0);
		/* Unused bytes near by come first. */
		assert_int_equal(first.pun.n_fixed, first.n_hops ? 0 : row->n_fixed);
		assert_int_equal(first.pun.low, first.n_hops ? 0 : pun->low);
	} else {
		assert_non_null(strstr(object_refusal_name(window.why), "unused"));
	}
	object_free(object);
}

static void test_punned(void **state)
{
	static const struct punned_row rows[] = {
		{ "obj_windows_short", "has_zeros", WINDOW_OK, 1, 3, 0, 2, "\x48\x01" },
		{ "obj_windows_short", "one_byte", WINDOW_OK, 1, 1, 0, 4, "\x53\x90\x90\x90" },
		/* Who comes by its middle finds that as it was. */
		{ "obj_windows_short", "past_prefix", WINDOW_OK, 1, 1, 0, 4,
		  "\xff\x07\x90\x90" },
		{ "obj_windows_fixed", "far_below", WINDOW_FILL, 0, 0, 0, 0, NULL },
		{ "obj_windows_fixed", "below_or_above", WINDOW_OK, 1, 3, 2, 4,
		  "\x48\x89\xd0\x01" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++)
		check_punned(&rows[i]);
}

/* Where a longer one fits there is no need of it, and Go's runtime looks at where its threads are. */
static void test_no_short(void **state)
{
	struct object *object = open_fixture("obj_windows");
	struct window window;

	(void)state;
	assert_int_equal(
		object_window_first(object, foffset_of(object, "single"), &window, &err), 0);
	assert_int_equal(window.n_hops, 0);
	assert_int_equal(window.jump_len, 5);
	object_free(object);
	object = open_fixture("obj_windows_go");
	assert_int_equal(
		object_window_short(object, foffset_of(object, "middle"), &window, &err),
		-EOPNOTSUPP);
	object_free(object);
}

/* --- whole files ------------------------------------------------------------------------ */

static uint64_t refused(const struct coverage_counts *counts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < WINDOW_N; i++)
		sum += counts->why[i];
	return sum;
}

static void adds_up(const struct coverage_counts *counts)
{
	assert_int_equal(counts->n, counts->one + counts->several + refused(counts));
	assert_true(counts->hops <= counts->one);
	assert_true(counts->puns <= counts->one + counts->several);
	assert_int_equal(refused(counts), counts->breakpoint + counts->refused);
}

static void print_counts(const char *path, const char *what, const struct coverage_counts *c)
{
	print_message("%s: %s: %lu of %lu: %lu one, %lu several;", path, what,
		      (unsigned long)(c->one + c->several), (unsigned long)c->n,
		      (unsigned long)c->one, (unsigned long)c->several);
	for (unsigned i = 1; i < WINDOW_N; i++)
		if (c->why[i])
			print_message(" %s %lu", object_refusal_name(i),
				      (unsigned long)c->why[i]);
	print_message("\n");
}

static void test_coverage(void **state)
{
	const char *const paths[] = { libc_path(), "/bin/bash", "/usr/bin/python3.11" };
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMS(paths); i++) {
		struct object_coverage c;
		struct object *object;

		ubp_err_reset(&err);
		if (access(paths[i], R_OK) < 0)
			continue;
		assert_int_equal(object_open(paths[i], &object, &err), 0);
		if (object_coverage(object, false, &c, &err) < 0)
			fail_msg("%s", err.text);
		object_free(object);
		print_counts(paths[i], "functions", &c.entries);
		adds_up(&c.entries);
		adds_up(&c.notes);
		assert_int_equal(c.insns.n, 0);
		assert_true(c.entries.n > 1000);
		/* In 32-bit code any word may be a distance to a place in a function. */
		assert_true(40 * (c.entries.one + c.entries.several) >=
			    (sizeof(void *) == 8 ? 39 : 32) * c.entries.n);
		n++;
	}
	if (n == 0)
		skip();
}

/* --- what is a number in a table of relocations ---------------------------------------- */

/* Where a 32-bit file has its first relocation: a table of 8 bytes for each. */
static uint64_t find_relocs(const struct patient *p)
{
	Elf *elf = elf_begin(p->fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint64_t foffset = 0;

	assert_non_null(elf);
	while (!foffset && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_REL &&
		    header.sh_flags & SHF_ALLOC && header.sh_size >= 8)
			foffset = header.sh_offset;
	elf_end(elf);
	return foffset;
}

/* What becomes of a jump at @symbol, in a file that has the address behind it at @foffset. */
static enum window_refusal with_word(const struct patient *p, const char *symbol,
				     uint64_t foffset)
{
	struct object *object = NULL;
	struct window window;
	uint64_t elf_vaddr;
	uint32_t word;

	assert_int_equal(object_open(p->path, &object, &err), 0);
	assert_int_equal(object_symbol_value(object, symbol, &elf_vaddr), 0);
	object_free(object);
	word = (uint32_t)elf_vaddr + 1;
	assert_int_equal(pwrite(p->fd, &word, sizeof(word), (off_t)foffset), sizeof(word));
	assert_int_equal(object_open(p->path, &object, &err), 0);
	(void)object_window(object, foffset_of(object, symbol), &window, &err);
	object_free(object);
	assert_int_equal(pwrite(p->fd, p->bytes, p->len, 0), p->len);
	return window.why;
}

static void test_reloc_info(void **state)
{
	struct patient p = patient_admit(fixture_or_skip("../fixtures32/jumps"));
	uint64_t relocs = find_relocs(&p);

	(void)state;
	ubp_err_reset(&err);
	assert_true(relocs > 0);
	/* Code that a relocation changes is no place for a jump. */
	assert_int_equal(with_word(&p, "sees", relocs), WINDOW_POINTER);
	/* Its kind and its symbol: a number like any other. */
	assert_int_equal(with_word(&p, "sees", relocs + 4), WINDOW_OK);
	patient_discharge(&p);
}

static void test_all_insns(void **state)
{
	struct object *object = open_fixture("obj_windows");
	struct object_coverage c;

	(void)state;
	assert_int_equal(object_coverage(object, true, &c, &err), 0);
	adds_up(&c.insns);
	assert_true(c.insns.n > 150 && c.insns.one > 5 && c.insns.several > 10);
	assert_int_equal(c.insns.refused, 3); /* of "gate" and "far_away" */
	assert_int_equal(c.notes.n, 1);
	assert_int_equal(c.notes.several, 1);
	object_free(object);
}

static int see_note(void *ctx, const struct object_note *note)
{
	struct object *object = ctx;
	uint64_t probed;

	assert_int_equal(object_symbol_value(object, "probed", &probed), 0);
	assert_int_equal(note->elf_vaddr, probed + 1);
	assert_int_equal(note->semaphore, 0);
	assert_string_equal(note->provider, "fixture");
	assert_string_equal(note->name, "one");
	assert_string_equal(note->args, "8@%rdi");
	return 7;
}

static void test_notes(void **state)
{
	struct object *object = open_fixture("obj_windows");

	(void)state;
	assert_int_equal(object_each_note(object, see_note, object), 7);
	object_free(object);
	object = open_fixture("obj_windows_go");
	assert_int_equal(object_each_note(object, see_note, object), 0);
	object_free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_landings),      cmocka_unit_test(test_ends),
		cmocka_unit_test(test_bad_pads),      cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_entry),         cmocka_unit_test(test_go),
		cmocka_unit_test(test_short),         cmocka_unit_test(test_no_short),
		cmocka_unit_test(test_punned),        cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_all_insns),     cmocka_unit_test(test_notes),
		cmocka_unit_test(test_reloc_info),    cmocka_unit_test(test_relocs),
		cmocka_unit_test(test_packed_relocs),
	};

	return cmocka_run_group_tests_name("object_window", tests, NULL, NULL);
}
