/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/whom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"

#define STATUS_HEAD 1024 /* of /proc/PID/status: ids stand near its beginning */

int whom_set_cgroup(struct whom *whom, const char *cgroup, struct ubp_err *err)
{
	const char *path = strchr(cgroup, '/');

	if (!path || (path > cgroup && path[-1] != ':'))
		return ubp_fail(err, EINVAL,
				"a control group is PATH or HIERARCHY:PATH, not '%s'", cgroup);
	free(whom->cgroup);
	whom->cgroup = strdup(cgroup);
	if (!whom->cgroup)
		return ubp_fail(err, ENOMEM, "out of memory");
	whom->of_hierarchy = path > cgroup;
	whom->hierarchy_len = whom->of_hierarchy ? (size_t)(path - cgroup) - 1 : 0;
	whom->path = whom->cgroup + (path - cgroup);
	return 0;
}

void whom_free(struct whom *whom)
{
	free(whom->cgroup);
	*whom = (struct whom){ 0 };
}

static bool is_of_user(const struct whom *whom, pid_t pid)
{
	char path[32], status[STATUS_HEAD];
	const char *at = NULL;
	unsigned real, effective;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (proc_read(path, status, sizeof(status)))
		at = strstr(status, "\nUid:");
	return at && sscanf(at, "\nUid: %u %u", &real, &effective) == 2 &&
	       effective == whom->user;
}

/* Is it among "cpu,cpuacct", which ends at @end? */
static bool has_controller(const struct whom *whom, const char *list, const char *end)
{
	size_t len;

	for (; list <= end; list += len + 1) {
		const char *comma = memchr(list, ',', (size_t)(end - list));

		len = (size_t)((comma ? comma : end) - list);
		if (len == whom->hierarchy_len && memcmp(list, whom->cgroup, len) == 0)
			return true;
	}
	return false;
}

/* Is @path, which ends at @end, that of the group, or of one below it? */
static bool is_below(const struct whom *whom, const char *path, const char *end)
{
	size_t len = strlen(whom->path);

	/* The root has all. */
	while (len && whom->path[len - 1] == '/')
		len--;
	return (size_t)(end - path) >= len && memcmp(path, whom->path, len) == 0 &&
	       (path + len == end || path[len] == '/');
}

/* "NUMBER:CONTROLLERS:PATH" */
static bool is_line_of(const struct whom *whom, const char *line, const char *end)
{
	const char *list = memchr(line, ':', (size_t)(end - line)), *path;

	list = list ? list + 1 : end;
	path = memchr(list, ':', (size_t)(end - list));
	return path && (!whom->of_hierarchy || has_controller(whom, list, path)) &&
	       is_below(whom, path + 1, end);
}

static bool is_in_cgroup(const struct whom *whom, pid_t pid)
{
	char path[32], *text, *line, *end;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	text = proc_read_all(path);
	for (line = text; line && *line && !found; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		found = is_line_of(whom, line, end);
	}
	free(text);
	return found;
}

bool whom_has(const struct whom *whom, pid_t pid)
{
	return (!whom->of_user || is_of_user(whom, pid)) &&
	       (!whom->cgroup || is_in_cgroup(whom, pid));
}
