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
 * In the same way, where programs execute others: what detours keep in the memory of one goes with it.
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

const uint8_t *tracing_find(const struct ubp_arch *arch, enum site_watch watch,
			    const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	const uint8_t *first, *second;
	size_t more;

	if (watch == WATCH_PTRACER)
		return find(arch, &arch->call.ptracer_option, true, at, end, ret_more);
	if (watch == WATCH_PTRACE)
		return find(arch, &arch->call.ptrace_number, false, at, end, ret_more);
	first = find(arch, &arch->call.exec_numbers[0], false, at, end, ret_more);
	second = find(arch, &arch->call.exec_numbers[1], false, at, first ? first : end, &more);
	if (!second)
		return first;
	*ret_more = more;
	return second;
}
