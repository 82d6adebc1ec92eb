/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's code is guard.S. It is not assembled with the library, which is
 * built on hosts that have no assembler for it, but stands here as bytes.
 */

#include "arch/x86/guard.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"

const uint8_t x86_guard[X86_GUARD_LEN] = { GUARD_CODE_BYTES };

_Static_assert(UBP_AREA_GUARD + X86_GUARD_LEN <= UBP_AREA_TABLE, "fits");

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
_Static_assert(GUARD_CODE_SLOT_PART == UBP_SLOT_PART, "guard.S");
_Static_assert(UBP_SLOT_FLAGS < UBP_SLOT_SIZE, "guard.S");
_Static_assert(1 << GUARD_CODE_SITE_SHIFT == sizeof(struct guard_site), "guard.S");
_Static_assert(1 << GUARD_CODE_SITE_SHIFT == sizeof(struct guard_return), "guard.S");
_Static_assert(GUARD_CODE_RETURN_REAL == offsetof(struct guard_return, real), "guard.S");
_Static_assert(GUARD_CODE_DATA_CHAIN_AT == offsetof(struct guard_data, chain_at), "guard.S");
_Static_assert(GUARD_CODE_DATA_CHAIN == offsetof(struct guard_data, chain), "guard.S");
_Static_assert(GUARD_CODE_DATA_OWNER == offsetof(struct guard_data, owner), "guard.S");
_Static_assert(GUARD_CODE_DATA_RETIRED == offsetof(struct guard_data, retired), "guard.S");
_Static_assert(GUARD_CODE_DATA_HIJACKS == offsetof(struct guard_data, hijacks), "guard.S");
_Static_assert(GUARD_CODE_DATA_HIJACKS_MASK == offsetof(struct guard_data, hijacks_mask),
	       "guard.S");
_Static_assert(GUARD_CODE_DATA_RETURN_VADDR == offsetof(struct guard_data, return_vaddr),
	       "guard.S");
_Static_assert(GUARD_CODE_DATA_MASKED == offsetof(struct guard_data, masked), "guard.S");
_Static_assert(GUARD_CODE_DATA_LIVE_LO == offsetof(struct guard_data, live_lo), "guard.S");
_Static_assert(GUARD_CODE_DATA_LIVE_END == offsetof(struct guard_data, live_end), "guard.S");
_Static_assert(1 << GUARD_CODE_HIJACK_SHIFT == sizeof(struct guard_hijack), "guard.S");
_Static_assert(GUARD_CODE_HIJACK_REAL == offsetof(struct guard_hijack, real), "guard.S");
_Static_assert(GUARD_CODE_HIJACK_BACK == offsetof(struct guard_hijack, back), "guard.S");
_Static_assert(GUARD_CODE_CALLED_BACK == UBP_CALLED_BACK, "guard.S");

_Static_assert(GUARD_CODE_GATE == UBP_GUARD_GATE + offsetof(struct guard_gate, gate),
	       "guard.S");
_Static_assert(GUARD_CODE_GATE_ALONE == UBP_GUARD_GATE + offsetof(struct guard_gate, alone),
	       "guard.S");
_Static_assert(GUARD_CODE_GATE_TRAP == RING_GATE_TRAP, "guard.S");
_Static_assert(GUARD_CODE_OWNER_DIED == RING_OWNER_DIED, "guard.S");

const uint8_t x86_sigaction_calls[X86_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX] = {
	/* mov $13,%eax; syscall: in the C library's sigaction(), in Go's runtime */
	{ 0xb8, 0x0d, 0x00, 0x00, 0x00, 0x0f, 0x05 },
	/* mov 8(%rsp),%r9; syscall: in the C library's syscall() */
	{ 0x4c, 0x8b, 0x4c, 0x24, 0x08, 0x0f, 0x05 },
	/* mov $14,%eax; syscall: rt_sigprocmask() */
	{ 0xb8, 0x0e, 0x00, 0x00, 0x00, 0x0f, 0x05 },
};

_Static_assert(X86_SIGACTION_CALL_LEN <= UBP_SIGACTION_CALL_MAX, "fits");
_Static_assert(X86_SIGACTION_PATCH_LEN == 5, "a jmp rel32");

/* The slot: where the displacements are, and what they lead to. */
static const uint8_t hook[] = {
	0x90, 0x90, 0x90, 0x90, 0x90,                /* the instruction under the jump */
	0x48, 0x83, 0xf8, 0x0d,                      /* cmp $13,%rax */
	0x75, 2,                                     /* jne the syscall */
	0xeb, 14,                                    /* jmp the second half */
	0x0f, 0x05,                                  /* syscall */
	0x48, 0x8d, 0x0d, 0x00, 0x00, 0x00, 0x00,    /* lea back(%rip),%rcx */
	0xe9, 0x00, 0x00, 0x00, 0x00,                /* jmp back */
	0x48, 0x8d, 0x0d, 0x00, 0x00, 0x00, 0x00,    /* lea back(%rip),%rcx */
	0xff, 0x25, 0x00, 0x00, 0x00, 0x00,          /* jmp *0(%rip): the emulator's address, */
	0,    0,    0,    0,    0,    0,    0,    0, /* which may be far away */
};

enum {
	HOOK_CALLED = 15, /* the address behind the call is put where a call leaves it */
	HOOK_DONE = 22,
	HOOK_EMULATE = 27,
	HOOK_EMULATOR = 40,
};

_Static_assert(sizeof(hook) <= UBP_SLOT_SIZE, "fits");

/*
 * The slot of a call of rt_sigprocmask(): SIGTRAP is left out of what is blocked,
 * because a breakpoint that is met while it is blocked ends the program when no
 * tracer is there, and takes the guard away when one is.
 */
static const uint8_t mask_hook[] = {
	0xb8, 0x0e, 0x00, 0x00, 0x00,       /* mov $14,%eax */
	0x48, 0x85, 0xf6,                   /* test %rsi,%rsi: no new mask */
	0x74, 42,                           /* je plain */
	0xf7, 0xc7, 0xfd, 0xff, 0xff, 0xff, /* test $~2,%edi: not SIG_BLOCK, SIG_SETMASK */
	0x75, 34,                           /* jne plain */
	0x48, 0x8b, 0x0e,                   /* mov (%rsi),%rcx */
	0x48, 0x0f, 0xba, 0xf1, 0x04,       /* btr $4,%rcx: SIGTRAP */
	0x73, 24,                           /* jnc plain: is not in it */
	0x48, 0x83, 0xc4, 0x80,             /* add $-128,%rsp: over the red zone */
	0x51, 0x56,                         /* push %rcx; push %rsi */
	0x48, 0x8d, 0x74, 0x24, 0x08,       /* lea 8(%rsp),%rsi */
	0x0f, 0x05,                         /* syscall */
	0x5e, 0x59,                         /* pop %rsi; pop %rcx */
	0x48, 0x83, 0xec, 0x80,             /* sub $-128,%rsp */
	0xe9, 0x00, 0x00, 0x00, 0x00,       /* jmp back */
	0x0f, 0x05,                         /* plain: syscall */
	0xe9, 0x00, 0x00, 0x00, 0x00,       /* jmp back */
};

enum {
	MASK_HOOK_NR = 1, /* in both: the call's number, the mov's immediate */
	MASK_HOOK_DONE = 47,
	MASK_HOOK_PLAIN_DONE = 54,
	NR_SIGPROCMASK = 14,
};

_Static_assert(sizeof(mask_hook) <= UBP_SLOT_SIZE, "fits");

/* Fill in a displacement that ends its instruction, of @len bytes, at @vaddr. */
static int point(uint8_t *code, uint64_t vaddr, size_t len, uint64_t target,
		 struct ubp_err *err)
{
	int64_t rel = (int64_t)(target - (vaddr + len));
	int32_t disp = (int32_t)rel;

	if (rel != disp)
		return ubp_fail(err, ERANGE, "0x%llx is out of a jump's reach from 0x%llx",
				(unsigned long long)target, (unsigned long long)vaddr);
	memcpy(code + len - sizeof(disp), &disp, sizeof(disp));
	return 0;
}

static int build_mask_hook(uint64_t back, uint64_t slot_vaddr, struct slot_code *code,
			   struct ubp_err *err)
{
	int rc;

	memcpy(code->code, mask_hook, sizeof(mask_hook));
	code->len = sizeof(mask_hook);
	code->done_at = MASK_HOOK_DONE;
	rc = point(code->code + MASK_HOOK_DONE, slot_vaddr + MASK_HOOK_DONE, 5, back, err);
	return rc < 0 ? rc
		      : point(code->code + MASK_HOOK_PLAIN_DONE,
			      slot_vaddr + MASK_HOOK_PLAIN_DONE, 5, back, err);
}

static int build_action_hook(const uint8_t *call, uint64_t back, uint64_t slot_vaddr,
			     uint64_t area_vaddr, struct slot_code *code, struct ubp_err *err)
{
	const uint64_t emulator = area_vaddr + UBP_AREA_GUARD + GUARD_CODE_EMULATE;
	static const struct {
		size_t at, len;
	} parts[] = { { HOOK_CALLED, 7 }, { HOOK_DONE, 5 }, { HOOK_EMULATE, 7 } };
	int rc = 0;

	memcpy(code->code, hook, sizeof(hook));
	memcpy(code->code, call, X86_SIGACTION_PATCH_LEN);
	memcpy(code->code + HOOK_EMULATOR, &emulator, sizeof(emulator));
	code->len = sizeof(hook);
	code->done_at = HOOK_DONE;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == 0; i++)
		rc = point(code->code + parts[i].at, slot_vaddr + parts[i].at, parts[i].len,
			   back, err);
	return rc;
}

int x86_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			     uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			     struct slot_code *ret_code, struct ubp_err *err)
{
	uint64_t back = vaddr + X86_SIGACTION_CALL_LEN;
	int rc;

	(void)len;
	memset(ret_code, 0, sizeof(*ret_code));
	ret_code->taken_at = 0xff;
	rc = call[0] == mask_hook[0] && call[MASK_HOOK_NR] == NR_SIGPROCMASK
		     ? build_mask_hook(back, slot_vaddr, ret_code, err)
		     : build_action_hook(call, back, slot_vaddr, area_vaddr, ret_code, err);
	if (rc < 0)
		return rc;
	ret_patch[0] = 0xe9; /* jmp rel32 */
	return point(ret_patch, vaddr, X86_SIGACTION_PATCH_LEN, slot_vaddr, err);
}
