/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* In place of http_server.c in a static build, which loads no library: nobody is answered. */

#include "cli/hosts/http_server.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/err.h"

int http_server_new(int fd, struct http_server **ret_server, struct ubp_err *err)
{
	*ret_server = NULL;
	(void)close(fd);
	return ubp_fail(err, ENOTSUP, "--prometheus: this static build has no HTTP server");
}

void http_server_free(struct http_server *server)
{
	(void)server;
}

int http_server_fd(const struct http_server *server)
{
	(void)server;
	return -1;
}

void http_server_give(struct http_server *server, struct metrics *m)
{
	(void)server;
	metrics_free(m);
}
