/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/apart/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

/* Until @socket can be used so. -EPIPE: @gone, which may be -1, tells that there is nobody any more. */
static int wait_for(int socket, int gone, short events)
{
	struct pollfd p[2] = { { .fd = socket, .events = events },
			       { .fd = gone, .events = POLLIN } };

	if (gone < 0)
		return 0;
	while (poll(p, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return p[0].revents ? 0 : -EPIPE;
}

static size_t iov_skip(struct iovec *iov, size_t n)
{
	size_t of_it = n < iov->iov_len ? n : iov->iov_len;

	iov->iov_base = (char *)iov->iov_base + of_it;
	iov->iov_len -= of_it;
	return n - of_it;
}

/* In one call as a rule: the other end is woken once. */
static int send_all(int socket, int gone, struct iovec iov[2], const struct link_fds *fds)
{
	while (iov[0].iov_len || iov[1].iov_len) {
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
		union fds_room room;
		ssize_t n;

		add_fds(&msg, &room, fds);
		n = sendmsg(socket, &msg, MSG_NOSIGNAL | (gone < 0 ? 0 : MSG_DONTWAIT));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && gone >= 0) {
			int rc = wait_for(socket, gone, POLLOUT);

			if (rc < 0)
				return rc;
			continue;
		}
		if (n < 0)
			return -errno;
		fds = NULL;
		(void)iov_skip(&iov[1], iov_skip(&iov[0], (size_t)n));
	}
	return 0;
}

int link_send(int socket, int gone, const struct wire *message, const struct link_fds *fds)
{
	struct head head = { message->len };
	struct iovec iov[2] = { { &head, sizeof(head) }, { message->data, message->len } };

	return message->failed ? -ENOMEM : send_all(socket, gone, iov, fds);
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

/* What is there of both, one behind the other, and the first at least. Returns how many bytes of the second have come. */
static ssize_t receive_some(int socket, int gone, struct iovec iov[2], struct link_fds *fds)
{
	size_t room = iov[1].iov_len;

	while (iov[0].iov_len) {
		union fds_room control;
		struct msghdr msg = { .msg_iov = iov,
				      .msg_iovlen = 2,
				      .msg_control = control.bytes,
				      .msg_controllen = sizeof(control) };
		int rc = wait_for(socket, gone, POLLIN);
		ssize_t n = rc < 0 ? 0 : recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);

		if (rc < 0)
			return rc;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		take_fds(&msg, fds);
		if (n == 0)
			return -EPIPE;
		(void)iov_skip(&iov[1], iov_skip(&iov[0], (size_t)n));
	}
	return (ssize_t)(room - iov[1].iov_len);
}

static int make_room(struct wire *message, size_t len, size_t n_there)
{
	uint8_t *data;

	if (len <= message->cap)
		return 0;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	if (n_there)
		memcpy(data, message->data, n_there);
	free(message->data);
	message->data = data;
	message->cap = len;
	return 0;
}

/*
 * Nobody says anything before he was answered, so what comes at once is one message: as a rule it is there after one call, in the room that
 * the one before has left.
 */
static int receive(int socket, int gone, struct wire *message, struct link_fds *fds)
{
	struct head head = { 0 };
	struct iovec iov[2] = { { &head, sizeof(head) }, { message->data, message->cap } };
	ssize_t n = receive_some(socket, gone, iov, fds);
	int rc;

	if (n < 0)
		return (int)n;
	if (head.len > MESSAGE_MAX || head.len < (uint64_t)n)
		return -EPROTO;
	rc = make_room(message, head.len, (size_t)n);
	if (rc < 0)
		return rc;
	message->len = head.len;
	iov[0] = (struct iovec){ message->data + n, message->len - (size_t)n };
	iov[1] = (struct iovec){ NULL, 0 };
	n = receive_some(socket, gone, iov, fds);
	return n < 0 ? (int)n : 0;
}

int link_receive(int socket, int gone, struct wire *ret_message, struct link_fds *ret_fds)
{
	struct link_fds fds = { .n = 0 };
	int rc;

	wire_reset(ret_message);
	rc = receive(socket, gone, ret_message, &fds);
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
