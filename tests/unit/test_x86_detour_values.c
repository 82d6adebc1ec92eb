/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The corpus of values once more (see test_fetch_values.c, which compares the interpreter
 * with what the kernel printed): its memory is mapped where it was, and compiled
 * programs must make of it what the interpreter does. Rows on return are taken for
 * rows on entry.
 */

#include <stdio.h>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "tests/unit/arena.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/x86_lab.h"

static unsigned n_rows, n_refused, n_records, n_traps;

static const uint8_t user_of[16] = { REG_AX,  REG_CX,  REG_DX,  REG_BX, REG_SP,  REG_BP,
				     REG_SI,  REG_DI,  REG_R8,  REG_R9, REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

/* The arena's memory, in this process. */
static void map_all(const struct fake_memory *memory, bool there)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct fake_region *r = &memory->regions[i];
		void *at = (void *)r->vaddr;

		if (there)
			assert_ptr_equal(mmap(at, r->len, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					      -1, 0),
					 at);
		else
			munmap(at, r->len);
	}
}

static void fill(const struct fake_memory *memory)
{
	lab_forget_ranges();
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct fake_region *r = &memory->regions[i];

		memcpy((void *)r->vaddr, r->bytes, r->len);
		lab_range(r->vaddr, r->len);
	}
}

static void check_hit(const char *what, const struct ubp_regs *user)
{
	uint64_t head = lab.thread->head = 64;
	struct run_regs before = { .flags = 0x202 };
	static struct run_end end;
	enum lab_outcome outcome;

	for (size_t i = 0; i < 16; i++)
		before.gpr[i] = user->r[user_of[i]];
	outcome = lab_interpret(&lab.probes[0], &before);
	lab_run(&before, &end);
	lab_assert_kept(what, &before, NULL, &end);
	if (outcome == LAB_RECORD) {
		if (end.signo)
			fail_msg("%s: traps, di is 0x%llx", what,
				 (unsigned long long)before.gpr[DI]);
		lab_assert_record(what, lab_record_at(head));
		n_records++;
	} else {
		if (lab_trap(&end) != 0)
			fail_msg("%s: does not trap", what);
		assert_int_equal(lab.thread->head, head);
		n_traps++;
	}
}

static void check_row(const json_t *row)
{
	const char *point = json_string_value(json_object_get(row, "point"));
	const char *args = json_string_value(json_object_get(row, "args"));
	struct fetch_program *program;
	struct probe_make make;
	struct ubp_regs user;
	struct arena arena;
	struct ubp_err err;
	const char *comm;

	ubp_err_reset(&err);
	probe_make(&make, false, args);
	assert_int_equal(0, fetch_compile(&make.probe, &program, &err));
	lab_reset();
	if (lab_build_one(program, NULL, &err) < 0) {
		if (!strstr(args, "%flags"))
			fail_msg("%s: %s", args, err.text);
		n_refused++;
		free(program);
		return;
	}
	arena_init(&arena, point);
	map_all(&arena.memory, true);
	for (size_t i = 0; arena_hit(&arena, point, i, &user, &comm); i++) {
		lab.thread->limit = LAB_CAPACITY - RING_SLACK;
		fill(&arena.memory);
		check_hit(args, &user);
	}
	map_all(&arena.memory, false);
	munmap((void *)(uintptr_t)ARENA_EDGE, 0x2000); /* some of it may be cut off */
	fake_memory_free(&arena.memory);
	free(program);
	n_rows++;
}

static void check_corpus(void **state)
{
	const char *src = getenv("UBP_SRC");
	char path[4096], *line = NULL;
	size_t cap = 0;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/tests/corpus/values.jsonl", src ? src : ".");
	file = fopen(path, "r");
	assert_non_null(file);
	while (getline(&line, &cap, file) > 0) {
		json_error_t error;
		json_t *row;

		/* What was printed does not matter here. */
		for (char *p = line; (p = strstr(p, "\\udc")); p += 4)
			memcpy(p, "\\uf7", 4);
		row = json_loads(line, JSON_ALLOW_NUL, &error);
		if (!row)
			fail_msg("%s: %s", path, error.text);
		check_row(row);
		json_decref(row);
	}
	free(line);
	fclose(file);
	print_message("%u rows, %u refused: %u records, %u traps\n", n_rows, n_refused,
		      n_records, n_traps);
	assert_true(n_rows > 180 && n_refused < 5 && n_records > 500 && n_traps > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_corpus),
	};

	return cmocka_run_group_tests_name("x86_detour_values", tests, lab_set_up,
					   lab_tear_down);
}

#else
int main(void)
{
	puts("not on x86-64, or its addresses are AddressSanitizer's own");
	return 77;
}
#endif
