/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A session whose engine is a process of its own (ubp_options.engine): what the host has of it. Each public function that
 * takes a session asks for it first (session_tracing.apart), and goes this way.
 */

#ifndef UBP_SESSION_APART_H
#define UBP_SESSION_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/apart/protocol.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

struct sink_resolver;
struct spec_probe;

/* Shall the engine of a session with these options be apart? */
bool apart_is_wanted(const struct ubp_options *opt);
/* Has the caller said so? Else threads will do where no engine can be started. */
bool apart_is_needed(const struct ubp_options *opt);
/* Start and connect the engine: s->apart. @s has its options and is otherwise empty. 0 or -errno. */
int apart_new(struct ubp_session *s, struct ubp_err *err);
/* What the host has of it. In a child of fork() the engine is not asked to do anything. */
void apart_free(struct ubp_session *s);

/* The functions of the public headers that have these names without apart_. */
int apart_add(struct ubp_session *s, enum ubp_form form, const char *text, size_t len,
	      const char *filter, struct ubp_err *err);
int apart_run_command(struct ubp_session *s, char *const argv[], struct ubp_err *err);
int apart_start(struct ubp_session *s, const struct ubp_until *until, struct ubp_err *err);
void apart_stop(struct ubp_session *s);
const char *apart_text(const struct ubp_session *s, enum apart_text what, size_t i);
uint64_t apart_number(const struct ubp_session *s, enum apart_number what, size_t i);
int apart_arg_index(const struct ubp_session *s, size_t i, const char *name);
const char *apart_definition(const struct ubp_session *s, size_t i, const char **ret_why);
const char *apart_explain_tracing(const struct ubp_session *s, const char **ret_perhaps);
int apart_enable(struct ubp_session *s, size_t i, bool on, struct ubp_err *err);
void apart_tell_processes(struct ubp_session *s);
void apart_tell_faults(struct ubp_session *s);
void apart_sample_next(struct ubp_session *s, bool on);
int apart_only_user(struct ubp_session *s, uid_t user, struct ubp_err *err);
int apart_files_as(struct ubp_session *s, pid_t pid, struct ubp_err *err);
int apart_only_cgroup(struct ubp_session *s, const char *cgroup, struct ubp_err *err);
void apart_set_latency(struct ubp_session *s, uint64_t max_ns);
bool apart_is_done(const struct ubp_session *s);
bool apart_has_failed(const struct ubp_session *s);
pid_t apart_command_pid(const struct ubp_session *s);
bool apart_command_status(const struct ubp_session *s, int *ret_status);
int apart_probes_add(struct ubp_session *s, const char *const *texts, size_t n,
		     const struct ubp_probe_options *opt, size_t *ret_first, size_t *ret_n,
		     struct ubp_err *err);
int apart_probes_remove(struct ubp_session *s, const size_t *numbers, size_t n,
			struct ubp_err *err);
int apart_set_filter(struct ubp_session *s, size_t number, const char *filter,
		     struct ubp_err *err);
/* APART_ADD_PID, APART_REMOVE_PID */
int apart_pid(struct ubp_session *s, enum apart_op op, pid_t pid, struct ubp_err *err);
int apart_set_cookie(struct ubp_session *s, size_t number, void *cookie, struct ubp_err *err);
void *apart_cookie(const struct ubp_session *s, size_t number);
void apart_stats(const struct ubp_session *s, struct ubp_stats *ret_stats);
void apart_probe_stats(const struct ubp_session *s, size_t i,
		       struct ubp_probe_stats *ret_stats);
uint64_t apart_untold(const struct ubp_session *s);

int apart_set_handler(struct ubp_session *s, size_t number, ubp_handler_fn *handler,
		      bool may_change, struct ubp_err *err);
int apart_handler_stats(const struct ubp_session *s, size_t number,
			struct ubp_handler_stats *ret_stats);

/* apart_events.c: one look, as ubp_dispatch() says; calls_dispatch_begin() was called. */
int apart_dispatch(struct ubp_session *s, ubp_event_fn *fn, void *ctx, bool *ret_is_ended,
		   struct ubp_err *err);
/* sink_probes.next; @ctx: the session. */
const struct spec_probe *apart_next_probe(void *ctx, unsigned *at);
/* NULL: stacks are printed as they are. */
const struct sink_resolver *apart_resolver(const struct ubp_session *s);

#endif
