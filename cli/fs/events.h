/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What was defined: probes, in the order in which they were, their events, and these events' groups. Definitions are checked by a session
 * of the engine that plants nothing.
 *
 * Only one thread, the worker, changes them, and holds .lock then; so that thread reads them as it likes, and all others with .lock.
 */

#ifndef UBP_CLI_FS_EVENTS_H
#define UBP_CLI_FS_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ubp_err.h"

struct text;
struct ubp_session;

struct group {
	uint32_t number; /* no other one, and no event, ever has the same */
	char *name;
	size_t n_events;
};

struct event {
	uint32_t number;
	struct group *group;
	char *name;
	unsigned id; /* for users, of those that are there */
	char *format;
	size_t n_probes;
	bool is_made;  /* a synthetic one: triggers make it, it has no probes */
	char *made_of; /* its fields, as they are listed */
};

struct probe {
	uint32_t number;
	struct event *event;
	char *listing;
	char *path; /* as it was written; */
	int folder; /* that is where it starts from, an O_PATH descriptor; -1: it is absolute */
	uint64_t hits;
	bool is_late; /* its event was enabled when it came: it is not hit before that was disabled everywhere, as in the kernel */
};

struct events {
	pthread_mutex_t *lock;
	struct ubp_session *check;
	struct probe **probes; /* in the order of .check's */
	size_t n_probes;
	struct event **events;
	size_t n_events;
	struct group **groups;
	size_t n_groups;
	uint32_t last_number;
};

/* Who defines, and what is to be known of it. */
struct events_by {
	int folder;  /* an O_PATH descriptor of what relative paths start from; -1: not known */
	bool is_any; /* dynamic_events: "!DEFINITION" deletes, too */
	bool (*is_busy)(void *ctx, const struct event *event);
	/* It is about to go; with .lock. */
	void (*gone)(void *ctx, const struct event *event);
	void *ctx;
	bool has_deleted;         /* set: something was deleted, or sought for that */
	const struct event *busy; /* set: why it is -EBUSY */
};

/* Each returns 0 or a negative errno, the kernel's, with @err filled. */

int events_init(struct events *events, pthread_mutex_t *lock, struct ubp_err *err);
void events_free(struct events *events);
/* A line of uprobe_events. */
int events_run(struct events *events, const char *line, size_t len, struct events_by *by,
	       struct ubp_err *err);
/* All of them go, or none. */
int events_delete_all(struct events *events, struct events_by *by);
/* Would @filter do for @event? */
int events_check_filter(struct events *events, const struct event *event, const char *filter,
			struct ubp_err *err);

/* Synthetic events, with .lock: one comes, listed as @fields, whose format file is @format, unless there is one of that name; or it goes. 0 or -ENOMEM. */
int events_add_made(struct events *events, const char *name, const char *fields,
		    const char *format);
void events_remove_made(struct events *events, struct event *event);
#define EVENTS_MADE_GROUP "synthetic"
struct event *events_named(const struct events *events, const char *group, const char *name);

struct event *events_find(const struct events *events, uint32_t number);
struct group *events_group(const struct events *events, uint32_t number);
/* The text that defines @probe for a session of another kind, its event in group @group. */
void events_definition(const struct probe *probe, const char *group, struct text *out);

#endif
