/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The kernel's report of process events (CONFIG_PROC_EVENTS).
 *
 * It is for the initial pid namespace alone: the kernel subscribes nobody else, but a socket in
 * the first network namespace gets what others have subscribed to, with pids as the initial
 * namespace counts them.
 */

#ifndef UBP_TRACE_PROC_CONNECTOR_H
#define UBP_TRACE_PROC_CONNECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_connector {
	int fd;       /* -1: none. Readable when something was reported */
	int word;     /* to the minder */
	pid_t minder; /* a child that ends the subscription if we are killed; 0: none */
};

/* A subscription to execs. False: not built in, not permitted, or not our pid namespace's. */
bool proc_connector_open(struct proc_connector *ret_connector);

/*
 * The kernel counts subscriptions, and counts one of a process that was killed for ever. So
 * a child waits for our end. For the thread that will call proc_connector_close(): only that
 * one can be sure to reap it.
 */
void proc_connector_mind(struct proc_connector *connector);
void proc_connector_close(struct proc_connector *connector);

/*
 * Thread groups that have executed a new program. Does not block. *ret_lost: more was reported
 * than the socket has room for.
 */
size_t proc_connector_read(int fd, pid_t *pids, size_t max, bool *ret_lost);

#endif
