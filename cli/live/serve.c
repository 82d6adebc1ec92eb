/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "cli/live/obey.h"
#include "cli/live/place.h"
#include "engine/base/err.h"

#define CLIENTS_MAX 16

struct client {
	int fd; /* -1: there is none */
	char *request, *answer;
	size_t n_request, cap, n_written, n_answer;
};

struct live_serve {
	int place, listens, epoll;
	bool is_full; /* who comes has to wait for a client to go */
	char name[PLACE_NAME_MAX + 1];
	struct live_session live;
	struct client clients[CLIENTS_MAX];
};

static bool watch(struct live_serve *serve, int op, int fd, uint32_t events, unsigned i)
{
	struct epoll_event event = { .events = events, .data.u32 = i };

	return epoll_ctl(serve->epoll, op, fd, &event) == 0;
}

static int fail_open(struct live_serve *serve, const char *given, const struct ubp_err *err)
{
	live_serve_close(serve);
	return given ? cli_error_record(err) : CLI_OK;
}

int live_serve_open(const struct trace_options *o, struct ubp_session *session,
		    const uint64_t *n_dropped, struct live_serve **ret_serve)
{
	struct live_serve *serve = calloc(1, sizeof(*serve));
	struct ubp_err err;

	*ret_serve = NULL;
	if (!serve)
		return cli_error("out of memory");
	ubp_err_reset(&err);
	serve->live = (struct live_session){ session, o, n_dropped };
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		serve->clients[i].fd = -1;
	if (o->live.session)
		(void)snprintf(serve->name, sizeof(serve->name), "%s", o->live.session);
	else
		(void)snprintf(serve->name, sizeof(serve->name), "%d", (int)getpid());
	serve->listens = serve->epoll = -1;
	serve->place = place_open(true, &err);
	if (serve->place < 0)
		return fail_open(serve, o->live.session, &err);
	serve->listens = place_listen(serve->place, serve->name, &err);
	if (serve->listens < 0)
		return fail_open(serve, o->live.session, &err);
	serve->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (serve->epoll < 0 ||
	    !watch(serve, EPOLL_CTL_ADD, serve->listens, EPOLLIN, CLIENTS_MAX)) {
		(void)ubp_fail_sys(&err, "session '%s'", serve->name);
		return fail_open(serve, o->live.session, &err);
	}
	*ret_serve = serve;
	return CLI_OK;
}

int live_serve_fd(const struct live_serve *serve)
{
	return serve ? serve->epoll : -1;
}

/* --- clients -------------------------------------------------------------------------- */

static void leave(struct live_serve *serve, struct client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	free(client->request);
	free(client->answer);
	*client = (struct client){ .fd = -1 };
	if (serve->is_full)
		serve->is_full =
			!watch(serve, EPOLL_CTL_MOD, serve->listens, EPOLLIN, CLIENTS_MAX);
}

/* The user that traces, or root. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void take_client(struct live_serve *serve)
{
	unsigned i = 0;
	int fd;

	while (i < CLIENTS_MAX && serve->clients[i].fd >= 0)
		i++;
	if (i == CLIENTS_MAX) {
		serve->is_full = watch(serve, EPOLL_CTL_MOD, serve->listens, 0, CLIENTS_MAX);
		return;
	}
	fd = accept4(serve->listens, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (!is_trusted(fd) || !watch(serve, EPOLL_CTL_ADD, fd, EPOLLIN, i))
		(void)close(fd);
	else
		serve->clients[i].fd = fd;
}

enum heard { HEARD_PART, HEARD_ALL, HEARD_TOO_MUCH };

static enum heard read_more(struct client *client)
{
	for (;;) {
		ssize_t n;

		if (client->n_request == client->cap) {
			size_t cap = client->cap ? 2 * client->cap : 4096;
			char *more =
				cap <= OBEY_BYTES_MAX ? realloc(client->request, cap) : NULL;

			if (!more)
				return HEARD_TOO_MUCH;
			client->request = more;
			client->cap = cap;
		}
		n = read(client->fd, client->request + client->n_request,
			 client->cap - client->n_request);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? HEARD_PART : HEARD_TOO_MUCH;
		if (n == 0)
			return HEARD_ALL;
		client->n_request += (size_t)n;
	}
}

/* What there is room for. False: there is no more to say, or nobody who hears it. */
static bool write_more(struct client *client)
{
	while (client->n_written < client->n_answer) {
		ssize_t n = send(client->fd, client->answer + client->n_written,
				 client->n_answer - client->n_written, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		client->n_written += (size_t)n;
	}
	return false;
}

/* Its request is whole. True: tracing is to end; it waits until that is done. */
static bool obey(struct live_serve *serve, struct client *client, unsigned i)
{
	bool ends = false;

	client->answer = live_obey(&serve->live, client->request, client->n_request,
				   &client->n_answer, &ends);
	if (!client->answer ||
	    (!write_more(client) && !(ends && client->n_written == client->n_answer)) ||
	    !watch(serve, EPOLL_CTL_MOD, client->fd, ends ? 0 : EPOLLOUT, i))
		leave(serve, client);
	return ends;
}

static bool look_at(struct live_serve *serve, unsigned i)
{
	struct client *client = &serve->clients[i];

	if (client->fd < 0)
		return false;
	if (client->answer) {
		if (!write_more(client))
			leave(serve, client);
		return false;
	}
	switch (read_more(client)) {
	case HEARD_ALL:
		return obey(serve, client, i);
	case HEARD_TOO_MUCH:
		leave(serve, client);
		break;
	case HEARD_PART:
		break;
	}
	return false;
}

bool live_serve_take(struct live_serve *serve)
{
	struct epoll_event events[CLIENTS_MAX + 1];
	int n = epoll_wait(serve->epoll, events, CLIENTS_MAX + 1, 0);
	bool ends = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == CLIENTS_MAX)
			take_client(serve);
		else
			ends |= look_at(serve, events[i].data.u32);
	}
	return ends;
}

void live_serve_close(struct live_serve *serve)
{
	if (!serve)
		return;
	if (serve->listens >= 0)
		place_forget(serve->place, serve->name);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		leave(serve, &serve->clients[i]);
	if (serve->epoll >= 0)
		(void)close(serve->epoll);
	if (serve->listens >= 0)
		(void)close(serve->listens);
	if (serve->place >= 0)
		(void)close(serve->place);
	free(serve);
}
