/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/mirrors.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/elf/object.h"

/* A punned jump has a hop for each set of breakpoints that may be written into it: of so many bytes (plant/pun.c). */
#define STARTS_MOST 3

bool mirrors_is_breakpoint(const struct ubp_arch *arch, const uint8_t *jump, size_t jump_len,
			   size_t at)
{
	size_t n = arch->swbp.len;

	return at >= jump_len || memcmp(jump + at, arch->swbp.code, n) == 0;
}

bool mirrors_serve(const struct ubp_arch *arch, const struct window *window, uint64_t site,
		   uint64_t to)
{
	uint8_t bytes[UBP_INSN_MAX];
	struct ubp_err ignored;
	size_t at = 0;
	bool does;

	ubp_err_reset(&ignored);
	does = arch->jump.build(window, site, to, bytes, &ignored) == 0;
	for (size_t i = 0; does && i + 1 < window->n; i++) {
		at += window->insns[i].len;
		does = mirrors_is_breakpoint(arch, bytes, window->jump_len, at);
	}
	return does;
}

static enum mirrors_answer ask_pun(const struct window *window)
{
	unsigned starts = window->pun.starts & ((1u << window->pun.n_fixed) - 1);

	if (__builtin_popcount(starts) > STARTS_MOST)
		return MIRRORS_NEVER;
	return starts || window->n > 1 ? MIRRORS_PERHAPS : MIRRORS_SERVE;
}

enum mirrors_answer mirrors_ask(const struct object *object, const struct window *window)
{
	const struct ubp_arch *arch = object_arch(object);
	uint64_t site = window->insns[0].vaddr;

	if (window->pun.n_fixed)
		return ask_pun(window);
	if (window->n < 2 || window->n_hops)
		return MIRRORS_SERVE;
	for (const int64_t *mirror = arch->jump.mirrors; mirror && *mirror; mirror++) {
		uint64_t to = site + window->jump_len + (uint64_t)*mirror;

		/* Where it is linked to is where it is loaded. Else it is loaded far up. */
		if (!object_is_pie(object) && *mirror < 0 &&
		    site < (uint64_t) - *mirror + MIRRORS_LOWEST)
			continue;
		if (mirrors_serve(arch, window, site, to))
			return MIRRORS_SERVE;
	}
	return MIRRORS_NEVER;
}
