/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes of the laboratory, from their text; and a function with return probes. */

#ifdef __aarch64__

#include "tests/unit/arm64_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arm64/arm64.h"
#include "arch/arm64/emit.h"
#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/unit/probe_make.h"

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

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
	assert_int_equal(arch()->build_jump(&lab.window, LAB_SITE,
					    LAB_BLOCK + lab.detour.entry_at, jump, &err),
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

/* --- interruptions ------------------------------------------------------------------------ */

struct at {
	const struct lab_interruptions *what;
	uint64_t vaddr;
	uint32_t insn;
	bool done;
};

/* In the handler of a breakpoint. */
static bool interrupt(struct run_regs *regs, void *arg)
{
	struct at *at = arg;

	if (at->done || regs->pc != at->vaddr)
		return false;
	at->done = true;
	run_write_word(at->vaddr, at->insn);
	at->what->each(at->what->arg, at->vaddr);
	return true;
}

static bool interrupt_at(const struct lab_interruptions *what, uint64_t vaddr)
{
	struct at at = { .what = what, .vaddr = vaddr, .insn = *(uint32_t *)vaddr };
	static struct run_end end;

	if (at.insn == INSN_BRK)
		return false;
	what->start(what->arg);
	run_write_word(vaddr, INSN_BRK);
	run_on_trap(interrupt, &at);
	lab_run_from(what->regs, &end);
	run_on_trap(NULL, NULL);
	run_write_word(vaddr, at.insn);
	what->check(what->arg, &end, at.done);
	return at.done;
}

unsigned lab_interrupt(const struct lab_interruptions *what)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < lab.detour.len; i += 4)
		n += interrupt_at(what, LAB_BLOCK + i);
	for (uint64_t i = 0; what->returns && i < UBP_RETURN_CODE_MAX; i += 4)
		n += interrupt_at(what, LAB_RETURN_CODE + i);
	return n;
}

/* --- a function ------------------------------------------------------------------------ */

void lab_function_start(struct run_regs *before, struct run_regs *ret_after)
{
	uint8_t code[UBP_RETURN_CODE_MAX];
	struct ubp_err err;
	size_t len = 0;

	memset(lab.hijacks, 0, sizeof(lab.hijacks));
	lab.plan.hijacks = (uint64_t)lab.hijacks;
	lab.plan.hijacks_mask = LAB_HIJACKS - 1;
	lab.plan.return_vaddr = LAB_RETURN_CODE;
	lab.plan.trampoline = LAB_TRAMPOLINE;
	lab.real = LAB_HOME;
	ubp_err_reset(&err);
	assert_int_equal(arch()->build_return_code((uint64_t)lab.hijacks, LAB_HIJACKS - 1,
						   LAB_TRAMPOLINE, code, sizeof(code), &len,
						   &err),
			 0);
	run_write(LAB_RETURN_CODE, code, len);
	run_clear(LAB_HOME, ARM64_INSN);
	run_write_word(LAB_BODY, INSN_RET);
	before->x[ARM64_X30] = LAB_HOME;
	*ret_after = *before;
}

void lab_body_stops(void)
{
	run_write_word(LAB_BODY, INSN_BRK);
	run_write_word(LAB_BODY + 4, INSN_RET);
}

void lab_function_build(unsigned n)
{
	lab_build_set(n);
	assert_true(lab.detour.len < LAB_RETURN_CODE - LAB_BLOCK);
	lab_jump_over_site();
}

#else
extern int not_arm64_lab_probe;
int not_arm64_lab_probe;
#endif
