/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Triggers of events: the tracer's session carries them out (engine/ubp_trigger.h), where each instance that has some, or synthetic events enabled, has a trace. While
 * it has any, an event's probes stand as long as it is enabled or a trigger is about it, and the session is told which events are enabled, and with what filter. All of it
 * is the worker's.
 */

#ifndef UBP_CLI_FS_TRIGGERS_H
#define UBP_CLI_FS_TRIGGERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ubp_err.h"

struct event;
struct events;
struct fs_tracer;
struct instance;
struct text;
struct ubp_session;

/* Others own all. */
struct fs_triggers {
	struct fs_tracer *tracer;
	struct events *events;
	struct instance **const *instances; /* the first is the tree's own */
	const size_t *n_instances;
	pthread_mutex_t *lock; /* of theirs */
	/* One is taken, behind what was handed on. */
	void (*snapshot)(void *ctx, struct instance *instance);
	void *snapshot_ctx;
};

/* Are there triggers of @instance, or were some? */
bool fs_triggers_is_in(const struct fs_triggers *triggers, const struct instance *instance);
/* Then the session, where that is asked about @instance from now on; else NULL. */
struct ubp_session *fs_triggers_session(const struct fs_triggers *triggers,
					const struct instance *instance);
/* The number of the instance that a trace of the session is. */
uint16_t fs_triggers_instance(const char *trace);
/* Triggers are written in the session that there is now. 0 or a negative errno. */
int fs_triggers_begin(struct fs_triggers *triggers, struct instance *instance,
		      struct ubp_err *err);
/* The instance has none any more. */
void fs_triggers_end(struct fs_triggers *triggers, struct instance *instance);
/* What is enabled, and filtered, has changed, and so has what is traced; of one instance, or of all. 0 or a negative errno. */
int fs_triggers_follow(struct fs_triggers *triggers, struct instance *instance,
		       struct ubp_err *err);
int fs_triggers_follow_all(struct fs_triggers *triggers, struct ubp_err *err);
/* Hits were handed on: triggers may have switched tracing_on. */
void fs_triggers_look(struct fs_triggers *triggers);
/* Triggers were written: which events they are about now. */
void fs_triggers_look_at_events(struct fs_triggers *triggers, struct instance *instance);
/* Synthetic events were written: the tree has those that the session has. 0 or -ENOMEM. */
int fs_triggers_look_at_made(struct fs_triggers *triggers);
/* Are there any, or synthetic events? */
bool fs_triggers_any(const struct fs_triggers *triggers);
/* Is there one that is to enable or disable the event, or its histograms? */
bool fs_triggers_name_it(const struct fs_triggers *triggers, const struct event *event);
/* Does a histogram choose when a snapshot is taken? */
bool fs_triggers_has_snapshots(const struct fs_triggers *triggers, struct instance *instance);
/* Are there synthetic events? */
bool fs_triggers_has_made(const struct fs_triggers *triggers);

/* The event that is called so, up to @between behind the group, and one of ": \t\n)" behind the event. NULL: there is none. */
const struct event *fs_triggers_named(const struct fs_triggers *triggers, const char *text,
				      char between);
/* GROUP:EVENT, as the session calls it. */
#define FS_TRIGGERS_NAME_ROOM 160
void fs_triggers_name(const struct event *event, char name[FS_TRIGGERS_NAME_ROOM]);

void fs_triggers_list(const struct fs_triggers *triggers, struct instance *instance,
		      const struct event *event, struct text *out);
void fs_triggers_hist(const struct fs_triggers *triggers, struct instance *instance,
		      const struct event *event, struct text *out);
/* The file "enable", without its newline; NULL: no trigger has a say in it. */
const char *fs_triggers_enable(const struct fs_triggers *triggers, struct instance *instance,
			       const struct event *event);

#endif
