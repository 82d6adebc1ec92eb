/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What calls of the kernel do, as far as the code in front of them tells. */

#include "arch/x86/call_kind.h"

#include <string.h>

#include "arch/x86/decode.h"

/* Bytes in front of a call in which its number may be loaded, and instructions between the two. */
#define BEFORE_MAX 48
#define BETWEEN    8

/* glibc's syscall(), from its start up to the call. A bell stands on the first two instructions. */
static const uint8_t any[] = { 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x89,
			       0xd6, 0x48, 0x89, 0xca, 0x4d, 0x89, 0xc2, 0x4d,
			       0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 0x08 };

/* An instruction that sets eax to a number. Returns its length, or 0. */
static size_t load_len(const uint8_t *at, size_t len, uint32_t *ret_number)
{
	static const uint8_t zero[] = { 0x31, 0xc0 }, wide[] = { 0x48, 0xc7, 0xc0 };

	*ret_number = 0;
	if (len >= 5 && at[0] == 0xb8) { /* mov $number,%eax */
		memcpy(ret_number, at + 1, sizeof(*ret_number));
		return 5;
	}
	if (len >= 7 && memcmp(at, wide, sizeof(wide)) == 0) { /* mov $number,%rax */
		memcpy(ret_number, at + 3, sizeof(*ret_number));
		return 7;
	}
	return len >= 2 && memcmp(at, zero, sizeof(zero)) == 0 ? 2 : 0; /* xor %eax,%eax */
}

/* Do whole instructions lead from @at to @call? */
static bool leads_to(const uint8_t *at, const uint8_t *call)
{
	for (int i = 0; i <= BETWEEN && at < call; i++) {
		int n = x86_insn_len(at, (size_t)(call - at), 0);

		if (n <= 0)
			return false;
		at += n;
	}
	return at == call;
}

enum ubp_call_kind x86_call_kind(const uint8_t *call, size_t before, size_t *ret_back)
{
	uint32_t number;

	*ret_back = sizeof(any);
	if (before >= sizeof(any) && memcmp(call - sizeof(any), any, sizeof(any)) == 0)
		return UBP_CALL_ANY;
	for (size_t back = 2; back <= before && back <= BEFORE_MAX; back++) {
		size_t len = load_len(call - back, back, &number);

		if (!len || !leads_to(call - back + len, call))
			continue;
		if (number == X86_NR_SECCOMP)
			return UBP_CALL_UNKNOWN;
		if (number != X86_NR_PRCTL)
			return UBP_CALL_OTHER;
		*ret_back = back;
		return back == X86_CALL_FRONT ? UBP_CALL_PRCTL : UBP_CALL_UNKNOWN;
	}
	return UBP_CALL_UNKNOWN;
}
