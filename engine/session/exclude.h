/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Processes that are never traced unless they are named. */

#ifndef UBP_SESSION_EXCLUDE_H
#define UBP_SESSION_EXCLUDE_H

#include <sys/types.h>

struct map;

/* This process works for @pid: that, its ancestors and those that read its output are such processes, too. Before a session begins. */
void exclude_host(pid_t pid);
/* Their pids: init, ubp and its ancestors, whoever reads its output. 0 or a negative errno. */
int exclude_collect(struct map *ret_excluded);

#endif
