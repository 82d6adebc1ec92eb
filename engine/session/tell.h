/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the user is told: warnings, and what could not be taken out. */

#ifndef UBP_SESSION_TELL_H
#define UBP_SESSION_TELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plant_left;
struct process;
struct tracee;
struct ubp_session;

/* From any thread: a line for the user, delivered by ubp_dispatch(). */
__attribute__((format(printf, 2, 3))) void session_warn(struct ubp_session *s, const char *fmt,
							...);
/* Make ubp_fd() readable. */
void session_news(struct ubp_session *s);
/* From any thread: what those wait for who are in a call of the session may have come (calls.h). */
void session_wake_calls(struct ubp_session *s);
/* ubp_has_failed() from now on. */
void session_mark_failed(struct ubp_session *s);
/* On the tracing thread: what an earlier session had left in a process where probes were planted
 * just now, and what cannot be had there. @was_unguarded: what plant_is_unguarded() said before. */
void tell_planted(struct ubp_session *s, const struct process *p, bool was_unguarded);
/* What could not be taken out of a process, which is a failure. @left: or NULL. */
void tell_left(struct ubp_session *s, pid_t pid, const struct plant_left *left);
/* tell_left() for all processes. */
void tell_all_left(struct ubp_session *s);
/* hit_options.not_stepped; @ctx: the session. */
void tell_not_stepped(void *ctx, const struct tracee *t, uint64_t vaddr);
/* Before anything is taken out: places of a process that others have taken, behind taken_sites_look(). */
void tell_hidden(struct ubp_session *s, const struct process *p);
/* What the tracer had no memory for, which is a failure. */
void tell_untaken(struct ubp_session *s);

#endif
