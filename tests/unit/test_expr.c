/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Expressions of call frame information: values, and what must not be believed. */

#include "engine/stack/expr.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N(ops) (sizeof(ops) / sizeof((ops)[0]))

static const uint64_t regs[] = { 100, 200, 300 };

/* Memory holds its own address; below 16 there is none. */
static bool read_memory(void *ctx, uint64_t vaddr, void *buf, size_t len)
{
	(void)ctx;
	if (vaddr < 16)
		return false;
	memcpy(buf, &vaddr, len);
	return true;
}

static const struct expr_input input = {
	.regs = regs,
	.known = (const uint64_t[]){ 5 }, /* 0 and 2 */
	.n_regs = 3,
	.cfa = 1000,
	.read = read_memory,
};

struct vector {
	const char *what;
	Dwarf_Op ops[12];
	size_t n;
	bool fails;
	uint64_t value;
};

static const struct vector vectors[] = {
	{ "nothing", { { 0 } }, 0, .fails = true },
	{ "register and offset",
	  { { .atom = DW_OP_breg2, .number = (Dwarf_Word)-8 } },
	  1,
	  .value = 292 },
	{ "register that is not known", { { .atom = DW_OP_breg1 } }, 1, .fails = true },
	{ "register that there is not",
	  { { .atom = DW_OP_bregx, .number = 99 } },
	  1,
	  .fails = true },
	{ "of any number",
	  { { .atom = DW_OP_bregx, .number = 2, .number2 = 5 } },
	  1,
	  .value = 305 },
	{ "the CFA",
	  { { .atom = DW_OP_call_frame_cfa },
	    { .atom = DW_OP_plus_uconst, .number = (Dwarf_Word)-16 } },
	  2,
	  .value = 984 },
	{ "what a PLT entry has: 8 more from the 11th byte on",
	  { { .atom = DW_OP_breg0, .number = 8 },
	    { .atom = DW_OP_breg2, .number = 0 },
	    { .atom = DW_OP_lit15 },
	    { .atom = DW_OP_and },
	    { .atom = DW_OP_lit11 },
	    { .atom = DW_OP_ge },
	    { .atom = DW_OP_lit3 },
	    { .atom = DW_OP_shl },
	    { .atom = DW_OP_plus } },
	  9,
	  .value = 116 },
	{ "memory", { { .atom = DW_OP_breg0 }, { .atom = DW_OP_deref } }, 2, .value = 100 },
	{ "a byte of it",
	  { { .atom = DW_OP_const2u, .number = 0x1234 },
	    { .atom = DW_OP_deref_size, .number = 1 } },
	  2,
	  .value = 0x34 },
	{ "that is not there",
	  { { .atom = DW_OP_lit8 }, { .atom = DW_OP_deref } },
	  2,
	  .fails = true },
	{ "of a width that there is not",
	  { { .atom = DW_OP_breg0 }, { .atom = DW_OP_deref_size, .number = 9 } },
	  2,
	  .fails = true },
	{ "division by zero",
	  { { .atom = DW_OP_lit1 }, { .atom = DW_OP_lit0 }, { .atom = DW_OP_div } },
	  3,
	  .fails = true },
	{ "the smallest by -1",
	  { { .atom = DW_OP_const8u, .number = 1ULL << 63 },
	    { .atom = DW_OP_consts, .number = (Dwarf_Word)-1 },
	    { .atom = DW_OP_div } },
	  3,
	  .fails = true },
	{ "signed shift",
	  { { .atom = DW_OP_consts, .number = (Dwarf_Word)-16 },
	    { .atom = DW_OP_lit2 },
	    { .atom = DW_OP_shra } },
	  3,
	  .value = (uint64_t)-4 },
	{ "shift by more than there is",
	  { { .atom = DW_OP_lit1 },
	    { .atom = DW_OP_const1u, .number = 64 },
	    { .atom = DW_OP_shl } },
	  3,
	  .value = 0 },
	{ "an empty stack", { { .atom = DW_OP_plus } }, 1, .fails = true },
	{ "another one", { { .atom = DW_OP_lit1 }, { .atom = DW_OP_swap } }, 2, .fails = true },
	{ "deeper than it is",
	  { { .atom = DW_OP_lit1 }, { .atom = DW_OP_pick, .number = 1 } },
	  2,
	  .fails = true },
	{ "what it does not know",
	  { { .atom = DW_OP_lit1 }, { .atom = DW_OP_addr } },
	  2,
	  .fails = true },
	{ "rotated",
	  { { .atom = DW_OP_lit1 },
	    { .atom = DW_OP_lit2 },
	    { .atom = DW_OP_lit3 },
	    { .atom = DW_OP_rot },
	    { .atom = DW_OP_drop },
	    { .atom = DW_OP_minus } },
	  6,
	  .value = 2 },
	{ "a branch that is taken",
	  { { .atom = DW_OP_lit7, .offset = 0 },
	    { .atom = DW_OP_lit1, .offset = 1 },
	    { .atom = DW_OP_bra, .number = 1, .offset = 2 },
	    { .atom = DW_OP_lit9, .offset = 5 },
	    { .atom = DW_OP_nop, .offset = 6 } },
	  5,
	  .value = 7 },
	{ "round in circles",
	  { { .atom = DW_OP_lit7, .offset = 0 },
	    { .atom = DW_OP_skip, .number = (Dwarf_Word)-3, .offset = 1 } },
	  2,
	  .fails = true },
	{ "ever more",
	  { { .atom = DW_OP_lit7, .offset = 0 },
	    { .atom = DW_OP_skip, .number = (Dwarf_Word)-4, .offset = 1 } },
	  2,
	  .fails = true },
	{ "a value, not a place",
	  { { .atom = DW_OP_lit5 }, { .atom = DW_OP_stack_value }, { .atom = DW_OP_lit6 } },
	  3,
	  .value = 5 },
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(vectors); i++) {
		const struct vector *v = &vectors[i];
		uint64_t value = 0;
		bool good = expr_eval(v->ops, v->n, &input, &value);

		if (good == v->fails || (good && value != v->value))
			fail_msg("%s: %d, %lu", v->what, good, (unsigned long)value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
