/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The guard's code is guard.S; it stands here as bytes. The hooks that lead to it. */

#include "arch/i386/guard.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "arch/i386/guard_code.h"
#include "arch/i386/stub.h"
#include "arch/x86/decode.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"

const uint8_t i386_guard[GUARD32_CODE_END] = { GUARD32_CODE_BYTES };

_Static_assert(I386_GUARD_LEN == GUARD32_CODE_END, "guard.h");
_Static_assert(I386_GUARD_HANDLER == GUARD32_CODE_HANDLER, "guard.h");
_Static_assert(I386_GUARD_RESTORER == GUARD32_CODE_RESTORER, "guard.h");
_Static_assert(UBP_AREA_GUARD + GUARD32_CODE_END <= UBP_AREA_TABLE, "fits");

_Static_assert(GUARD32_CODE_AREA_TRAMPOLINE == UBP_AREA_TRAMPOLINE, "arch/guard.h");
_Static_assert(GUARD32_CODE_AREA_GUARD == UBP_AREA_GUARD, "arch/guard.h");
_Static_assert(GUARD32_CODE_AREA_TABLE == UBP_AREA_TABLE, "arch/guard.h");
_Static_assert(GUARD32_CODE_HEAD_LEN == offsetof(struct guard_head, len), "guard.S");
_Static_assert(GUARD32_CODE_HEAD_TABLE_MASK == offsetof(struct guard_head, table_mask),
	       "guard.S");
_Static_assert(GUARD32_CODE_HEAD_NEXT == offsetof(struct guard_head, next), "guard.S");
_Static_assert(GUARD32_CODE_HEAD_DATA == offsetof(struct guard_head, data), "guard.S");
_Static_assert(GUARD32_CODE_HEAD_RETURNS == offsetof(struct guard_head, returns), "guard.S");
_Static_assert(GUARD32_CODE_HEAD_RETURNS_MASK == offsetof(struct guard_head, returns_mask),
	       "guard.S");
_Static_assert(GUARD32_CODE_HEAD_ACTION == offsetof(struct guard_head, action), "guard.S");
_Static_assert(GUARD32_CODE_SITE_SLOT == offsetof(struct guard_site, slot), "guard.S");
_Static_assert(GUARD32_CODE_SLOT_FLAGS == UBP_SLOT_FLAGS, "guard.S");
_Static_assert(GUARD32_CODE_SLOT_UNWIND == UBP_SLOT_UNWIND, "guard.S");
_Static_assert(GUARD32_CODE_SLOT_PART == UBP_SLOT_PART, "guard.S");
_Static_assert(1 << GUARD32_CODE_SITE_SHIFT == sizeof(struct guard_site), "guard.S");
_Static_assert(1 << GUARD32_CODE_SITE_SHIFT == sizeof(struct guard_return), "guard.S");
_Static_assert(GUARD32_CODE_RETURN_REAL == offsetof(struct guard_return, real), "guard.S");
_Static_assert(GUARD32_CODE_DATA_CHAIN_AT == offsetof(struct guard_data, chain_at), "guard.S");
_Static_assert(GUARD32_CODE_DATA_CHAIN == offsetof(struct guard_data, chain), "guard.S");
_Static_assert(GUARD32_CODE_DATA_OWNER == offsetof(struct guard_data, owner), "guard.S");
_Static_assert(GUARD32_CODE_DATA_RETIRED == offsetof(struct guard_data, retired), "guard.S");
_Static_assert(GUARD32_CODE_DATA_HIJACKS == offsetof(struct guard_data, hijacks), "guard.S");
_Static_assert(GUARD32_CODE_DATA_HIJACKS_MASK == offsetof(struct guard_data, hijacks_mask),
	       "guard.S");
_Static_assert(GUARD32_CODE_DATA_RETURN_VADDR == offsetof(struct guard_data, return_vaddr),
	       "guard.S");
_Static_assert(1 << GUARD32_CODE_HIJACK_SHIFT == sizeof(struct guard_hijack), "guard.S");
_Static_assert(GUARD32_CODE_DATA_LIVE_LO == offsetof(struct guard_data, live_lo), "guard.S");
_Static_assert(GUARD32_CODE_DATA_LIVE_END == offsetof(struct guard_data, live_end), "guard.S");
_Static_assert(GUARD32_CODE_DATA_MASKED == offsetof(struct guard_data, masked), "guard.S");
_Static_assert(GUARD32_CODE_HIJACK_REAL == offsetof(struct guard_hijack, real), "guard.S");

_Static_assert(GUARD32_CODE_GATE == UBP_GUARD_GATE + offsetof(struct guard_gate, gate),
	       "guard.S");
_Static_assert(GUARD32_CODE_GATE_ALONE == UBP_GUARD_GATE + offsetof(struct guard_gate, alone),
	       "guard.S");
_Static_assert(GUARD32_CODE_GATE_TRAP == RING_GATE_TRAP, "guard.S");
_Static_assert(GUARD32_CODE_OWNER_DIED == RING_OWNER_DIED, "guard.S");

/*
 * How programs call the kernel for these: behind the number in a register are moves into others, then
 * the call. C libraries go through the kernel's own code (call *%gs:16), whose first bytes a jump
 * takes. Go's runtime uses int $0x80, too short for one: the jump stands where the number is
 * loaded, and the slot makes the moves.
 */
const uint8_t i386_sigaction_calls[I386_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX] = {
	{ 0xb8, I386_NR_RT_SIGACTION, 0x00, 0x00, 0x00 },   /* mov $174,%eax */
	{ 0xb8, I386_NR_RT_SIGPROCMASK, 0x00, 0x00, 0x00 }, /* mov $175,%eax */
};

static const uint8_t call_kernel[] = { 0x65, 0xff, 0x15, 0x10, 0, 0, 0 }; /* call *%gs:16 */
static const uint8_t int80[] = { 0xcd, 0x80 };

#define JUMP_LEN  5
#define MOVES_MAX 8 /* instructions between the two */

_Static_assert(I386_SIGACTION_PATCH_LEN == JUMP_LEN, "a jmp rel32");
_Static_assert(JUMP_LEN <= sizeof(call_kernel), "of one instruction");
_Static_assert(JUMP_LEN == I386_SIGACTION_CALL_LEN, "of one instruction");

/*
 * In the slot: the instruction itself and a jump back; then what the jump leads to: the
 * instruction that loads the number and the moves behind it, if those are the slot's; push $back;
 * a jump into the guard.
 */
enum {
	CALL_DONE = sizeof(call_kernel),
	INT80_DONE = I386_SIGACTION_CALL_LEN,
	INT80_ENTRY = INT80_DONE + JUMP_LEN,
	INT80_LEN_MAX = UBP_SLOT_SIZE - INT80_ENTRY - 2 * JUMP_LEN, /* number and moves */
};

/* Anything that is the same at any place and goes on behind itself. */
static bool is_move(const uint8_t *code)
{
	static const uint8_t moves[] = { 0x8b, 0x89, 0x8d, 0x31, 0x33 }; /* mov, lea, xor */

	return memchr(moves, code[0], sizeof(moves)) || (code[0] & 0xf8) == 0xb8 ||
	       (code[0] & 0xf8) == 0x50; /* mov $, push */
}

/* Length of what begins with the number's load at @code, up to int $0x80; 0: it is not so. */
static size_t int80_at(const uint8_t *code, size_t len)
{
	size_t at = I386_SIGACTION_CALL_LEN;

	while (at <= INT80_LEN_MAX && at + sizeof(int80) <= len) {
		int n;

		if (memcmp(code + at, int80, sizeof(int80)) == 0)
			return at;
		n = is_move(code + at) ? x86_len(32, code + at, len - at, 0) : 0;
		if (n <= 0)
			return 0;
		at += (size_t)n;
	}
	return 0;
}

bool i386_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at)
{
	size_t at = I386_SIGACTION_CALL_LEN;

	*ret_at = 0;
	if (int80_at(code, len))
		return true;
	/* Whether it is that call the hook sees by itself. */
	for (int i = 0; i <= MOVES_MAX && at + sizeof(call_kernel) <= len; i++) {
		int n;

		*ret_at = at;
		if (memcmp(code + at, call_kernel, sizeof(call_kernel)) == 0)
			return true;
		n = x86_len(32, code + at, len - at, 0);
		if (n <= 0 || code[at] == 0xc3 || code[at] == 0xe9 || code[at] == 0xeb)
			return false;
		at += (size_t)n;
	}
	return false;
}

/* A jmp rel32 at @vaddr. */
static void put_jump(uint8_t *code, uint64_t vaddr, uint64_t target)
{
	uint32_t rel = (uint32_t)(target - (vaddr + JUMP_LEN));

	code[0] = 0xe9;
	memcpy(code + 1, &rel, sizeof(rel));
}

int i386_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			      uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			      struct slot_code *ret_code, struct ubp_err *err)
{
	const bool is_call = call[0] == call_kernel[0];
	const uint8_t done = is_call ? CALL_DONE : INT80_DONE;
	const size_t moves = is_call ? 0 : int80_at(call, len);
	const uint32_t back = (uint32_t)(vaddr + (is_call ? done : moves + sizeof(int80)));
	uint8_t *code = ret_code->code;
	uint8_t at = done + JUMP_LEN;

	memset(ret_code, 0, sizeof(*ret_code));
	put_jump(ret_patch, vaddr, slot_vaddr + at);
	ret_code->done_at = done;
	ret_code->taken_at = 0xff;
	memcpy(code, is_call ? call_kernel : call, done);
	put_jump(code + done, slot_vaddr + done, vaddr + done);
	if (!is_call && !moves && len > I386_SIGACTION_PATCH_LEN)
		return ubp_fail(err, ERANGE, "no int $0x80 behind it");
	memcpy(code + at, call, moves);
	at += (uint8_t)moves;
	code[at] = 0x68; /* push */
	memcpy(code + at + 1, &back, sizeof(back));
	at += JUMP_LEN;
	put_jump(code + at, slot_vaddr + at, area_vaddr + UBP_AREA_GUARD + GUARD32_CODE_HOOK);
	ret_code->len = at + JUMP_LEN;
	return 0;
}
