/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard at work: the SIGTRAP handler is installed in this very process, and the breakpoints,
 * replaced return addresses and foreign traps that it meets are real ones.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#ifdef __aarch64__

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/arm64/decode.h"
#include "arch/guard.h"
#include "engine/base/err.h"

#define AREA_LEN 0x8000
#define TEXT     0x6000 /* of the "program", in the same mapping: a branch reaches it */
#define ENTRIES  8
#define SLOTS    (UBP_AREA_TABLE + ENTRIES * sizeof(struct guard_site))

/* What rt_sigaction() takes. */
struct action {
	uint64_t handler, flags, restorer, mask;
};

static uint8_t *area;
static struct guard_data *data;
static struct guard_return returns[1]; /* any stack word is found in it */
static const struct ubp_arch *arch;
static volatile int n_chained;

static long raw_action(const struct action *act, struct action *old)
{
	return syscall(SYS_rt_sigaction, SIGTRAP, act, old, 8);
}

static void on_trap(int sig, siginfo_t *si, void *uc)
{
	(void)si;
	(void)uc;
	n_chained += sig == SIGTRAP;
}

static void put(size_t at, const void *bytes, size_t len)
{
	memcpy(area + at, bytes, len);
	__builtin___clear_cache((char *)area + at, (char *)area + at + len);
}

static struct action own_action(void)
{
	uint64_t guard = (uint64_t)(uintptr_t)area + UBP_AREA_GUARD;

	return (struct action){ guard + arch->guard.handler, arch->guard.flags,
				guard + arch->guard.restorer, 0 };
}

static int setup(void **state)
{
	struct guard_head head = { .magic = UBP_GUARD_MAGIC,
				   .version = UBP_GUARD_VERSION,
				   .len = AREA_LEN,
				   .used = AREA_LEN,
				   .table_mask = ENTRIES - 1 };
	struct slot_code code;
	struct action own;

	(void)state;
	arch = ubp_arch_by_name("arm64");
	area = mmap(NULL, AREA_LEN + UBP_GUARD_DATA_LEN, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(area != MAP_FAILED);
	data = (struct guard_data *)(area + AREA_LEN);
	memset(returns, 0, sizeof(returns));
	head.data = (uint64_t)(uintptr_t)data;
	head.returns = (uint64_t)(uintptr_t)returns;
	data->owner = (uint64_t)getpid();
	arch->trampoline.build(&code);
	put(UBP_AREA_TRAMPOLINE, code.code, code.len);
	put(UBP_AREA_GUARD, arch->guard.code, arch->guard.len);
	own = own_action();
	memcpy(head.action, &own, sizeof(own));
	put(0, &head, sizeof(head));
	n_chained = 0;
	return raw_action(&own, NULL) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	const struct action none = { 0 };

	(void)state;
	(void)raw_action(&none, NULL);
	return munmap(area, AREA_LEN + UBP_GUARD_DATA_LEN);
}

static void enter(uint64_t vaddr, uint32_t slot)
{
	struct guard_site *table = (struct guard_site *)(area + UBP_AREA_TABLE);
	uint64_t i = guard_hash(vaddr) & (ENTRIES - 1);

	while (table[i].vaddr)
		i = (i + 1) & (ENTRIES - 1);
	table[i] = (struct guard_site){ .vaddr = vaddr, .slot = slot };
}

/* --- sites --------------------------------------------------------------------------- */

/* A breakpoint each, and a slot that tells its number: one entry of the table stays free. */
static void test_sites(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ENTRIES - 1; i++) {
		const uint32_t text[] = { ARM64_SWBP, ARM64_RET };
		/* mov x0, #i; ret */
		const uint32_t slot[] = { 0xd2800000 | i << 5, ARM64_RET };
		size_t at = TEXT + i * 64, slot_at = SLOTS + i * UBP_SLOT_SIZE;

		put(at, text, sizeof(text));
		put(slot_at, slot, sizeof(slot));
		enter((uint64_t)(uintptr_t)area + at, (uint32_t)slot_at);
	}
	for (uint32_t i = 0; i < ENTRIES - 1; i++) {
		uint64_t (*function)(void) =
			(uint64_t(*)(void))(uintptr_t)(area + TEXT + i * 64);

		assert_int_equal(function(), i);
	}
	assert_int_equal(n_chained, 0);
}

/* --- return addresses ---------------------------------------------------------------- */

/* Go to @trampoline with the stack word in the table; 1: it came to the real address, in x30. */
static long come_back(uint64_t trampoline, struct guard_return *entry)
{
	register long rc __asm__("x0") = 0;

	__asm__ volatile("	adr	x9, 1f\n"
			 "	str	x9, [%2, %3]\n"
			 "	mov	x10, sp\n"
			 "	str	x10, [%2]\n"
			 "	mov	x30, %1\n"
			 "	ret\n"
			 "1:	adr	x9, 1b\n"
			 "	cmp	x9, x30\n"
			 "	cset	x0, eq\n"
			 : "+r"(rc)
			 : "r"(trampoline), "r"(entry), "i"(offsetof(struct guard_return, real))
			 : "x9", "x10", "x16", "x17", "x30", "cc", "memory");
	return rc;
}

static void test_return(void **state)
{
	(void)state;
	assert_int_equal(
		come_back((uint64_t)(uintptr_t)area + UBP_AREA_TRAMPOLINE, &returns[0]), 1);
	assert_int_equal(n_chained, 0);
}

/* --- the program's own ----------------------------------------------------------------- */

static void test_chain(void **state)
{
	const struct action theirs = { (uint64_t)(uintptr_t)on_trap, SA_SIGINFO, 0, 0 };
	struct action now;

	(void)state;
	memcpy(data->chain[0], &theirs, sizeof(theirs));
	assert_int_equal(raise(SIGTRAP), 0);
	assert_int_equal(n_chained, 1);
	assert_int_equal(raw_action(NULL, &now), 0);
	assert_int_equal(now.handler, own_action().handler);
}

/* rt_sigaction(SIGTRAP) by way of a hook: the chain's business; others are the kernel's. */
static void test_emulate(void **state)
{
	const uint32_t text[] = { 0xd28010c8, ARM64_SVC, ARM64_RET }; /* mov x8, #134 */
	const struct action theirs = { (uint64_t)(uintptr_t)on_trap, SA_SIGINFO, 0, 0x200 };
	const uint64_t vaddr = (uint64_t)(uintptr_t)area + TEXT;
	long (*call)(int, const struct action *, struct action *, size_t) =
		(long (*)(int, const struct action *, struct action *, size_t))(uintptr_t)vaddr;
	struct action old, now;
	struct slot_code slot;
	uint8_t patch[ARM64_INSN];
	struct ubp_err err;

	(void)state;
	put(TEXT, text, sizeof(text));
	if (arch->hook.build(area + TEXT, sizeof(text), vaddr,
			     (uint64_t)(uintptr_t)area + SLOTS, (uint64_t)(uintptr_t)area,
			     patch, &slot, &err) < 0)
		fail_msg("%s", err.text);
	put(SLOTS, slot.code, slot.len);
	put(TEXT, patch, sizeof(patch));

	memset(&old, 0xff, sizeof(old));
	memset(&now, 0, sizeof(now));
	/* The guard is put there where the kernel has reset it. */
	assert_int_equal(raw_action(&now, NULL), 0);
	assert_int_equal(call(SIGTRAP, &theirs, &old, 8), 0);
	assert_int_equal(old.handler, 0);
	assert_memory_equal(data->chain[data->chain_at & 1], &theirs, sizeof(theirs));
	assert_int_equal(raw_action(NULL, &now), 0);
	assert_int_equal(now.handler, own_action().handler);
	assert_int_equal(raise(SIGTRAP), 0);
	assert_int_equal(n_chained, 1);
	assert_int_equal(call(SIGTRAP, NULL, &old, 8), 0);
	assert_int_equal(old.handler, theirs.handler);
	assert_int_equal(old.mask, theirs.mask);
	assert_int_equal(call(SIGTRAP, NULL, NULL, 7), -22);

	/* Another signal: as the kernel has it. */
	assert_int_equal(call(SIGUSR1, &theirs, NULL, 8), 0);
	assert_int_equal(call(SIGUSR1, NULL, &old, 8), 0);
	assert_int_equal(old.handler, theirs.handler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_return, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_emulate, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("this is not an arm64 machine");
	return 77;
}

#endif
