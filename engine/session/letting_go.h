/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Processes that need not be traced (plant/stand_alone.h), and when they are. */

#ifndef UBP_SESSION_LETTING_GO_H
#define UBP_SESSION_LETTING_GO_H

struct process;
struct ubp_err;
struct ubp_session;

/*
 * On the tracing thread: processes that need not be traced are let go of, and what became of those is looked after. Before
 * something is changed in all of them they are taken back; -errno: one could not be.
 */
void letting_go_pass(struct ubp_session *s);
/* What this ubp may do decides, too. */
void letting_go_init(struct ubp_session *s);
/* Why none is let go of, whatever is probed; NULL: they may be. */
const char *letting_go_why_none(const struct ubp_session *s);
/* Another process is planted in, which may be let go of before long. */
void letting_go_soon(struct ubp_session *s);
/* @p did something that it has to be traced for, and may do so again. */
void letting_go_later(struct ubp_session *s, const struct process *p);
int letting_go_take_back(struct ubp_session *s, struct ubp_err *err);
/* The session ends: all are taken back, or left. */
void letting_go_end(struct ubp_session *s);

#endif
