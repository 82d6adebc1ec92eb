/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The remote-call stub and the return trampoline: frames on every host, and run in
 * this process on x86-64.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

static int reg(const char *name)
{
	return arch()->reg.by_name(name, strlen(name));
}

static uint64_t frame_word(const uint8_t *frame, size_t at)
{
	uint64_t word;

	memcpy(&word, frame + at, sizeof(word));
	return word;
}

struct restart {
	const char *what;
	int64_t orig_ax, ax;
	int64_t want_ax;
	bool rewound;
};

static const struct restart restarts[] = {
	{ "not in a system call", -1, -512, -512, false },
	{ "not in one, as a 32-bit -1", 0xffffffff, -512, -512, false },
	{ "ERESTARTSYS", 0, -512, 0, true },
	{ "ERESTARTNOINTR", 202, -513, 202, true },
	{ "ERESTARTNOHAND", 34, -514, 34, true },
	{ "ERESTART_RESTARTBLOCK", 35, -516, 219, true },
	{ "EINTR stays", 232, -EINTR, -EINTR, false },
	{ "a result stays", 1, 17, 17, false },
	{ "another error stays", 1, -EAGAIN, -EAGAIN, false },
};

static void test_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++) {
		const struct restart *t = &restarts[i];
		uint8_t frame[UBP_STUB_FRAME_MAX];
		struct ubp_regs regs = { 0 };
		uint64_t sp;
		size_t len;

		for (size_t r = 0; r < arch()->reg.n; r++)
			regs.r[r] = 0x1000 + r;
		regs.r[reg("orig_ax")] = (uint64_t)t->orig_ax;
		regs.r[reg("ax")] = (uint64_t)t->ax;
		regs.r[reg("ip")] = 0x401002;
		regs.r[reg("sp")] = 0x7ffe1000;
		arch()->stub.frame(&regs, NULL, frame, &len, &sp);
		assert_int_equal(len, 176);
		assert_int_equal(sp, 0x7ffe1000 - 128 - 176);
		if (frame_word(frame, 152) != (uint64_t)t->want_ax)
			fail_msg("%s: rax %lld", t->what, (long long)frame_word(frame, 152));
		assert_int_equal(frame_word(frame, 168), t->rewound ? 0x401000 : 0x401002);
		assert_int_equal(frame_word(frame, 88), regs.r[reg("r9")]);
		assert_int_equal(frame_word(frame, 144), regs.r[reg("cx")]);
		assert_int_equal(frame_word(frame, 160), regs.r[reg("flags")]);
	}
}

static void test_regs(void **state)
{
	struct ubp_regs regs = { 0 };

	(void)state;
	regs.r[reg("flags")] = 0x200746; /* TF, DF, and others that stay */
	regs.r[reg("orig_ax")] = 7;
	regs.r[reg("bx")] = 99;
	arch()->stub.regs(&regs, 0x1234, 0x5678);
	assert_int_equal(regs.r[arch()->reg.pc], 0x1234);
	assert_int_equal(regs.r[arch()->reg.sp], 0x5678);
	assert_int_equal(regs.r[reg("orig_ax")], UINT64_MAX);
	assert_int_equal(regs.r[reg("flags")], 0x200246);
	assert_int_equal(regs.r[reg("bx")], 99);
	regs.r[reg("ax")] = (uint64_t)-22;
	assert_int_equal(arch()->call.result(&regs), -22);
}

#ifdef __x86_64__

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "tests/unit/x86_run.h"

/* The indexes are those of ptrace. */
#define IS(name, field)                                                                        \
	assert_int_equal(reg(name), offsetof(struct user_regs_struct, field) / 8)

static void test_indexes(void **state)
{
	(void)state;
	IS("ax", rax);
	IS("bx", rbx);
	IS("cx", rcx);
	IS("dx", rdx);
	IS("si", rsi);
	IS("di", rdi);
	IS("bp", rbp);
	IS("sp", rsp);
	IS("r8", r8);
	IS("r9", r9);
	IS("r10", r10);
	IS("r11", r11);
	IS("r12", r12);
	IS("r13", r13);
	IS("r14", r14);
	IS("r15", r15);
	IS("ip", rip);
	IS("flags", eflags);
	IS("cs", cs);
	IS("ss", ss);
	IS("orig_ax", orig_rax);
	assert_int_equal(arch()->reg.n, sizeof(struct user_regs_struct) / 8);
}

#define STUB_AT RUN_SLOT

static int pipe_fds[2];

/* The thread's registers when it is stopped at RUN_CODE, where exit 0 stands. */
static void stopped_at_exit(const struct run_regs *r, struct ubp_regs *ret)
{
	static const char *const names[16] = { "ax",  "cx",  "dx",  "bx", "sp",  "bp",
					       "si",  "di",  "r8",  "r9", "r10", "r11",
					       "r12", "r13", "r14", "r15" };

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < 16; i++)
		ret->r[reg(names[i])] = r->gpr[i];
	ret->r[reg("flags")] = r->flags;
	ret->r[reg("ip")] = RUN_CODE;
	ret->r[reg("orig_ax")] = UINT64_MAX;
}

/* As the tracer does it: frame into memory, registers. Its call: write(pipe, buffer, 1). */
static void send_to_stub(struct ubp_regs *regs)
{
	uint8_t frame[UBP_STUB_FRAME_MAX];
	uint64_t sp;
	size_t len;

	arch()->stub.frame(regs, NULL, frame, &len, &sp);
	arch()->stub.args(
		SYS_write,
		(uint64_t[6]){ (uint64_t)pipe_fds[1], sp + arch()->stub.buffer_at, 1 }, frame);
	frame[arch()->stub.buffer_at] = 'x';
	run_write(sp, frame, len);
	arch()->stub.regs(regs, STUB_AT, sp);
}

static void to_run(const struct ubp_regs *regs, struct run_regs *ret)
{
	static const char *const names[16] = { "ax",  "cx",  "dx",  "bx", "sp",  "bp",
					       "si",  "di",  "r8",  "r9", "r10", "r11",
					       "r12", "r13", "r14", "r15" };

	for (size_t i = 0; i < 16; i++)
		ret->gpr[i] = regs->r[reg(names[i])];
	ret->flags = regs->r[reg("flags")];
}

/* Enters the stub once more at step .at, as a tracer may while the thread is in it. */
struct reentry {
	unsigned n, at;
};

static void reenter(struct ubp_regs *regs, void *arg)
{
	struct reentry *r = arg;

	if (r->n++ == r->at)
		send_to_stub(regs);
	regs->r[reg("flags")] |= 0x100; /* go on stepping */
}

static unsigned calls_made(void)
{
	char bytes[64];
	ssize_t n = read(pipe_fds[0], bytes, sizeof(bytes));

	for (ssize_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], 'x');
	return n < 0 ? 0 : (unsigned)n;
}

static void run_stub(uint64_t seed, struct reentry *again)
{
	static struct run_end end;
	struct run_regs before, start;
	struct ubp_regs regs;
	uint8_t stack[RUN_STACK_SIZE];
	size_t below;

	run_plant_exit(RUN_CODE, 0);
	run_write(STUB_AT, arch()->stub.code, arch()->stub.len);
	run_random(seed, &before);
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	stopped_at_exit(&before, &regs);
	send_to_stub(&regs);
	to_run(&regs, &start);
	run_code(STUB_AT, &start, seed, again ? reenter : NULL, again, &end);

	assert_int_equal(end.exit, 0);
	assert_memory_equal(end.regs.gpr, before.gpr, sizeof(before.gpr));
	assert_int_equal(end.regs.flags, before.flags & 0xcd5);
	below = before.gpr[SP] - 128 - RUN_STACK; /* the red zone is untouched */
	assert_memory_equal(end.stack + below, stack + below, sizeof(stack) - below);
}

static void test_stub(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		run_stub(seed, NULL);
		assert_int_equal(calls_made(), 1);
	}
}

static void test_stub_reentered(void **state)
{
	unsigned n_steps = 0;

	(void)state;
	for (unsigned at = 0; at == 0 || at < n_steps; at++) {
		struct reentry again = { .at = at };

		run_stub(at, &again);
		if (at == 0)
			n_steps = again.n / 2 - 1; /* it ran twice */
		/* Behind its system call the first has made its call already. */
		assert_int_equal(calls_made(), 2);
	}
	assert_true(n_steps > 15);
}

#define STEPS 3

/* write(fd, buffer, count), the result of each to be the count of the next. */
static void lay_out_steps(uint64_t frame, const int *fds, struct ubp_stub_step *steps,
			  uint64_t *ret_at)
{
	uint64_t at = frame - STEPS * sizeof(*steps);

	for (size_t i = 0; i < STEPS; i++)
		steps[i] = (struct ubp_stub_step){
			.nr = SYS_write,
			.args = { (uint64_t)fds[i], frame + arch()->stub.buffer_at,
				  i ? 99 : 1 },
			.to = at + i * sizeof(*steps) +
			      (i + 1 < STEPS ? sizeof(*steps) +
						       offsetof(struct ubp_stub_step, args[2])
					     : offsetof(struct ubp_stub_step, result)),
			.frame = frame,
		};
	*ret_at = at;
}

/* How many bytes were written, the frame's own call included. */
static unsigned run_batch(uint64_t seed, const int *fds, struct ubp_stub_step *ret_steps)
{
	static struct run_end end;
	const struct arch_batch *batch = &arch()->stub.batch;
	struct run_regs before, start;
	struct ubp_regs regs;
	uint8_t stack[RUN_STACK_SIZE];
	uint64_t at;
	size_t below;

	run_plant_exit(RUN_CODE, 0);
	run_write(STUB_AT, batch->code, batch->len);
	run_random(seed, &before);
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	stopped_at_exit(&before, &regs);
	send_to_stub(&regs);
	lay_out_steps(regs.r[arch()->reg.sp], fds, ret_steps, &at);
	run_write(at, ret_steps, STEPS * sizeof(*ret_steps));
	arch()->stub.regs(&regs, STUB_AT, at);
	to_run(&regs, &start);
	run_code(STUB_AT, &start, seed, NULL, NULL, &end);

	assert_int_equal(end.exit, 0);
	assert_memory_equal(end.regs.gpr, before.gpr, sizeof(before.gpr));
	assert_int_equal(end.regs.flags, before.flags & 0xcd5);
	below = before.gpr[SP] - 128 - RUN_STACK; /* the red zone is untouched */
	assert_memory_equal(end.stack + below, stack + below, sizeof(stack) - below);
	memcpy(ret_steps, end.stack + (at - RUN_STACK), STEPS * sizeof(*ret_steps));
	return calls_made();
}

static void test_batch(void **state)
{
	const struct arch_batch *batch = &arch()->stub.batch;
	struct ubp_stub_step steps[STEPS];

	(void)state;
	assert_memory_equal(batch->code + batch->made - 2, "\x0f\x05", 2);
	assert_memory_equal(batch->code + batch->end - 2, "\x0f\x05", 2);
	for (uint64_t seed = 0; seed < 50; seed++) {
		const int fds[STEPS] = { pipe_fds[1], pipe_fds[1], pipe_fds[1] };

		/* Each result is the next one's count. */
		assert_int_equal(run_batch(seed, fds, steps), STEPS + 1);
		assert_int_equal(steps[1].args[2], 1);
		assert_int_equal(steps[2].args[2], 1);
		assert_int_equal(steps[2].result, 1);
	}
}

static void test_batch_fails(void **state)
{
	struct ubp_stub_step steps[STEPS];

	(void)state;
	for (unsigned bad = 0; bad < STEPS; bad++) {
		int fds[STEPS] = { pipe_fds[1], pipe_fds[1], pipe_fds[1] };
		uint64_t result;

		fds[bad] = -1;
		/* None behind it, but the frame's. */
		assert_int_equal(run_batch(bad, fds, steps), bad + 1);
		result = bad + 1 < STEPS ? steps[bad + 1].args[2] : steps[bad].result;
		assert_int_equal((int64_t)result, -EBADF);
		if (bad + 2 < STEPS)
			assert_int_equal(steps[bad + 2].args[2], 99);
	}
}

/* Argument registers and number as the stub's system call sees them. */
struct seen {
	bool was_there;
	struct ubp_regs regs;
};

static void look_at_syscall(struct ubp_regs *regs, void *arg)
{
	struct seen *seen = arg;

	if (regs->r[arch()->reg.pc] == STUB_AT + arch()->stub.syscall_end - 2) {
		seen->was_there = true;
		seen->regs = *regs;
	}
	regs->r[reg("flags")] |= 0x100;
}

static void test_arguments(void **state)
{
	static const char *const names[7] = { "ax", "di", "si", "dx", "r10", "r8", "r9" };
	static struct run_end end;
	uint8_t frame[56];
	struct run_regs before, start;
	struct seen seen = { 0 };
	struct ubp_regs regs;
	uint64_t args[6];

	(void)state;
	run_plant_exit(RUN_CODE, 0);
	run_write(STUB_AT, arch()->stub.code, arch()->stub.len);
	assert_memory_equal(arch()->stub.code + arch()->stub.syscall_end - 2, "\x0f\x05", 2);
	run_random(1, &before);
	stopped_at_exit(&before, &regs);
	send_to_stub(&regs);
	for (size_t i = 0; i < 6; i++)
		args[i] = 0xabcd000000000000 + i;
	arch()->stub.args(SYS_getpid, args, frame);
	run_write(regs.r[arch()->reg.sp], frame, sizeof(frame));
	to_run(&regs, &start);
	run_code(STUB_AT, &start, 1, look_at_syscall, &seen, &end);
	assert_int_equal(end.exit, 0);
	assert_true(seen.was_there);
	assert_int_equal(seen.regs.r[reg("ax")], SYS_getpid);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(seen.regs.r[reg(names[i + 1])], args[i]);
	assert_int_equal(calls_made(), 0);
}

/* A function returned to the trampoline; the tracer has written the real address back. */
static void test_return_trampoline(void **state)
{
	static struct run_end end;
	uint64_t to = RUN_CODE;
	struct run_regs before;
	struct slot_code code;

	(void)state;
	assert_int_equal(arch()->trampoline.build(&code), 0);
	assert_memory_equal(code.code, arch()->swbp.code, arch()->swbp.len);
	run_plant_exit(RUN_CODE, 0);
	run_write(RUN_SLOT, code.code, code.len);
	run_random(3, &before);
	run_write(before.gpr[SP] - 8, &to, sizeof(to));
	run_code(RUN_SLOT + arch()->swbp.pc_advance, &before, 3, NULL, NULL, &end);
	assert_int_equal(end.exit, 0);
	assert_memory_equal(end.regs.gpr, before.gpr, sizeof(before.gpr));
	/* Before that it is a breakpoint. */
	run_code(RUN_SLOT, &before, 3, NULL, NULL, &end);
	assert_int_equal(end.exit, -1);
	assert_int_equal(end.pc, RUN_SLOT + arch()->swbp.pc_advance);
}

static int setup(void **state)
{
	int rc = pipe2(pipe_fds, 04000 /* O_NONBLOCK */);

	return rc < 0 ? rc : run_init(state);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_regs),
#ifdef __x86_64__
		cmocka_unit_test_setup(test_indexes, setup),
		cmocka_unit_test(test_stub),
		cmocka_unit_test(test_stub_reentered),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_fails),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_return_trampoline),
#endif
	};

	return cmocka_run_group_tests_name("x86_stub", tests, NULL, NULL);
}
