/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --detach: who called goes on once all is planted, and tracing does, too, without a terminal. */

#ifndef UBP_CLI_LIVE_DETACH_H
#define UBP_CLI_LIVE_DETACH_H

#include <stdbool.h>

struct trace_options;

/*
 * Before anything is begun: from here on this is another process, and its parent waits. True: this is the parent, which has nothing more to do: *ret_status is what
 * it ends with. Without --detach nothing is done.
 */
bool detach_begin(const struct trace_options *o, int *ret_status);

/* All is planted: the parent ends with 0. Messages go to a file beside the session's socket from now on. */
void detach_done(const struct trace_options *o);

/* Before its name is free again: a file without a message goes. */
void detach_end(const struct trace_options *o);

/* What session @name has said since it was let go of, to standard error; its file goes. Of one that has ended. */
void detach_print_log(int place, const char *name);

#endif
