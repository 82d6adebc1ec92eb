/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/proc_connector.h"

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_LIMIT_MS 100

/* As bytes: struct cn_msg ends in an array without a size. */
#define CN_HEAD sizeof(struct cn_msg)

struct subscribe {
	struct nlmsghdr nl;
	char cn[CN_HEAD];
	enum proc_cn_mcast_op op;
} __attribute__((packed));

struct report {
	struct nlmsghdr nl;
	char cn[CN_HEAD];
	struct proc_event event;
} __attribute__((packed));

/* What the kernel sends of an event: older ones have a shorter union at the end. */
#define REPORT_MIN                                                                             \
	(offsetof(struct report, event) + offsetof(struct proc_event, event_data) + 8)

/* The kernel answers a subscription with an acknowledgement; without
 * CONFIG_PROC_EVENTS, or outside the first namespaces, nothing comes. */
static int is_answered(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct report r;

	while (poll(&p, 1, ANSWER_LIMIT_MS) > 0) {
		if (recv(fd, &r, sizeof(r), MSG_DONTWAIT) < (ssize_t)REPORT_MIN)
			return 0;
		if (r.event.what == PROC_EVENT_NONE)
			return r.event.event_data.ack.err == 0;
	}
	return 0;
}

int proc_connector_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	struct cn_msg cn = { .id = { CN_IDX_PROC, CN_VAL_PROC },
			     .len = sizeof(enum proc_cn_mcast_op) };
	struct subscribe msg = { 0 };
	int big = 1 << 20;
	int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

	if (fd < 0)
		return -1;
	msg.nl.nlmsg_len = sizeof(msg);
	msg.nl.nlmsg_type = NLMSG_DONE;
	memcpy(msg.cn, &cn, CN_HEAD);
	msg.op = PROC_CN_MCAST_LISTEN;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    send(fd, &msg, sizeof(msg), 0) == (ssize_t)sizeof(msg) && is_answered(fd))
		return fd;
	close(fd);
	return -1;
}

size_t proc_connector_read(int fd, pid_t *pids, size_t max)
{
	struct report r;
	size_t n = 0;

	while (n < max && recv(fd, &r, sizeof(r), MSG_DONTWAIT) >= (ssize_t)REPORT_MIN)
		if (r.nl.nlmsg_type == NLMSG_DONE && r.event.what == PROC_EVENT_EXEC)
			pids[n++] = r.event.event_data.exec.process_tgid;
	return n;
}
