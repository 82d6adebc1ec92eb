/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is to be known of a stopped thread before it makes system calls for us. */

#ifndef UBP_TRACE_REMOTE_FACTS_H
#define UBP_TRACE_REMOTE_FACTS_H

struct tracee;
struct ubp_err;

/*
 * Fill t->remote.facts, of held thread @t. Returns 0, or -EACCES with a message where a seccomp filter
 * might kill it for our calls.
 */
int remote_facts_learn(struct tracee *t, struct ubp_err *err);

#endif
