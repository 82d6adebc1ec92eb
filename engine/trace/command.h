/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Starting a program under the tracer. */

#ifndef UBP_TRACE_COMMAND_H
#define UBP_TRACE_COMMAND_H

#include <signal.h>
#include <sys/resource.h>

struct held;
struct tracer;
struct ubp_err;

/* What a command gets from the caller, whatever ubp needs for itself. */
struct inherited {
	sigset_t mask;
	struct rlimit nofile;
	int folder; /* a descriptor of the one that it begins in; 0: the tracer's */
};

/*
 * Start argv[0] (looked up in PATH), seized, stopped behind its exec: the
 * returned thread is held. Errors: errno of execvp(), with a text.
 */
int command_start(struct tracer *tracer, char *const argv[], const struct inherited *inherited,
		  struct held *ret_held, struct ubp_err *err);

#endif
