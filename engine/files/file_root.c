/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/file_root.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/os/untrusted_file.h"

#define SYMLINKS_MAX 40 /* as the kernel */

static bool same_target(const char *path, const char *other)
{
	uint64_t dev_a, dev_b, ino_a, ino_b;

	return file_identity(path, &dev_a, &ino_a) == 0 &&
	       file_identity(other, &dev_b, &ino_b) == 0 && dev_a == dev_b && ino_a == ino_b;
}

bool file_root_is_ours(pid_t pid)
{
	char mounts[48], root[48];

	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", pid);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	return same_target(mounts, "/proc/self/ns/mnt") && same_target(root, "/proc/self/root");
}

void file_root_init(struct file_root *root, pid_t pid)
{
	char path[48];

	memset(root, 0, sizeof(*root));
	root->pid = pid;
	snprintf(path, sizeof(path), pid ? "/proc/%d/exe" : "/proc/self/exe", pid);
	if (header_peek(path, &root->ident) < 0)
		(void)header_peek("/proc/self/exe", &root->ident);
	if (pid == 0)
		return;
	if (!file_root_is_ours(pid))
		snprintf(root->path, sizeof(root->path), "/proc/%d/root", pid);
}

/* A walk along a path: what is done has no symlinks, what is to do may have. */
struct path_walk {
	const char *root;
	char done[PATH_MAX];
	char todo[2 * PATH_MAX];
	unsigned n_links;
};

/* Take the first component off todo[]. */
static void take_component(struct path_walk *walk, char component[static NAME_MAX + 2])
{
	size_t skip = strspn(walk->todo, "/");
	size_t len = strcspn(walk->todo + skip, "/");
	size_t kept = len <= NAME_MAX ? len : NAME_MAX + 1; /* too long: no such file */

	memcpy(component, walk->todo + skip, kept);
	component[kept] = '\0';
	memmove(walk->todo, walk->todo + skip + len, strlen(walk->todo + skip + len) + 1);
}

static void drop_last(struct path_walk *walk)
{
	char *slash = strrchr(walk->done, '/');

	if (slash)
		*slash = '\0';
}

/* done[] ends in a symlink to @link: put that in front of todo[]. */
static int follow(struct path_walk *walk, const char *link)
{
	char rest[PATH_MAX];
	int n;

	if (++walk->n_links > SYMLINKS_MAX)
		return -ELOOP;
	if (strlen(walk->todo) >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(rest, walk->todo, strlen(walk->todo) + 1);
	n = snprintf(walk->todo, sizeof(walk->todo), "%s/%s", link, rest);
	if (n < 0 || (size_t)n >= sizeof(walk->todo))
		return -ENAMETOOLONG;
	if (link[0] == '/')
		walk->done[0] = '\0';
	else
		drop_last(walk);
	return 0;
}

static int step(struct path_walk *walk, const char *component)
{
	char full[PATH_MAX + 64], link[PATH_MAX];
	size_t len = strlen(walk->done);
	int rc;

	if (strcmp(component, ".") == 0 || component[0] == '\0')
		return 0;
	if (strcmp(component, "..") == 0) {
		drop_last(walk);
		return 0;
	}
	if (len + 1 + strlen(component) >= sizeof(walk->done))
		return -ENAMETOOLONG;
	walk->done[len] = '/';
	memcpy(walk->done + len + 1, component, strlen(component) + 1);
	snprintf(full, sizeof(full), "%s%s", walk->root, walk->done);
	rc = file_readlink(full, link, sizeof(link));
	if (rc < 0)
		return rc == -EINVAL ? 0 : rc; /* EINVAL: no symlink */
	return follow(walk, link);
}

/*
 * Component by component: the kernel would take absolute symlinks under
 * /proc/PID/root from our own root.
 */
static int resolve_in(const char *root, const char *path, char **ret_open)
{
	struct path_walk *walk = calloc(1, sizeof(*walk));
	char component[NAME_MAX + 2];
	int rc = 0;

	if (!walk)
		return -ENOMEM;
	walk->root = root;
	if (strlen(path) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	else
		memcpy(walk->todo, path, strlen(path) + 1);
	while (rc == 0 && walk->todo[0] != '\0') {
		take_component(walk, component);
		rc = step(walk, component);
	}
	if (rc == 0 && asprintf(ret_open, "%s%s", root, walk->done[0] ? walk->done : "/") < 0)
		rc = -ENOMEM;
	free(walk);
	return rc;
}

int file_root_resolve(const struct file_root *root, const char *path, char **ret_open)
{
	char *copy;

	if (root->path[0] != '\0')
		return resolve_in(root->path, path, ret_open);
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	*ret_open = copy;
	return 0;
}
