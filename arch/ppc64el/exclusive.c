/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Between a load that reserves memory and the store that needs the reservation no
 * exception may come: the store fails, its loop begins again, and so for ever. Whether an
 * instruction stands there is a question of paths: from a load to it, and from it to a
 * store. Branches are followed; a call comes back.
 */

#include "arch/ppc64el/ppc64el.h"

#include <string.h>

/* Instructions on the paths from one. */
#define PATH_MAX_INSNS 128
/* How far from an instruction a load is looked for, in instructions. */
#define LOOK_AROUND 256

static const char why_between[] =
	"it stands between a load that makes a reservation and the store that needs it: the "
	"store would fail for ever";
static const char why_suffix[] = "it is the second word of an instruction";

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
	return ppc64el_word(p->code + i * PPC64EL_INSN);
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
	uint32_t word = insn_at(p, i);
	/* Counted from the code's start: where that really is does not matter. */
	struct ppc64el_decoded d = ppc64el_decode(word, 0, i * PPC64EL_INSN);

	if (ppc64el_is_prefix(word)) {
		go_to(p, i + 2);
		return;
	}
	if (d.form == PPC64EL_UNKNOWN ||
	    (d.form == PPC64EL_LEAVE && !ppc64el_is_conditional(word)))
		return;
	if ((d.form == PPC64EL_B || d.form == PPC64EL_B_IF) && !(word & PPC64EL_ABSOLUTE))
		go_to(p, (size_t)(d.target / PPC64EL_INSN));
	if (d.form != PPC64EL_B)
		go_to(p, i + 1);
}

/* Does a path lead from @from (whatever that is) to a store, and past no load? */
static bool leads_to_store(struct paths *p, size_t from)
{
	p->n_stack = p->n_seen = 0;
	go_on(p, from);
	while (p->n_stack) {
		size_t i = p->stack[--p->n_stack];
		uint32_t word = insn_at(p, i);

		if (ppc64el_is_store_conditional(word))
			return true;
		if (!ppc64el_is_load_reserve(word))
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
		if (!ppc64el_is_store_conditional(word) && !ppc64el_is_load_reserve(word))
			go_on(p, i);
	}
	return false;
}

static bool is_in_reserve(struct paths *p, size_t at)
{
	size_t i = at > LOOK_AROUND ? at - LOOK_AROUND : 0;
	size_t to = p->n - at > LOOK_AROUND ? at + LOOK_AROUND : p->n;

	while (i < to && !ppc64el_is_load_reserve(insn_at(p, i)))
		i++;
	/* Of those two none needs more than what it is. */
	if (i == to || ppc64el_is_load_reserve(insn_at(p, at)) ||
	    ppc64el_is_store_conditional(insn_at(p, at)) || !leads_to_store(p, at))
		return false;
	for (; i < to; i++)
		if (ppc64el_is_load_reserve(insn_at(p, i)) && leads_there(p, i, at))
			return true;
	return false;
}

/* Of words in a row that look like prefixes, every second is one. */
static bool is_suffix(const struct paths *p, size_t at)
{
	size_t n = 0;

	while (n < at && ppc64el_is_prefix(insn_at(p, at - 1 - n)))
		n++;
	return n % 2;
}

const char *ppc64el_refuse_at(const uint8_t *code, size_t len, size_t at)
{
	struct paths p = { .code = code, .n = len / PPC64EL_INSN };
	size_t i = at / PPC64EL_INSN;

	if (at % PPC64EL_INSN || i >= p.n)
		return NULL;
	if (is_suffix(&p, i))
		return why_suffix;
	return is_in_reserve(&p, i) ? why_between : NULL;
}
