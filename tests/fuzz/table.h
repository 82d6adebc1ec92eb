/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Definitions in fuzzers that are about what becomes of them: each file there is is the same. */

#ifndef UBP_TESTS_FUZZ_TABLE_H
#define UBP_TESTS_FUZZ_TABLE_H

#include "arch/arch.h"
#include "engine/spec/table.h"
#include "tests/fuzz/fuzz.h"

static inline int fuzz_find_file(void *ctx, const char *path, uint64_t *ret_dev,
				 uint64_t *ret_ino, char **ret_path, struct ubp_err *err)
{
	(void)ctx;
	(void)path;
	(void)ret_path;
	(void)err;
	*ret_dev = *ret_ino = 1;
	return 0;
}

/* An empty table for x86-64. Free it. */
static inline struct spec_table *fuzz_table(void)
{
	struct spec_env env = { .arch = ubp_arch_by_name("x86_64"),
				.find_file = fuzz_find_file };
	struct spec_table *table;

	CLAIM(env.arch);
	table = spec_table_new(&env);
	CLAIM(table);
	return table;
}

#endif
