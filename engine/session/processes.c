/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/processes.h"

#include <string.h>

#include "engine/base/map.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"
#include "engine/event/queue.h"
#include "engine/event/record.h"
#include "engine/session/apart.h"
#include "engine/session/inside.h"
#include "engine/trace/process.h"
#include "engine/ubp_event.h"

static void tell(struct ubp_session *s, pid_t pid, enum ubp_process_event what)
{
	struct event_queue *queue = s->out.queue;
	struct event_record *r = event_queue_reserve_for(queue, sizeof(*r), s->opt.lossless);

	if (!r) {
		event_queue_lost(queue, 1);
		return;
	}
	memset((char *)r + offsetof(struct event_record, kind), 0,
	       sizeof(*r) - offsetof(struct event_record, kind));
	r->kind = EVENT_PROCESS;
	r->probe = what;
	r->pid = r->tid = pid;
	r->time = event_clock_now(s->clock);
	if (what == UBP_PROCESS_ENDS || !proc_read_comm(pid, r->comm))
		r->comm[0] = '\0';
	event_queue_commit(queue, sizeof(*r));
	event_queue_wake(queue);
}

void ubp_tell_processes(struct ubp_session *s)
{
	if (s->tracing.apart)
		apart_tell_processes(s);
	else
		s->out.processes.are_told = true;
}

void processes_begin(struct ubp_session *s, const struct process *p)
{
	if (!s->out.processes.are_told || p->silent ||
	    map_get(&s->out.processes.told, (uint64_t)p->pid))
		return;
	/* Without a note of it, its end would not be told. */
	if (map_put(&s->out.processes.told, (uint64_t)p->pid, s) == 0)
		tell(s, p->pid, UBP_PROCESS_BEGINS);
	else
		event_queue_lost(s->out.queue, 1);
}

void processes_execute(struct ubp_session *s, const struct process *p)
{
	if (map_get(&s->out.processes.told, (uint64_t)p->pid))
		tell(s, p->pid, UBP_PROCESS_EXECUTES);
}

void processes_end(struct ubp_session *s, pid_t pid)
{
	if (map_remove(&s->out.processes.told, (uint64_t)pid))
		tell(s, pid, UBP_PROCESS_ENDS);
}
