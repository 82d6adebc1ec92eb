/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The host's half of a session that is apart: what the apart*.c share. */

#ifndef UBP_SESSION_APART_PRIV_H
#define UBP_SESSION_APART_PRIV_H

#include <pthread.h>

#include "engine/apart/link.h"
#include "engine/apart/protocol.h"
#include "engine/base/map.h"
#include "engine/session/apart.h"
#include "engine/session/maker.h"
#include "engine/session/state.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_heap.h"
#include "engine/ubp_trigger.h"

/* What is known of a number. */
struct apart_probe {
	struct session_maker
		*maker; /* has the definition; NULL: its records are not known, or it is gone */
	void *cookie;   /* if the host has set one since the probe came */
	bool has_cookie;
	bool is_removed; /* no event of it is handed out any more */
};

/* A trace of ubp_trigger_trace(): apart_traces.c. */
struct apart_trace {
	struct apart_trace *next;
	char *name; /* NULL: the session's own, "" */
	uint64_t
		number; /* by which events tell of it, and no other trace has had it; 0: the session's own */
	ubp_trigger_snapshot_fn *on_snapshot; /* NULL: nobody wants to know */
	void *on_snapshot_ctx;
};

struct apart_traces {
	struct apart_trace own;     /* the first of the list */
	struct apart_trace *chosen; /* NULL: .own */
	uint64_t n_made;            /* since the session began */
	size_t n;                   /* beside .own */
};

/* What the engine has counted, and texts of triggers, as they were asked for last; the dispatching thread's. */
struct apart_counts {
	char *trigger_text;
	struct apart_traces traces;
	struct ubp_tally *tally;
	struct ubp_heap_row *heap; /* their stacks last as long as the session */
	size_t n_heap, cap_heap;
	bool heap_is_short, heap_is_known; /* nothing was dispatched since */
};

/* A socket on which one thread at a time has a request and its answer. */
struct apart_line {
	int socket; /* -1: none, yet */
	pthread_mutex_t lock;
	struct wire out, in;
};

/* Handlers: apart_hits.c. */
struct apart_hits {
	struct apart_line
		line; /* hits, and what their handlers ask for; made for the first handler */
	pthread_t thread; /* who runs them, if .runs */
	bool runs;
	ubp_handler_fn **
		handlers; /* the engine knows them by their place here, + 1; under .probes_lock */
	size_t n, cap;
};

struct apart {
	struct apart_line line;
	struct apart_line changes; /* what may take long while events are asked for */
	struct apart_hits hits;
	int bell, over; /* the engine has something; what takes long is to be given up */
	struct apart_state *state;
	unsigned char *events;
	size_t events_at,
		events_len; /* the next that is to be handed out, and behind the last; the dispatching thread's */
	bool is_dead;       /* atomic */
	pthread_mutex_t
		probes_lock; /* of the next three, and .hits.handlers; held for moments */
	unsigned n_own;      /* how often the host has named itself, or is about to */
	struct apart_probe *probes; /* by number */
	size_t n_probes, cap_probes;
	struct session_maker **made; /* synthetic events, by number; the dispatching thread's */
	size_t n_made, cap_made;
	struct apart_counts counts;
	uint64_t n_untold;          /* atomic */
	pthread_mutex_t texts_lock; /* of what follows; held for moments */
	struct map texts;           /* that were returned, by what was asked for */
	char **kept;                /* texts that last as long as the session */
	size_t n_kept, cap_kept;
	struct map names; /* json_t of an address, by frame_key(); the dispatching thread's */
	struct sink_resolver resolver;
};

/*
 * A request: apart_begin() takes the line that @op goes by, wire_put() to .line->out puts what it takes, apart_ask() sends it and waits for the answer, of which
 * .line->in has what was asked for, and apart_end() gives the line back. @err may be NULL. apart_ask() returns the answer's number; @until, which may be NULL, is
 * asked meanwhile.
 */
struct apart_request {
	struct ubp_session *s;
	struct apart_line *line;
	struct link_fds fds; /* to be sent, and closed then */
	struct wire told;    /* for the user, behind the request */
	unsigned n_told;
};

int apart_begin(struct apart_request *r, const struct ubp_session *s, enum apart_op op,
		struct ubp_err *err);
/* The folder that the host is in goes with it. */
void apart_add_folder(struct apart_request *r);
int64_t apart_ask(struct apart_request *r, const struct ubp_until *until, struct ubp_err *err);
void apart_end(struct apart_request *r);

/* NULL stays NULL; also where memory is short. */
const char *apart_keep_text(struct apart *a, const char *text);
const char *apart_remember(struct apart *a, uint64_t key, const char *text);
/* Those of probes that were removed are free. */
void apart_forget_texts(struct apart *a, const size_t *numbers, size_t n);

/* apart_events.c, under apart->line.lock: definitions that came with an answer. */
int apart_take_probes(struct apart *a, struct ubp_err *err);
/* Under .probes_lock. NULL: memory is short. */
struct apart_probe *apart_probe_place(struct apart *a, size_t number);
void apart_probes_free(struct apart *a);
/* apart_counts.c */
void apart_counts_free(struct apart *a);
/* apart_traces.c: NULL: it has ended. */
struct apart_trace *apart_trace_find(struct apart_traces *traces, uint64_t number);
void apart_traces_free(struct apart_traces *traces);

/* The lock of @line is held, which is not connected: it is from now on, by @op. */
int apart_connect(struct ubp_session *s, struct apart_line *line, enum apart_op op,
		  struct ubp_err *err);
/* No answer comes any more: the session has failed, and whoever waits for the engine is told. */
void apart_break(struct apart *a);
/* The host names itself. 0; -EINVAL: somewhere it would wait for itself. */
int apart_trace_self(struct ubp_session *s, struct ubp_err *err);
/* It does so no more. */
void apart_leave_self(struct ubp_session *s);
/* @why: what it would wait for. -EINVAL. */
int apart_refuse_self(const char *why, struct ubp_err *err);
/* apart_hits.c: the number of @handler for the engine, which can run it from now on; 0 of NULL. */
int apart_handler_number(struct ubp_session *s, ubp_handler_fn *handler, uint64_t *ret_number,
			 struct ubp_err *err);
/* The engine has ended, or ends no more than this: no handler runs, nor will one. */
void apart_hits_end(struct ubp_session *s);

#endif
