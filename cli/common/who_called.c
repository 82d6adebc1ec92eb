/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Processes by their names. */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/who.h"
#include "engine/base/nearest.h"
#include "engine/base/pid_list.h"
#include "engine/base/proc.h"

#define DELETED " (deleted)"
#define EDITS   1 /* a name that is further away is another program's */

/* A name that is sought, and what was found. */
struct sought {
	const char *name;
	size_t len;
	struct pid_list pids;
	bool has_ancestor; /* called so, and left out */
	struct nearest near;
};

static bool is_equal(const struct sought *s, const char *name, size_t len)
{
	return len == s->len && memcmp(name, s->name, len) == 0;
}

static bool is_of_user(pid_t pid)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid());
}

static bool is_ancestor(pid_t pid)
{
	pid_t one = getpid();

	while (one > 1 && one != pid) {
		char *status = proc_read_status(one);
		long parent = proc_number(status, "\nPPid:");

		free(status);
		one = (pid_t)parent;
	}
	return one == pid;
}

/* By its program's file. -ENOENT: it has none, as a kernel thread, or one that has ended. */
static int is_program(struct sought *s, pid_t pid)
{
	char path[32], file[PATH_MAX], *name;
	size_t len, tail = sizeof(DELETED) - 1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, file, sizeof(file) - 1);
	if (n < 0)
		return -errno;
	file[n] = '\0';
	name = strrchr(file, '/');
	name = name ? name + 1 : file;
	len = strlen(name);
	if (pid != getpid())
		nearest_offer(&s->near, name);
	if (is_equal(s, name, len))
		return 1;
	return len > tail && strcmp(name + len - tail, DELETED) == 0 &&
	       is_equal(s, name, len - tail);
}

static bool is_called(struct sought *s, pid_t pid)
{
	int by_file = is_program(s, pid);
	char comm[16];

	if (by_file == -ENOENT || by_file == 1)
		return by_file == 1;
	if (!proc_read_comm(pid, comm))
		return false;
	if (pid != getpid())
		nearest_offer(&s->near, comm);
	return is_equal(s, comm, strnlen(comm, sizeof(comm)));
}

static int look_at(void *ctx, pid_t pid)
{
	struct sought *s = ctx;

	if (!is_of_user(pid) || !is_called(s, pid))
		return 0;
	if (!is_ancestor(pid))
		return pid_list_add(&s->pids, pid);
	s->has_ancestor = true;
	return 0;
}

int who_called(const char *name, size_t len, struct pid_list *ret_pids)
{
	struct sought s = { .name = name, .len = len };
	char near[NEAREST_TEXT_MAX];
	int rc;

	nearest_init(&s.near, name, len, EDITS);
	rc = proc_each(look_at, &s);
	*ret_pids = s.pids;
	if (rc < 0)
		return cli_error("cannot look through /proc: %s", strerror(-rc));
	if (s.pids.n)
		return CLI_OK;
	if (s.has_ancestor)
		return cli_error(
			"no process is called '%.*s' but those that wait for %s: give its "
			"number",
			(int)len, name, cli_program);
	nearest_text(&s.near, near, sizeof(near));
	return cli_error("no process%s is called '%.*s'%s", geteuid() == 0 ? "" : " of yours",
			 (int)len, name, near);
}
