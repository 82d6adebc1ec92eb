/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What differs in 32-bit programs: instructions and their slots, the stub's frame, hooks, words
 * of 4 bytes. That slots do what their instructions do, tests/integ/i386.sh shows.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/guard.h"
#include "arch/x86/regs.h"
#include "engine/base/err.h"
#include "engine/base/probe_kind.h"
#include "tests/unit/fake_memory.h"
#include "tests/unit/probe_make.h"

extern const struct ubp_arch ubp_arch_i386;
static const struct ubp_arch *const arch = &ubp_arch_i386;

#define CODE 0x8049000u
#define SLOT 0xf7001000u

/* --- instructions ---------------------------------------------------------------- */

static const struct {
	const char *what;
	uint8_t code[UBP_INSN_MAX];
	uint8_t len; /* 0: must be refused */
	enum insn_leave leave;
	uint16_t pops;
	uint32_t target;
} insns[] = {
	{ "inc %ecx", { 0x41 }, 1, LEAVE_NOT, 0, 0 },
	{ "dec %edi", { 0x4f }, 1, LEAVE_NOT, 0, 0 },
	{ "mov 0x12345678,%eax", { 0x8b, 0x05, 0x78, 0x56, 0x34, 0x12 }, 6, LEAVE_NOT, 0, 0 },
	{ "mov moffs,%eax", { 0xa1, 0x78, 0x56, 0x34, 0x12 }, 5, LEAVE_NOT, 0, 0 },
	{ "lds (%eax),%ebx", { 0xc5, 0x18 }, 2, LEAVE_NOT, 0, 0 },
	{ "les 4(%esp),%ebx", { 0xc4, 0x5c, 0x24, 0x04 }, 4, LEAVE_NOT, 0, 0 },
	{ "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, LEAVE_NOT, 0, 0 },
	{ "vpxor", { 0xc5, 0xf1, 0xef, 0xc9 }, 4, LEAVE_NOT, 0, 0 },
	{ "bound", { 0x62, 0x08 }, 2, LEAVE_NOT, 0, 0 },
	{ "lea 5(%bx,%si),%ax", { 0x67, 0x66, 0x8d, 0x40, 0x05 }, 5, LEAVE_NOT, 0, 0 },
	{ "lea 0x1234,%eax", { 0x67, 0x8d, 0x06, 0x34, 0x12 }, 5, LEAVE_NOT, 0, 0 },
	{ "push %ds", { 0x1e }, 1, LEAVE_NOT, 0, 0 },
	{ "daa", { 0x27 }, 1, LEAVE_NOT, 0, 0 },
	{ "aam", { 0xd4, 0x0a }, 2, LEAVE_NOT, 0, 0 },
	{ "pusha", { 0x60 }, 1, LEAVE_NOT, 0, 0 },
	{ "pushw $0x1234", { 0x66, 0x68, 0x34, 0x12 }, 4, LEAVE_NOT, 0, 0 },
	{ "int $0x80", { 0xcd, 0x80 }, 2, LEAVE_NOT, 0, 0 },
	{ "endbr32", { 0xf3, 0x0f, 0x1e, 0xfb }, 4, LEAVE_NOT, 0, 0 },
	{ "call", { 0xe8, 0xfb, 0xff, 0xff, 0xff }, 5, LEAVE_NOT, 0, CODE },
	{ "call, around", { 0xe8, 0x00, 0x00, 0x00, 0xf8 }, 5, LEAVE_NOT, 0, 0x0049005 },
	{ "call *%gs:16", { 0x65, 0xff, 0x15, 0x10 }, 7, LEAVE_NOT, 0, 0 },
	{ "ret", { 0xc3 }, 1, LEAVE_RET, 4, 0 },
	{ "ret $12", { 0xc2, 0x0c, 0x00 }, 3, LEAVE_RET, 16, 0 },
	{ "jmp", { 0xeb, 0xfe }, 2, LEAVE_JUMP, 0, CODE },
	{ "jne", { 0x0f, 0x85, 0x00, 0x01, 0x00, 0x00 }, 6, LEAVE_JUMP, 0, CODE + 0x106 },
	{ "jcxz", { 0x67, 0xe3, 0x10 }, 3, LEAVE_JUMP, 0, CODE + 0x13 },
	{ "jmp *table(,%ecx,4)", { 0xff, 0x24, 0x8d, 1, 2, 3, 4 }, 7, LEAVE_JUMP_TO, 0, 0 },
	{ "sysenter", { 0x0f, 0x34 }, 0, LEAVE_NOT, 0, 0 },
	{ "syscall", { 0x0f, 0x05 }, 0, LEAVE_NOT, 0, 0 },
	{ "int $0x81", { 0xcd, 0x81 }, 0, LEAVE_NOT, 0, 0 },
	{ "into", { 0xce }, 0, LEAVE_NOT, 0, 0 },
	{ "callw", { 0x66, 0xe8, 0x00, 0x00 }, 0, LEAVE_NOT, 0, 0 },
	{ "retw", { 0x66, 0xc3 }, 0, LEAVE_NOT, 0, 0 },
	{ "lcall", { 0x9a, 0, 0, 0, 0, 0x23, 0 }, 0, LEAVE_NOT, 0, 0 },
	{ "pop %ss", { 0x17 }, 0, LEAVE_NOT, 0, 0 },
};

static void test_insns(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		struct displaced_insn insn = { 0 };
		struct slot_code code;
		struct ubp_err err;
		int rc = arch->insn.analyze(insns[i].code, UBP_INSN_MAX, CODE, &insn, &err);

		if (rc != (insns[i].len ? 0 : -EOPNOTSUPP))
			fail_msg("%s: %d %s", insns[i].what, rc, rc ? err.text : "");
		if (rc < 0)
			continue;
		if (insn.len != insns[i].len || insn.leave != insns[i].leave ||
		    insn.ret_pops != insns[i].pops || insn.target != insns[i].target ||
		    insn.pc_relative || insn.bits != 32 ||
		    arch->insn.len(insns[i].code, UBP_INSN_MAX, CODE) != insn.len)
			fail_msg("%s: length %u, leave %d, pops %u, target 0x%llx",
				 insns[i].what, insn.len, (int)insn.leave, insn.ret_pops,
				 (unsigned long long)insn.target);
		/* Everything is in reach of everywhere. */
		assert_int_equal(arch->slot.build(&insn, SLOT, &code, &err), 0);
		assert_in_range(code.len, 1, UBP_SLOT_SIZE);
		assert_true((insn.kind == INSN_SKIP) == (insns[i].code[0] == 0xf3));
	}
}

static void test_slots(void **state)
{
	static const uint8_t call[] = { 0xe8, 0, 1, 0, 0 }, call_ind[] = { 0xff, 0x14, 0x24 };
	/* push $0x8049005; jmp 0x8049105 */
	static const uint8_t called[] = { 0x68, 0x05, 0x90, 0x04, 0x08,
					  0xe9, 0xfb, 0x80, 0x04, 0x11 };
	/* push (%esp); push (%esp); movl $0x8049003,4(%esp); ret */
	static const uint8_t called_ind[] = { 0xff, 0x34, 0x24, 0xff, 0x34, 0x24, 0xc7, 0x44,
					      0x24, 0x04, 0x03, 0x90, 0x04, 0x08, 0xc3 };
	static const struct {
		unsigned at, moved;
	} ind[] = { { 0, 0 }, { 3, 4 }, { 6, 8 }, { 14, 8 } };
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;

	(void)state;
	assert_int_equal(arch->insn.analyze(call, sizeof(call), CODE, &insn, &err), 0);
	assert_int_equal(arch->slot.build(&insn, SLOT, &code, &err), 0);
	assert_int_equal(code.len, sizeof(called));
	assert_memory_equal(code.code, called, sizeof(called));

	assert_int_equal(arch->insn.analyze(call_ind, sizeof(call_ind), CODE, &insn, &err), 0);
	assert_int_equal(arch->slot.build(&insn, SLOT, &code, &err), 0);
	assert_int_equal(code.len, sizeof(called_ind));
	assert_memory_equal(code.code, called_ind, sizeof(called_ind));
	for (size_t i = 0; i < sizeof(ind) / sizeof(ind[0]); i++) {
		struct ubp_regs regs = { 0 };

		regs.r[X86_IP] = SLOT + ind[i].at;
		regs.r[X86_SP] = 0x1000 - ind[i].moved;
		assert_true(arch->slot.leave(&insn, &code, SLOT, &regs) == (ind[i].at == 0));
		assert_int_equal(regs.r[X86_IP], CODE);
		assert_int_equal(regs.r[X86_SP], 0x1000);
	}
}

static void test_taken(void **state)
{
	static const uint8_t jecxz[] = { 0xe3, 0x10 }, jcxz[] = { 0x67, 0xe3, 0x10 };
	struct ubp_regs regs = { 0 };
	struct displaced_insn wide, half;
	struct ubp_err err;

	(void)state;
	assert_int_equal(arch->insn.analyze(jecxz, sizeof(jecxz), CODE, &wide, &err), 0);
	assert_int_equal(arch->insn.analyze(jcxz, sizeof(jcxz), CODE, &half, &err), 0);
	regs.r[X86_CX] = 0x10000;
	assert_false(arch->insn.is_taken(&wide, &regs));
	assert_true(arch->insn.is_taken(&half, &regs));
	regs.r[X86_CX] = 0x100000000; /* above what such a program has */
	assert_true(arch->insn.is_taken(&wide, &regs));
}

/* --- the stub, returns ----------------------------------------------------------- */

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static const struct {
	const char *what;
	int64_t orig_ax, ax;
	uint32_t want_ax;
	bool rewound;
} restarts[] = {
	{ "not in a system call", -1, -512, (uint32_t)-512, false },
	{ "not in a system call, as 32 bits", 0xffffffff, -512, (uint32_t)-512, false },
	{ "ERESTARTSYS", 3, -512, 3, true },
	{ "ERESTARTSYS, as 32 bits", 3, 0xfffffe00, 3, true },
	{ "ERESTARTNOHAND", 72, -514, 72, true },
	{ "ERESTART_RESTARTBLOCK", 162, -516, 0, true },
	{ "EINTR stays", 256, -EINTR, (uint32_t)-EINTR, false },
	{ "an address stays", 192, 0xf7001000, 0xf7001000, false },
};

static void test_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++) {
		uint8_t frame[UBP_STUB_FRAME_MAX];
		struct ubp_regs regs = { 0 };
		uint64_t sp;
		size_t len;

		for (size_t r = 0; r < arch->reg.n; r++)
			regs.r[r] = 0x1000 * (r + 1);
		regs.r[X86_ORIG_AX] = (uint64_t)restarts[i].orig_ax;
		regs.r[X86_AX] = (uint64_t)restarts[i].ax;
		arch->stub.frame(&regs, &(struct ubp_more){ 0 }, frame, &len, &sp);
		/*
		 * The stub's ret takes the rest off, and the words that a thread may just have
		 * returned by stay as they are.
		 */
		assert_int_equal(arch->stub.code[arch->stub.len - 3], 0xc2);
		assert_int_equal(sp + 124 + arch->stub.code[arch->stub.len - 2],
				 regs.r[X86_SP]);
		assert_true(sp + len + 68 <= regs.r[X86_SP]);
		assert_int_equal(word_at(frame + 88), regs.r[X86_BP]);
		assert_int_equal(word_at(frame + 112), restarts[i].want_ax);
		assert_int_equal(word_at(frame + 120),
				 regs.r[X86_IP] - (restarts[i].rewound ? 2 : 0));
	}
}

static void test_calls(void **state)
{
	const uint64_t args[6] = { 0xf0000000, 0x2000, 3, 0x22, UINT64_MAX, 0x5000 };
	struct ubp_regs regs = { 0 };
	uint8_t frame[56];

	(void)state;
	arch->stub.args((uint64_t)arch->call.nr_mmap, args, frame);
	assert_int_equal(word_at(frame), 192);
	assert_int_equal(word_at(frame + 8), 0xf0000000);
	assert_int_equal(word_at(frame + 40), UINT32_MAX);
	assert_int_equal(word_at(frame + 48), 5); /* pages */
	arch->call.enter(&regs, (uint64_t)arch->call.nr_mmap, args);
	assert_int_equal(regs.r[X86_BX], 0xf0000000);
	assert_int_equal(regs.r[X86_BP], 5);
	arch->call.enter(&regs, (uint64_t)arch->call.nr_munmap, args);
	assert_int_equal(regs.r[X86_BP], 0x5000);

	regs.r[X86_AX] = 0xf7001000; /* above 2 GiB: an address */
	assert_int_equal(arch->call.result(&regs), 0xf7001000);
	regs.r[X86_AX] = 0xffffffea;
	assert_int_equal(arch->call.result(&regs), -EINVAL);
	regs.r[X86_AX] = (uint64_t)-EINVAL;
	assert_int_equal(arch->call.result(&regs), -EINVAL);
}

static void test_return(void **state)
{
	struct ubp_regs regs = { 0 };
	struct slot_code code;

	(void)state;
	assert_int_equal(arch->trampoline.build(&code), 0);
	assert_int_equal(code.code[0], arch->swbp.code[0]);
	regs.r[X86_IP] = SLOT + arch->swbp.len;
	regs.r[X86_SP] = 0x1000;
	arch->trampoline.leave(&regs);
	/* The word below is on the stack now, and a ret takes it off. */
	assert_int_equal(regs.r[X86_SP], 0xffc);
	assert_int_equal(code.code[regs.r[X86_IP] - SLOT], 0xc3);
}

/* Who returns its return address must find the real one. */
static void test_return_places(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		bool refused;
	} places[] = {
		{ "\x8b\x1c\x24\xc3", 4, true },                 /* mov (%esp),%ebx */
		{ "\xf3\x0f\x1e\xfb\x8b\x04\x24\xc3", 8, true }, /* endbr32; mov (%esp),%eax */
		{ "\x8b\x1c\x24", 3, true },
		{ "\x8b\x1c", 2, false },
		{ "\xf3\x0f\x1e\xfb", 4, false },
		{ "\x89\x1c\x24\xc3", 4, false },         /* mov %ebx,(%esp) */
		{ "\x8b\x5c\x24\x04\xc3", 5, false },     /* mov 4(%esp),%ebx */
		{ "\x55\x89\xe5\x8b\x1c\x24", 6, false }, /* push %ebp; mov; mov (%esp),%ebx */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint8_t code[16] = { 0x90, 0x90 }; /* of another function */

		memcpy(code + 2, places[i].code, places[i].len);
		if ((arch->insn.refuse_return_at(code, 2 + places[i].len, 2, 2) != NULL) !=
		    places[i].refused)
			fail_msg("place %zu", i);
	}
}

/* Registers of the kernel's own list, and those that a 32-bit program has beside it. */
static void test_registers(void **state)
{
	(void)state;
	assert_int_equal(arch->reg.by_name("r8", 2), X86_R8);
	assert_int_equal(arch->reg.more_by_name("xmm7", 4), UBP_REG_VECTOR + 7);
	assert_int_equal(arch->reg.more_by_name("xmm8", 4), -1);
	assert_int_equal(arch->reg.more_by_name("xmm15", 5), -1);
	assert_int_equal(arch->reg.more_by_name("gs_base", 7), X86_GS_BASE);
}

/* --- the guard ------------------------------------------------------------------- */

static void test_action(void **state)
{
	uint64_t action[4] = { 0 };

	(void)state;
	arch->guard.pack_action(0xf7001180, 0x4c000004, 0xf70014d0, action);
	assert_int_equal(arch->guard.action_len, 20);
	assert_int_equal(word_at((uint8_t *)action), 0xf7001180);
	assert_int_equal(word_at((uint8_t *)action + 4), 0x4c000004);
	assert_int_equal(word_at((uint8_t *)action + 8), 0xf70014d0);
	assert_int_equal(word_at((uint8_t *)action + 12), 0);
	assert_int_equal(word_at((uint8_t *)action + 16), 0);
	assert_true(arch->unwind.is_sigreturn(arch->guard.code + arch->guard.restorer,
					      arch->guard.len - arch->guard.restorer));
}

static void test_hooks(void **state)
{
	/* glibc's: mov $174,%eax; mov $8,%esi; lea 16(%esp),%edx; call *%gs:16 */
	static const uint8_t glibc[] = { 0xb8, 0xae, 0,    0,    0,    0xbe, 8,
					 0,    0,    0,    0x8d, 0x54, 0x24, 0x10,
					 0x65, 0xff, 0x15, 0x10, 0,    0,    0 };
	static const uint8_t direct[] = {
		0xb8, 0xaf, 0, 0, 0, 0x65, 0xff, 0x15, 0x10, 0, 0, 0
	};
	static const uint8_t no_call[] = { 0xb8, 0xae, 0,    0, 0, 0xc3, 0x65,
					   0xff, 0x15, 0x10, 0, 0, 0 };
	static const uint8_t int80[] = { 0xb8, 0xae, 0, 0, 0, 0xcd, 0x80, 0xc3 };
	/* Go's: four arguments from the stack */
	static const uint8_t go[] = { 0xb8, 0xae, 0,    0,    0,  0x8b, 0x5c, 0x24,
				      4,    0x8b, 0x4c, 0x24, 8,  0x8b, 0x54, 0x24,
				      12,   0x8b, 0x74, 0x24, 16, 0xcd, 0x80 };
	static const uint8_t branch[] = { 0xb8, 0xae, 0, 0, 0, 0x74, 0, 0xcd, 0x80 };
	struct slot_code code;
	uint8_t patch[5], again[5];
	struct ubp_err err;
	size_t at;

	(void)state;
	assert_true(arch->hook.call_at(glibc, sizeof(glibc), &at) && at == 14);
	assert_false(arch->hook.call_at(glibc, sizeof(glibc) - 1, &at));
	assert_true(arch->hook.call_at(direct, sizeof(direct), &at) && at == 5);
	assert_false(arch->hook.call_at(no_call, sizeof(no_call), &at));
	assert_true(arch->hook.call_at(int80, sizeof(int80), &at) && at == 0);
	assert_false(arch->hook.call_at(int80, 6, &at));
	assert_true(arch->hook.call_at(go, sizeof(go), &at) && at == 0);
	assert_false(arch->hook.call_at(branch, sizeof(branch), &at));

	assert_int_equal(
		arch->hook.build(direct + 5, 7, CODE, SLOT, SLOT & ~0xfffu, patch, &code, &err),
		0);
	/* What stood there comes first, whole. */
	assert_memory_equal(code.code, direct + 5, 7);
	assert_int_equal(patch[0], 0xe9);
	assert_int_equal(CODE + 5 + word_at(patch + 1), SLOT + 12);
	/* push $behind the call; jmp into the guard */
	assert_int_equal(code.code[12], 0x68);
	assert_int_equal(word_at(code.code + 13), CODE + 7);
	assert_int_equal(code.code[17], 0xe9);
	assert_in_range((uint32_t)(SLOT + 22 + word_at(code.code + 18)),
			(SLOT & ~0xfffu) + UBP_AREA_GUARD,
			(SLOT & ~0xfffu) + UBP_AREA_GUARD + arch->guard.len);

	/* In place of int $0x80 the slot makes the moves, too, and is left behind it. */
	assert_int_equal(arch->hook.build(go, sizeof(go), CODE, SLOT, SLOT & ~0xfffu, patch,
					  &code, &err),
			 0);
	assert_memory_equal(code.code, go, 5);
	assert_int_equal(code.done_at, 5);
	assert_int_equal(CODE + 5 + word_at(patch + 1), SLOT + 10);
	assert_memory_equal(code.code + 10, go, 21);
	assert_int_equal(code.code[31], 0x68);
	assert_int_equal(word_at(code.code + 32), CODE + 23);
	assert_int_equal(code.code[36], 0xe9);
	/* Who has only what the jump replaced gets the same jump. */
	assert_int_equal(
		arch->hook.build(go, 5, CODE, SLOT, SLOT & ~0xfffu, again, &code, &err), 0);
	assert_memory_equal(patch, again, 5);
	assert_int_equal(arch->hook.build(branch, sizeof(branch), CODE, SLOT, SLOT & ~0xfffu,
					  patch, &code, &err),
			 -ERANGE);
}

static void test_sigframes(void **state)
{
	static const uint8_t rt[] = { 0xb8, 173, 0, 0, 0, 0xcd, 0x80, 0 };
	static const uint8_t old[] = { 0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80 };

	(void)state;
	assert_true(arch->unwind.is_sigreturn(rt, sizeof(rt)));
	assert_true(arch->unwind.is_sigreturn(old, sizeof(old)));
	assert_false(arch->unwind.is_sigreturn(rt + 1, sizeof(rt) - 1));
	assert_ptr_equal(arch->unwind.sigframe_of(rt, sizeof(rt)), arch->unwind.sigframe_at);
	assert_ptr_not_equal(arch->unwind.sigframe_of(old, sizeof(old)),
			     arch->unwind.sigframe_at);
}

/* --- words ----------------------------------------------------------------------- */

static void run_args(const char *args, const struct ubp_regs *regs, struct fake_memory *memory,
		     uint8_t *data)
{
	const struct fetch_memory from = { fake_memory_read, memory };
	const struct fetch_input in = { .arch = arch, .regs = regs, .memory = &from };
	struct fetch_scratch *scratch = fetch_scratch_new();
	struct fetch_program *program;
	struct probe_make *make = calloc(1, sizeof(*make));
	struct ubp_err err;

	assert_non_null(scratch);
	assert_non_null(make);
	probe_make(make, false, args);
	assert_int_equal(fetch_compile(&make->probe, &program, &err), 0);
	assert_true(fetch_run(program, &in, scratch, probe_kind_head(PROBE_ENTRY), data) > 0);
	free(program);
	free(make);
	fetch_scratch_free(scratch);
}

static void test_words(void **state)
{
	static const uint32_t stack[] = { 0x8049123, 0xfffffffb, 0xffff0020, 0x77777777 };
	static const uint32_t pointers[] = { 0xffff0030, 0xffff0034, 0x88888888 };
	static uint8_t data[EVENT_DATA_MAX];
	struct fake_memory memory = { 0 };
	struct ubp_regs regs = { 0 };
	uint64_t values[4];

	(void)state;
	fake_memory_map(&memory, 0xffff0000, 0x100);
	fake_memory_put(&memory, 0xffff0010, stack, sizeof(stack));
	fake_memory_put(&memory, 0xffff0020, pointers, sizeof(pointers));
	fake_memory_put_text(&memory, 0xffff0030, "one");
	fake_memory_put_text(&memory, 0xffff0034, "two");
	regs.r[X86_SP] = 0xffff0010;
	regs.r[X86_CX] = 0x80000000;

	run_args("$stack1 $stack3 +0(+8(%sp)):u8 +8(+8(%sp)):x64", &regs, &memory, data);
	memcpy(values, data, sizeof(values));
	assert_int_equal(values[0], 0xfffffffb);
	assert_int_equal(values[1], 0x77777777);
	assert_int_equal(data[16], 0x30);
	memcpy(values, data + 17, sizeof(values[0]));
	assert_int_equal(values[0] & 0xffffffff, 0x88888888);

	/* Addresses wrap around, as the program's do. */
	run_args("+0x7fff0014(%cx):x32", &regs, &memory, data);
	assert_int_equal(word_at(data), 0xfffffffb);

	run_args("+0(+8(%sp)):string[2]", &regs, &memory, data);
	assert_string_equal((char *)data + (word_at(data) & 0xffff), "one");
	assert_string_equal((char *)data + (word_at(data + 4) & 0xffff), "two");
	fake_memory_free(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_insns),         cmocka_unit_test(test_slots),
		cmocka_unit_test(test_taken),         cmocka_unit_test(test_frame),
		cmocka_unit_test(test_calls),         cmocka_unit_test(test_return),
		cmocka_unit_test(test_return_places), cmocka_unit_test(test_registers),
		cmocka_unit_test(test_action),        cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_sigframes),     cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests_name("i386", tests, NULL, NULL);
}
