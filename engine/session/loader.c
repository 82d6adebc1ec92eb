/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A program has loaded or closed a library: what is mapped now is looked through, which takes as long as there are
 * mappings, and all others that stop wait meanwhile. So each address space has an account for that (engine/base/credit.h).
 * Where it is overdrawn the thread that loads is kept in its stop until there is credit, and looked at then: its own
 * program waits, nobody else, and no probe comes late.
 */

#include <stdlib.h>

#include "engine/base/credit.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"
#include "engine/session/state.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/trace/held.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/tracer.h"

static uint64_t wait_of(const struct tracee *t)
{
	return credit_wait(&t->process->space->looks, event_clock_now(CLOCK_KIND_MONO));
}

/* Others may stop meanwhile, and be looked at: that is on their accounts. */
static void look(struct ubp_session *s, const struct held *held)
{
	uint64_t before = s->loader.looked_ns, begun = proc_cpu_ns(), took;

	session_mappings_changed(s, held);
	took = proc_cpu_ns() - begun - (s->loader.looked_ns - before);
	s->loader.looked_ns += took;
	if (held_lasts(held))
		credit_charge(&held->t->process->space->looks, took);
}

/* False: it cannot be, and is looked at at once. */
static bool keep(struct ubp_session *s, struct tracee *t)
{
	struct process *p = t->process;

	if (t->held || t->remote.is_in || s->is_ending || p->is_leaving ||
	    !alarm_begin(&s->loader.alarm, &s->tracer) ||
	    pid_list_add(&s->loader.kept, t->tid) < 0)
		return false;
	tracer_keep(t);
	if (!p->space->looks_told)
		session_warn(s,
			     "process %d: so much is mapped there that to look at each library "
			     "it loads "
			     "takes long: it waits for that, in dlopen() and dlclose()",
			     (int)p->pid);
	p->space->looks_told = true;
	return true;
}

void loader_stopped(void *ctx, const struct held *held)
{
	struct ubp_session *s = ctx;
	uint64_t wait = wait_of(held->t);

	if (!wait || !keep(s, held->t))
		look(s, held);
	else if (s->loader.kept.n == 1)
		alarm_in(&s->loader.alarm, wait);
	else
		alarm_in(&s->loader.alarm, 0); /* the pass knows who is next */
}

static void leave_out(struct pid_list *list, size_t i)
{
	list->v[i] = list->v[--list->n];
}

void loader_pass(struct ubp_session *s)
{
	struct pid_list *kept = &s->loader.kept;
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < kept->n;) {
		struct tracee *t = map_get(&s->tracer.tracees, (uint64_t)kept->v[i]);
		uint64_t wait = t && t->kept ? wait_of(t) : 0;
		struct held held;

		if (wait) {
			first = wait < first ? wait : first;
			i++;
			continue;
		}
		leave_out(kept, i);
		if (!t || !t->kept)
			continue; /* it has ended */
		held = held_thread(&s->tracer, t, NULL);
		tracer_keep_no_more(t);
		look(s, &held);
		if (held_lasts(&held))
			tracee_resume(t, 0);
		first = 0;
		break;
	}
	if (kept->n)
		alarm_in(&s->loader.alarm, first);
}

void loader_end(struct ubp_session *s)
{
	const struct pid_list *kept = &s->loader.kept;

	alarm_end(&s->loader.alarm);
	for (size_t i = 0; i < kept->n; i++) {
		struct tracee *t = map_get(&s->tracer.tracees, (uint64_t)kept->v[i]);

		if (!t || !t->kept)
			continue;
		tracer_keep_no_more(t);
		tracee_resume(t, 0);
	}
	free(kept->v);
	s->loader.kept = (struct pid_list){ 0 };
}
