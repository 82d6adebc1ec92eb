/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A trace that others ask while it runs: it listens by a name, and obeys on the thread that delivers events. Each connection is for one request and its
 * answer (live/obey.h): who asks shuts his side down behind the request.
 */

#ifndef UBP_CLI_LIVE_SERVE_H
#define UBP_CLI_LIVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct live_serve;
struct trace_options;
struct ubp_session;

/*
 * By the name that the options say, or by the process id: then it is no failure that it cannot be. *@n_dropped is read while it serves. CLI_OK, or said why not.
 * *ret_serve may be NULL then.
 */
int live_serve_open(const struct trace_options *o, struct ubp_session *session,
		    const uint64_t *n_dropped, struct live_serve **ret_serve);
/* Readable when there is something to do; -1: @serve is NULL. */
int live_serve_fd(const struct live_serve *serve);
/* True: somebody asked for the end. Who did waits until it is closed. */
bool live_serve_take(struct live_serve *serve);
void live_serve_close(struct live_serve *serve);

#endif
