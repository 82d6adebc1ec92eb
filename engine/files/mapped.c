/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/mapped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/elf/object_priv.h"
#include "engine/os/maps.h"

#define DELETED " (deleted)"

/* The kernel writes a newline in a name as \012, and nothing else. */
static void undo_escapes(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++)
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	*to = '\0';
}

/* Owns its path. Returns 0 or -ENOMEM. */
static int file_of(const struct mapping *m, struct mapped_file *ret_file)
{
	char *path = strdup(m->path);
	size_t len;

	if (!path)
		return -ENOMEM;
	len = strlen(path);
	*ret_file = (struct mapped_file){
		.path = path,
		.is_deleted = len > strlen(DELETED) &&
			      strcmp(path + len - strlen(DELETED), DELETED) == 0,
		.start = m->start,
		.end = m->end,
		.dev = m->dev,
		.ino = m->ino,
	};
	if (ret_file->is_deleted)
		path[len - strlen(DELETED)] = '\0';
	undo_escapes(path);
	return 0;
}

/* Same file, same name: files may be many, so they are found by a hash of these. */
static uint64_t key_of(const struct mapped_file *file)
{
	uint64_t key = file->ino * 0x9e3779b97f4a7c15ULL ^ file->dev;

	for (const char *c = file->path; *c; c++)
		key = (key ^ (uint8_t)*c) * 0x100000001b3ULL;
	return key;
}

static bool is_same(const struct mapped_file *a, const struct mapped_file *b)
{
	return a->ino == b->ino && a->dev == b->dev && strcmp(a->path, b->path) == 0;
}

/* @known: number + 1 of each file by its key. Other files of a key come behind it. */
static int add_file(struct mapped_files *files, struct map *known, const struct mapping *m)
{
	struct mapped_file file;
	uint64_t key;
	uintptr_t at;

	if (file_of(m, &file) < 0)
		return -ENOMEM;
	for (key = key_of(&file); (at = (uintptr_t)map_get(known, key)); key++)
		if (is_same(&files->files[at - 1], &file)) {
			free(file.path);
			return 0;
		}
	if (map_put(known, key, (void *)(uintptr_t)(files->n + 1)) < 0) {
		free(file.path);
		return -ENOMEM;
	}
	files->files[files->n++] = file;
	return 0;
}

int mapped_from(const struct maps *maps, struct mapped_files *ret_files)
{
	struct mapped_files files = { 0 };
	struct map known = { 0 };
	int rc = 0;

	files.files = calloc(maps->n + 1, sizeof(*files.files));
	if (!files.files)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < maps->n; i++)
		if (maps->v[i].path[0] == '/')
			rc = add_file(&files, &known, &maps->v[i]);
	map_free(&known);
	if (rc < 0)
		mapped_free(&files);
	else
		*ret_files = files;
	return rc;
}

int mapped_read(pid_t pid, struct mapped_files *ret_files, struct ubp_err *err)
{
	struct maps maps;
	int rc = maps_read(pid, &maps, err);

	if (rc == 0 && mapped_from(&maps, ret_files) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	maps_free(&maps);
	return rc;
}

/* Some file systems show another device and number in maps than stat() does. */
static bool is_file_of(const struct object *object, const struct mapping *m)
{
	uint64_t dev, ino;

	if (object->ino == m->ino && object->dev == m->dev)
		return true;
	return maps_identity(object->fd, &dev, &ino) == 0 && dev == m->dev && ino == m->ino;
}

struct object *mapped_open(pid_t pid, const struct mapping *m)
{
	struct object *object = NULL;
	struct mapped_file file;
	struct ubp_err ignored;
	char link[80], *path;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 m->start, m->end);
	if (object_open(link, &object, &ignored) == 0) {
		if (is_file_of(object, m))
			return object;
		/* Another one is mapped there by now. */
		object_free(object);
		object = NULL;
	}
	/* Without privilege map_files is out of reach. */
	if (m->path[0] != '/' || file_of(m, &file) < 0)
		return NULL;
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, file.path) < 0)
		path = NULL;
	free(file.path);
	if (!path || object_open(path, &object, &ignored) < 0)
		object = NULL;
	free(path);
	if (!object || is_file_of(object, m))
		return object;
	object_free(object);
	return NULL;
}

static struct object *open_same(const char *path, const struct mapping *m)
{
	struct object *object = NULL;
	struct ubp_err ignored;

	if (object_open(path, &object, &ignored) < 0)
		return NULL;
	if (is_file_of(object, m))
		return object;
	object_free(object);
	return NULL;
}

static struct object *open_again(const struct object *known, const struct mapping *m)
{
	struct object *object = open_same(known->path, m);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", known->fd);
	return object ? object : open_same(path, m);
}

struct object *mapped_open_past(pid_t pid, const struct mapping *m, const struct object *known,
				bool is_our_root)
{
	struct object *object = NULL;
	struct mapped_file file;
	char *path;

	if (asprintf(&path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start,
		     m->end) < 0)
		return NULL;
	object = open_same(path, m);
	free(path);
	if (!object && known)
		object = open_again(known, m);
	if (object || m->path[0] != '/' || file_of(m, &file) < 0)
		return object;
	if (asprintf(&path, "/proc/%d/root%s", (int)pid, file.path) >= 0) {
		object = open_same(path, m);
		free(path);
	}
	/* The process may have ended. */
	if (!object && is_our_root)
		object = open_same(file.path, m);
	free(file.path);
	return object;
}

void mapped_free(struct mapped_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct mapped_files){ 0 };
}

struct object *mapped_open_vdso(const void *bytes, size_t len)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct object *object = NULL;
	struct ubp_err ignored;
	char path[40];

	if (fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, bytes, len) != (ssize_t)len || object_open(path, &object, &ignored) < 0)
		object = NULL;
	close(fd);
	return object;
}
