/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A listing by debug information, by a thread of its own, which is left behind where libdw does not come back. */

#ifndef UBP_DEFINE_LIST_ASIDE_H
#define UBP_DEFINE_LIST_ASIDE_H

struct define_target;
struct ubp_err;

typedef int list_each(void *ctx, const char *line);
typedef int list_fn(const struct define_target *target, const char *what, list_each *each,
		    void *ctx, struct ubp_err *err);

/*
 * What @list does, of .name, .pid, .debug and .explain of @target. @each gets its lines one at a time, while the caller
 * waits. -EFBIG: it was left behind.
 */
int list_aside(list_fn *list, const struct define_target *target, const char *what,
	       list_each *each, void *ctx, struct ubp_err *err);

#endif
