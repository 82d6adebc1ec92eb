/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Control groups by the paths of their folders. What the kernel calls a group (/proc/PID/cgroup) is where its folder is below the root
 * of its hierarchy, which may be mounted anywhere, whole or in part.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/who.h"

#define USUAL "/sys/fs/cgroup"

/* Where a hierarchy is mounted. A line of /proc/self/mountinfo, cut into pieces. */
struct mounted {
	char *root, *point; /* the folder of it that is seen, and where */
	char hierarchy[64]; /* its name before the colon; "": version 2 */
};

/* Of "rw,cpu,cpuacct" or "rw,xattr,name=systemd" one that no other hierarchy has. */
static void name_hierarchy(struct mounted *m, char *options)
{
	static const char *const no_names[] = { "rw",           "ro",
						"xattr",        "noprefix",
						"seclabel",     "clone_children",
						"favordynmods", "cpuset_v2_mode" };
	char *save, *one = strtok_r(options, ",\n", &save);

	m->hierarchy[0] = '\0';
	for (; one && !m->hierarchy[0]; one = strtok_r(NULL, ",\n", &save)) {
		/* release_agent=..., context=... */
		bool is_name = !strchr(one, '=') || strncmp(one, "name=", 5) == 0;

		for (size_t i = 0; i < sizeof(no_names) / sizeof(no_names[0]); i++)
			is_name &= strcmp(one, no_names[i]) != 0;
		if (is_name)
			(void)snprintf(m->hierarchy, sizeof(m->hierarchy), "%s", one);
	}
}

/* False: it mounts something else. "ID PARENT DEV ROOT POINT OPTIONS [MORE...] - TYPE SOURCE SUPER" */
static bool read_line(char *line, struct mounted *m)
{
	char *save, *tail = strstr(line, " - "), *type, *super;

	if (!tail)
		return false;
	*tail = '\0';
	type = strtok_r(tail + 3, " ", &save);
	(void)strtok_r(NULL, " ", &save);
	super = strtok_r(NULL, " ", &save);
	if (!type || !super || strncmp(type, "cgroup", 6) != 0)
		return false;
	m->hierarchy[0] = '\0';
	if (type[6] == '\0')
		name_hierarchy(m, super);
	for (int i = 0; i < 3; i++)
		(void)strtok_r(i ? NULL : line, " ", &save);
	m->root = strtok_r(NULL, " ", &save);
	m->point = strtok_r(NULL, " ", &save);
	return m->root && m->point;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder @path, if it is below the mount point. NULL: it is not. */
static char *group_of_folder(const struct mounted *m, const char *path)
{
	size_t len = strlen(m->point);
	const char *root = strcmp(m->root, "/") == 0 ? "" : m->root;
	char *group = NULL;

	if (strncmp(path, m->point, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	return asprintf(&group, "%s:%s%s", m->hierarchy, root,
			path[len] || *root ? path + len : "/") < 0
		       ? NULL
		       : group;
}

/* The group that the kernel calls @name, if the mount point has it. */
static char *group_of_name(const struct mounted *m, const char *name)
{
	char *path = NULL, *real, *group;

	if (asprintf(&path, "%s/%s", m->point, name) < 0)
		return NULL;
	real = is_folder(path) ? realpath(path, NULL) : NULL;
	group = real ? group_of_folder(m, real) : NULL;
	free(real);
	free(path);
	return group;
}

/* @of: one of the two. NULL: none of those that are mounted knows it. */
static char *find(char *(*of)(const struct mounted *m, const char *what), const char *what)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *group = NULL;
	size_t size = 0;
	struct mounted m;

	while (file && !group && getline(&line, &size, file) > 0)
		if (read_line(line, &m))
			group = of(&m, what);
	free(line);
	if (file)
		(void)fclose(file);
	return group;
}

/* By the folder, or by what it is called below the usual place, whichever hierarchy that is then. */
char *who_cgroup(const char *text)
{
	char *path = NULL, *real, *group = NULL;

	real = *text == '/' ? realpath(text, NULL) : NULL;
	if (!real && asprintf(&path, USUAL "/%s", text) >= 0)
		real = realpath(path, NULL);
	if (real && is_folder(real))
		group = find(group_of_folder, real);
	free(real);
	free(path);
	if (group)
		return group;
	while (*text == '/')
		text++;
	return find(group_of_name, text);
}
