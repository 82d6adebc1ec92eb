/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Chains of tail calls in the table of replaced return addresses (struct guard_hijack), in this process's own memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/ops.h"
#include "engine/space/hijack_part.h"
#include "engine/space/undo.h"
#include "engine/trace/mem.h"

#define N    1024 /* entries are looked through so many at once */
#define OURS UINT64_C(0x7000000)
#define REAL UINT64_C(0x401234)
#define BACK UINT64_C(0x7100040)

static struct guard_hijack table[N];
static uint64_t stack[8];
static struct plant_space ps;
static struct space_hijacks hijacks;
static struct space space;

static uint64_t word(void)
{
	return (uintptr_t)&stack[4];
}

/* The first entry that is looked at. */
#define HOME (UBP_HIJACK_INDEX(word(), space.arch->addr_size) % N)

/* That of the word, or of a level of it; its place is @behind the first one that is looked at. */
static struct guard_hijack *entry_at(unsigned level, unsigned behind)
{
	struct guard_hijack *entry = &table[(HOME + behind) % N];

	*entry = (struct guard_hijack){ word() + level, REAL, BACK + 64 * level, 1000 + level };
	return entry;
}

/* The word's function has been left for another one, and that for a third; a fourth was left by longjmp(). */
static void make_chain(void)
{
	entry_at(0, 0)->back += 2;
	entry_at(2, 1);
	*entry_at(0, 2) = (struct guard_hijack){ word() + 8, 0, BACK, 0 };
	entry_at(1, 3);
	entry_at(3, 4);
	stack[4] = OURS;
}

static int start(void **state)
{
	struct ubp_err err;

	(void)state;
	memset(table, 0, sizeof(table));
	memset(stack, 0, sizeof(stack));
	memset(&ps, 0, sizeof(ps));
	memset(&space, 0, sizeof(space));
	hijacks = (struct space_hijacks){ .table = (uintptr_t)table,
					  .mask = N - 1,
					  .code_vaddr = OURS };
	ps.hijack = &hijacks;
	space.plant = &ps;
	space.arch = ubp_arch_by_name("x86_64");
	ubp_err_reset(&err);
	return mem_open(&space.mem, getpid(), &err);
}

static int stop(void **state)
{
	(void)state;
	mem_close(&space.mem);
	return 0;
}

static unsigned n_in_use(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < N; i++)
		n += table[i].real != 0;
	return n;
}

static void is_read(void **state)
{
	struct guard_hijack first;
	struct hijack_chain chain;
	uint64_t at;

	(void)state;
	make_chain();
	first = hijack_find(&space, word(), &at);
	assert_int_equal(at, (uintptr_t)&table[HOME]);
	hijack_read_chain(&ps, &space, &first, &chain);
	assert_int_equal(chain.n, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(chain.level[i].entry.word, word() + i + 1);
		assert_memory_equal((void *)(uintptr_t)chain.level[i].vaddr,
				    &chain.level[i].entry, sizeof(first));
	}
	for (unsigned i = 3; i < UBP_CHAIN_MAX; i++)
		assert_int_equal(chain.level[i].entry.word, 0);
	/* In 32 bits the words are closer. */
	space.arch = ubp_arch_by_name("i386");
	memset(table, 0, sizeof(table));
	make_chain();
	first = hijack_find(&space, word(), &at);
	hijack_read_chain(&ps, &space, &first, &chain);
	assert_int_equal(chain.level[2].entry.word, word() + 3);
	assert_true(hijack_is_level(&space, word() + 3));
	assert_false(hijack_is_level(&space, word() + 4));
}

static void is_dropped(void **state)
{
	(void)state;
	make_chain();
	(void)hijack_drop(&space, 0, word());
	assert_int_equal(n_in_use(), 0);
	assert_int_equal(stack[4], OURS);
}

static void is_put_back(void **state)
{
	struct plant_left left = { 0 };

	(void)state;
	make_chain();
	return_ops(&space)->put_back_hijacks(&ps, &space, 0, &left);
	assert_int_equal(n_in_use(), 0);
	assert_int_equal(stack[4], REAL);
	assert_int_equal(table[HOME].time, REAL ^ UBP_GIVEN_BACK);
	assert_int_equal(left.n, 0);
}

/* Who comes back with the stack that was copied away goes all of the way. */
static void stays(void **state)
{
	struct plant_left left = { 0 };

	(void)state;
	make_chain();
	stack[4] = REAL + 1;
	return_ops(&space)->put_back_hijacks(&ps, &space, 0, &left);
	assert_int_equal(n_in_use(), 4);
	assert_int_equal(stack[4], REAL + 1);
}

/* Nobody returns by a level whose word is over. */
static void is_left_alone(void **state)
{
	struct plant_left left = { 0 };

	(void)state;
	make_chain();
	table[HOME].real = 0;
	stack[4] = REAL + 1;
	return_ops(&space)->put_back_hijacks(&ps, &space, 0, &left);
	assert_int_equal(n_in_use(), 0);
	assert_int_equal(stack[4], REAL + 1);
}

/* Of a function in a chain, which is over, while those before it are not. */
static void tells_durations(void **state)
{
	(void)state;
	make_chain();
	assert_int_equal(hijack_duration(&space, word() + 8, BACK + 128), 0);
	entry_at(2, 1)->real = 0;
	assert_int_equal(hijack_duration(&space, word() + 8, BACK + 128), 1002);
	assert_int_equal(hijack_duration(&space, word() + 8, BACK + 64), 0);
	entry_at(1, 3)->real = 0;
	assert_int_equal(hijack_duration(&space, word() + 8, BACK + 64), 1001);
	entry_at(0, 0)->real = 0;
	assert_int_equal(hijack_duration(&space, word() + 8, BACK), 1000);
	/* It took arguments off. */
	assert_int_equal(hijack_duration(&space, word() + 24, BACK + 64), 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_read, start, stop),
		cmocka_unit_test_setup_teardown(is_dropped, start, stop),
		cmocka_unit_test_setup_teardown(is_put_back, start, stop),
		cmocka_unit_test_setup_teardown(stays, start, stop),
		cmocka_unit_test_setup_teardown(is_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(tells_durations, start, stop),
	};

	return cmocka_run_group_tests_name("hijack_chain", tests, NULL, NULL);
}
