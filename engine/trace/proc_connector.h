/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The kernel's report of process events (CONFIG_PROC_EVENTS). */

#ifndef UBP_TRACE_PROC_CONNECTOR_H
#define UBP_TRACE_PROC_CONNECTOR_H

#include <stddef.h>
#include <sys/types.h>

/* A socket that reports execs, or -1: not built in, or not permitted. */
int proc_connector_open(void);

/* Thread groups that have executed a new program. Does not block. */
size_t proc_connector_read(int fd, pid_t *pids, size_t max);

#endif
