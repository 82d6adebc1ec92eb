/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/apart/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What stands in front of each message. */
struct head {
	uint64_t len;
};

/* No message is larger: what says so is none of ours. */
#define MESSAGE_MAX (1ULL << 30)

union fds_room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(LINK_FDS * sizeof(int))];
};

static void add_fds(struct msghdr *msg, union fds_room *room, const struct link_fds *fds)
{
	struct cmsghdr *c;

	if (!fds || !fds->n)
		return;
	memset(room, 0, sizeof(*room));
	msg->msg_control = room->bytes;
	msg->msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(fds->n * sizeof(int));
	memcpy(CMSG_DATA(c), fds->fd, fds->n * sizeof(int));
}

static int send_all(int socket, const void *data, size_t len, const struct link_fds *fds)
{
	const char *bytes = data;

	while (len) {
		struct iovec iov = { (void *)bytes, len };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		union fds_room room;
		ssize_t n;

		add_fds(&msg, &room, fds);
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		fds = NULL;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

int link_send(int socket, const struct wire *message, const struct link_fds *fds)
{
	const struct head head = { message->len };
	int rc;

	if (message->failed)
		return -ENOMEM;
	rc = send_all(socket, &head, sizeof(head), fds);
	return rc < 0 ? rc : send_all(socket, message->data, message->len, NULL);
}

static void take_fds(struct msghdr *msg, struct link_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (fds->n < LINK_FDS)
				fds->fd[fds->n++] = fd;
			else
				close(fd);
		}
	}
}

static int receive_all(int socket, void *data, size_t len, struct link_fds *fds)
{
	char *bytes = data;

	while (len) {
		union fds_room room;
		struct iovec iov = { bytes, len };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = room.bytes,
				      .msg_controllen = sizeof(room) };
		ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		take_fds(&msg, fds);
		if (n == 0)
			return -EPIPE;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int receive(int socket, struct wire *message, struct link_fds *fds)
{
	struct head head;
	int rc = receive_all(socket, &head, sizeof(head), fds);

	if (rc < 0)
		return rc;
	if (head.len > MESSAGE_MAX)
		return -EPROTO;
	if (head.len > message->cap) {
		free(message->data);
		message->cap = 0;
		message->data = malloc(head.len);
		if (!message->data)
			return -ENOMEM;
		message->cap = head.len;
	}
	message->len = head.len;
	return receive_all(socket, message->data, message->len, fds);
}

int link_receive(int socket, struct wire *ret_message, struct link_fds *ret_fds)
{
	struct link_fds fds = { .n = 0 };
	int rc;

	wire_reset(ret_message);
	rc = receive(socket, ret_message, &fds);
	if (rc < 0)
		ret_message->len = 0;
	if (rc == 0 && ret_fds)
		*ret_fds = fds;
	else
		link_close_fds(&fds);
	return rc;
}

void link_close_fds(struct link_fds *fds)
{
	for (unsigned i = 0; i < fds->n; i++)
		close(fds->fd[i]);
	fds->n = 0;
}
