/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files that definitions name. */

#include "engine/define/files.h"

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
#include "engine/files/debug.h"
#include "engine/files/locate.h"
#include "engine/os/maps.h"
#include "engine/os/untrusted_file.h"
#include "engine/trace/task.h"

struct definition_file *files_by_id(struct definitions *defs, uint64_t dev, uint64_t ino)
{
	struct definition_file *f = defs->files;

	while (f && (f->dev != dev || f->ino != ino))
		f = f->next;
	return f;
}

const struct ubp_arch *files_arch(void *ctx, uint64_t dev, uint64_t ino)
{
	const struct definitions *defs = ctx;
	const struct definition_file *file = files_by_id(ctx, dev, ino);
	const struct ubp_arch *arch = file ? object_arch(file->object) : NULL;

	return arch ? arch : defs->opt.arch;
}

/*
 * Some file systems show another device and number in maps than stat() does. What is read from others' file systems
 * comes as a copy, which nobody maps: there stat() is all there is.
 */
static void find_maps_identity(const char *open_path, struct definition_file *f)
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
static int remember_file(struct definitions *defs, const struct stat *st, const char *open_path,
			 struct ubp_err *err)
{
	struct definition_file *f;
	int rc;

	if (files_by_id(defs, st->st_dev, st->st_ino))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return ubp_fail(err, ENOMEM, "out of memory");
	f->dev = f->maps_dev = st->st_dev;
	f->ino = f->maps_ino = st->st_ino;
	rc = object_open(open_path, &f->object, err);
	if (rc == 0 && object_has_no_code(f->object))
		rc = ubp_fail(
			err, ENOEXEC,
			"%s has a program's debug information alone: name the program, and "
			"this file by --symbols",
			open_path);
	if (rc < 0) {
		object_free(f->object);
		free(f);
		return rc;
	}
	object_set_debug(f->object, &defs->opt.debug);
	find_maps_identity(open_path, f);
	f->next = defs->files;
	defs->files = f;
	return 0;
}

static struct file_alias *alias_of(struct definitions *defs, const char *target)
{
	struct file_alias *a = defs->aliases;

	while (a && strcmp(a->target, target) != 0)
		a = a->next;
	return a;
}

static int remember_alias(struct definitions *defs, const char *target, char **path,
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
	a->next = defs->aliases;
	defs->aliases = a;
	return 0;
}

/* Of .pids, the first that lives, or whose leader has ended: any of its threads. */
pid_t files_view(const struct definitions *defs)
{
	pid_t live = 0;

	for (size_t i = 0; i < defs->opt.n_pids && !live; i++)
		live = task_live_thread(defs->opt.pids[i]);
	if (!defs->opt.n_pids)
		return defs->opt.view;
	return live ? live : defs->opt.pids[0];
}

static int stat_file(const char *path, struct stat *ret_st, struct ubp_err *err)
{
	int rc = file_stat(path, ret_st);

	return rc < 0 ? ubp_fail(err, -rc, "%s: %s", path, file_error(rc)) : 0;
}

/* Find the file of a target that this call has not met yet. */
static int look_up(struct definitions *defs, const char *target, struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	struct stat st;
	int rc = object_locate(target, files_view(defs), &path, &open_path, err);

	if (rc == 0)
		rc = stat_file(open_path, &st, err);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = ubp_fail(err, EINVAL, "%s: not a regular file", open_path);
	if (rc == 0)
		rc = remember_file(defs, &st, open_path, err);
	if (rc == 0)
		rc = remember_alias(defs, target, &path, &st, err);
	/* The kernel's own words for what the kernel refuses. */
	if (rc < 0 && defs->opt.strict && rc != -ENOEXEC)
		ubp_err_reset(err);
	free(path);
	free(open_path);
	return rc;
}

int files_find(void *ctx, const char *target, uint64_t *ret_dev, uint64_t *ret_ino,
	       char **ret_path, struct ubp_err *err)
{
	struct definitions *defs = ctx;
	const struct file_alias *a = alias_of(defs, target);
	int rc = a ? 0 : look_up(defs, target, err);

	if (rc < 0)
		return rc;
	if (!a)
		a = defs->aliases;
	if (a->path && !(*ret_path = strdup(a->path)))
		return ubp_fail(err, ENOMEM, "out of memory");
	*ret_dev = a->dev;
	*ret_ino = a->ino;
	return 0;
}

int files_dwarf(struct definition_file *file, struct dwarf **ret_dwarf, struct ubp_err *err)
{
	int rc = file->dwarf ? 0 : dwarf_open(file->object, &file->dwarf, err);

	*ret_dwarf = file->dwarf;
	return rc;
}

int files_check_symbols(struct definitions *defs, struct ubp_err *err)
{
	int rc = 0;

	if (!defs->opt.debug.symbols)
		return 0;
	for (const struct definition_file *f = defs->files; f; f = f->next) {
		rc = object_check_symbols(f->object, err);
		if (rc == 0)
			break;
	}
	if (rc == 0)
		ubp_err_reset(err);
	return rc;
}

static void forget_aliases(struct definitions *defs)
{
	while (defs->aliases) {
		struct file_alias *next = defs->aliases->next;

		free(defs->aliases->target);
		free(defs->aliases->path);
		free(defs->aliases);
		defs->aliases = next;
	}
}

/*
 * Each look-up asks a child, which may be given up (untrusted_file.h). Thousands of definitions, one call for each, are
 * mostly of one file.
 */
#define GOOD_FOR_NS 100000000ULL

void files_look_again(struct definitions *defs)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (defs->aliases && now - defs->aliases_ns < GOOD_FOR_NS)
		return;
	forget_aliases(defs);
	defs->aliases_ns = now;
}

void files_free(struct definitions *defs)
{
	forget_aliases(defs);
	while (defs->files) {
		struct definition_file *next = defs->files->next;

		dwarf_free(defs->files->dwarf);
		object_free(defs->files->object);
		free(defs->files);
		defs->files = next;
	}
}
