/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The remote-call stub of arm64, the return trampoline, and the jumps from system calls that change
 * signal actions: what they consist of on every host, and the stub run on arm64.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/stub.h"
#include "arch/guard.h"
#include "engine/base/err.h"

#define SIGTRAP_BIT 0x10

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint32_t half_at(const uint8_t *at)
{
	uint32_t half;

	memcpy(&half, at, sizeof(half));
	return half;
}

static void make_regs(struct ubp_regs *ret_regs)
{
	memset(ret_regs, 0, sizeof(*ret_regs));
	for (size_t r = 0; r < ARM64_N_REGS; r++)
		ret_regs->r[r] = 0x1000 + r;
	ret_regs->r[ARM64_SP] = 0x7ffe1008;
}

static struct arm64_more *make_more(struct ubp_more *more, uint16_t vl)
{
	struct arm64_more *m = (struct arm64_more *)more->bytes;

	memset(more, 0, sizeof(*more));
	more->is_known = true;
	m->mask = 0xf0f0 | SIGTRAP_BIT;
	for (size_t i = 0; i < sizeof(m->fp.v); i++)
		((uint8_t *)m->fp.v)[i] = (uint8_t)(i * 7);
	m->fp.fpsr = 0x10;
	m->fp.fpcr = 0x400000;
	if (!vl)
		return m;
	m->sve_len = 16 + 32u * vl + 17u * vl / 8 + 8;
	memcpy(m->sve + 8, &vl, sizeof(vl));
	for (size_t i = 16; i < m->sve_len; i++)
		m->sve[i] = (uint8_t)(i * 3);
	return m;
}

/* The kernel's way through the records of a frame: 0 or what it would refuse it for. */
static const char *parse(const uint8_t *frame, size_t len, uint64_t sp, uint16_t vl)
{
	const uint8_t *base = frame + 688, *at = base;
	size_t limit = 4096;
	bool vectors = false, sve = false, extra = false;

	for (;;) {
		uint32_t magic = half_at(at), size = half_at(at + 4);

		if ((size_t)(at - frame) + 16 > len)
			return "no end";
		if (magic == 0)
			break;
		if ((at - base) % 16 || size < 16 || size % 16 ||
		    (size_t)(at - base) + size > limit)
			return "a length";
		if (magic == 0x46508001) {
			vectors = size == 528;
		} else if (magic == 0x53564501) {
			sve = at[8] + at[9] * 256 == vl &&
			      size >= 16 + 32u * vl + 17u * vl / 8 &&
			      at[16] == (uint8_t)(16 * 3);
		} else if (magic == 0x45585401) {
			const uint8_t *end = at + size;

			if (size != 32 || extra || word_at(end) || word_at(end + 8))
				return "what is announced";
			if (word_at(at + 8) != sp + (uint64_t)(end + 16 - frame))
				return "where it is";
			extra = true;
			limit = half_at(at + 16);
			base = at = end + 16;
			continue;
		} else {
			return "a magic";
		}
		at += size;
	}
	if ((size_t)(at - frame) + 16 != len)
		return "its end";
	return vectors && sve == (vl != 0) ? NULL : "its registers";
}

static void test_frame(void **state)
{
	static const uint16_t vls[] = { 0, 16, 32, 64, 112, 128, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof(vls) / sizeof(vls[0]); i++) {
		uint8_t frame[UBP_STUB_FRAME_MAX];
		struct ubp_more more;
		struct ubp_regs regs;
		const char *why;
		uint64_t sp;
		size_t len;

		make_regs(&regs);
		make_more(&more, vls[i]);
		arch()->stub.frame(&regs, &more, frame, &len, &sp);
		assert_true(len <= sizeof(frame));
		assert_int_equal(sp % 16, 0);
		assert_int_equal(sp + len, 0x7ffe1000);
		assert_int_equal(word_at(frame + 224 + 24), 3); /* no mode of sigaltstack() */
		assert_int_equal(word_at(frame + 224 + 40), 0xf0e0);
		for (size_t r = 0; r <= ARM64_PSTATE; r++)
			assert_int_equal(word_at(frame + 408 + 8 * r), regs.r[r]);
		why = parse(frame, len, sp, vls[i]);
		if (why)
			fail_msg("vectors of %u bytes: %s", vls[i], why);
	}
}

static void test_may_resume(void **state)
{
	static const uint8_t svc[8] = { 0x01, 0x00, 0x00, 0xd4 }, other[8] = { 0 };
	struct ubp_regs regs = { 0 };

	(void)state;
	regs.r[ARM64_X8] = 101;
	assert_true(arch()->call.may_resume(&regs, svc));
	assert_false(arch()->call.may_resume(&regs, other));
	regs.r[ARM64_X8] = 63; /* read() begins again as it was */
	assert_false(arch()->call.may_resume(&regs, svc));
}

static void test_trampoline(void **state)
{
	struct ubp_regs regs = { 0 };
	struct slot_code code;
	uint64_t to;

	(void)state;
	assert_int_equal(arch()->trampoline.build(&code), 0);
	assert_memory_equal(code.code, arch()->swbp.code, arch()->swbp.len);
	/* What follows leads into the guard's code. */
	assert_int_equal(half_at(code.code + 4) >> 26, 5);
	to = UBP_AREA_TRAMPOLINE + 4 + 4ULL * (half_at(code.code + 4) & 0x3ffffff);
	assert_in_range(to, UBP_AREA_GUARD, UBP_AREA_GUARD + arch()->guard.len - 4);
	regs.r[ARM64_PC] = 0x5000;
	arch()->trampoline.leave(&regs);
	assert_int_equal(half_at(code.code + (regs.r[ARM64_PC] - 0x5000)), 0xd65f03c0);
}

/* Where a b at @at, which will stand at @vaddr, leads. */
static uint64_t branch_to(const uint8_t *at, uint64_t vaddr)
{
	int64_t words = (int32_t)(half_at(at) << 6) >> 6;

	assert_int_equal(half_at(at) >> 26, 5);
	return vaddr + 4 * (uint64_t)words;
}

/* Where the instruction in front of the call is that is made with the number that comes first. */
static int call_at(const uint32_t *code, size_t n)
{
	size_t at = 0;

	return arch()->hook.call_at((const uint8_t *)code, n * 4, &at) ? (int)at : -1;
}

static void test_where_hooks_are(void **state)
{
	const uint32_t mask = 0xd28010e8, action = 0xd28010c8, any = 0xaa0703e6;
	const uint32_t str = 0xf90003e6; /* str x6, [sp] */
	/* glibc's posix_spawn() */
	const uint32_t spawn[] = { mask, 0xa90957f6, 0xa90a67f8, 0xb900b3e4, ARM64_SVC };
	/* b; bl; cbz x0; ret; adr x0; ldr x0, literal; mov x8, #1; ldr x8, [sp]; ldp x0, x8, [sp];
	 * str x0, [x8], #8; stxr w8, x0, [x1] */
	static const uint32_t not_between[] = { 0x14000002, 0x94000002, 0xb4000040, 0xd65f03c0,
						0x10000040, 0x58000040, 0xd2800028, 0xf94003e8,
						0xa94023e0, 0xf8008500, 0xc8087c20 };

	(void)state;
	assert_int_equal(call_at((uint32_t[]){ mask, ARM64_SVC }, 2), 0);
	assert_int_equal(call_at((uint32_t[]){ action, ARM64_SVC }, 2), 0);
	assert_int_equal(call_at((uint32_t[]){ any, ARM64_SVC }, 2), 0);
	assert_int_equal(call_at((uint32_t[]){ mask, str, ARM64_SVC }, 3), 4);
	assert_int_equal(call_at((uint32_t[]){ mask, str, ARM64_SVC }, 2), -1);
	assert_int_equal(call_at((uint32_t[]){ action, str, ARM64_SVC }, 3), -1);
	assert_int_equal(call_at((uint32_t[]){ any, str, ARM64_SVC }, 3), -1);
	assert_int_equal(call_at(spawn, 5), 12);
	for (size_t i = 0; i < sizeof(not_between) / sizeof(not_between[0]); i++)
		assert_int_equal(call_at((uint32_t[]){ mask, not_between[i], ARM64_SVC }, 3),
				 -1);
}

static void test_hooks(void **state)
{
	const uint64_t call = 0x40000000, slot = 0x43210000, area = 0x50000000;
	struct slot_code code;
	struct ubp_err err;
	uint8_t patch[8];

	(void)state;
	assert_int_equal(arch()->hook.patch_len, 4);
	for (unsigned i = 0; i <= arch()->hook.n_calls; i++) {
		static const uint32_t between[] = { 0xa90957f6, ARM64_SVC }; /* stp x22, x21 */
		const uint8_t *bytes = i < arch()->hook.n_calls ? arch()->hook.calls[i]
								: (const uint8_t *)between;

		assert_int_equal(
			arch()->hook.build(bytes, 8, call, slot, area, patch, &code, &err), 0);
		assert_int_equal(branch_to(patch, call), slot);
		assert_true(code.len <= UBP_SLOT_SIZE);
		/* It begins with what stood there, and ends behind the call. */
		assert_memory_equal(code.code, bytes, 4);
		assert_int_equal(branch_to(code.code + code.done_at, slot + code.done_at),
				 call + 8);
		assert_int_equal(arch()->hook.build(bytes, 8, call, call + 0x8000000, area,
						    patch, &code, &err),
				 -ERANGE);
	}
}

#ifdef __aarch64__

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/arm64_run.h"

#define STUB_AT (RUN_CODE + 0x1000)

static int pipe_fds[2];

/* As the tracer does it: frame into memory, registers. Its call: write(pipe, buffer, 1). */
static uint64_t send_to_stub(const struct run_regs *from, struct run_regs *ret_start)
{
	uint8_t frame[UBP_STUB_FRAME_MAX];
	struct ubp_regs regs = { 0 };
	struct ubp_more more;
	struct arm64_more *m = make_more(&more, 0);
	stack_t stack;
	uint64_t sp;
	size_t len;

	memcpy(regs.r, from->x, sizeof(from->x));
	regs.r[ARM64_SP] = from->sp;
	regs.r[ARM64_PC] = from->pc;
	regs.r[ARM64_PSTATE] = from->pstate;
	m->mask = 0;
	memcpy(m->fp.v, from->v, sizeof(m->fp.v));
	m->fp.fpsr = from->fpsr;
	m->fp.fpcr = 0;
	arch()->stub.frame(&regs, &more, frame, &len, &sp);
	/* The kernel passes over a mode that it does not know; an emulator of programs does not. */
	assert_int_equal(sigaltstack(NULL, &stack), 0);
	memcpy(frame + 224 + 16, &stack, sizeof(stack));
	frame[arch()->stub.buffer_at] = 'x';
	arch()->stub.args(
		SYS_write,
		(uint64_t[6]){ (uint64_t)pipe_fds[1], sp + arch()->stub.buffer_at, 1 }, frame);
	memcpy((void *)(uintptr_t)sp, frame, len);
	arch()->stub.regs(&regs, STUB_AT, sp);
	*ret_start = *from;
	memcpy(ret_start->x, regs.r, sizeof(ret_start->x));
	ret_start->sp = regs.r[ARM64_SP];
	ret_start->pc = regs.r[ARM64_PC];
	return sp;
}

static void test_run(void **state)
{
	static struct run_end end;

	(void)state;
	assert_int_equal(run_take_signals(), 0);
	run_write(STUB_AT, arch()->stub.code, arch()->stub.len);
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct run_regs before, start;
		char byte = 0;

		run_random(seed, &before);
		/* An emulator of programs reads as much as the kernel would have written. */
		before.sp = RUN_STACK + RUN_STACK_SIZE - 0x1400;
		before.pc = RUN_CODE;
		send_to_stub(&before, &start);
		run_code(&start, &end);
		assert_int_equal(end.signo, SIGTRAP);
		assert_int_equal(end.regs.pc, RUN_CODE);
		assert_int_equal(end.regs.sp, before.sp);
		assert_memory_equal(end.regs.x, before.x, sizeof(before.x));
		assert_memory_equal(end.regs.v, before.v, sizeof(before.v));
		assert_int_equal(end.regs.pstate & 0xf0000000, before.pstate & 0xf0000000);
		assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
		assert_int_equal(byte, 'x');
	}
}

static int setup(void **state)
{
	(void)state;
	return pipe2(pipe_fds, 04000 /* O_NONBLOCK */) < 0 ? -1 : run_begin(NULL, 0);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_may_resume),
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_where_hooks_are),
		cmocka_unit_test(test_hooks),
#ifdef __aarch64__
		cmocka_unit_test_setup(test_run, setup),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
