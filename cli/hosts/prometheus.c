/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/hosts/prometheus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "cli/hosts/http_server.h"
#include "engine/base/err.h"

#define BACKLOG   64
#define ADDR_ROOM 256

/* "ADDR:PORT", "[ADDR6]:PORT", "PORT". False: it is none of these. */
static bool take_apart(const char *text, char addr[ADDR_ROOM], const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	*ret_port = colon ? colon + 1 : text;
	if (!cli_number(*ret_port, 0, 65535, &port) || len >= ADDR_ROOM)
		return false;
	if (!colon) {
		(void)snprintf(addr, ADDR_ROOM, "127.0.0.1");
		return true;
	}
	if (len >= 2 && *text == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		return false;
	}
	(void)snprintf(addr, ADDR_ROOM, "%.*s", (int)len, text);
	return len;
}

/* Numbers alone: names would be looked up by the C library, which no static program does. */
static bool address_of(const char *text, struct sockaddr_storage *ret_at, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_at;
	char addr[ADDR_ROOM];
	const char *port;
	in_port_t number;

	if (!take_apart(text, addr, &port))
		return false;
	number = htons((uint16_t)strtoul(port, NULL, 10));
	*ret_at = (struct sockaddr_storage){ 0 };
	if (inet_pton(AF_INET, strcmp(addr, "localhost") == 0 ? "127.0.0.1" : addr,
		      &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = number;
		*ret_len = sizeof(*v4);
		return true;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = number;
	*ret_len = sizeof(*v6);
	return inet_pton(AF_INET6, addr, &v6->sin6_addr) == 1;
}

int prometheus_set(void *into, const char *arg)
{
	struct trace_options *o = into;
	struct sockaddr_storage at;
	socklen_t len;

	if (!address_of(arg, &at, &len))
		return cli_usage_error("--prometheus takes PORT, ADDR:PORT or [ADDR6]:PORT, "
				       "not '%s'",
				       arg);
	o->to.prometheus = arg;
	o->tally.with_sum = true;
	return CLI_OK;
}

static int open_socket(const char *text)
{
	struct sockaddr_storage at;
	const int one = 1;
	socklen_t len;
	int fd;

	if (!address_of(text, &at, &len))
		return -1;
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A port that was in use until a moment ago may be had at once. */
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	(void)cli_error("--prometheus %s: %s", text, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Port 0 is one that the kernel chooses, so where it listens is told. */
static void tell_where(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { .v6 = { 0 } };
	socklen_t len = sizeof(at);
	char addr[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 64];
	bool is_v6;

	if (getsockname(fd, &at.any, &len) < 0)
		return;
	is_v6 = at.any.sa_family == AF_INET6;
	(void)inet_ntop(at.any.sa_family,
			is_v6 ? (const void *)&at.v6.sin6_addr : (const void *)&at.v4.sin_addr,
			addr, sizeof(addr));
	(void)snprintf(text, sizeof(text), "metrics are at http://%s%s%s:%u/metrics",
		       is_v6 ? "[" : "", addr, is_v6 ? "]" : "",
		       ntohs(is_v6 ? at.v6.sin6_port : at.v4.sin_port));
	cli_tell(NULL, text);
}

int prometheus_open(struct prometheus *p, struct metrics_taker *taker,
		    const struct trace_options *o)
{
	struct ubp_err err;
	int fd;

	if (!o->to.prometheus)
		return CLI_OK;
	ubp_err_reset(&err);
	fd = open_socket(o->to.prometheus);
	if (fd < 0)
		return CLI_FAILED;
	p->taker = taker;
	if (http_server_new(fd, &p->server, &err) < 0)
		return cli_error_record(&err);
	tell_where(fd);
	return CLI_OK;
}

int prometheus_fd(const struct prometheus *p)
{
	return p->server ? http_server_fd(p->server) : -1;
}

void prometheus_take(struct prometheus *p)
{
	http_server_give(p->server, metrics_take(p->taker));
}

void prometheus_close(struct prometheus *p)
{
	http_server_free(p->server);
	p->server = NULL;
}
