/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a session, for the files of this folder: what is handed out. */

#ifndef UBP_SESSION_INSIDE_H
#define UBP_SESSION_INSIDE_H

#include "engine/session/state.h"
#include "engine/space/space.h"
#include "engine/ubp_stats.h"

struct object_symbol;

/* session.c */
/* Has this kernel pages that areas and rings can be made of? (Those for arm64 can be built with others.) -ENOTSUP: no. */
int session_check_pages(struct ubp_err *err);
/* Can it still be changed, and be started? -EBUSY: no. */
int session_check_new(const struct ubp_session *s, struct ubp_err *err);
/* ubp_start_until(): what is done before the tracing thread is there, and the rest. Paths are of the folder that this process is in for the first alone. */
int session_prepare(struct ubp_session *s, struct ubp_err *err);
int session_begin(struct ubp_session *s, const struct ubp_until *until, struct ubp_err *err);

/* rings.c: without rings these do nothing. */
int rings_init(struct ubp_session *s, struct ubp_err *err);
/* What one call of ubp_dispatch() hands out. */
struct rings_batch {
	void (*deliver)(struct rings_batch *batch, const struct event_record *record);
	struct ubp_session *session;
	ubp_event_fn *fn;
	void *ctx;
	unsigned n;    /* out of rings */
	bool is_ended; /* .fn wants no more */
};
/* Records of @until at the latest, and gaps; return how many were handed out. */
int rings_deliver(struct ubp_session *s, uint64_t until, struct rings_batch *batch);
int rings_deliver_lost(struct ubp_session *s, struct rings_batch *batch);
/* How many were lost since the last call. */
uint64_t rings_take_lost(struct ubp_session *s);
/* Count a hit of @probe. Does it pass the filter, as far as the detour left that open? @record: NULL where there is no filter. */
bool rings_count(struct uprobe *probe, const struct event_record *record);
/* The same of @n records of a probe without a filter. */
void rings_count_plain(struct uprobe *probe, uint32_t n);
/* It was enough for one call. */
bool rings_batch_is_full(const struct rings_batch *batch);
/* What rings alone know of the probe with number @i. */
void rings_add_stats(const struct ubp_session *s, size_t i, struct ubp_probe_stats *stats);

/* session.c: those that only the caller's side has, which a child of fork() has copies of. */
void session_close_descriptors(const struct ubp_session *s);

/* stacks.c */
int stacks_init(struct ubp_session *s, struct ubp_err *err);
void stacks_free(struct ubp_session *s);
/* NULL: stacks are printed as they are. */
const struct sink_resolver *stacks_resolver(const struct ubp_session *s);
/* Once in a while: forget what was mapped in processes that have ended. */
void stacks_tidy(struct ubp_session *s);
/* Entries of a stack at most. */
unsigned stacks_frames(const struct ubp_session *s);
/* Are stacks unwound, at stops, and not walked by frame pointers? */
bool stacks_unwinds(const struct ubp_session *s);
/* On the tracing thread: mappings of a stopped thread's process have changed, or its rings are new (plant_options.rings_made);
 * @ctx: the session. */
void stacks_mapped(void *ctx, struct tracee *t);

/* On the tracing thread: nobody lives in @space any more. */
void stacks_space_gone(struct ubp_session *s, const struct space *space);

#endif
