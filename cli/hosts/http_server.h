/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A server of one page, by libmicrohttpd, which is loaded when it is asked for. It has a thread of its own, which answers from what it was given
 * last, and asks for something newer if that is old. So who traces is never waited upon by clients, nor waits for one.
 */

#ifndef UBP_CLI_HOSTS_HTTP_SERVER_H
#define UBP_CLI_HOSTS_HTTP_SERVER_H

#include "cli/hosts/metrics.h"

struct http_server;
struct ubp_err;

/* Listens on @fd, a socket that is the server's from now on, also if this fails: -ENOTSUP, the library is not there or this build loads none; others. */
int http_server_new(int fd, struct http_server **ret_server, struct ubp_err *err);
/* No more answers; NULL is fine. */
void http_server_free(struct http_server *server);

/* Readable while somebody waits for newer metrics: http_server_give() is to be called then. */
int http_server_fd(const struct http_server *server);
/* @m is the server's from now on; NULL: there are none, and clients are told so. Never waits. */
void http_server_give(struct http_server *server, struct metrics *m);

#endif
