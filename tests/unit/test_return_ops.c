/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where a call leaves the return address: the two tables of operations, as far as they need no other process. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"

#define TRAMPOLINE UINT64_C(0x7000000)
#define SLOT       UINT64_C(0x7ffe1000)
#define REAL       UINT64_C(0x401234)
#define SIGNATURE  UINT64_C(0x002a000000000000)

static const char *const names[] = { "x86_64", "i386", "arm64", "ppc64el" };

/* A thread of a memory whose return address at SLOT was replaced. */
struct fixture {
	struct space space;
	struct plant_space *ps; /* .space's */
	struct process process;
	struct tracee t;
	struct return_instance *ri;
	struct ubp_regs regs;
};

static void make(struct fixture *f, const char *name)
{
	memset(f, 0, sizeof(*f));
	f->space.arch = ubp_arch_by_name(name);
	f->ps = plant_space_get(&f->space);
	assert_non_null(f->ps);
	f->ps->ret->trampoline = TRAMPOLINE;
	f->process.space = &f->space;
	f->t.process = &f->process;
	f->t.tid = 7;
	f->ri = returns_new(f->ps, SLOT);
	assert_non_null(f->ri);
	f->ri->real = REAL;
	f->ri->tid = 7;
	f->regs.r[f->space.arch->reg.sp] = SLOT;
}

static uint64_t *link_of(struct fixture *f)
{
	return &f->regs.r[f->space.arch->reg.link];
}

static void test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct ubp_arch *arch = ubp_arch_by_name(names[i]);
		const struct return_ops *ops = return_ops_tables[arch->return_in];
		void (*each[sizeof(*ops) / sizeof(void (*)(void))])(void);

		assert_int_equal(arch->return_in == RETURN_IN_REGISTER,
				 arch->reg.link < arch->reg.n);
		memcpy(each, ops, sizeof(each));
		for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++)
			assert_true(each[k] != NULL);
	}
}

static void test_in_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		const struct return_ops *ops;
		struct return_word word;
		size_t size;

		make(&f, names[i]);
		ops = return_ops(&f.space);
		size = f.space.arch->addr_size;
		assert_int_equal(ops->word_below(f.space.arch), size);
		assert_ptr_equal(ops->find_returned(&f.space, SLOT + size), f.ri);
		/* "ret 16" */
		assert_ptr_equal(ops->find_returned(&f.space, SLOT + size + 16), f.ri);
		assert_null(ops->find_returned(&f.space, SLOT));
		assert_int_equal(ops->real(&f.space, SLOT, 0, TRAMPOLINE), REAL);
		assert_int_equal(ops->real(&f.space, SLOT + size, 0, TRAMPOLINE), TRAMPOLINE);
		assert_int_equal(ops->real(&f.space, SLOT, 0, REAL + 1), REAL + 1);
		assert_false(ops->is_left(SLOT, SLOT));
		assert_true(ops->is_left(SLOT, SLOT + size));
		assert_false(ops->may_lie_under(f.ri, 7));
		word = ops->word(f.ps, f.ri);
		assert_int_equal(word.at, SLOT);
		assert_int_equal(word.was, TRAMPOLINE);
		assert_int_equal(word.is, REAL);
		assert_false(ops->wants_stacks(f.ps));
		assert_false(ops->needs_table(f.ps));
		f.ps->hijack->table = f.ps->hijack->code_vaddr = 0x1000;
		assert_true(ops->wants_stacks(f.ps));
		assert_false(ops->keeps_hijacks(f.ps));
		returns_free(f.ps);
		plant_space_free(&f.space);
	}
}

static void enter_by_register(struct fixture *f, const struct return_ops *ops)
{
	struct ubp_regs other;
	uint64_t address = 0;

	*link_of(f) = REAL;
	assert_true(ops->find(&f->t, &f->regs, &address));
	assert_int_equal(address, REAL);
	*link_of(f) = REAL | SIGNATURE;
	assert_false(ops->find(&f->t, &f->regs, &address));
	assert_true(ops->read(&f->t, &f->regs, &address));
	assert_int_equal(address, REAL);
	other = f->regs;
	ops->replace(&f->space, &f->regs);
	assert_int_equal(*link_of(f), TRAMPOLINE);
	ops->copy(f->space.arch, &other, &f->regs);
	assert_memory_equal(&other, &f->regs, sizeof(other));
	assert_true(ops->put_real(&f->t, &f->regs, REAL));
	assert_true(ops->read_returned(&f->t, &f->regs, &address));
	assert_int_equal(address, REAL);
	/* No table, and no word to write. */
	assert_int_equal(ops->write(&f->space, f->ri, 7, 0), 0);
}

static void test_in_register(void **state)
{
	(void)state;
	for (size_t i = 2; i < 4; i++) {
		struct fixture f;
		const struct return_ops *ops;
		struct return_word word;

		make(&f, names[i]);
		ops = return_ops(&f.space);
		enter_by_register(&f, ops);
		assert_int_equal(ops->word_below(f.space.arch), 0);
		assert_ptr_equal(ops->find_returned(&f.space, SLOT), f.ri);
		assert_null(ops->find_returned(&f.space, SLOT + 16));
		/* Where its caller's stack pointer is known, else the next frame further up. */
		assert_int_equal(ops->real(&f.space, 0, SLOT, TRAMPOLINE), REAL);
		assert_int_equal(ops->real(&f.space, 0, SLOT, TRAMPOLINE | SIGNATURE), REAL);
		assert_int_equal(ops->real(&f.space, SLOT - 64, 0, TRAMPOLINE), REAL);
		assert_int_equal(ops->real(&f.space, SLOT, 0, TRAMPOLINE), TRAMPOLINE);
		assert_int_equal(ops->real(&f.space, 0, 0, 5 | SIGNATURE), 5);
		assert_true(ops->is_left(SLOT, SLOT));
		assert_false(ops->is_left(SLOT, SLOT - 16));
		assert_true(ops->may_lie_under(f.ri, 7));
		assert_false(ops->may_lie_under(f.ri, 8));
		f.ri->disarm_sp = 1;
		assert_false(ops->may_lie_under(f.ri, 7));
		f.ri->word_vaddr = 1, f.ri->word_was = 2, f.ri->word_is = 3;
		word = ops->word(f.ps, f.ri);
		assert_true(word.at == 1 && word.was == 2 && word.is == 3);
		assert_true(ops->wants_stacks(f.ps));
		assert_true(ops->needs_table(f.ps));
		assert_false(ops->keeps_hijacks(f.ps));
		ops->sweep(&f.space);
		assert_ptr_equal(ops->find_returned(&f.space, SLOT), f.ri);
		returns_free(f.ps);
		plant_space_free(&f.space);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_in_stack),
		cmocka_unit_test(test_in_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
