/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where programs trace others, or get traced. A thread can have one tracer, so ubp has to
 * be gone before the call; and a call that failed cannot be seen. A breakpoint stands
 *
 * - on the instruction that calls the kernel, behind one that loads ptrace()'s number: in the C
 *   library's ptrace(), in those of the sanitizers;
 * - where PR_SET_PTRACER is loaded, a number that is nothing else's: LeakSanitizer's tracer is a
 *   thread that it hides from tracers (CLONE_UNTRACED), but it allows it to attach.
 *
 * In the same way, where programs execute others: what detours keep in the memory of one goes with it. And where they make processes, in
 * front of that: one that was let go of has to be traced then (bell.h).
 */

#include "engine/plant/tracing.h"

#include <string.h>

#include "engine/base/find_bytes.h"

#define OTHERS_MAX 6 /* instructions between the number and the call */

static bool is_insn(const struct ubp_known_insn *insn, const uint8_t *at, const uint8_t *end)
{
	return insn->len && (size_t)(end - at) >= insn->len &&
	       memcmp(at, insn->bytes, insn->len) == 0;
}

/* How far behind the number's load at @at is the call? 0: there is none. */
static size_t call_behind(const struct ubp_arch *arch, const struct ubp_known_insn *number,
			  const uint8_t *at, const uint8_t *end)
{
	const uint8_t *start = at;

	at += number->len;
	for (int i = 0; i <= OTHERS_MAX && at < end; i++) {
		int n;

		if (is_insn(&arch->call.kernel_calls[0], at, end) ||
		    is_insn(&arch->call.kernel_calls[1], at, end))
			return (size_t)(at - start);
		n = arch->insn.len(at, (size_t)(end - at), 0);
		if (n <= 0)
			return 0;
		at += n;
	}
	return 0;
}

/* The first call with @number; @number alone, if @is_all. */
static const uint8_t *find(const struct ubp_arch *arch, const struct ubp_known_insn *number,
			   bool is_all, const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	*ret_more = 0;
	while (number->len && at < end &&
	       (at = find_bytes(at, end, number->bytes, number->len))) {
		*ret_more = is_all ? 0 : call_behind(arch, number, at, end);
		if (is_all || *ret_more)
			return at;
		at++;
	}
	return NULL;
}

/* The first of those with one of @n numbers. */
static const uint8_t *find_any(const struct ubp_arch *arch,
			       const struct ubp_known_insn *numbers, size_t n,
			       const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	const uint8_t *first = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t more;
		const uint8_t *one =
			find(arch, &numbers[i], false, at, first ? first : end, &more);

		if (!one)
			continue;
		first = one;
		*ret_more = more;
	}
	return first;
}

#define N(array) (sizeof(array) / sizeof((array)[0]))

const uint8_t *tracing_find(const struct ubp_arch *arch, enum site_watch watch,
			    const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	if (watch == WATCH_PTRACER)
		return find(arch, &arch->call.ptracer_option, true, at, end, ret_more);
	if (watch == WATCH_PTRACE)
		return find(arch, &arch->call.ptrace_number, false, at, end, ret_more);
	if (watch == WATCH_FORKS)
		return find_any(arch, arch->call.birth_numbers, N(arch->call.birth_numbers), at,
				end, ret_more);
	return find_any(arch, arch->call.exec_numbers, N(arch->call.exec_numbers), at, end,
			ret_more);
}
