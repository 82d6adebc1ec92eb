/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How an engine's process is started. */

#ifndef UBP_APART_SPAWN_H
#define UBP_APART_SPAWN_H

#include <stdbool.h>

struct ubp_err;

/* The descriptor of the socket, in the engine's process. It has no other but 0, 1 and 2, which are /dev/null. */
#define SPAWN_SOCKET 3

/*
 * Execute @path, with all signals blocked, and connect it: *ret_socket. It is nobody's child: the host gets no SIGCHLD for it, and wait() does not find it. Its
 * memory is not a copy of the host's at any moment. @is_secure: it gets no environment. Errors: those of execve().
 */
int spawn_engine(const char *path, bool is_secure, int *ret_socket, struct ubp_err *err);

#endif
