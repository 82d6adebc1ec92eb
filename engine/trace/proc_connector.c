/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/proc_connector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/descriptors.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"

#define ANSWER_LIMIT_NS 100000000ULL

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

/* 1: a report of the kernel's; 0: none waits; -1: some were lost, or the socket is dead. */
static int receive(int fd, struct report *r)
{
	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, r, sizeof(*r), MSG_DONTWAIT, (struct sockaddr *)&from,
				     &len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		/* Whoever may administrate the network may send to us, too. */
		if (n >= (ssize_t)REPORT_MIN && from.nl_pid == 0 &&
		    r->nl.nlmsg_type == NLMSG_DONE && r->nl.nlmsg_len <= (size_t)n)
			return 1;
	}
}

/*
 * The kernel acknowledges a subscription to all who listen, with the subscriber's number and one
 * (the sequence number in there is the kernel's own). Without CONFIG_PROC_EVENTS, or to whom it
 * does not subscribe, nothing comes: what others cause to be reported does not make us wait
 * any longer.
 */
static bool is_answered(int fd, uint32_t number)
{
	uint64_t end = event_clock_now(CLOCK_KIND_MONO) + ANSWER_LIMIT_NS, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct report r;
	struct cn_msg cn;

	while ((now = event_clock_now(CLOCK_KIND_MONO)) < end) {
		if (receive(fd, &r) <= 0) {
			(void)poll(&p, 1, (int)((end - now) / 1000000) + 1);
			continue;
		}
		memcpy(&cn, r.cn, CN_HEAD);
		if (r.event.what == PROC_EVENT_NONE && cn.ack == number + 1)
			return r.event.event_data.ack.err == 0;
	}
	return false;
}

/* Of what is reported only execs and acknowledgements reach the socket. */
static void filter_events(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct report, event)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_NONE), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	/* It is for less work: those that come all the same are passed over. */
	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* Nothing here allocates or locks: a child of a process with threads does this, too. */
static bool send_op(int fd, enum proc_cn_mcast_op op, uint32_t number)
{
	struct cn_msg cn = { .id = { CN_IDX_PROC, CN_VAL_PROC },
			     .seq = number,
			     .ack = number,
			     .len = sizeof(op) };
	struct subscribe msg = { .op = op };

	msg.nl.nlmsg_len = sizeof(msg);
	msg.nl.nlmsg_type = NLMSG_DONE;
	msg.nl.nlmsg_seq = number;
	memcpy(msg.cn, &cn, CN_HEAD);
	return send(fd, &msg, sizeof(msg), MSG_NOSIGNAL) == (ssize_t)sizeof(msg);
}

static bool subscribe(int fd)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int big = 4 << 20;
	uint32_t number = (uint32_t)getpid();

	(void)!getrandom(&number, sizeof(number), GRND_NONBLOCK);
	filter_events(fd);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	return bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	       send_op(fd, PROC_CN_MCAST_LISTEN, number) && is_answered(fd, number);
}

bool proc_connector_open(struct proc_connector *ret_connector)
{
	int fd = proc_in_first_pid_namespace()
			 ? socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR)
			 : -1;

	*ret_connector = (struct proc_connector){ .fd = fd, .word = -1 };
	if (fd >= 0 && !subscribe(fd)) {
		close(fd);
		ret_connector->fd = -1;
	}
	return ret_connector->fd >= 0;
}

/* The child: until a byte comes (all is well) or the end of us. */
static void mind(int fd, int word)
{
	int keep[2] = { fd, word };
	ssize_t n;
	char byte;

	descriptors_keep(keep);
	(void)setsid();
	do {
		n = read(word, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		(void)send_op(fd, PROC_CN_MCAST_IGNORE, 0);
	_exit(0);
}

void proc_connector_mind(struct proc_connector *connector)
{
	int word[2];
	pid_t pid;

	if (connector->fd < 0 || pipe2(word, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		mind(connector->fd, word[0]);
	close(word[0]);
	connector->minder = pid > 0 ? pid : 0;
	connector->word = word[1];
}

void proc_connector_close(struct proc_connector *connector)
{
	if (connector->fd < 0)
		return;
	if (connector->minder) {
		(void)!write(connector->word, "", 1);
		while (waitpid(connector->minder, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (connector->word >= 0)
		close(connector->word);
	(void)send_op(connector->fd, PROC_CN_MCAST_IGNORE, 0);
	close(connector->fd);
	*connector = (struct proc_connector){ .fd = -1, .word = -1 };
}

size_t proc_connector_read(int fd, pid_t *pids, size_t max, bool *ret_lost)
{
	struct report r;
	size_t n = 0;
	int rc = 1;

	while (n < max && (rc = receive(fd, &r)) == 1)
		if (r.event.what == PROC_EVENT_EXEC)
			pids[n++] = r.event.event_data.exec.process_tgid;
	*ret_lost = rc < 0;
	return n;
}
