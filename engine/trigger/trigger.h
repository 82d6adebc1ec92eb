/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * One trigger: a command on an event, with a count and a filter. What the files of this room share.
 */

#ifndef UBP_TRIGGER_TRIGGER_H
#define UBP_TRIGGER_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

struct event_record;
struct filter;
struct hist;
struct sink_buf;
struct trigger_event;
struct trigger_set;

/* There is one of a kind per event, per event and target, or per histogram. */
enum trigger_kind {
	TRIGGER_TRACING, /* traceon, traceoff */
	TRIGGER_SNAPSHOT,
	TRIGGER_STACK,
	TRIGGER_EVENT, /* enable_event, disable_event */
	TRIGGER_PAUSE, /* enable_hist, disable_hist */
	TRIGGER_HIST,
};

#define TRIGGER_UNLIMITED UINT64_MAX

struct trigger {
	struct trigger *next;
	const char *word; /* its command */
	enum trigger_kind kind;
	bool switches_on; /* traceon, enable_* */
	bool is_paused;
	uint64_t count; /* what is left */
	struct trigger_event *event;
	struct trigger_event *target; /* of TRIGGER_EVENT and _PAUSE */
	char *filter_text;
	struct filter *filter;
	struct hist *hist;
	struct trigger *named; /* a histogram of a name that was there: whose it shares */
	char *name;            /* of the histogram; NULL: none, or it is not registered */
};

/* A command at work. */
struct trigger_command {
	struct trigger_set *set;
	struct trigger_event *event;
	const char *word;
	bool removes;
	bool is_inner; /* it was not written, but follows from another one */
	char *param;   /* NULL: none; may be cut in pieces */
};

struct trigger *trigger_new(struct trigger_event *event, const char *word,
			    enum trigger_kind kind);
/* With its filter, not its histogram. NULL is fine. */
void trigger_free(struct trigger *trigger);
/* "if EXPR", NULL for none, of @trigger's event. */
int trigger_take_filter(struct trigger_set *set, struct trigger *trigger, char *text);
/* Does it let @record pass? */
bool trigger_passes(const struct trigger *trigger, const struct event_record *record);

/* Into the list of its event, and out of it. */
void trigger_link(struct trigger *trigger, bool to_end);
void trigger_unlink(struct trigger *trigger);

/* Carry it out. @record is NULL where values are not looked at. */
/* The two buffers change places. */
void trigger_snapshot(struct trigger_set *set);
void trigger_fire(struct trigger_set *set, struct trigger *trigger,
		  const struct event_record *record, const struct event_record *hit);
/* Is it carried out behind the event's own record? */
bool trigger_is_late(const struct trigger *trigger);

/* All commands but hist. */
int plain_command(struct trigger_command *command, enum trigger_kind kind, bool switches_on);
/* A line of the trigger file. */
void plain_list(const struct trigger *trigger, struct sink_buf *out);

#endif
