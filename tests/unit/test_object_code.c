/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions by address, instruction boundaries, slots of IFUNCs. */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/boundary.h"
#include "engine/code/exits.h"
#include "engine/code/window.h"
#include "engine/elf/ifunc_slots.h"
#include "engine/elf/object.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"
#include "tests/unit/fixture_file.h"

static struct ubp_err err;

static struct object *open_ok(const char *path)
{
	struct object *object = NULL;

	ubp_err_reset(&err);
	if (object_open(path, &object, &err) != 0)
		print_error("%s\n", err.text);
	assert_non_null(object);
	return object;
}

static struct object_symbol find_ok(struct object *object, const char *name)
{
	struct object_symbol symbol = { 0 };

	ubp_err_reset(&err);
	object_find_symbol(object, name, &symbol, &err);
	assert_string_equal(err.text, "");
	return symbol;
}

/* --- by address ----------------------------------------------------------------- */

static void at_is(struct object *object, uint64_t foffset, const char *name)
{
	struct object_symbol symbol = { 0 };

	assert_int_equal(object_function_at(object, foffset, &symbol), 0);
	assert_string_equal(symbol.name, name);
	assert_true(symbol.foffset <= foffset);
}

static void test_function_at(void **state)
{
	struct object *object = open_ok(fixture_path("obj_funcs"));
	struct object_symbol plain = find_ok(object, "plain"), symbol;
	uint64_t data, foffset;

	(void)state;
	/* Of the aliases, the global, strong one with the plainest name. */
	at_is(object, plain.foffset, "plain");
	at_is(object, plain.foffset + plain.size - 1, "plain");
	at_is(object, find_ok(object, "only_here").foffset + 2, "only_here");
	at_is(object, find_ok(object, "hot_one").foffset, "hot_one");
	/* Without sizes, each label reaches to the next and no further than its section. */
	at_is(object, find_ok(object, "bare_label").foffset + 1, "bare_label");
	at_is(object, find_ok(object, "bare_second").foffset, "bare_second");
	assert_int_equal(object_symbol_value(object, "data_word", &data), 0);
	assert_int_equal(object_vaddr_to_foffset(object, data, &foffset), 0);
	assert_int_equal(object_function_at(object, foffset, &symbol), -ENOENT);
	assert_int_equal(object_function_at(object, 0, &symbol), -ENOENT);
	assert_int_equal(object_function_at(object, UINT64_MAX, &symbol), -ENOENT);
	object_free(object);
}

/* Every function starts and ends where its symbol says. */
static int ends_match(void *ctx, const struct object_symbol *symbol)
{
	struct object *object = ctx;
	struct object_symbol found;
	uint64_t start;

	assert_int_equal(object_function_at(object, symbol->foffset, &found), 0);
	assert_int_equal(found.elf_vaddr, symbol->elf_vaddr);
	assert_int_equal(object_check_boundary(object, symbol->foffset, &start), BOUNDARY_OK);
	if (symbol->size <= 1)
		return 0;
	assert_int_equal(object_function_at(object, symbol->foffset + symbol->size - 1, &found),
			 0);
	/* It may belong to a function inside this one, never to one that starts before. */
	assert_true(found.elf_vaddr >= symbol->elf_vaddr);
	return 0;
}

static void test_all_functions(void **state)
{
	const char *paths[] = { "/bin/bash", libc_path(), loader_path(), "/usr/bin/python3.11",
				NULL };

	(void)state;
	for (size_t i = 0; paths[i]; i++) {
		struct object *object = open_ok(paths[i]);

		assert_int_equal(object_each_wanted(object, NULL, ends_match, object, &err), 0);
		object_free(object);
	}
}

/* A stripped copy knows by its FDEs what the other knows by symbols. */
static void stripped_agrees(const char *full_name, const char *stripped_name)
{
	static const char *const names[] = { "plain", "only_here", "CamelCase", "main" };
	struct object *full = open_ok(fixture_path(full_name));
	struct object *stripped = open_ok(fixture_path(stripped_name));

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object_symbol known = find_ok(full, names[i]), found = { 0 };
		uint64_t start;

		assert_int_equal(
			object_function_at(stripped, known.foffset + known.size - 1, &found),
			0);
		assert_null(found.name);
		assert_int_equal(found.elf_vaddr, known.elf_vaddr);
		assert_int_equal(found.foffset, known.foffset);
		assert_int_equal(found.size, known.size);
		assert_int_equal(object_check_boundary(stripped, known.foffset, &start),
				 BOUNDARY_OK);
	}
	object_free(full);
	object_free(stripped);
}

/* No symbol and no FDE is of these, but the loader calls them, and so the file says where they are. */
static void called_by_the_loader(void)
{
	static const char *const names[] = { "_init", "_fini" };
	struct object *full = open_ok(fixture_path("obj_funcs"));
	struct object *stripped = open_ok(fixture_path("obj_stripped"));
	uint64_t start;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object_symbol known = find_ok(full, names[i]), found = { 0 };

		assert_int_equal(object_function_at(stripped, known.foffset, &found), -ENOENT);
		assert_int_equal(object_check_boundary(stripped, known.foffset, &start),
				 BOUNDARY_OK);
		assert_int_equal(object_check_boundary(stripped, known.foffset + 1, &start),
				 BOUNDARY_UNKNOWN);
	}
	object_free(full);
	object_free(stripped);
}

static void test_stripped(void **state)
{
	(void)state;
	stripped_agrees("obj_funcs", "obj_stripped");
	stripped_agrees("obj_static", "obj_static_s");
	called_by_the_loader();
}

/* --- boundaries -------------------------------------------------------------------- */

/* Each byte of a function behind @from against a walk with the same decoder over bytes read here. */
static void check_function(struct object *object, const struct object_symbol *symbol,
			   uint64_t from)
{
	const struct ubp_arch *arch = object_arch(object);
	uint8_t *code = malloc(symbol->size + UBP_INSN_MAX);
	ssize_t len = object_read(object, symbol->foffset, code, symbol->size + UBP_INSN_MAX);
	uint64_t start = 0;

	assert_true(len >= (ssize_t)symbol->size);
	for (uint64_t at = 0; at < symbol->size;) {
		int n = arch->insn.len(code + at, (size_t)len - at, symbol->elf_vaddr + at);

		assert_true(n > 0);
		if (at + (uint64_t)n <= from) {
			at += (uint64_t)n;
			continue;
		}
		assert_int_equal(object_check_boundary(object, symbol->foffset + at, &start),
				 BOUNDARY_OK);
		for (uint64_t k = 1; k < (uint64_t)n && at + k < symbol->size; k++) {
			start = 0;
			assert_int_equal(
				object_check_boundary(object, symbol->foffset + at + k, &start),
				BOUNDARY_INSIDE);
			assert_int_equal(start, symbol->foffset + at);
		}
		at += (uint64_t)n;
	}
	free(code);
}

static void test_boundaries(void **state)
{
	static const char *const names[] = { "plain", "main", "by_ifunc", "in_own_section" };
	struct object *object = open_ok(fixture_path("obj_funcs"));
	struct object_symbol symbol;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		symbol = find_ok(object, names[i]);
		check_function(object, &symbol, 0);
	}
	object_free(object);
	object = open_ok(fixture_path("obj_nopie"));
	symbol = find_ok(object, "main");
	check_function(object, &symbol, 0);
	object_free(object);
	/* Longer than what is read at a time. */
	object = open_ok("/usr/bin/python3.11");
	symbol = find_ok(object, "_PyEval_EvalFrameDefault");
	assert_true(symbol.size > 9000);
	symbol.size = 8400;
	check_function(object, &symbol, 8000);
	object_free(object);
}

static void test_no_boundary(void **state)
{
	struct object *object = open_ok(fixture_path("obj_nopie"));
	struct object_symbol label = find_ok(object, "bare_sized");
	uint64_t data, foffset, start;

	(void)state;
	assert_int_equal(object_check_boundary(object, label.foffset, &start), BOUNDARY_OK);
	/* Padding. */
	assert_int_equal(object_check_boundary(object, label.foffset + label.size, &start),
			 BOUNDARY_UNKNOWN);
	assert_int_equal(object_symbol_value(object, "data_word", &data), 0);
	assert_int_equal(object_vaddr_to_foffset(object, data, &foffset), 0);
	assert_int_equal(object_check_boundary(object, foffset, &start), BOUNDARY_UNKNOWN);
	assert_int_equal(object_check_boundary(object, UINT64_MAX, &start), BOUNDARY_UNKNOWN);
	object_free(object);
}

static void test_bad_code(void **state)
{
	struct object *object = open_ok(fixture_path("obj_badcode"));
	struct object_symbol symbol = find_ok(object, "with_hole");
	uint64_t nop = object_arch(object)->swbp.len,
		 start; /* both are the shortest there are */

	(void)state;
	assert_int_equal(object_check_boundary(object, symbol.foffset, &start), BOUNDARY_OK);
	assert_int_equal(object_check_boundary(object, symbol.foffset + nop, &start),
			 BOUNDARY_OK);
	/* Where all instructions have one length, no bytes are none. */
	assert_int_equal(object_check_boundary(object, symbol.foffset + 2 * nop, &start),
			 object_arch(object)->insn.align > 1 ? BOUNDARY_OK : -EILSEQ);
	object_free(object);
}

/* --- IFUNC slots --------------------------------------------------------------------- */

/* What readelf -r says of a slot. */
static void slot_is(const char *path, uint64_t slot, const char *kind, const char *what)
{
	char command[5000], line[512] = "";
	FILE *f;

	snprintf(command, sizeof(command),
		 "readelf -rW '%s' | grep '^0*%" PRIx64 " ' | grep -F %s | grep -i '%s'", path,
		 slot, kind, what);
	f = popen(command, "r");
	assert_non_null(f);
	if (!fgets(line, sizeof(line), f))
		print_error("readelf does not confirm: %s\n", command);
	pclose(f);
	assert_string_not_equal(line, "");
}

static void test_irelative(void **state)
{
	static const char *const names[] = { "obj_funcs", "obj_nopie", "obj_static" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object *object = open_ok(fixture_path(names[i]));
		struct object_symbol symbol = find_ok(object, "pick_one");
		uint64_t slots[4] = { 0 };
		char resolver[32];

		snprintf(resolver, sizeof(resolver), "%" PRIx64, symbol.elf_vaddr);
		assert_true(object_ifunc_slots(object, NULL, symbol.elf_vaddr, slots, 4) >= 1);
		slot_is(fixture_path(names[i]), slots[0], "IRELATIV", resolver);
		assert_int_equal(
			object_ifunc_slots(object, NULL, symbol.elf_vaddr + 1, slots, 4), 0);
		object_free(object);
	}
}

static void test_import_slots(void **state)
{
	struct object *object = open_ok(fixture_path("obj_funcs"));
	uint64_t slots[4] = { 0 }, none[1] = { 77 };
	size_t n = object_ifunc_slots(object, "strlen", 0, slots, 4);

	(void)state;
	assert_int_equal(n, 1);
	slot_is(fixture_path("obj_funcs"), slots[0], "JUMP_SLO", "strlen");
	assert_int_equal(object_ifunc_slots(object, "strlen", 0, none, 0), 1);
	assert_int_equal(none[0], 77);
	assert_int_equal(object_ifunc_slots(object, "strle", 0, slots, 4), 0);
	assert_int_equal(object_ifunc_slots(object, NULL, 0, slots, 4), 0);
	object_free(object);
	object = open_ok("/bin/bash");
	n = object_ifunc_slots(object, "memcpy", 0, slots, 4);
	assert_true(n >= 1 && n <= 4);
	slot_is("/bin/bash", slots[0], "R_", "memcpy");
	object_free(object);
}

/* --- where functions are left ------------------------------------------------------ */

static void exits_are(struct object *object, const struct object_symbol *symbol,
		      const struct object_exit *want, size_t n)
{
	struct object_exits exits;

	ubp_err_reset(&err);
	assert_int_equal(object_find_exits(object, symbol->foffset, &exits, &err), 0);
	assert_int_equal(exits.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(exits.exits[i].foffset - symbol->foffset, want[i].foffset);
		assert_int_equal(exits.exits[i].kind, want[i].kind);
	}
	free(exits.exits);
}

/* What stands in front of a ret, that a jump could stand on: one instruction that is as long, or a byte shorter. */
static void test_run_ups(void **state)
{
	static const struct {
		const char *name, *ret;
		uint8_t run_up;
	} rows[] = {
		{ "run_up", "run_up_9", 9 },      { "run_up", "run_up_10", 10 },
		{ "run_up", "run_up_5", 5 }, /* a punned one */
		{ "run_up", "run_up_faults", 0 }, { "run_up_nosplit", "run_up_nosplit_9", 9 },
	};
	struct object *object = open_ok(fixture_or_skip("obj_windows_go"));

	(void)state;
	if (!object_arch(object)->jump.runs_anywhere)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct object_symbol symbol = find_ok(object, rows[i].name);
		struct object_exits exits;
		struct window window;
		uint64_t elf_vaddr, foffset;
		size_t k = 0;

		assert_int_equal(object_symbol_value(object, rows[i].ret, &elf_vaddr), 0);
		assert_int_equal(object_vaddr_to_foffset(object, elf_vaddr, &foffset), 0);
		ubp_err_reset(&err);
		assert_int_equal(object_find_exits(object, symbol.foffset, &exits, &err), 0);
		while (exits.exits[k].foffset != foffset)
			assert_true(++k < exits.n);
		assert_int_equal(exits.exits[k].run_up, rows[i].run_up);
		free(exits.exits);
		if (!rows[i].run_up)
			continue;
		assert_int_equal(object_window_run_up(object, foffset - rows[i].run_up, false,
						      &window, &err),
				 0);
		/* There may be no stack for its detour. */
		assert_int_equal(window.asks_room, strstr(rows[i].name, "nosplit") != NULL);
		assert_int_equal(window.n, 1);
		assert_int_equal(window.pun.n_fixed, rows[i].run_up == 5);
	}
	object_free(object);
}

/*
 * At a ret: on itself and the fill behind it, which nobody may come to; or a punned one, with less of that. That has none of the fill behind the function: what
 * stands there is read as a part of it.
 */
static void test_at_rets(void **state)
{
	static const struct {
		const char *name;
		unsigned ret; /* which one of the function's */
		bool may;     /* a whole jump */
		uint8_t n_fixed;
		bool is_short; /* or a short one, to fill near by */
	} rows[] = {
		{ "end_nops", 0, true, 0, true },   { "end_int3", 0, true, 0, true },
		{ "end_long", 0, true, 0, true },   { "middle", 0, true, 0, true },
		{ "middle", 1, true, 0, true },     { "two_bytes", 0, false, 2, true },
		{ "two_bytes", 1, true, 0, true },  { "one_byte", 0, false, 3, true },
		{ "by_branch", 0, false, 2, true }, { "by_name", 0, false, 3, true },
		{ "by_table", 0, false, 3, true },  { "by_pointer", 0, false, 3, true },
		{ "next_one", 0, false, 4, true },  { "next_three", 0, false, 4, true },
		{ "next_long", 0, false, 3, true }, { "far_two", 0, false, 2, false },
		{ "far_one", 0, false, 3, false },  { "inner_pops", 0, false, 0, false },
	};
	struct object *object = open_ok(fixture_or_skip("ret_fill"));

	(void)state;
	if (!object_arch(object)->jump.runs_anywhere)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct object_symbol symbol = find_ok(object, rows[i].name);
		struct object_exits exits;
		struct window window;
		uint64_t foffset;
		size_t k = 0;

		ubp_err_reset(&err);
		assert_int_equal(object_find_exits(object, symbol.foffset, &exits, &err), 0);
		for (unsigned n = rows[i].ret + 1; n; k++) {
			assert_true(k < exits.n);
			n -= exits.exits[k].kind == EXIT_RET;
		}
		foffset = exits.exits[k - 1].foffset;
		free(exits.exits);
		assert_int_equal(object_window_short_ret(object, foffset, &window, &err),
				 rows[i].is_short ? 0 : -EOPNOTSUPP);
		if (rows[i].is_short)
			assert_true(window.n == 1 && window.jump_len == 2 && window.n_hops);
		ubp_err_reset(&err);
		assert_int_equal(object_window_at_ret(object, foffset, &window, &err),
				 rows[i].may ? 0 : -EOPNOTSUPP);
		if (rows[i].may) {
			assert_int_equal(window.n, 1);
			assert_int_equal(window.jump_len, 5);
			continue;
		}
		assert_int_equal(object_window_punned_ret(object, foffset, &window, &err),
				 rows[i].n_fixed ? 0 : -EOPNOTSUPP);
		if (rows[i].n_fixed)
			assert_int_equal(window.pun.n_fixed, rows[i].n_fixed);
	}
	/* Nothing else is one. */
	{
		struct object_symbol symbol = find_ok(object, "end_nops");
		struct window window;

		ubp_err_reset(&err);
		assert_int_equal(object_window(object, symbol.foffset, &window, &err), 0);
		assert_int_equal(object_window_at_ret(object, symbol.foffset, &window, &err),
				 -EOPNOTSUPP);
	}
	object_free(object);
}

/* Run-ups of short instructions: none of them is as long as a jump, and a branch leads to one. */
static void test_run_up_of_several(void **state)
{
	static const struct {
		const char *name;
		uint8_t several;
		bool is_led;
	} rows[] = { { "several", 6, false }, { "several_led", 6, true } };
	struct object *object = open_ok(fixture_or_skip("ret_fill"));

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct object_symbol symbol = find_ok(object, rows[i].name);
		struct object_exits exits;
		struct window window;
		uint64_t foffset;
		int rc;

		ubp_err_reset(&err);
		assert_int_equal(object_find_exits(object, symbol.foffset, &exits, &err), 0);
		assert_int_equal(exits.exits[0].run_up, 0);
		assert_int_equal(exits.exits[0].several, rows[i].several);
		foffset = exits.exits[0].foffset - rows[i].several;
		free(exits.exits);
		ubp_err_reset(&err);
		rc = object_window_run_up(object, foffset, true, &window, &err);
		assert_int_equal(rc, rows[i].is_led ? -EOPNOTSUPP : 0);
		if (rc == 0)
			assert_int_equal(window.n, 3);
		ubp_err_reset(&err);
		assert_int_equal(object_window_run_up(object, foffset, false, &window, &err),
				 -EOPNOTSUPP);
	}
	object_free(object);
}

/* All ages of the table; functions without any symbol. */
static void test_go_table(void **state)
{
	static const char *const names[] = { "obj_go_12", "obj_go_116", "obj_go_118",
					     "obj_go_120" };
	static const struct object_exit first[] = { { .foffset = 4, .kind = EXIT_RET },
						    { .foffset = 5, .kind = EXIT_JUMP } };
	static const struct object_exit second[] = { { .foffset = 1, .kind = EXIT_RET } };
	static const struct object_exit third[] = { { .foffset = 0, .kind = EXIT_JUMP_TO } };
	struct object_exits exits;
	uint64_t start, end;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct object *object = open_ok(fixture_or_skip(names[i]));
		struct object_symbol symbol = find_ok(object, "main.first");

		assert_true(object_is_go(object));
		at_is(object, symbol.foffset, "main.first");
		at_is(object, symbol.foffset + 6, "main.first");
		exits_are(object, &symbol, first, 2);
		assert_int_equal(object_check_boundary(object, symbol.foffset + 4, &start), 0);
		assert_int_equal(object_check_boundary(object, symbol.foffset + 3, &start),
				 BOUNDARY_INSIDE);
		/* Not its start. */
		assert_int_equal(object_find_exits(object, symbol.foffset + 2, &exits, &err),
				 -ENOENT);
		symbol = find_ok(object, "main.second");
		exits_are(object, &symbol, second, 1);
		symbol = find_ok(object, "main.(*T).third");
		exits_are(object, &symbol, third, 1);
		assert_int_equal(object_extent(object, symbol.foffset, &start, &end), 0);
		assert_int_equal(end - start, 2);
		assert_int_equal(object_extent(object, symbol.foffset + 2, &start, &end),
				 -ENOENT);
		assert_int_equal(object_find_symbol(object, "main.none", &symbol, &err),
				 -ENOENT);
		object_free(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function_at),       cmocka_unit_test(test_go_table),
		cmocka_unit_test(test_run_up_of_several), cmocka_unit_test(test_run_ups),
		cmocka_unit_test(test_at_rets),           cmocka_unit_test(test_all_functions),
		cmocka_unit_test(test_stripped),          cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_no_boundary),       cmocka_unit_test(test_bad_code),
		cmocka_unit_test(test_irelative),         cmocka_unit_test(test_import_slots),
	};

	return cmocka_run_group_tests_name("object_code", tests, NULL, NULL);
}
