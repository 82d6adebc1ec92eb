/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Triggers of a session: what its files share. */

#ifndef UBP_SESSION_TRIGGERS_PRIV_H
#define UBP_SESSION_TRIGGERS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/sink/buf.h"
#include "engine/ubp_trigger.h"

struct trigger_event;
struct trigger_set;
struct ubp_err;
struct ubp_session;
struct waiting;

struct session_triggers;

/* What is known by the number of a probe. */
struct trigger_place {
	struct session_triggers *of;
	struct trigger_event *event; /* of that; NULL: not looked for yet */
	/* Of the first of its numbers: the trace that it is in (NULL: the session's own), and what its group is called there. */
	struct session_triggers *trace;
	char *group;
};

/* Of a trace: triggers_traces.c. */
struct session_triggers {
	struct ubp_session *session;
	char *trace; /* its name; "": the session's own, which is the first of the list */
	struct session_triggers *next;
	struct trigger_set *set;
	/* Of the session's own: which one is asked, and what is known of probes. */
	struct session_triggers *chosen;
	struct trigger_place *places;
	size_t n_places;
	size_t n_defined; /* definitions whose events are known */
	struct waiting *first, **last;
	struct waiting **fresh; /* behind those that have waited for a snapshot already */
	bool is_changed;        /* some of those are due, or go */
	bool is_ended;          /* some are due, and nobody wanted them yet */
	size_t n_bytes;
	uint64_t after_ns; /* what comes so long behind a snapshot is told, too ... */
	uint64_t until_ns; /* ... which is until then */
	uint64_t hit_ns;   /* when the hit was whose triggers are carried out */
	ubp_trigger_snapshot_fn *on_snapshot; /* NULL: what is told waits for a snapshot */
	void *on_snapshot_ctx;
	struct sink_buf text; /* what was given last */
	size_t n_logged;      /* of .set's log, before the text that was written last */
	bool is_settled;
	struct map
		counted; /* events whose hits are counted, by address: the number of their table, + 1 */
};

/* Those that are asked now. The session's own are made when they are first asked for. NULL: memory is short. */
struct session_triggers *triggers_of(struct ubp_session *s);
/* NULL: memory is short. */
struct session_triggers *triggers_new(struct ubp_session *s, const char *trace);
/* NULL: there are none. */
const struct session_triggers *triggers_chosen(const struct ubp_session *s);
/* Of the session's own: where hits of probe @number belong; NULL: to no event, or memory is short. */
const struct trigger_place *triggers_place(struct session_triggers *own, unsigned number);
/* @event goes. */
void triggers_forget(struct session_triggers *triggers, const struct trigger_event *event);
/* All of the session's own's. */
void triggers_free_places(struct session_triggers *own);
/* One that is no more in the list. */
void triggers_free_one(struct session_triggers *triggers);
struct session_number;
/* Whose the probe is, and, to be borrowed, what its group is called there. */
struct session_triggers *triggers_owner(const struct session_triggers *own,
					const struct session_number *entry,
					const char **ret_group);
/* "GROUP:EVENT", or "EVENT" of any group. */
struct trigger_event *triggers_find(const struct session_triggers *triggers, const char *name);

/* Events by that name of probes that came while the session runs are the set's from now on. 0, -ENOMEM, -EBUSY. */
int triggers_know(struct session_triggers *triggers, const char *name);
/*
 * May triggers be changed now, and is @given, what it takes for that? -EBUSY: this is a callback, or a handler, while which they are carried out. -EINVAL: it is NULL.
 * @err may be NULL.
 */
int triggers_may_change(const struct ubp_session *s, const char *given, struct ubp_err *err);
/* An event to write to. 0, -ENOMEM, -ENOENT or -EBUSY, with a text. */
int triggers_find_or_fail(struct ubp_session *s, const char *name,
			  struct trigger_event **ret_event, struct ubp_err *err);
/* What was told of @rc in the set's log, whose count was @before; 0 or more is fine. */
int triggers_fail(const struct session_triggers *triggers, size_t before, int rc,
		  const char *text, struct ubp_err *err);

#endif
