/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Between a load that reserves memory and the store that needs the reservation no
 * exception may come: the store fails, its loop begins again, and so for ever. Whether an
 * instruction stands there is a question of paths: from a load to it, and from it to a
 * store. Branches are followed; a call comes back.
 */

#include "arch/arm64/arm64.h"

#include <string.h>

/* Instructions on the paths from one: such sequences are short by the architecture's rules. */
#define PATH_MAX_INSNS 128
/* How far from an instruction a load is looked for, in instructions: a branch leads on from
 * a load over code that is not in the sequence. */
#define LOOK_AROUND 256

static const char why_between[] =
	"it stands between a load and a store that are exclusive: the store would fail for "
	"ever";
static const char why_behind_prefix[] = "it and the instruction before it are one";

struct paths {
	const uint8_t *code;
	size_t n; /* instructions */
	size_t stack[PATH_MAX_INSNS];
	size_t n_stack;
	size_t seen[PATH_MAX_INSNS]; /* where paths have come by */
	size_t n_seen;
};

static uint32_t insn_at(const struct paths *p, size_t i)
{
	return arm64_word(p->code + i * ARM64_INSN);
}

static void go_to(struct paths *p, size_t i)
{
	if (i >= p->n || p->n_seen == PATH_MAX_INSNS)
		return;
	for (size_t k = 0; k < p->n_seen; k++)
		if (p->seen[k] == i)
			return;
	p->seen[p->n_seen++] = i;
	p->stack[p->n_stack++] = i;
}

/* To what may run behind instruction @i. */
static void go_on(struct paths *p, size_t i)
{
	/* Counted from the code's start: where that really is does not matter. */
	struct arm64_decoded d = arm64_decode(insn_at(p, i), i * ARM64_INSN);

	if (d.form == ARM64_LEAVE || d.form == ARM64_UNKNOWN)
		return;
	if (d.form == ARM64_B || d.form == ARM64_B_IF)
		go_to(p, (size_t)(d.target / ARM64_INSN));
	if (d.form != ARM64_B)
		go_to(p, i + 1);
}

static bool is_clrex(uint32_t word)
{
	return (word & 0xfffff0ff) == 0xd503305f;
}

/* Does a path lead from @from (whatever that is) to a store, and past no load? */
static bool leads_to_store(struct paths *p, size_t from)
{
	p->n_stack = p->n_seen = 0;
	go_on(p, from);
	while (p->n_stack) {
		size_t i = p->stack[--p->n_stack];
		uint32_t word = insn_at(p, i);

		if (arm64_is_store_exclusive(word))
			return true;
		if (!arm64_is_load_exclusive(word) && !is_clrex(word))
			go_on(p, i);
	}
	return false;
}

/* Does a path lead from the load at @from to @to, and past no store? */
static bool leads_there(struct paths *p, size_t from, size_t to)
{
	p->n_stack = p->n_seen = 0;
	go_on(p, from);
	while (p->n_stack) {
		size_t i = p->stack[--p->n_stack];
		uint32_t word = insn_at(p, i);

		if (i == to)
			return true;
		if (!arm64_is_store_exclusive(word) && !arm64_is_load_exclusive(word) &&
		    !is_clrex(word))
			go_on(p, i);
	}
	return false;
}

static bool is_in_exclusive(struct paths *p, size_t at)
{
	size_t i = at > LOOK_AROUND ? at - LOOK_AROUND : 0;
	size_t to = p->n - at > LOOK_AROUND ? at + LOOK_AROUND : p->n;

	while (i < to && !arm64_is_load_exclusive(insn_at(p, i)))
		i++;
	/* Of those three none needs more than what it is. */
	if (i == to || arm64_is_load_exclusive(insn_at(p, at)) ||
	    arm64_is_store_exclusive(insn_at(p, at)) || is_clrex(insn_at(p, at)) ||
	    !leads_to_store(p, at))
		return false;
	for (; i < to; i++)
		if (arm64_is_load_exclusive(insn_at(p, i)) && leads_there(p, i, at))
			return true;
	return false;
}

const char *arm64_refuse_at(const uint8_t *code, size_t len, size_t at)
{
	struct paths p = { .code = code, .n = len / ARM64_INSN };
	size_t i = at / ARM64_INSN;

	if (at % ARM64_INSN || i >= p.n)
		return NULL;
	/* movprfx, and pacm, which a jump would part from what they are for. */
	if (i > 0 && arm64_is_prefix(insn_at(&p, i - 1)))
		return why_behind_prefix;
	return is_in_exclusive(&p, i) ? why_between : NULL;
}
