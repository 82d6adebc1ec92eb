/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * rt_sigaction(SIGTRAP) as the guard keeps it for the program, through a call with
 * the hook in it, beside the kernel's for another signal.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "tests/unit/x86_area.h"

static void test_reach(void **state)
{
	static const uint64_t at = 0x7f0000000000, far = 0x100000000;
	const struct ubp_arch *arch = ubp_arch_by_name("x86_64");
	const uint8_t *call = arch->hook.calls[0];
	struct slot_code code;
	struct ubp_err err;
	uint8_t patch[16];
	int32_t rel;

	(void)state;
	ubp_err_reset(&err);
	assert_memory_equal(arch->hook.calls[0], "\xb8\x0d\x00\x00\x00\x0f\x05",
			    arch->hook.call_len);
	assert_int_equal(arch->hook.build(call, 7, at, at + 0x1000, at, patch, &code, &err), 0);
	assert_int_equal(arch->hook.patch_len, 5);
	assert_int_equal(patch[0], 0xe9);
	memcpy(&rel, patch + 1, sizeof(rel));
	assert_int_equal(rel, 0x1000 - 5);
	assert_true(code.len > 0 && code.len <= UBP_SLOT_SIZE);
	/* The slot from the call; the area may be anywhere. */
	assert_int_equal(arch->hook.build(call, 7, at, at + far, at + far, patch, &code, &err),
			 -ERANGE);
	assert_int_equal(arch->hook.build(call, 7, at, at - far, at - far, patch, &code, &err),
			 -ERANGE);
	assert_int_equal(arch->hook.build(call, 7, at, at, at + far, patch, &code, &err), 0);
}

#ifdef __x86_64__

#define N_ELEMS(a)    (sizeof(a) / sizeof((a)[0]))
#define RAW           __attribute__((noinline, no_sanitize("address", "undefined")))
#define NOT_A_HANDLER 0x1000 /* never called: from here on */

typedef int64_t sigaction_call(int64_t signo, const void *act, void *oact, uint64_t size);

/* mov %rcx,%r10; mov $13,%eax; syscall; ret: the sequence twice, hooked and as it is. */
static sigaction_call *hooked, *as_it_is;

static uint64_t plant_hook(uint64_t vaddr, unsigned which)
{
	uint32_t at = area_slot(0, "", 0);
	uint8_t patch[16];
	struct slot_code code;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(area_arch()->hook.build(area_arch()->hook.calls[which], 7, vaddr,
						 area_space.area[0] + at, area_space.area[0],
						 patch, &code, &err),
			 0);
	memcpy(area_space.area_rw[0] + at, code.code, code.len);
	area_text(vaddr - area_space.text, patch, area_arch()->hook.patch_len);
	return vaddr;
}

static int setup(void **state)
{
	static const uint8_t code[] = "\x49\x89\xca\xb8\x0d\x00\x00\x00\x0f\x05\xc3";

	(void)state;
	area_make(8);
	as_it_is = (sigaction_call *)area_text(0, code, sizeof(code) - 1);
	hooked = (sigaction_call *)area_text(0x40, code, sizeof(code) - 1);
	plant_hook((uint64_t)hooked + 3, 0);
	return 0;
}

static int teardown(void **state)
{
	struct kernel_action dfl = { 0 };

	(void)state;
	area_unmake();
	assert_int_equal(area_sigaction(SIGUSR1, &dfl, NULL), 0);
	return 0;
}

static struct kernel_action current(void)
{
	struct kernel_action act;

	memset(&act, 0x55, sizeof(act));
	assert_int_equal(hooked(SIGTRAP, NULL, &act, 8), 0);
	return act;
}

static void assert_same(const struct kernel_action *a, const struct kernel_action *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

/* --- one at a time -------------------------------------------------------------------- */

static void test_set_get(void **state)
{
	struct kernel_action one = { 0x1111, SA_SIGINFO, 0x2222, 0x3333 };
	struct kernel_action two = { 0x4444, SA_NODEFER, 0x5555, 0x6666 };
	struct kernel_action act, old, kernels;

	(void)state;
	assert_int_equal(hooked(SIGTRAP, &one, NULL, 8), 0);
	act = current();
	one.mask &= ~0x40100ull; /* SIGKILL, SIGSTOP */
	assert_same(&act, &one);
	assert_int_equal(hooked(SIGTRAP, &two, &old, 8), 0);
	assert_same(&old, &one);
	act = two; /* the same place for both */
	assert_int_equal(hooked(SIGTRAP, &one, NULL, 8), 0);
	assert_int_equal(hooked(SIGTRAP, &act, &act, 8), 0);
	assert_same(&act, &one);
	act = current();
	two.mask &= ~0x40100ull;
	assert_same(&act, &two);
	assert_int_equal(hooked(SIGTRAP, NULL, NULL, 8), 0);
	/* The kernel knows of nothing. */
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &kernels), 0);
	assert_int_equal(kernels.handler,
			 area_space.area[0] + UBP_AREA_GUARD + area_arch()->guard.handler);
}

/* Another signal's goes to the kernel. */
static void test_other_signal(void **state)
{
	struct kernel_action act = { 0x1111, SA_SIGINFO, 0x2222, 0x333300 }, old, trap;

	(void)state;
	act.mask &= ~0x40100ull;
	assert_int_equal(hooked(SIGUSR1, &act, NULL, 8), 0);
	assert_int_equal(area_sigaction(SIGUSR1, NULL, &old), 0);
	assert_same(&old, &act);
	assert_int_equal(hooked(SIGUSR1, NULL, (void *)8, 8), -EFAULT);
	assert_int_equal(hooked(SIGKILL, &act, NULL, 8), -EINVAL);
	trap = current();
	assert_int_equal(trap.handler, 0);
}

/* The guard is not in force: straight to the kernel. */
static void test_retired(void **state)
{
	struct guard_head *head = (struct guard_head *)area_space.area_rw[0];
	struct kernel_action act = { (uint64_t)SIG_IGN, 0, 0, 0 }, old;

	(void)state;
	area_space.data->retired = 1;
	assert_int_equal(hooked(SIGTRAP, &act, &old, 8), 0);
	assert_int_equal(old.handler,
			 area_space.area[0] + UBP_AREA_GUARD + area_arch()->guard.handler);
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &act), 0);
	assert_int_equal(act.handler, (uint64_t)SIG_IGN);
	assert_int_equal(area_space.data->chain_at, 0);

	area_space.data->retired = 0;
	head->data = 0;
	assert_int_equal(hooked(SIGTRAP, &old, NULL, 8), 0);
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &act), 0);
	assert_int_equal(act.handler, old.handler);
}

/* What was found by other ways is set again: nothing changes, least of all to a ring. */
static void test_ours_again(void **state)
{
	struct kernel_action one = { 0x1111, SA_SIGINFO, 0x2222, 0 }, act;

	(void)state;
	assert_int_equal(hooked(SIGTRAP, &one, NULL, 8), 0);
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &act), 0);
	assert_int_equal(hooked(SIGTRAP, &act, &act, 8), 0);
	assert_same(&act, &one);
	act = current();
	assert_same(&act, &one);
}

/*
 * The guard is in force, but not the kernel's handler: a tracer died between the two, or the kernel has reset it. The call that sets
 * the program's puts the guard there, so that somebody calls what was set. One that asks changes nothing.
 */
static void test_not_there(void **state)
{
	struct kernel_action one = { 0x1111, SA_SIGINFO, 0x2222, 0x30 }, dfl = { 0 };
	struct kernel_action act, kernels, installed;

	(void)state;
	assert_int_equal(area_sigaction(SIGTRAP, &dfl, &installed), 0);
	act = current();
	assert_same(&act, &dfl);
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &kernels), 0);
	assert_same(&kernels, &dfl);
	assert_int_equal(hooked(SIGTRAP, &one, &act, 8), 0);
	assert_same(&act, &dfl);
	act = current();
	assert_same(&act, &one);
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &kernels), 0);
	assert_same(&kernels, &installed);
}

/* Registers and the red zone: only those that a system call changes. */
static void test_registers(void **state)
{
	static struct kernel_action act = { 0x1111, 0, 0, 0 }, old;
	static const uint8_t code[] = "\x48\x89\x5c\x24\xf8"         /* mov %rbx,-8(%rsp) */
				      "\x48\x89\x6c\x24\x80"         /* mov %rbp,-128(%rsp) */
				      "\xb8\x0d\x00\x00\x00\x0f\x05" /* the call */
				      "\x48\x8b\x5c\x24\xf8"         /* and back */
				      "\x48\x8b\x6c\x24\x80\xc3";
	static const int signals[] = { SIGTRAP, SIGUSR1 };
	struct area_regs in, out;
	uint64_t vaddr = area_text(0x100, code, sizeof(code) - 1) + 10, seed = 5;

	(void)state;
	plant_hook(vaddr, 0);
	for (unsigned round = 0; round < 8; round++) {
		for (size_t i = 0; i < sizeof(in) / 8; i++)
			((uint64_t *)&in)[i] = area_next(&seed);
		in.gpr[7] = (uint64_t)signals[round % 2];
		in.gpr[6] = round & 2 ? (uint64_t)&act : 0;
		in.gpr[2] = round & 4 ? (uint64_t)&old : 0;
		in.gpr[10] = 8;
		area_call(vaddr - 10, &in, &out);
		assert_int_equal(out.gpr[0], 0);
		assert_int_equal(out.gpr[1], vaddr + area_arch()->hook.call_len);
		assert_int_equal(out.gpr[11] & 0x202, 0x202); /* flags */
		in.gpr[0] = out.gpr[0];
		in.gpr[1] = out.gpr[1];
		in.gpr[4] = out.gpr[4];
		in.gpr[11] = out.gpr[11];
		assert_memory_equal(out.gpr, in.gpr, sizeof(in.gpr));
		assert_int_equal(out.flags & 0x400, in.flags & 0x400);
		assert_memory_equal(out.xmm, in.xmm, sizeof(in.xmm));
	}
}

/* --- beside the kernel ---------------------------------------------------------------- */

static uint8_t *edge; /* two pages, then nothing; the second one can only be read */

static void *place(uint64_t random, void *good)
{
	switch (random % 16) {
	case 0:
		return NULL;
	case 1:
		return (void *)8;
	case 2:
		return (void *)0xffff800000000000;
	case 3:
		return (void *)0x1234567890abcdef;
	case 4:
		return edge + 2 * PAGE - 32; /* just readable */
	case 5:
		return edge + 2 * PAGE - 8 - random / 16 % 24;
	case 6:
		return edge + PAGE - 32; /* just writable */
	case 7:
		return edge + PAGE - random / 16 % 32;
	case 8:
		return (uint8_t *)good + random / 16 % 8; /* where it is not aligned */
	default:
		return good;
	}
}

static struct kernel_action random_action(uint64_t *seed)
{
	struct kernel_action act;

	act.handler = area_next(seed) % 4; /* default, ignored, two handlers */
	if (act.handler > 1)
		act.handler += NOT_A_HANDLER;
	act.flags = area_next(seed);
	act.restorer = area_next(seed);
	act.mask = area_next(seed);
	return act;
}

RAW static void write_action(void *at, const struct kernel_action *act)
{
	/* Only where there is something to be read: a bad place is the call's to find. */
	if (!at || (syscall(SYS_rt_sigprocmask, 99, at, NULL, 8) < 0 && errno == EFAULT))
		return;
	if ((uint8_t *)at >= edge + PAGE - 31 && (uint8_t *)at < edge + 2 * PAGE)
		return;
	memcpy(at, act, sizeof(*act));
}

static void test_beside_kernel(void **state)
{
	static const uint64_t sizes[] = { 8, 8, 8, 8, 8, 8, 8, 4, 16, 0 };
	static uint8_t act_room[64], oact_room[64], ours[64];
	unsigned n_ok = 0, n_fault = 0;
	uint64_t seed = 1;

	(void)state;
	edge = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(edge != MAP_FAILED);
	assert_int_equal(mprotect(edge + PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(edge + 2 * PAGE, PAGE, PROT_NONE), 0);
	for (unsigned round = 0; round < 20000; round++) {
		struct kernel_action new = random_action(&seed), fill = random_action(&seed);
		struct kernel_action got, want;
		uint64_t size = sizes[area_next(&seed) % N_ELEMS(sizes)];
		void *act = place(area_next(&seed), act_room);
		void *room = area_next(&seed) % 8 ? oact_room : act_room;
		void *oact = place(area_next(&seed), room);
		int64_t rc;

		memset(edge + PAGE - 32, 0, 32); /* a fault may leave half of something */
		write_action(oact, &fill);
		write_action(act, &new);
		rc = hooked(SIGTRAP, act, oact, size);
		memcpy(ours, oact_room, sizeof(ours));
		memset(edge + PAGE - 32, 0, 32);
		write_action(oact, &fill);
		write_action(act, &new);
		if (as_it_is(SIGUSR1, act, oact, size) != rc)
			fail_msg("round %u: %lld", round, (long long)rc);
		if (rc == 0)
			assert_memory_equal(ours, oact_room, sizeof(ours));
		got = current();
		assert_int_equal(area_sigaction(SIGUSR1, NULL, &want), 0);
		assert_same(&got, &want);
		n_ok += rc == 0;
		n_fault += rc == -EFAULT;
	}
	print_message("%u set or got, %u faults\n", n_ok, n_fault);
	assert_true(n_ok > 3000 && n_fault > 3000);
	munmap(edge, 3 * PAGE);
}

/* --- children --------------------------------------------------------------------------- */

/* A child that shares the memory resets its actions: its parent's stay. */
RAW static void test_vfork(void **state)
{
	static struct kernel_action one = { 0x1111, SA_SIGINFO, 0x2222, 0 }, dfl,
				    ignore = { 1, 0, 0, 0 };
	struct kernel_action act;
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(hooked(SIGTRAP, &one, NULL, 8), 0);
	pid = vfork();
	if (pid == 0)
		_exit(hooked(SIGTRAP, &dfl, NULL, 8) == 0 ? 7 : 8);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
	act = current();
	assert_same(&act, &one);
	/* The parent itself may. */
	assert_int_equal(hooked(SIGTRAP, &dfl, NULL, 8), 0);
	act = current();
	assert_same(&act, &dfl);
	assert_int_equal(hooked(SIGTRAP, &ignore, NULL, 8), 0);
	act = current();
	assert_same(&act, &ignore);
}

/* One that has its own memory has its own actions from the first it sets. */
static void test_fork(void **state)
{
	struct kernel_action one = { 0x1111, SA_SIGINFO, 0x2222, 0 };
	struct kernel_action two = { 0x3333, 0, 0, 0 }, dfl = { 0 }, act;
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(hooked(SIGTRAP, &one, NULL, 8), 0);
	pid = fork();
	if (pid == 0) {
		if (hooked(SIGTRAP, &two, &act, 8) || memcmp(&act, &one, sizeof(act)))
			_exit(1);
		if (hooked(SIGTRAP, &dfl, &act, 8) || memcmp(&act, &two, sizeof(act)))
			_exit(2);
		if (hooked(SIGTRAP, NULL, &act, 8) || memcmp(&act, &dfl, sizeof(act)))
			_exit(3);
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
	act = current();
	assert_same(&act, &one);
}

/* --- at once ----------------------------------------------------------------------------- */

#define SETTERS 4
#define SETS    50000

static bool setters_done;

/* An action all of whose words tell which it is. */
static struct kernel_action whole(uint64_t id)
{
	return (struct kernel_action){
		.handler = NOT_A_HANDLER + id,
		.flags = id & 7,
		.restorer = id * 3,
		.mask = id << 32,
	};
}

static bool is_whole(const struct kernel_action *act)
{
	struct kernel_action want = whole(act->handler - NOT_A_HANDLER);

	return memcmp(act, &want, sizeof(want)) == 0;
}

static void *set_many(void *arg)
{
	struct kernel_action old;

	for (uint64_t n = 0; n < SETS; n++) {
		struct kernel_action act = whole((uint64_t)arg + SETTERS * n);

		if (hooked(SIGTRAP, &act, n % 3 ? NULL : &old, 8) ||
		    (!(n % 3) && !is_whole(&old)))
			return "set";
	}
	return NULL;
}

static void *get_many(void *arg)
{
	struct kernel_action old;

	while (!__atomic_load_n(&setters_done, __ATOMIC_RELAXED))
		if (hooked(SIGTRAP, NULL, &old, 8) || !is_whole(&old))
			return "get";
	return arg;
}

static void test_at_once(void **state)
{
	static void *(*const run[])(void *) = { set_many, set_many, set_many,
						set_many, get_many, get_many };
	struct kernel_action first = whole(0);
	uint64_t before = area_space.data->chain_at;
	pthread_t threads[N_ELEMS(run)];
	void *failed;

	(void)state;
	assert_int_equal(hooked(SIGTRAP, &first, NULL, 8), 0);
	for (uint64_t i = 0; i < N_ELEMS(run); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run[i],
						i < SETTERS ? (void *)i : NULL),
				 0);
	for (unsigned i = 0; i < N_ELEMS(run); i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		if (failed)
			fail_msg("%s", (const char *)failed);
		if (i == SETTERS - 1)
			__atomic_store_n(&setters_done, true, __ATOMIC_RELAXED);
	}
	/* Each has changed it once. */
	assert_int_equal(area_space.data->chain_at - before, SETTERS * SETS + 1);
}

#define ROUNDS 20000

static pthread_barrier_t both;

static void *set_one_each(void *arg)
{
	for (uint64_t n = 0; n < ROUNDS; n++) {
		struct kernel_action act = whole(n), old;

		pthread_barrier_wait(&both);
		if (hooked(SIGTRAP, &act, &old, 8) || !is_whole(&old))
			arg = "set";
		pthread_barrier_wait(&both);
	}
	return arg;
}

/* As guard_uninstall() does it. */
static void take_guard_out(void)
{
	struct guard_data *data = area_space.data;
	uint64_t at = __atomic_load_n(&data->chain_at, __ATOMIC_SEQ_CST), now;
	struct kernel_action chain;

	memcpy(&chain, data->chain[at & 1], sizeof(chain));
	assert_int_equal(area_sigaction(SIGTRAP, &chain, NULL), 0);
	__atomic_store_n(&data->retired, 1, __ATOMIC_SEQ_CST);
	now = __atomic_load_n(&data->chain_at, __ATOMIC_SEQ_CST);
	if ((now ^ at) & 1) {
		memcpy(&chain, data->chain[now & 1], sizeof(chain));
		assert_int_equal(area_sigaction(SIGTRAP, &chain, NULL), 0);
	}
}

/* The program sets an action while the guard is taken out: it is the kernel's behind both, and the guard is not. */
static void test_taken_out(void **state)
{
	struct kernel_action act = whole(ROUNDS), installed, want;
	unsigned n_emulated = 0;
	pthread_t setter;
	void *failed;

	(void)state;
	assert_int_equal(area_sigaction(SIGTRAP, NULL, &installed), 0);
	assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
	assert_int_equal(hooked(SIGTRAP, &act, NULL, 8), 0);
	assert_int_equal(pthread_create(&setter, NULL, set_one_each, NULL), 0);
	for (uint64_t n = 0; n < ROUNDS; n++) {
		uint64_t at = area_space.data->chain_at;

		pthread_barrier_wait(&both);
		take_guard_out();
		pthread_barrier_wait(&both);
		assert_int_equal(area_sigaction(SIGTRAP, &installed, &act), 0);
		want = whole(n);
		assert_same(&act, &want);
		n_emulated += area_space.data->chain_at != at;
		memcpy(area_space.data->chain[area_space.data->chain_at & 1], &act,
		       sizeof(act));
		area_space.data->retired = 0;
	}
	assert_int_equal(pthread_join(setter, &failed), 0);
	if (failed)
		fail_msg("%s", (const char *)failed);
	pthread_barrier_destroy(&both);
	print_message("%u of %u by the guard\n", n_emulated, ROUNDS);
	assert_true(n_emulated > 0 && n_emulated < ROUNDS);
}

/* Another setter never comes to its end: a thread that is not there after a fork(). */
static void test_left_behind(void **state)
{
	static const uint64_t others[] = { 1, 0 };
	struct kernel_action act, old;

	(void)state;
	for (unsigned i = 0; i < N_ELEMS(others); i++) {
		uint64_t pid = others[i] ? others[i] : (uint64_t)getpid();

		area_space.data->chain_at = pid << 32 | 0xffffffff; /* counts around */
		act = whole(40 + i);
		assert_int_equal(hooked(SIGTRAP, &act, NULL, 8), 0);
		assert_int_equal(area_space.data->chain_at, 0);
		old = current();
		assert_same(&old, &act);
	}
}

/* --- masks ------------------------------------------------------------------------------ */

#define TRAP_BIT (1ULL << (SIGTRAP - 1))

static uint64_t real_mask(void)
{
	uint64_t mask = 0;

	assert_int_equal(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8), 0);
	return mask;
}

static void test_masks(void **state)
{
	/* mov %rcx,%r10; mov $14,%eax; syscall; ret */
	static const uint8_t code[] = "\x49\x89\xca\xb8\x0e\x00\x00\x00\x0f\x05\xc3";
	const uint64_t usr = 1ULL << (SIGUSR1 - 1), hup = 1ULL << (SIGHUP - 1);
	uint64_t before = real_mask(), set, old;
	sigaction_call *procmask;

	(void)state;
	procmask = (sigaction_call *)area_text(0x80, code, sizeof(code) - 1);
	plant_hook((uint64_t)procmask + 3, 2);
	set = TRAP_BIT | usr;
	assert_int_equal(procmask(SIG_BLOCK, &set, &old, 8), 0);
	assert_int_equal(old, before);
	assert_int_equal(set, TRAP_BIT | usr);
	assert_int_equal(real_mask(), before | usr);
	set = TRAP_BIT | hup;
	assert_int_equal(procmask(SIG_SETMASK, &set, NULL, 8), 0);
	assert_int_equal(real_mask(), hup);
	/* Nothing to leave out: as the kernel does it, errors too. */
	set = usr;
	assert_int_equal(procmask(SIG_SETMASK, &set, &old, 8), 0);
	assert_int_equal(old, hup);
	assert_int_equal(procmask(SIG_BLOCK, NULL, &old, 8), 0);
	assert_int_equal(old, usr);
	set = TRAP_BIT | usr;
	assert_int_equal(procmask(SIG_UNBLOCK, &set, NULL, 8), 0);
	assert_int_equal(real_mask(), 0);
	assert_int_equal(procmask(99, &set, NULL, 8), -EINVAL);
	assert_int_equal(procmask(99, (void *)8, NULL, 8), -EFAULT);
	set = TRAP_BIT;
	assert_int_equal(procmask(SIG_BLOCK, &set, NULL, 7), -EINVAL);
	assert_int_equal(procmask(SIG_SETMASK, &before, NULL, 8), 0);
	assert_int_equal(real_mask(), before);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reach),
#ifdef __x86_64__
		TEST(test_set_get),           TEST(test_other_signal), TEST(test_masks),
		TEST(test_retired),           TEST(test_ours_again),   TEST(test_registers),
		TEST(test_beside_kernel),     TEST(test_vfork),        TEST(test_fork),
		TEST(test_at_once),           TEST(test_left_behind),  TEST(test_not_there),
		TEST(test_taken_out),
#endif
	};

	return cmocka_run_group_tests_name("x86_sigaction", tests, NULL, NULL);
}
