/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Another user of the kernel's process connector, for tests.
 *
 * connector listen    subscribes, and makes processes that are reported, until a line comes
 * connector again     the same, but subscribes again and again: each is acknowledged to all listeners
 * connector overhear  subscribes to nothing: prints "events" if a process of its own that
 *                     ends is reported all the same, else "silence"
 * connector acks      subscribes to nothing: prints "ack N" for what the kernel acknowledges to
 *                     somebody, where N is that one's number and one; until a line comes
 *
 * Ends with 77 where there is no connector.
 */

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int join(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		printf("no connector here\n");
		_exit(77);
	}
	return fd;
}

static void send_op(int fd, enum proc_cn_mcast_op op)
{
	struct cn_msg cn = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(op) };
	struct subscribe msg = { .nl = { .nlmsg_len = sizeof(msg), .nlmsg_type = NLMSG_DONE },
				 .op = op };

	memcpy(msg.cn, &cn, CN_HEAD);
	(void)!send(fd, &msg, sizeof(msg), 0);
}

static bool is_reported(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[4096];
	bool any = false;

	while (poll(&p, 1, any ? 0 : ms) > 0) {
		(void)!recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		any = true;
	}
	return any;
}

/* A process that ends. */
static void make_event(void)
{
	if (fork() == 0)
		_exit(0);
	(void)wait(NULL);
}

static int overhear(int fd)
{
	make_event();
	printf(is_reported(fd, 50) ? "events\n" : "silence\n");
	return 0;
}

static void print_ack(int fd)
{
	struct report r;
	struct cn_msg cn;

	if (recv(fd, &r, sizeof(r), MSG_DONTWAIT) <= 0 || r.event.what != PROC_EVENT_NONE)
		return;
	memcpy(&cn, r.cn, CN_HEAD);
	printf("ack %u\n", cn.ack);
	fflush(stdout);
}

static int print_acks(int fd)
{
	struct pollfd p[] = { { .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	printf("ready\n");
	fflush(stdout);
	while (poll(p, 2, -1) > 0 && !p[0].revents)
		print_ack(fd);
	return 0;
}

static int subscribe(int fd, bool again)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	send_op(fd, PROC_CN_MCAST_LISTEN);
	if (!is_reported(fd, 1000)) {
		printf("it does not answer\n");
		return 77;
	}
	printf("ready\n");
	fflush(stdout);
	while (poll(&in, 1, 1) == 0) {
		if (again) {
			send_op(fd, PROC_CN_MCAST_IGNORE);
			send_op(fd, PROC_CN_MCAST_LISTEN);
		}
		make_event();
		(void)is_reported(fd, 0);
	}
	send_op(fd, PROC_CN_MCAST_IGNORE);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "listen";
	int fd = join();

	if (strcmp(what, "overhear") == 0)
		return overhear(fd);
	if (strcmp(what, "acks") == 0)
		return print_acks(fd);
	return subscribe(fd, strcmp(what, "again") == 0);
}
