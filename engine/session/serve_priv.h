/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of what serves a host; for the serve*.c. */

#ifndef UBP_SESSION_SERVE_PRIV_H
#define UBP_SESSION_SERVE_PRIV_H

#include <jansson.h>
#include <pthread.h>

#include "engine/apart/link.h"
#include "engine/apart/protocol.h"
#include "engine/base/map.h"
#include "engine/ubp.h"
#include "engine/ubp_handler.h"

/* What is shared by those who answer on the two sockets. */
struct served_shared {
	pthread_mutex_t lock; /* of the next two */
	struct wire told;
	unsigned n_told;
	pthread_mutex_t
		folder; /* whoever has it says in which this process is: nobody waits for the tracing thread meanwhile */
};

/* Who asks by which socket. */
enum serve_line {
	SERVE_MAIN,
	SERVE_CHANGES, /* apart_is_change(): a thread of their own */
	SERVE_HITS,    /* apart_is_for_handlers(): the tracing thread, at a hit */
};

/* Numbers whose definition the host has. */
struct served_known {
	struct map numbers;
	unsigned *list;
	size_t n, cap, next; /* .next: that is looked at next */
};

/* A trace of triggers: serve_traces.c. */
struct served_trace {
	struct served_trace *next;
	struct served *v;
	char *name;               /* NULL: the session's own, "" */
	uint64_t number;          /* the host's */
	struct apart_event *mark; /* its snapshot, behind the last event; NULL: none */
};

struct served_traces {
	struct served_trace *list;   /* those that the host has named */
	struct served_trace *chosen; /* NULL: none yet */
	size_t n;
};

struct served {
	int socket, over, bell, host; /* .host: a pidfd; -1: none */
	int wakes;                    /* readable when one of these tells something; .until's */
	struct ubp_session *session;  /* NULL: it is not open yet */
	struct ubp_until until;
	struct apart_state *state;
	unsigned char *events;
	size_t n_bytes; /* of these */
	struct served_traces traces;
	struct wire in, answer;
	struct served_shared *shared;
	bool has_folder;        /* until the request is answered, or serve_give_folder() */
	struct served *changes; /* who answers those, on a thread of his own; NULL: nobody */
	pthread_t thread;       /* of this one, if it answers them */
	enum serve_line line;
	struct served_hits *hits; /* NULL: no handler is the host's */
	struct wire opened;  /* the request that has opened it: its texts are the options' */
	struct wire command; /* the same of a command */
	const char **exclude, **argv;
	struct link_fds fds; /* that came with the request */
	struct served_known known;
	json_t *fresh; /* definitions that go with the answer */
	/* The same of synthetic events, whose numbers begin anew when one is defined or goes: by address, their number + 1. */
	struct map made;
	size_t n_made;
	json_t *fresh_made;
	bool has_ended;
};

/* What is asked for stands in .in, and goes to .answer. Each returns the answer's number. */
typedef int64_t serve_fn(struct served *v, struct ubp_err *err);

/* serve_calls.c; NULL: no such request. */
serve_fn *serve_call(uint64_t op);
/* serve_events.c */
int64_t serve_pull(struct served *v, struct ubp_err *err);
int64_t serve_probes(struct served *v, struct ubp_err *err);
int64_t serve_names(struct served *v, struct ubp_err *err);
void serve_events_free(struct served *v);

/* Synthetic events have changed: those that the host knows are none any more. */
void serve_forget_made(struct served *v);
/* serve_traces.c */
int serve_traces_choose(struct served *v, const char *name, uint64_t number,
			struct ubp_err *err);
void serve_traces_end(struct served *v, const char *name);
/* Of the one that is chosen: marks among the events. 0 or -ENOMEM. */
int serve_traces_on_snapshot(struct served *v, bool on);
/* Snapshots that come are behind an event that the last ones were in front of. Returns how much room their marks take at most. */
size_t serve_traces_begin_marks(struct served *v);
/* The host's number of the trace @name; 0: it has none. */
uint64_t serve_traces_number(const struct served *v, const char *name);
void serve_traces_free(struct served *v);
/* serve_counts.c */
int64_t serve_trigger(struct served *v, struct ubp_err *err);
int64_t serve_trigger_text(struct served *v, struct ubp_err *err);
int64_t serve_trigger_rows(struct served *v, struct ubp_err *err);
int64_t serve_trigger_errors(struct served *v, struct ubp_err *err);
int64_t serve_tally(struct served *v, struct ubp_err *err);
int64_t serve_tally_events(struct served *v, struct ubp_err *err);
int64_t serve_tally_take(struct served *v, struct ubp_err *err);
int64_t serve_heap(struct served *v, struct ubp_err *err);
int64_t serve_heap_take(struct served *v, struct ubp_err *err);
int64_t serve_record(struct served *v, struct ubp_err *err);
int64_t serve_record_next(struct served *v, struct ubp_err *err);
int64_t serve_record_end(struct served *v, struct ubp_err *err);

/* serve.c */
int64_t serve_changes(struct served *v, struct ubp_err *err);
/* The host's folder, if it was sent as descriptor @i, is this process's, too, until the request is answered, or this is called. */
void serve_take_folder(struct served *v, unsigned i);
void serve_give_folder(struct served *v);
/* Wait for the next request, and answer it. 0, or -errno: nobody asks any more. */
int serve_request(struct served *v);
/* serve_hits.c */
int64_t serve_hits(struct served *v, struct ubp_err *err);
/* The session has no host any more: it does not wait for a handler. */
void serve_hits_break(struct served *v);
/* What a session here has in place of a handler's function. */
ubp_handler_fn *serve_handler_of(uint64_t number);
/* The session is free. */
void serve_hits_free(struct served *v);
serve_fn serve_set_handler, serve_handler_stats;
serve_fn serve_hit_vector, serve_hit_read, serve_hit_write, serve_hit_skip, serve_hit_stack,
	serve_verdict;
/* What is looked at without asking. */
void serve_set_state(struct served *v);

#endif
