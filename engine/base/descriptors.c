/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool close_from_to(int first, int last)
{
	return first > last || syscall(SYS_close_range, first, last, 0U) == 0;
}

/* Before Linux 5.9. */
static void close_one_by_one(const int keep[2])
{
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	char buf[1024] __attribute__((aligned(8)));
	long n;

	if (dir < 0)
		return;
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *ent = (const void *)(buf + at);
			int fd = 0;

			for (const char *c = ent->d_name; *c >= '0' && *c <= '9'; c++)
				fd = fd * 10 + *c - '0';
			if (ent->d_name[0] != '.' && fd != dir && fd != keep[0] &&
			    fd != keep[1])
				(void)close(fd);
			at += ent->d_reclen;
		}
	}
	(void)close(dir);
}

void descriptors_keep(const int keep[2])
{
	int low = keep[0] < keep[1] ? keep[0] : keep[1];
	int high = keep[0] < keep[1] ? keep[1] : keep[0];

	/* close_range() takes unsigned numbers: -1 is the last one. */
	if (!close_from_to(0, low - 1) || !close_from_to(low + 1, high - 1) ||
	    syscall(SYS_close_range, high + 1, ~0U, 0U) < 0)
		close_one_by_one(keep);
}

/* What travels beside a message: one descriptor. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

bool descriptors_send(int socket, const void *bytes, size_t len, int fd, int flags)
{
	union control control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return sendmsg(socket, &msg, flags | MSG_NOSIGNAL) == (ssize_t)len;
}

bool descriptors_receive(int socket, void *bytes, size_t len, int *ret_fd, int flags)
{
	union control control;
	struct iovec iov = { bytes, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	*ret_fd = -1;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(*ret_fd)))
		memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
	if (got == (ssize_t)len)
		return true;
	if (*ret_fd >= 0)
		(void)close(*ret_fd);
	*ret_fd = -1;
	return false;
}
