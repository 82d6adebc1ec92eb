/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What there is once for the tree, and once more for each folder of instances/: which events are enabled, with which filters, what they
 * gave, and how that is kept.
 */

#ifndef UBP_CLI_FS_INSTANCE_H
#define UBP_CLI_FS_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/fs/buffer.h"
#include "cli/fs/error_log.h"

struct fs_triggers;

/* Names of trace_options, in their order. */
enum instance_option {
	OPTION_USERSTACKTRACE,
	OPTION_OVERWRITE,
	OPTION_MARKERS,
	OPTIONS,
};

/* Of an event that was enabled, or has a filter. */
struct event_state {
	uint32_t number; /* of the event */
	bool is_enabled, was_enabled;
	/* Triggers are about it; one is written that may be; the session is to be told whether it is enabled. */
	bool is_soft, is_held, is_switched;
	bool has_stack;      /* a trigger asks for stacks, or may */
	bool has_condition;  /* a trigger needs what a hit has recorded */
	unsigned generation; /* of the session that knows that */
	char *filter;        /* that counts; NULL: none */
	char *shown;         /* what the file says, its newline included; NULL: "none\n" */
};

struct instance {
	uint16_t number;
	uint32_t born; /* the last number of an event that was there before it */
	char *name;    /* "": the tree's own */
	struct event_state *states;
	size_t n_states;
	struct buffer buffer;
	struct buffer snapshot; /* if .has_snapshot: what .buffer had when it was taken */
	bool has_snapshot;
	bool has_lost_event; /* one is gone that was enabled here */
	struct fs_triggers *triggers;
	unsigned in; /* the number of the session in which it has triggers; 0: none */
	unsigned
		n_open; /* files that keep it from being removed; counted up with the state's lock, down by anybody */
	bool goes;      /* it is being removed: none is opened */
	bool is_held;   /* some event is */
	bool is_on;
	unsigned clock; /* of fs_clocks */
	bool options[OPTIONS];
	unsigned long *pids; /* of threads whose events alone are kept; none: of all */
	size_t n_pids;
	struct error_log errors;
};

extern const char *const instance_option_names[OPTIONS];

/* NULL: memory is short. */
struct instance *instance_new(const char *name, size_t len, uint16_t number, int n_cpus);
void instance_free(struct instance *instance);

/* NULL: nothing is known of it, or, with @make, memory is short. */
struct event_state *instance_state(struct instance *instance, uint32_t number, bool make);
void instance_forget_state(struct instance *instance, uint32_t number);
/* It has to have probes: it is enabled, or triggers are about it. */
bool event_state_is_traced(const struct event_state *of);
/* Its probes are there for a trigger that is not written yet, and nobody has asked for its hits. */
bool event_state_is_mute(const struct event_state *of);
/* As far as users see it. */
bool instance_has_probes(const struct instance *instance, uint32_t number);
bool instance_is_enabled(const struct instance *instance, uint32_t number);

/* A hit of thread @tid at @mono_ns of CLOCK_MONOTONIC: into the buffer, if it is wanted, with its time by the instance's clock. @is_on: tracing_on, as it was then. */
void instance_event(struct instance *instance, bool is_on, int tid, unsigned cpu,
		    uint64_t mono_ns, const char *line, size_t len);

/* There is room for a snapshot; it is taken; there is none any more. 0 or -ENOMEM. */
int instance_snapshot_room(struct instance *instance);
int instance_snapshot(struct instance *instance);
void instance_snapshot_free(struct instance *instance);
/* All that was traced goes, the snapshot's, too. */
void instance_clear(struct instance *instance);

/* 0 or -EINVAL. */
int instance_set_option(struct instance *instance, const char *name, size_t len, bool on);

#endif
