/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's code is guard.S. It is not assembled with the library, which is
 * built on hosts that have no assembler for it, but stands here as bytes.
 */

#include "arch/arm64/guard.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/guard_code.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/stub.h"
#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "engine/base/err.h"

const uint8_t arm64_guard[] = { GUARD_CODE_BYTES };

_Static_assert(sizeof(arm64_guard) == GUARD_CODE_END, "guard.sh");
_Static_assert(UBP_AREA_GUARD + GUARD_CODE_END <= UBP_AREA_TABLE, "fits");
_Static_assert(UBP_AREA_STUB + ARM64_STUB_LEN <= UBP_AREA_GUARD, "fits");

_Static_assert(GUARD_CODE_AREA_TRAMPOLINE == UBP_AREA_TRAMPOLINE, "arch/guard.h");
_Static_assert(GUARD_CODE_AREA_GUARD == UBP_AREA_GUARD, "arch/guard.h");
_Static_assert(GUARD_CODE_AREA_TABLE == UBP_AREA_TABLE, "arch/guard.h");
_Static_assert(GUARD_CODE_HEAD_LEN == offsetof(struct guard_head, len), "guard.S");
_Static_assert(GUARD_CODE_HEAD_TABLE_MASK == offsetof(struct guard_head, table_mask),
	       "guard.S");
_Static_assert(GUARD_CODE_HEAD_NEXT == offsetof(struct guard_head, next), "guard.S");
_Static_assert(GUARD_CODE_HEAD_DATA == offsetof(struct guard_head, data), "guard.S");
_Static_assert(GUARD_CODE_HEAD_RETURNS == offsetof(struct guard_head, returns), "guard.S");
_Static_assert(GUARD_CODE_HEAD_RETURNS_MASK == offsetof(struct guard_head, returns_mask),
	       "guard.S");
_Static_assert(GUARD_CODE_HEAD_ACTION == offsetof(struct guard_head, action), "guard.S");
_Static_assert(GUARD_CODE_SITE_SLOT == offsetof(struct guard_site, slot), "guard.S");
_Static_assert(GUARD_CODE_SLOT_FLAGS == UBP_SLOT_FLAGS, "guard.S");
_Static_assert(GUARD_CODE_SLOT_UNWIND == UBP_SLOT_UNWIND, "guard.S");
_Static_assert(UBP_SLOT_FLAGS < UBP_SLOT_SIZE, "guard.S");
_Static_assert(1 << GUARD_CODE_SITE_SHIFT == sizeof(struct guard_site), "guard.S");
_Static_assert(1 << GUARD_CODE_SITE_SHIFT == sizeof(struct guard_return), "guard.S");
_Static_assert(GUARD_CODE_RETURN_REAL == offsetof(struct guard_return, real), "guard.S");
_Static_assert(GUARD_CODE_DATA_CHAIN_AT == offsetof(struct guard_data, chain_at) &&
		       GUARD_CODE_DATA_CHAIN_AT == 0,
	       "guard.S");
_Static_assert(GUARD_CODE_DATA_CHAIN == offsetof(struct guard_data, chain), "guard.S");
_Static_assert(GUARD_CODE_DATA_OWNER == offsetof(struct guard_data, owner), "guard.S");
_Static_assert(GUARD_CODE_DATA_RETIRED == offsetof(struct guard_data, retired), "guard.S");
_Static_assert(GUARD_CODE_DATA_HIJACKS == offsetof(struct guard_data, hijacks), "guard.S");
_Static_assert(GUARD_CODE_DATA_HIJACKS_MASK == offsetof(struct guard_data, hijacks_mask),
	       "guard.S");
_Static_assert(GUARD_CODE_DATA_RETURN_VADDR == offsetof(struct guard_data, return_vaddr),
	       "guard.S");
_Static_assert(1 << GUARD_CODE_HIJACK_SHIFT == sizeof(struct guard_hijack), "guard.S");
_Static_assert(GUARD_CODE_DATA_MASKED == offsetof(struct guard_data, masked), "guard.S");
_Static_assert(GUARD_CODE_HIJACK_REAL == offsetof(struct guard_hijack, real) &&
		       GUARD_CODE_HIJACK_REAL == GUARD_CODE_RETURN_REAL,
	       "guard.S");
_Static_assert(ARM64_GUARD_HANDLER == GUARD_CODE_HANDLER, "guard.h");
_Static_assert(ARM64_GUARD_RESTORER == GUARD_CODE_RESTORER, "guard.h");
_Static_assert(ARM64_GUARD_LEN == GUARD_CODE_END, "guard.h");

/* What there is in front of svc #0: arm64_sigaction_calls; or what is between them. */
enum hook { HOOK_ACTION, HOOK_MASK, HOOK_ANY, HOOK_LATE };

const uint8_t arm64_sigaction_calls[ARM64_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX] = {
	/* mov x8, #134: in the C library's sigaction(), in Go's runtime */
	{ 0xc8, 0x10, 0x80, 0xd2 },
	/* mov x8, #135: rt_sigprocmask(), perhaps with something else before the call */
	{ 0xe8, 0x10, 0x80, 0xd2 },
	/* mov x6, x7: in the C library's syscall() */
	{ 0xe6, 0x03, 0x07, 0xaa },
};

/* Instructions between a number and its call. */
#define LATE_MAX 6

/* Is this one that can be moved, and leaves x8 alone? In doubt it is not. */
static bool is_between(uint32_t insn)
{
	const unsigned rd = insn & 31, rn = insn >> 5 & 31, rt2 = insn >> 10 & 31;

	if (rd == ARM64_X8)
		return false;
	if ((insn & 0x1c000000) == 0x10000000) /* immediates, but no adr, adrp */
		return (insn & 0x1f000000) != 0x10000000;
	if ((insn & 0x0a000000) == 0x08000000) /* memory, but no literals, nothing exclusive */
		return (insn & 0x3b000000) != 0x18000000 && (insn & 0x3f000000) != 0x08000000 &&
		       rn != ARM64_X8 && ((insn & 0x3a000000) != 0x28000000 || rt2 != ARM64_X8);
	return (insn & 0x0e000000) == 0x0a000000 || (insn & 0x0e000000) == 0x0e000000;
}

bool arm64_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at)
{
	const bool may_wait = memcmp(code, arm64_sigaction_calls[HOOK_MASK], ARM64_INSN) == 0;
	size_t last = may_wait ? (1 + LATE_MAX) * ARM64_INSN : ARM64_INSN;

	for (size_t at = ARM64_INSN; at <= last && at + ARM64_INSN <= len; at += ARM64_INSN) {
		uint32_t insn;

		memcpy(&insn, code + at, sizeof(insn));
		*ret_at = at - ARM64_INSN;
		if (insn == ARM64_SVC)
			return true;
		if (!is_between(insn))
			break;
	}
	return false;
}

/*
 * The slots. They begin with what stood under the jump. What a system call leaves alone, they
 * do, too: x8 is free up to the call, for it gets its number again.
 */
static const uint32_t action_hook[] = {
	0xd28010c8,   /* mov x8, #134 */
	ARM64_NOP,    /* nop */
	0x14000004,   /* b 1f */
	0xd28010c8,   /* mov x8, #134 */
	ARM64_SVC,    /* svc #0 */
	ARM64_INSN_B, /* back */
	0xa9be7bfd,   /* 1: stp x29, x30, [sp, #-32]!: Go keeps its caller's x29 at sp - 8 */
	0x580000a8,   /* ldr x8, the emulator: it may be far away */
	0xd63f0100,   /* blr x8 */
	0xa8c27bfd,   /* ldp x29, x30, [sp], #32 */
	0xd28010c8,   /* mov x8, #134 */
	ARM64_INSN_B, /* back */
};

/*
 * The same for rt_sigprocmask(how, new, old, size): a set that blocks SIGTRAP is copied to the
 * stack without it, since a breakpoint met with the signal blocked ends the process unless a
 * tracer is there; and a tracer may go away when one is.
 */
static const uint32_t mask_hook[] = {
	0xd28010e8,   /* mov x8, #135 */
	0xb4000181,   /* cbz x1, plain: no new mask */
	0x121e7808,   /* and w8, w0, #~2 */
	0x35000148,   /* cbnz w8, plain: not SIG_BLOCK, SIG_SETMASK */
	0xf9400028,   /* ldr x8, [x1] */
	0x36200108,   /* tbz w8, #4, plain: SIGTRAP is not in it */
	0x927bf908,   /* and x8, x8, #~0x10 */
	0xa9be23e1,   /* stp x1, x8, [sp, #-32]! */
	0x910023e1,   /* add x1, sp, #8 */
	0xd28010e8,   /* mov x8, #135 */
	ARM64_SVC,    /* svc #0 */
	0xf84207e1,   /* ldr x1, [sp], #32 */
	ARM64_INSN_B, /* back */
	0xd28010e8,   /* plain: mov x8, #135 */
	ARM64_SVC,    /* svc #0 */
	ARM64_INSN_B, /* back */
};

static const uint32_t any_hook[] = {
	0xaa0703e6,   /* mov x6, x7 */
	0xf81f0fe9,   /* str x9, [sp, #-16]! */
	0xd1021909,   /* sub x9, x8, #134 */
	0xb5000109,   /* cbnz x9, plain */
	ARM64_NOP,    /* nop */
	ARM64_NOP,    /* nop */
	0x58000109,   /* ldr x9, the emulator */
	0xf90007fe,   /* str x30, [sp, #8] */
	0xd63f0120,   /* blr x9 */
	0xa8c17be9,   /* ldp x9, x30, [sp], #16 */
	ARM64_INSN_B, /* back */
	0xf84107e9,   /* plain: ldr x9, [sp], #16 */
	ARM64_SVC,    /* svc #0 */
	ARM64_INSN_B, /* back */
};

/*
 * rt_sigprocmask() again; x8 has its number, unless another call comes by here. In a set that
 * unblocks SIGTRAP does not count either: it is not blocked.
 */
static const uint32_t late_hook[] = {
	ARM64_NOP,    /* what stood there */
	0xd1021d08,   /* sub x8, x8, #135 */
	0xb5000148,   /* cbnz x8, other */
	0xb4000121,   /* cbz x1, other: no new mask */
	0xf9400028,   /* ldr x8, [x1] */
	0x927bf908,   /* and x8, x8, #~0x10 */
	0xa9be23e1,   /* stp x1, x8, [sp, #-32]! */
	0x910023e1,   /* add x1, sp, #8 */
	0xd28010e8,   /* mov x8, #135 */
	ARM64_SVC,    /* svc #0 */
	0xf84207e1,   /* ldr x1, [sp], #32 */
	ARM64_INSN_B, /* back */
	0x91021d08,   /* other: add x8, x8, #135 */
	ARM64_SVC,    /* svc #0 */
	ARM64_INSN_B, /* back */
};

#define WORDS(code) (sizeof(code) / sizeof((code)[0]))

static const struct {
	const uint32_t *code;
	uint8_t n;
	uint8_t plain_end; /* the jump behind the call that is not looked into */
} hooks[] = {
	[HOOK_ACTION] = { action_hook, WORDS(action_hook), 5 },
	[HOOK_MASK] = { mask_hook, WORDS(mask_hook), 15 },
	[HOOK_ANY] = { any_hook, WORDS(any_hook), 13 },
	[HOOK_LATE] = { late_hook, WORDS(late_hook), 14 },
};

_Static_assert(sizeof(action_hook) % 8 == 0 && sizeof(any_hook) % 8 == 0, "an address follows");
_Static_assert(sizeof(action_hook) + 8 <= UBP_SLOT_SIZE, "fits");
_Static_assert(sizeof(mask_hook) <= UBP_SLOT_SIZE, "fits");
_Static_assert(sizeof(any_hook) + 8 <= UBP_SLOT_SIZE, "fits");
_Static_assert(sizeof(late_hook) <= UBP_SLOT_SIZE, "fits");

/* A branch from @vaddr. */
static int put_branch(uint8_t *at, uint64_t vaddr, uint64_t target, struct ubp_err *err)
{
	int64_t rel = (int64_t)(target - vaddr);
	uint32_t insn = ARM64_INSN_B | ((uint32_t)((uint64_t)rel >> 2) & 0x3ffffff);

	if (rel < -ARM64_B_REACH || rel >= ARM64_B_REACH)
		return ubp_fail(err, ERANGE, "0x%llx is out of a branch's reach from 0x%llx",
				(unsigned long long)target, (unsigned long long)vaddr);
	memcpy(at, &insn, sizeof(insn));
	return 0;
}

static enum hook hook_of(const uint8_t *call)
{
	for (size_t i = 0; i < ARM64_N_SIGACTION_CALLS; i++)
		if (memcmp(call, arm64_sigaction_calls[i], ARM64_INSN) == 0)
			return (enum hook)i;
	return HOOK_LATE;
}

int arm64_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			       uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			       struct slot_code *ret_code, struct ubp_err *err)
{
	const uint64_t emulator = area_vaddr + UBP_AREA_GUARD + GUARD_CODE_EMULATE;
	uint64_t back = vaddr + 2 * ARM64_INSN;
	enum hook hook = hook_of(call);
	const uint32_t *code = hooks[hook].code;
	size_t n = hooks[hook].n;
	int rc = 0;

	(void)len;
	memset(ret_code, 0, sizeof(*ret_code));
	memcpy(ret_code->code, code, n * ARM64_INSN);
	memcpy(ret_code->code, call, ARM64_INSN);
	ret_code->len = (uint8_t)(n * ARM64_INSN);
	ret_code->done_at = hooks[hook].plain_end * ARM64_INSN;
	ret_code->taken_at = 0xff;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (code[i] == ARM64_INSN_B)
			rc = put_branch(ret_code->code + i * ARM64_INSN,
					slot_vaddr + i * ARM64_INSN, back, err);
	if (hook == HOOK_ACTION || hook == HOOK_ANY) {
		memcpy(ret_code->code + ret_code->len, &emulator, sizeof(emulator));
		ret_code->len += sizeof(emulator);
	}
	return rc < 0 ? rc : put_branch(ret_patch, vaddr, slot_vaddr, err);
}
