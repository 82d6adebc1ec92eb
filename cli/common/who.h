/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Whose hits are traced: -p, -L, --follow. */

#ifndef UBP_CLI_COMMON_WHO_H
#define UBP_CLI_COMMON_WHO_H

#include <stddef.h>

struct pid_list;
struct trace_options;

/* As .set of struct cli_option, of a structure that begins with trace_options. */
int who_set_pids(void *into, const char *arg);
int who_set_tid(void *into, const char *arg);
/* What makes no sense together. CLI_OK, or said why not. */
int who_check(const struct trace_options *o);

/*
 * The processes that are called so: by their comm, or by the file name of their program. Not those that wait for this one (its ancestors),
 * kernel threads, or, where this one is not root's, those of other users. CLI_OK, with one at least, or said why there is none.
 */
int who_called(const char *name, size_t len, struct pid_list *ret_pids);

#endif
