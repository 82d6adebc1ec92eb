/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a session tells its user while it runs: lines for ubp_dispatch() to hand out.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/again.h"
#include "engine/base/escape.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/leave.h"
#include "engine/plant/taken_sites.h"
#include "engine/returns/returns.h"
#include "engine/session/state.h"
#include "engine/session/tell.h"
#include "engine/space/space.h"
#include "engine/trace/process.h"
#include "engine/trace/tracer.h"

void session_news(struct ubp_session *s)
{
	const uint64_t one = 1;

	(void)again_write(s->out.news_fd, &one, sizeof(one));
}

void session_wake_calls(struct ubp_session *s)
{
	pthread_mutex_lock(&s->out.calls.news_lock);
	pthread_cond_broadcast(&s->out.calls.news);
	pthread_mutex_unlock(&s->out.calls.news_lock);
}

void session_warn(struct ubp_session *s, const char *fmt, ...)
{
	struct warning *w;
	char raw[WARNING_MAX], text[WARNING_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	escape_line_cut(text, sizeof(text), raw);
	w = malloc(sizeof(*w) + strlen(text) + 1);
	pthread_mutex_lock(&s->lock);
	if (w) {
		w->next = NULL;
		memcpy(w->text, text, strlen(text) + 1);
		*s->warning.last = w;
		s->warning.last = &w->next;
	} else if (!s->warning.spare[0]) {
		memcpy(s->warning.spare, text, strlen(text) + 1);
	}
	pthread_mutex_unlock(&s->lock);
	session_news(s);
}

void session_mark_failed(struct ubp_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->warning.has_failed = true;
	pthread_mutex_unlock(&s->lock);
}

static void tell_lost_returns(struct ubp_session *s, const struct process *p)
{
	size_t more = 0;
	const char *why = p->space->plant ? guard_no_room(p->space->plant) : NULL;
	const struct uprobe *lost = why ? plant_lost_returns(p->space, &more) : NULL;
	char others[48] = "";

	if (!lost)
		return;
	if (more)
		(void)snprintf(others, sizeof(others), " (and %zu more)", more);
	session_warn(s, "returns of %s%s cannot be caught in process %d: %s",
		     lost->what ? lost->what : "a function", others, (int)p->pid, why);
}

void tell_planted(struct ubp_session *s, const struct process *p, bool was_unguarded)
{
	const struct guard_found found = guard_take_found(p->space);

	if (found.n_breakpoints)
		session_warn(
			s, "process %d: %u breakpoint%s taken out that a killed ubp had left",
			(int)p->pid, found.n_breakpoints, found.n_breakpoints == 1 ? "" : "s");
	if (found.n_raised)
		session_warn(s,
			     "process %d: %u semaphore%s lowered that a killed ubp had raised",
			     (int)p->pid, found.n_raised, found.n_raised == 1 ? "" : "s");
	tell_lost_returns(s, p);
	if (was_unguarded || !plant_is_unguarded(p->space))
		return;
	session_warn(s,
		     "process %d has probes in places that nothing guards (--force): if ubp is "
		     "killed (SIGKILL), it dies too",
		     (int)p->pid);
	pthread_mutex_lock(&s->lock);
	s->count.n_unguarded++;
	pthread_mutex_unlock(&s->lock);
}

void tell_left(struct ubp_session *s, pid_t pid, const struct plant_left *left)
{
	char where[32] = "", more[48] = "";

	if (!left || !left->n)
		return;
	if (left->vaddr)
		(void)snprintf(where, sizeof(where), " at 0x%lx", (unsigned long)left->vaddr);
	if (left->n > 1)
		(void)snprintf(more, sizeof(more), " (and %u more)", left->n - 1);
	session_mark_failed(s);
	session_warn(s,
		     "process %d: %s%s%s could not be taken out: %s; %sthe next ubp that "
		     "traces it does so",
		     (int)pid, left->what, where, more, strerror(left->code),
		     left->is_live ? "the guard stays with it, and " : "");
}

void tell_not_stepped(void *ctx, const struct tracee *t, uint64_t vaddr)
{
	struct ubp_session *s = ctx;

	session_mark_failed(s);
	session_warn(
		s,
		"process %d: the probe at 0x%lx is taken out: it would have to be stepped in "
		"place (--force), and its memory may not answer, as that of a stranger",
		(int)t->process->pid, (unsigned long)vaddr);
}

void tell_all_left(struct ubp_session *s)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->tracer.processes, &pos, NULL, &value)) {
		const struct process *p = value;

		if (!plant_left(p->space))
			continue;
		tell_left(s, p->pid, plant_left(p->space));
		/* Once, whoever else lives in that memory. */
		plant_left_told(p->space);
	}
}

void tell_hidden(struct ubp_session *s, const struct process *p)
{
	const struct uprobe *first = NULL;
	unsigned n = taken_sites_count(p->space, &first);

	if (!n)
		return;
	session_warn(s,
		     "process %d: a uprobe of the kernel's, or another's breakpoint, is or was "
		     "where %s%s stands: hits there are missing (--beside-kernel)",
		     (int)p->pid, first->what, n > 1 ? ", and not it alone," : "");
}

void tell_untaken(struct ubp_session *s)
{
	unsigned n = s->tracer.n_untaken;

	if (!n)
		return;
	session_warn(s, "%u hit%s or new process%s not taken up: out of memory", n,
		     n == 1 ? "" : "s", n == 1 ? " was" : "es were");
	session_mark_failed(s);
}
