/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/returns/ends.h"

#include "engine/returns/hijack_open.h"
#include "engine/returns/returns.h"
#include "engine/space/hijack_part.h"
#include "engine/space/return_instance.h"
#include "engine/space/return_part.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"

/* How many of @p's threads do not end; *ret_one: one of those. */
static size_t n_that_run(const struct process *p, struct tracee **ret_one)
{
	size_t n = 0;

	for (struct tracee *t = p->tracees; t; t = t->next)
		if (!t->ends) {
			*ret_one = t;
			n++;
		}
	return n;
}

/* Are there entries of detours in @t's memory, and nobody else's? */
static bool has_hijacks(const struct tracee *t)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;

	return ps && ps->hijack->table && !ps->closing && !t->process->is_vforked;
}

void return_thread_ends(struct tracee *t)
{
	struct tracee *other = NULL;
	size_t n;

	if (!has_hijacks(t))
		return;
	n = n_that_run(t->process, &other);
	hijack_thread_ends(t, n == 0 && !space_is_shared(t->process->space));
	/* The others are killed before the exec goes on. */
	if (n == 1 && other->execs)
		hijack_note_exec(other, !space_is_shared(t->process->space), true);
}

void return_execs(struct tracee *t)
{
	struct tracee *other = NULL;

	if (!has_hijacks(t))
		return;
	t->execs = true;
	hijack_note_exec(
		t, n_that_run(t->process, &other) == 1 && !space_is_shared(t->process->space),
		false);
}

void return_thread_ended(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;
	enum missed_why why = MISSED_THREAD;
	struct return_instance *ri;

	t->probes->n_unwinders = 0;
	if (!ps)
		return;
	if (t->process->execing && t->execs)
		hijack_count_exec(t->process->space);
	t->execs = false;
	if (t->process->execing || t->process->n_tracees == 1)
		why = MISSED_EXITED;
	/*
	 * The entries stay known: a coroutine that this thread left may go on in
	 * another. They only count as missed, once. Where it is the tracing that has
	 * ended, for good or for a while, they do not: they can still return.
	 */
	while ((ri = t->probes->returns.newest)) {
		if (!ps->closing && !t->process->is_alone)
			returns_count_all(ri, why);
		ri->tid = 0;
		returns_unlink(ri);
		returns_link(&ps->ret->lost, ri);
	}
	while ((ri = t->probes->disarmed.newest)) {
		if (!ps->closing)
			returns_count_all(ri, why);
		ri->uncounted = ps->closing;
		returns_drop(ps, ri);
	}
}
