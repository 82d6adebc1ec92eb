/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: detours. Args and filter are compiled to machine code, which runs in this very
 * process with registers and memory that the input makes up; what it records, drops or
 * leaves to its trap must be what the interpreter would.
 */

#include "tests/fuzz/fuzz.h"

#ifdef __x86_64__

#include <errno.h>

#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/fuzz/table.h"
#include "tests/unit/x86_lab.h"

/* Where registers and pointers mostly lead. */
static uint64_t address(uint64_t choice)
{
	switch (choice & 3) {
	case 0:
		return choice >> 2;
	case 1:
		return LAB_END - (choice >> 2 & 63);
	default:
		return LAB_MEM + (choice >> 2) % (LAB_END - LAB_MEM);
	}
}

static void fill(struct fuzz_input *in)
{
	for (uint64_t at = LAB_MEM; at < LAB_END; at += 8) {
		uint64_t word = 0x6161616161616161;

		if (at == LAB_MEM + LAB_MEM_SIZE)
			at = LAB_HIGH;
		if (in->left) {
			word = fuzz_number(in, 1);
			word = word & 1 ? address(fuzz_number(in, 3)) : fuzz_number(in, 8);
		}
		memcpy((void *)at, &word, 8);
	}
}

static void run(struct fuzz_input *in)
{
	const struct detour_probe *probe = &lab.probes[0];
	static struct run_end end;
	struct run_regs regs;
	enum lab_outcome outcome;
	uint64_t head;

	lab_reset();
	run_random(fuzz_number(in, 1), &regs);
	for (int i = 0; i < 16; i++)
		if (i != SP)
			regs.gpr[i] = address(fuzz_number(in, 4));
	fill(in);
	head = lab.thread->head;
	run_vectors(1, &lab.vectors);
	outcome = lab_interpret(probe, &regs);
	lab_run(&regs, &end);
	lab_assert_kept("fuzz", &regs, NULL, &end);
	if (end.signo) {
		CLAIM(lab_trap(&end) == 0 && lab.thread->head == head);
		CLAIM(outcome == LAB_FAULT);
	} else if (lab.thread->head == head) {
		CLAIM(outcome != LAB_RECORD && !lab.passes);
	} else {
		CLAIM(outcome == LAB_RECORD ||
		      (outcome == LAB_DROPPED && !lab.detour.filters_done));
		lab_assert_record("fuzz", lab_record_at(head));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec_table *table = fuzz_table();
	struct fetch_program *program = NULL;
	struct fuzz_input in = { data, size };
	char *text = fuzz_text(&in), *condition = fuzz_text(&in), *line = NULL;
	struct filter *filter = NULL;
	struct ubp_err err;
	int len;

	ubp_err_reset(&err);
	if (!lab.head) {
		run_init(NULL);
		lab_make();
	}
	len = asprintf(&line, "p:g/e /x:0x10 %s", text);
	CLAIM(len > 0);
	if (spec_table_write(table, line, (size_t)len, &err) == 0 && spec_table_count(table)) {
		const struct spec_probe *probe = spec_table_probe(table, 0);

		CLAIM(fetch_compile(probe, &program, &err) == 0);
		(void)filter_parse(condition, probe, &filter, &err);
		if (lab_build_one(program, filter, &err) == 0)
			run(&in);
		filter_free(filter);
		free(program);
	}
	free(line);
	free(text);
	free(condition);
	spec_table_free(table);
	return 0;
}

#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}
#endif
