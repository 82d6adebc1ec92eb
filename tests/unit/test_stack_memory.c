/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory of a stack that ends soon: what is there is read, and nobody looks for why there is no
 * more (mem_read() does, in the process's mappings, and finds pages that are only writable).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/page.h"
#include "engine/stack/memory.h"
#include "engine/trace/mem.h"


static struct stack_memory memory;

/* Two pages to read, one with @prot behind them. */
static uint8_t *map(int prot)
{
	uint8_t *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < 3 * PAGE; i++)
		at[i] = (uint8_t)(i / 16);
	assert_int_equal(mprotect(at + 2 * PAGE, PAGE, prot), 0);
	return at;
}

static void end_is_near(void **state)
{
	static const int prots[] = { PROT_NONE, PROT_WRITE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *at = map(prots[i]), word[8];
		uint64_t vaddr = (uintptr_t)at;

		stack_memory_begin(&memory, NULL, getpid(), vaddr + PAGE - 64);
		assert_int_equal(memory.windows[memory.last].len, PAGE + 64);
		assert_true(stack_memory_read(&memory, vaddr + 2 * PAGE - 8, word, 8));
		assert_memory_equal(word, at + 2 * PAGE - 8, 8);
		assert_int_equal(memory.n_reads, 1);
		assert_false(stack_memory_read(&memory, vaddr + 2 * PAGE - 4, word, 8));
		assert_false(stack_memory_read(&memory, vaddr + 2 * PAGE, word, 8));
		assert_true(stack_memory_read(&memory, vaddr, word, 8));
		assert_memory_equal(word, at, 8);
		assert_int_equal(munmap(at, 3 * PAGE), 0);
	}
}

static void ahead(void **state)
{
	static uint8_t from[20 * PAGE], to[20 * PAGE];

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 >> 3);
	assert_int_equal(mem_read_ahead(NULL, getpid(), (uintptr_t)from + 5, to, 3), 3);
	assert_memory_equal(to, from + 5, 3);
	assert_int_equal(mem_read_ahead(NULL, getpid(), (uintptr_t)from + 5, to, 16 * PAGE),
			 16 * PAGE);
	assert_memory_equal(to, from + 5, 16 * PAGE);
	assert_int_equal(mem_read_ahead(NULL, getpid(), 8, to, 16), 0);
	assert_int_equal(mem_read_ahead(NULL, getpid(), UINT64_MAX - 4, to, 16), 0);
	assert_int_equal(mem_read_ahead(NULL, getpid(), (uintptr_t)from, to, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_is_near),
		cmocka_unit_test(ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
