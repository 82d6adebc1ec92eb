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
 */

#include <string.h>

#include "engine/plant/plant.h"

#define OTHERS_MAX 6 /* instructions between the number and the call */

static bool is_insn(const struct ubp_known_insn *insn, const uint8_t *at, const uint8_t *end)
{
	return insn->len && (size_t)(end - at) >= insn->len &&
	       memcmp(at, insn->bytes, insn->len) == 0;
}

/* How far behind the number's load at @at is the call? 0: there is none. */
static size_t call_behind(const struct ubp_arch *arch, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *start = at;

	at += arch->ptrace_number.len;
	for (int i = 0; i <= OTHERS_MAX && at < end; i++) {
		int n;

		if (is_insn(&arch->kernel_calls[0], at, end) ||
		    is_insn(&arch->kernel_calls[1], at, end))
			return (size_t)(at - start);
		n = arch->insn_len(at, (size_t)(end - at), 0);
		if (n <= 0)
			return 0;
		at += n;
	}
	return 0;
}

const uint8_t *tracing_find(const struct ubp_arch *arch, enum site_watch watch,
			    const uint8_t *at, const uint8_t *end, size_t *ret_more)
{
	const struct ubp_known_insn *insn =
		watch == WATCH_PTRACE ? &arch->ptrace_number : &arch->ptracer_option;

	*ret_more = 0;
	while (insn->len && at < end &&
	       (at = memmem(at, (size_t)(end - at), insn->bytes, insn->len))) {
		*ret_more = watch == WATCH_PTRACE ? call_behind(arch, at, end) : 0;
		if (watch != WATCH_PTRACE || *ret_more)
			return at;
		at++;
	}
	return NULL;
}
