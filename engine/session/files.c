/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files that definitions name. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"
#include "engine/event/clock.h"
#include "engine/files/locate.h"
#include "engine/os/maps.h"
#include "engine/os/untrusted_file.h"
#include "engine/session/definitions.h"
#include "engine/session/inside.h"
#include "engine/session/target_file.h"
#include "engine/trace/task.h"

struct session_file *files_by_id(struct ubp_session *s, uint64_t dev, uint64_t ino)
{
	struct session_file *f = s->defined.files;

	while (f && (f->dev != dev || f->ino != ino))
		f = f->next;
	return f;
}

/*
 * Some file systems show another device and number in maps than stat() does. What is read from others' file systems
 * comes as a copy, which nobody maps: there stat() is all there is.
 */
static void find_maps_identity(const char *open_path, struct session_file *f)
{
	struct stat st, is;
	int fd = file_open(open_path, &st);

	if (fd < 0)
		return;
	if (fstat(fd, &is) == 0 && is.st_dev == st.st_dev && is.st_ino == st.st_ino)
		(void)maps_identity(fd, &f->maps_dev, &f->maps_ino);
	close(fd);
}

/* Remember which path opens the file of this id; it is opened when it is needed. */
static int remember_file(struct ubp_session *s, const struct stat *st, const char *open_path,
			 struct ubp_err *err)
{
	const struct object_debug_options debug = target_debug(&s->opt.debug);
	struct session_file *f;
	int rc;

	if (files_by_id(s, st->st_dev, st->st_ino))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return ubp_fail(err, ENOMEM, "out of memory");
	f->dev = f->maps_dev = st->st_dev;
	f->ino = f->maps_ino = st->st_ino;
	rc = object_open(open_path, &f->object, err);
	if (rc < 0) {
		free(f);
		return rc;
	}
	object_set_debug(f->object, &debug);
	find_maps_identity(open_path, f);
	f->next = s->defined.files;
	s->defined.files = f;
	return 0;
}

static struct file_alias *alias_of(struct ubp_session *s, const char *target)
{
	struct file_alias *a = s->defined.aliases;

	while (a && strcmp(a->target, target) != 0)
		a = a->next;
	return a;
}

static int remember_alias(struct ubp_session *s, const char *target, char **path,
			  const struct stat *st, struct ubp_err *err)
{
	struct file_alias *a = calloc(1, sizeof(*a));

	if (a)
		a->target = strdup(target);
	if (!a || !a->target) {
		free(a);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	a->dev = st->st_dev;
	a->ino = st->st_ino;
	if (!strchr(target, '/')) {
		a->path = *path;
		*path = NULL;
	}
	a->next = s->defined.aliases;
	s->defined.aliases = a;
	return 0;
}

pid_t files_view(const struct ubp_session *s)
{
	pid_t named = s->opt.n_pids ? s->pids[0] : 0;
	pid_t live = named ? task_live_thread(named) : 0;

	return live ? live : named;
}

static int stat_file(const char *path, struct stat *ret_st, struct ubp_err *err)
{
	int rc = file_stat(path, ret_st);

	return rc < 0 ? ubp_fail(err, -rc, "%s: %s", path, file_error(rc)) : 0;
}

/* Find the file of a target that this call has not met yet. */
static int look_up(struct ubp_session *s, const char *target, struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	struct stat st;
	int rc = object_locate(target, files_view(s), &path, &open_path, err);

	if (rc == 0)
		rc = stat_file(open_path, &st, err);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = ubp_fail(err, EINVAL, "%s: not a regular file", open_path);
	if (rc == 0)
		rc = remember_file(s, &st, open_path, err);
	if (rc == 0)
		rc = remember_alias(s, target, &path, &st, err);
	/* The kernel's own words for what the kernel refuses. */
	if (rc < 0 && s->opt.strict && rc != -ENOEXEC)
		ubp_err_reset(err);
	free(path);
	free(open_path);
	return rc;
}

int files_find(void *ctx, const char *target, uint64_t *ret_dev, uint64_t *ret_ino,
	       char **ret_path, struct ubp_err *err)
{
	struct ubp_session *s = ctx;
	const struct file_alias *a = alias_of(s, target);
	int rc = a ? 0 : look_up(s, target, err);

	if (rc < 0)
		return rc;
	if (!a)
		a = s->defined.aliases;
	if (a->path && !(*ret_path = strdup(a->path)))
		return ubp_fail(err, ENOMEM, "out of memory");
	*ret_dev = a->dev;
	*ret_ino = a->ino;
	return 0;
}

int files_dwarf(struct session_file *file, struct dwarf **ret_dwarf, struct ubp_err *err)
{
	int rc = file->dwarf ? 0 : dwarf_open(file->object, &file->dwarf, err);

	*ret_dwarf = file->dwarf;
	return rc;
}

int files_check_symbols(struct ubp_session *s, struct ubp_err *err)
{
	int rc = 0;

	if (!s->opt.debug.symbols)
		return 0;
	for (const struct session_file *f = s->defined.files; f; f = f->next) {
		rc = object_check_symbols(f->object, err);
		if (rc == 0)
			break;
	}
	if (rc == 0)
		ubp_err_reset(err);
	return rc;
}

static void forget_aliases(struct ubp_session *s)
{
	while (s->defined.aliases) {
		struct file_alias *next = s->defined.aliases->next;

		free(s->defined.aliases->target);
		free(s->defined.aliases->path);
		free(s->defined.aliases);
		s->defined.aliases = next;
	}
}

/*
 * Each look-up asks a child, which may be given up (untrusted_file.h). Thousands of definitions, one call for each, are
 * mostly of one file.
 */
#define GOOD_FOR_NS 100000000ULL

void files_look_again(struct ubp_session *s)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (s->defined.aliases && now - s->defined.aliases_ns < GOOD_FOR_NS)
		return;
	forget_aliases(s);
	s->defined.aliases_ns = now;
}

void files_free(struct ubp_session *s)
{
	forget_aliases(s);
	while (s->defined.files) {
		struct session_file *next = s->defined.files->next;

		dwarf_free(s->defined.files->dwarf);
		object_free(s->defined.files->object);
		free(s->defined.files);
		s->defined.files = next;
	}
}
