/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Damaged debug information: every question is answered or refused, and nothing happens that the
 * sanitizers object to. The damage is the same in every run.
 */

#include <elf.h>
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
#include "engine/elf/object.h"
#include "tests/unit/dwarf_ask.h"
#include "tests/unit/fixture_file.h"

struct section {
	size_t at, len;
};

static struct section find_section(const struct patient *p, const char *name)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)p->bytes;
	const Elf64_Shdr *shdr = (const Elf64_Shdr *)(p->bytes + ehdr->e_shoff);
	const char *names = (const char *)p->bytes + shdr[ehdr->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < ehdr->e_shnum; i++)
		if (strcmp(names + shdr[i].sh_name, name) == 0)
			return (struct section){ shdr[i].sh_offset, shdr[i].sh_size };
	fail_msg("no section %s", name);
	return (struct section){ 0 };
}

static bool examine(const struct patient *p)
{
	struct object *object = NULL;
	struct ubp_err err;
	bool has_any;

	ubp_err_reset(&err);
	assert_int_equal(object_open(p->path, &object, &err), 0);
	has_any = dwarf_ask(object);
	object_free(object);
	return has_any;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What makes the most trouble: huge numbers, small ones, ends of lists. */
static uint8_t bad_byte(uint64_t random)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x10, 0x20 };

	return random % 3 ? bytes[random / 3 % sizeof(bytes)] : (uint8_t)(random >> 8);
}

/* A quarter of @rounds, but with UBP_ALL=1; fewer where all is slow: UBP_SLOWER times. (make fuzz has more.) */
static void damage(const char *name, unsigned rounds)
{
	const char *slower = getenv("UBP_SLOWER");
	unsigned every = slower              ? (unsigned)strtoul(slower, NULL, 10)
			 : getenv("UBP_ALL") ? 1
					     : 4;
	struct patient p = patient_admit(fixture_path("source"));
	struct section section = find_section(&p, name);
	uint64_t seed = 88172645463325252u + section.len;

	assert_true(section.len > 0);
	for (unsigned i = 0; i < rounds; i += every ? every : 1) {
		size_t at[4];
		unsigned n = 1 + (unsigned)(next_random(&seed) % 4);

		for (unsigned k = 0; k < n; k++) {
			uint8_t byte = bad_byte(next_random(&seed));

			at[k] = section.at + next_random(&seed) % section.len;
			assert_int_equal(pwrite(p.fd, &byte, 1, (off_t)at[k]), 1);
		}
		(void)examine(&p);
		for (unsigned k = 0; k < n; k++)
			assert_int_equal(pwrite(p.fd, p.bytes + at[k], 1, (off_t)at[k]), 1);
	}
	patient_discharge(&p);
}

static void test_info(void **state)
{
	(void)state;
	damage(".debug_info", 600);
}

static void test_abbrev(void **state)
{
	(void)state;
	damage(".debug_abbrev", 400);
}

static void test_line(void **state)
{
	(void)state;
	damage(".debug_line", 600);
}

static void test_ranges(void **state)
{
	(void)state;
	damage(".debug_rnglists", 200);
}

static void test_locations(void **state)
{
	(void)state;
	damage(".debug_loclists", 200);
}

static void test_whole(void **state)
{
	struct patient p = patient_admit(fixture_path("source"));

	(void)state;
	assert_true(examine(&p));
	patient_discharge(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_info),
		cmocka_unit_test(test_abbrev), cmocka_unit_test(test_line),
		cmocka_unit_test(test_ranges), cmocka_unit_test(test_locations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
