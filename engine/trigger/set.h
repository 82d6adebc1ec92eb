/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The events, triggers and synthetic events of one trace instance, and its log of errors: what a kernel keeps below
 * /sys/kernel/tracing. Texts are written as to its files and read as from them; hits are handed in, and carried out by an
 * interpreter. Nothing here knows targets. The language is that of Linux 6.12.
 *
 * All that writes returns 0 or a negative errno; the kernel's messages are in .log. -ENOMEM apart, an errno is the kernel's.
 */

#ifndef UBP_TRIGGER_SET_H
#define UBP_TRIGGER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/trigger/log.h"

struct event_record;
struct filter;
struct hist;
struct spec_probe;
struct sink_buf;
struct tally;
struct tally_plan;
struct track;
struct trigger;
struct trigger_event;

/* What the owner of the trace is told, and what is asked of it. */
struct trigger_out {
	/*
	 * Room for @record of @event in the trace: settled later, when it is known whether it stays. What is recorded
	 * meanwhile comes behind it. @in_snapshot: in what has become the snapshot during this hit.
	 */
	void *(*reserve)(void *ctx, const struct trigger_event *event,
			 const struct event_record *record, bool in_snapshot);
	void (*settle)(void *ctx, void *place, bool keep);
	/* The stack of @record of @event, as an entry of its own. */
	void (*stack)(void *ctx, const struct trigger_event *event,
		      const struct event_record *record);
	/* Change the trace for the snapshot. */
	void (*snapshot)(void *ctx);
	/* The text of @address as a function, with "+0x../0x.." if @with_offset. False: there is none. */
	bool (*symbol)(void *ctx, uint64_t address, bool with_offset, char *ret, size_t size);
};

struct trigger_set {
	struct trigger_event *
		*events; /* synthetic ones, too: in the order in which they came */
	size_t n_events;
	struct map by_name;    /* of .events, the first one for each hash of group and name */
	bool has_more_by_name; /* there are others: one has the hash of another */
	struct trigger_log log;
	bool escapes; /* strings that hist files show: \\ooo for what could drive a terminal; else raw */
	bool tracing_on;
	bool has_snapshot;       /* room for one */
	const char *clock;       /* the name of the one that was chosen */
	struct hist **var_hists; /* histograms that have or use variables */
	size_t n_var_hists;
	struct trigger **named; /* triggers of histograms with a name */
	size_t n_named;
	struct track *snapshot_by; /* whose snapshot() it is */
	size_t n_snapshots;
	const struct trigger_out *out;
	void *out_ctx;
	unsigned depth;     /* of hits within hits: events that hits make */
	unsigned last_type; /* the number of the event that came last */
	/* All that have the same synthetic events, in a circle: an event that one of them makes happens in each. */
	struct trigger_set *ring;
};

/* @out and @ctx are borrowed. NULL: memory is short. */
struct trigger_set *trigger_set_new(const struct trigger_out *out, void *ctx);
void trigger_set_free(struct trigger_set *set);
/* Of one kernel, as two trace instances: from now on @set, which has none yet, has the synthetic events of @other. 0 or -ENOMEM. */
int trigger_set_join(struct trigger_set *set, struct trigger_set *other);

/* An event that is defined elsewhere, with the fields of @probe, which is copied. */
int trigger_set_add(struct trigger_set *set, const char *group, const char *name,
		    const struct spec_probe *probe, struct trigger_event **ret);
/* -EBUSY while it is wanted, -ENOENT if there is none. */
int trigger_set_remove(struct trigger_set *set, const char *group, const char *name);
struct trigger_event *trigger_set_find(const struct trigger_set *set, const char *group,
				       const char *name);

/* The files of an event. Texts may hold anything; those of 4096 bytes and more are too long. */
int trigger_write(struct trigger_set *set, struct trigger_event *event, const char *text,
		  size_t len);
/* Opening "trigger" with O_TRUNC. */
void trigger_truncate(struct trigger_set *set, struct trigger_event *event);
void trigger_read(const struct trigger_event *event, struct sink_buf *out);
/*
 * Does @text begin with a command? If not, @told says so, and which there are; *ret_at is where one was expected.
 */
bool trigger_is_command(const char *text, struct sink_buf *told, size_t *ret_at);

/* @counted: what was counted of its one histogram by the plan of trigger_plan(), beside what came as hits; NULL: nothing. */
void trigger_read_hist(struct trigger_set *set, struct trigger_event *event,
		       const struct tally *counted, struct sink_buf *out);
/* The same as JSON. */
void trigger_read_hist_json(struct trigger_set *set, struct trigger_event *event,
			    const struct tally *counted, struct sink_buf *out);
int trigger_write_enable(struct trigger_event *event, const char *text, size_t len);
/* NULL: none any more. */
int trigger_write_filter(struct trigger_set *set, struct trigger_event *event,
			 const char *text);

/* Choose a clock. -EINVAL: there is none of that name. */
int trigger_set_clock(struct trigger_set *set, const char *name);

/* A hit of @event: what its triggers do with it, and whether it is recorded. */
void trigger_hit(struct trigger_set *set, struct trigger_event *event,
		 const struct event_record *record);

/*
 * Histograms as plans (engine/base/tally_plan.h), for who counts hits and does not hand them in. Is it all that a hit of @event means, and can
 * a plan say what it does? NULL: yes, *ret_plan does, for hits that pass *ret_filter, the histogram's (NULL: all do); else
 * why not, a constant text. This holds until something is written.
 */
bool trigger_has_hist(const struct trigger_event *event);
const char *trigger_plan(const struct trigger_event *event, struct tally_plan *ret_plan,
			 const struct filter **ret_filter);

#endif
