/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debug_search.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/elf/object_priv.h"
#include "engine/files/debug_file.h"
#include "engine/files/debuginfod.h"
#include "engine/files/file_root.h"

#define USUAL_DIR "/usr/lib/debug"

struct search {
	struct object *object;
	const struct debug_wanted *wanted;
	struct debug_file *file;
	char id[2 * BUILD_ID_MAX + 1];
	char root[32];      /* of the process whose file it is: "/proc/1/root"; "": ours */
	char dir[PATH_MAX]; /* of the file that wants it, in that root, without a '/' behind */
};

/* Is it found now? */
__attribute__((format(printf, 2, 3))) static bool try_path(struct search *s, const char *fmt,
							   ...)
{
	char *path;
	va_list ap;
	int n, rc;

	va_start(ap, fmt);
	n = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (n < 0)
		return false;
	rc = debug_open_candidate(s->object, path, s->wanted, s->file);
	free(path);
	return rc == 0;
}

/* "/usr/bin/x" of "/proc/7/root/usr/bin/x", or of what "/proc/7/exe" leads to. */
static void place_in_process(struct search *s, const char *path)
{
	int n = 0;
	unsigned pid;
	if (sscanf(path, "/proc/%u/%n", &pid, &n) != 1 || n == 0)
		return;
	snprintf(s->root, sizeof(s->root), "/proc/%u/root", pid);
	if (strncmp(path + n, "root/", 5) == 0) {
		snprintf(s->dir, sizeof(s->dir), "%s", path + n + 4);
	} else {
		ssize_t len = readlink(path, s->dir, sizeof(s->dir) - 1);

		s->dir[len > 0 ? len : 0] = '\0';
	}
	if (file_root_is_ours((pid_t)pid))
		s->root[0] = '\0';
}

static void find_place(struct search *s)
{
	const char *path = s->wanted->near ? s->wanted->near : s->object->path;
	char *slash;

	s->root[0] = s->dir[0] = '\0';
	place_in_process(s, path);
	if (s->dir[0] == '\0' && !realpath(path, s->dir))
		s->dir[0] = '\0';
	slash = strrchr(s->dir, '/');
	if (slash)
		*slash = '\0';
}

static void spell_id(struct search *s)
{
	const uint8_t *bytes = s->wanted->build_id;

	s->id[0] = '\0';
	for (size_t i = 0; i < s->wanted->build_id_len; i++)
		snprintf(s->id + 2 * i, 3, "%02x", bytes[i]);
}

/* A tree like /usr/lib/debug, in @root. @link NULL: by build-id alone. */
static bool try_tree(struct search *s, const char *root, const char *dir, const char *link)
{
	if (s->id[0] &&
	    try_path(s, "%s%s/.build-id/%.2s/%s.debug", root, dir, s->id, s->id + 2))
		return true;
	return link && (try_path(s, "%s%s%s/%s", root, dir, s->dir, link) ||
			/* Where /bin is /usr/bin, packages may know either. */
			(strncmp(s->dir, "/usr/", 5) == 0 &&
			 try_path(s, "%s%s%s/%s", root, dir, s->dir + 4, link)));
}

static bool try_given_dirs(struct search *s)
{
	const struct object_debug *debug = debug_of(s->object);
	const char *at = debug ? debug->options.dirs : NULL;

	while (at && *at) {
		size_t len = strcspn(at, ":");
		char *dir = strndup(at, len);
		bool found = dir && len &&
			     (try_tree(s, "", dir, s->wanted->link) ||
			      (s->wanted->link && try_path(s, "%s/%s", dir, s->wanted->link)));

		free(dir);
		if (found)
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

/* Where dwz said that it put it; its path may be relative. */
static bool try_alt(struct search *s)
{
	const char *alt = s->wanted->alt;

	if (alt[0] != '/')
		return s->dir[0] && try_path(s, "%s%s/%s", s->root, s->dir, alt);
	return try_path(s, "%s%s", s->root, alt);
}

static bool try_root(struct search *s)
{
	const char *link = s->wanted->link;

	if (link && (try_path(s, "%s%s/%s", s->root, s->dir, link) ||
		     try_path(s, "%s%s/.debug/%s", s->root, s->dir, link)))
		return true;
	return try_tree(s, s->root, USUAL_DIR, link);
}

/* Of a file in another root only the build-id is sought in ours: names are its own, and mean nothing here. */
static bool try_our_builds(struct search *s)
{
	return s->root[0] && try_tree(s, "", USUAL_DIR, NULL);
}

static bool try_debuginfod(struct search *s)
{
	char *path = debuginfod_find(s->wanted->build_id, s->wanted->build_id_len);
	bool found = path && try_path(s, "%s", path);

	free(path);
	return found;
}

int debug_search(struct object *object, const struct debug_wanted *wanted,
		 struct debug_file *ret_file)
{
	struct search s = { .object = object, .wanted = wanted, .file = ret_file };

	spell_id(&s);
	find_place(&s);
	if ((wanted->alt && try_alt(&s)) || try_given_dirs(&s) || try_root(&s) ||
	    try_our_builds(&s) || try_debuginfod(&s))
		return 0;
	return -ENOENT;
}
