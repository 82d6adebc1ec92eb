/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/exclusive.h"

/* Instructions on the paths from one: such sequences are short by the architectures' rules. */
#define PATH_MAX_INSNS 128
/* How far from an instruction a load is looked for, in instructions: a branch leads on from
 * a load over code that is not in the sequence. */
#define LOOK_AROUND 256

struct paths {
	const struct exclusive_insns *insns;
	const uint8_t *code;
	size_t n; /* instructions */
	size_t stack[PATH_MAX_INSNS];
	size_t n_stack;
	size_t seen[PATH_MAX_INSNS]; /* where paths have come by */
	size_t n_seen;
};

static enum exclusive_kind kind_of(const struct paths *p, size_t i)
{
	return p->insns->kind(p->code, i);
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
	size_t next[EXCLUSIVE_NEXT], n = p->insns->next(p->code, i, next);

	for (size_t k = 0; k < n; k++)
		go_to(p, next[k]);
}

/* Does a path lead from @from (whatever that is) to a store, and past no load? */
static bool leads_to_store(struct paths *p, size_t from)
{
	p->n_stack = p->n_seen = 0;
	go_on(p, from);
	while (p->n_stack) {
		size_t i = p->stack[--p->n_stack];
		enum exclusive_kind kind = kind_of(p, i);

		if (kind == EXCLUSIVE_STORE)
			return true;
		if (kind == EXCLUSIVE_NOT)
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

		if (i == to)
			return true;
		if (kind_of(p, i) == EXCLUSIVE_NOT)
			go_on(p, i);
	}
	return false;
}

bool exclusive_is_between(const struct exclusive_insns *insns, const uint8_t *code, size_t n,
			  size_t at)
{
	struct paths p = { .insns = insns, .code = code, .n = n };
	size_t i = at > LOOK_AROUND ? at - LOOK_AROUND : 0;
	size_t to = n - at > LOOK_AROUND ? at + LOOK_AROUND : n;

	while (i < to && kind_of(&p, i) != EXCLUSIVE_LOAD)
		i++;
	/* None of them needs more than what it is. */
	if (i == to || kind_of(&p, at) != EXCLUSIVE_NOT || !leads_to_store(&p, at))
		return false;
	for (; i < to; i++)
		if (kind_of(&p, i) == EXCLUSIVE_LOAD && leads_there(&p, i, at))
			return true;
	return false;
}
