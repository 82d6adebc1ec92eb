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

struct session_triggers {
	struct ubp_session *session;
	struct trigger_set *set;
	struct trigger_event *
		*events; /* by the number of their probe; NULL: not looked for yet */
	size_t n_events;
	size_t n_defined; /* definitions whose events are known */
	struct waiting *first, **last;
	struct waiting **fresh; /* behind those that have waited for a snapshot already */
	bool is_changed;        /* some of those are due, or go */
	bool is_ended;          /* some are due, and nobody wanted them yet */
	size_t n_bytes;
	uint64_t after_ns;    /* what comes so long behind a snapshot is told, too ... */
	uint64_t until_ns;    /* ... which is until then */
	uint64_t hit_ns;      /* when the hit was whose triggers are carried out */
	ubp_trigger_snapshot_fn *on_snapshot; /* NULL: what is told waits for a snapshot */
	void *on_snapshot_ctx;
	struct sink_buf text; /* what was given last */
	size_t n_logged; /* of .set's log, before the text that was written last */
	bool is_settled;
	struct map
		counted; /* events whose hits are counted, by address: the number of their table, + 1 */
};

/* They are made when they are first asked for. NULL: memory is short. */
struct session_triggers *triggers_of(struct ubp_session *s);
/* "GROUP:EVENT", or "EVENT" of any group. */
struct trigger_event *triggers_find(const struct session_triggers *triggers, const char *name);

/* Events by that name of probes that came while the session runs are the set's from now on. 0, -ENOMEM, -EBUSY. */
int triggers_know(struct session_triggers *triggers, const char *name);
/* An event to write to. 0, -ENOMEM, -ENOENT or -EBUSY, with a text. */
int triggers_find_or_fail(struct ubp_session *s, const char *name,
			  struct trigger_event **ret_event, struct ubp_err *err);
/* What was told of @rc in the set's log, whose count was @before; 0 or more is fine. */
int triggers_fail(const struct session_triggers *triggers, size_t before, int rc,
		  const char *text, struct ubp_err *err);

#endif
