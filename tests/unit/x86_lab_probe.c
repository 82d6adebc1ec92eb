/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes of the laboratory, from their text; and a function with return probes. */

#ifdef __x86_64__

#include "tests/unit/x86_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"

void lab_set_probe(unsigned i, bool is_return, const char *args, const char *filter)
{
	struct probe_make make;
	struct ubp_err err;

	free(lab.programs[i]);
	filter_free(lab.filters[i]);
	lab.filters[i] = NULL;
	ubp_err_reset(&err);
	probe_make(&make, is_return, args);
	assert_int_equal(fetch_compile(&make.probe, &lab.programs[i], &err), 0);
	if (filter)
		assert_int_equal(filter_parse(filter, &make.probe, &lab.filters[i], &err), 0);
	lab.probes[i] = (struct detour_probe){ .number = 100 + i,
					       .is_return = is_return,
					       .program = lab.programs[i],
					       .filter = lab.filters[i],
					       .cell = 50 * i };
}

void lab_build_set(unsigned n)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (lab_build(n, &err) < 0)
		fail_msg("%s", err.text);
}

void lab_jump_over_site(void)
{
	uint8_t jump[16];
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(lab_arch()->build_jump(&lab.window, LAB_SITE,
						RUN_BLOCK + lab.detour.entry_at, jump, &err),
			 0);
	run_write(LAB_SITE, jump, lab.window.jump_len);
}

uint64_t lab_expect_record(uint64_t at, unsigned i, const struct run_regs *regs)
{
	const struct ring_record *record = lab_record_at(at);

	assert_int_equal(lab_interpret(&lab.probes[i], regs), LAB_RECORD);
	lab_assert_record("record", record);
	assert_int_equal(record->probe, lab.probes[i].number);
	return at + record->size;
}

void lab_expect_nothing(uint64_t at)
{
	assert_int_equal(lab.thread->head, at);
}

void lab_count_calls(uint64_t at, unsigned *ret_outer, unsigned *ret_nested)
{
	*ret_outer = *ret_nested = 0;
	while (at < lab.thread->head) {
		const struct ring_record *record = lab_record_at(at);
		int64_t a;

		assert_non_null(record);
		at += record->size;
		if (record->probe == RING_VOID)
			continue;
		memcpy(&a, record->data, sizeof(a));
		assert_true(a == LAB_OUTER || a == LAB_NESTED);
		*(a == LAB_OUTER ? ret_outer : ret_nested) += 1;
		if (lab.programs[0]->has_strings)
			assert_string_equal((const char *)record->data +
						    lab.programs[0]->fixed_size,
					    a == LAB_OUTER ? LAB_OUTER_TEXT : LAB_NESTED_TEXT);
	}
	lab_expect_nothing(at);
}

/* --- a function ------------------------------------------------------------------------ */

void lab_function_start(const struct run_regs *before, struct run_regs *ret_after)
{
	uint8_t code[UBP_RETURN_CODE_MAX];
	run_word home = LAB_HOME;
	struct ubp_err err;
	size_t len = 0;

	memset(lab.hijacks, 0, LAB_HIJACKS_LEN);
	lab.plan.hijacks = (uint64_t)lab.hijacks;
	lab.plan.hijacks_mask = LAB_HIJACKS - 1;
	lab.plan.return_vaddr = LAB_RETURN_CODE;
	lab.plan.trampoline = LAB_TRAMPOLINE;
	lab.real = LAB_HOME;
	ubp_err_reset(&err);
	assert_int_equal(lab_arch()->build_return_code((uint64_t)lab.hijacks, LAB_HIJACKS - 1,
						       LAB_TRAMPOLINE, code, sizeof(code), &len,
						       &err),
			 0);
	run_write(LAB_RETURN_CODE, code, len);
	run_plant_exit(LAB_HOME, 0);
	run_write(LAB_BODY, "\xc3", 1);
	run_write(before->gpr[SP], &home, sizeof(home));
	*ret_after = *before;
	ret_after->gpr[SP] += RUN_WORD;
}

void lab_function_build(unsigned n)
{
	lab_build_set(n);
	assert_true(lab.detour.len < LAB_RETURN_CODE - RUN_BLOCK);
	lab_jump_over_site();
}

#else
extern int not_x86_lab_probe;
int not_x86_lab_probe;
#endif
