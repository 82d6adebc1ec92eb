/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/locate.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/elf/object.h"
#include "engine/files/file_root.h"
#include "engine/files/library.h"
#include "engine/files/library_list.h"
#include "engine/files/mapped.h"
#include "engine/files/program.h"
#include "engine/os/untrusted_file.h"

#define DELETED " (deleted)"

/* A process as far as look-ups need it. With root.pid 0 there is none. */
struct view {
	struct file_root root;
	struct mapped_files maps;
	char exe[PATH_MAX];       /* "" where not known */
	const char *out_of_reach; /* a mapped file that fits but can't be opened */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int view_init(struct view *view, pid_t pid, struct ubp_err *err)
{
	char link[48];
	ssize_t n;
	int rc;

	memset(view, 0, sizeof(*view));
	if (pid != 0) {
		rc = mapped_read(pid, &view->maps, err);
		if (rc < 0)
			return rc;
		snprintf(link, sizeof(link), "/proc/%d/exe", pid);
		n = readlink(link, view->exe, sizeof(view->exe) - 1);
		n = n > 0 ? n : 0;
		view->exe[n] = '\0';
		if ((size_t)n > strlen(DELETED) &&
		    strcmp(view->exe + n - strlen(DELETED), DELETED) == 0)
			view->exe[(size_t)n - strlen(DELETED)] = '\0';
	}
	file_root_init(&view->root, pid);
	return 0;
}

/* Is the file at @open the mapped one? By inode alone: devices differ in maps. */
static bool is_same_file(const char *open, const struct mapped_file *file)
{
	struct stat st;

	return file_stat(open, &st) == 0 && st.st_ino == file->ino;
}

/* A path made by format, if an ELF file can be read there. */
__attribute__((format(printf, 2, 3))) static int try_link(char **ret_open, const char *fmt, ...)
{
	struct elf_ident ident;
	char *path;
	va_list ap;
	int n, rc;

	va_start(ap, fmt);
	n = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	rc = header_peek(path, &ident);
	if (rc < 0)
		free(path);
	else
		*ret_open = path;
	return rc;
}

/* A path that opens from here what the process maps. Returns 0 or -errno. */
static int open_path_of(const struct view *view, const struct mapped_file *file,
			char **ret_open)
{
	pid_t pid = view->root.pid;
	struct elf_ident ident;
	char *by_name = NULL;
	int rc = -ENOENT;

	if (!file->is_deleted && file_root_resolve(&view->root, file->path, &by_name) == 0)
		rc = header_peek(by_name, &ident);
	if (rc == 0 && is_same_file(by_name, file)) {
		*ret_open = by_name;
		return 0;
	}
	if ((strcmp(view->exe, file->path) == 0 &&
	     try_link(ret_open, "/proc/%d/exe", pid) == 0) ||
	    try_link(ret_open, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, file->start,
		     file->end) == 0) {
		free(by_name);
		return 0;
	}
	if (rc == 0) /* some file systems show other inodes in maps */
		*ret_open = by_name;
	else
		free(by_name);
	return rc;
}

static int check_regular(const char *open, const char *path, struct ubp_err *err)
{
	struct stat st;
	int rc = file_stat(open, &st);

	if (rc < 0)
		return ubp_fail(err, -rc, "%s: %s", path, file_error(rc));
	if (S_ISREG(st.st_mode))
		return 0;
	return ubp_fail(err, EINVAL, "%s: %s, not an ELF file", path,
			S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
}

/* Hand out copies of both strings; @open may be given away. */
static int give(const char *path, char *open, char **ret_path, char **ret_open,
		struct ubp_err *err)
{
	char *copy = strdup(path);

	if (!copy || !open) {
		free(copy);
		free(open);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	*ret_path = copy;
	*ret_open = open;
	return 0;
}

static int fail_out_of_reach(const struct view *view, const char *path, struct ubp_err *err)
{
	return ubp_fail(err, EACCES,
			"%s, mapped by process %d, is deleted or replaced: to open it takes "
			"CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN",
			path, view->root.pid);
}

/* The mapped file at @path (or at what it leads to), deleted ones last; or NULL. */
static const struct mapped_file *mapped_at(const struct view *view, const char *path,
					   const char *resolved)
{
	const struct mapped_file *deleted = NULL;

	for (size_t i = 0; i < view->maps.n; i++) {
		const struct mapped_file *file = &view->maps.files[i];

		if (strcmp(file->path, path) != 0 &&
		    (!resolved || strcmp(file->path, resolved) != 0))
			continue;
		if (!file->is_deleted)
			return file;
		deleted = file;
	}
	return deleted;
}

static int locate_path_in_process(struct view *view, const char *path, char **ret_path,
				  char **ret_open, struct ubp_err *err)
{
	char real[PATH_MAX], *open = NULL, *mapped_open = NULL;
	const struct mapped_file *file;
	int rc = file_root_resolve(&view->root, path, &open);
	const char *resolved = NULL;

	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "out of memory");
	/* In another root, the open path is resolved; strip the root to compare. */
	if (open && view->root.path[0] != '\0')
		resolved = open + strlen(view->root.path);
	else if (open && realpath(open, real))
		resolved = real;
	file = mapped_at(view, path, resolved);
	if (file) {
		rc = open_path_of(view, file, &mapped_open);
		if (rc == 0 || file->is_deleted) {
			free(open);
			return rc == 0 ? give(path, mapped_open, ret_path, ret_open, err)
				       : fail_out_of_reach(view, path, err);
		}
	}
	if (!open)
		return ubp_fail(err, -rc, "%s in the root of process %d: %s", path,
				view->root.pid, file_error(rc));
	rc = check_regular(open, path, err);
	if (rc == 0)
		return give(path, open, ret_path, ret_open, err);
	free(open);
	return rc;
}

static int locate_path(struct view *view, const char *target, char **ret_path, char **ret_open,
		       struct ubp_err *err)
{
	char *absolute;
	int rc;

	if (view->root.pid == 0) {
		rc = check_regular(target, target, err);
		return rc < 0 ? rc : give(target, strdup(target), ret_path, ret_open, err);
	}
	if (target[0] == '/')
		return locate_path_in_process(view, target, ret_path, ret_open, err);
	absolute = realpath(target, NULL);
	if (!absolute)
		return ubp_fail_sys(err, "%s", target);
	rc = locate_path_in_process(view, absolute, ret_path, ret_open, err);
	free(absolute);
	return rc;
}

/* Does a mapped library call itself @target? It may: libc.so.6 was libc-2.31.so. Returns 0 or -errno. */
static int soname_fits(const char *open, const char *target, enum library_fit *ret_fit)
{
	struct object *object = NULL;
	struct ubp_err ignored;
	const char *soname;
	int rc;

	*ret_fit = FIT_NONE;
	ubp_err_reset(&ignored);
	rc = object_open(open, &object, &ignored);
	if (rc < 0)
		return rc;
	soname = object_soname(object);
	if (soname)
		*ret_fit = library_fits(soname, target);
	object_free(object);
	return 0;
}

static int add_mapped(struct view *view, const struct mapped_file *file, const char *target,
		      bool by_soname, struct library_list *found)
{
	const char *name = base_name(file->path);
	enum library_fit fit = library_fits(name, target);
	char *open = NULL;
	int rc;

	if (by_soname ? !strstr(name, ".so") : fit == FIT_NONE)
		return 0;
	rc = open_path_of(view, file, &open);
	if (rc < 0) {
		if (!by_soname && file->is_deleted)
			view->out_of_reach = file->path;
		/* No ELF file, mostly: data is mapped too. */
		return file_is_shortage(rc) ? rc : 0;
	}
	if (by_soname)
		rc = soname_fits(open, target, &fit);
	if (fit != FIT_NONE)
		rc = library_list_add(found, file->path, open, fit == FIT_EXACT, 0, true);
	free(open);
	return file_is_shortage(rc) ? rc : 0;
}

static int fail_short(const char *target, int rc, struct ubp_err *err)
{
	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "out of memory");
	return ubp_fail(err, -rc, "'%.128s' cannot be looked for: %s", target, strerror(-rc));
}

/* Among the files that the process maps. -ENOENT, without a text: none fits. */
static int locate_mapped(struct view *view, const char *target, char **ret_path,
			 char **ret_open, struct ubp_err *err)
{
	const struct mapped_file *exe = NULL;
	struct library_list found = { 0 };
	char *open = NULL;
	int rc = 0;

	if (view->exe[0] != '\0' && strcmp(base_name(view->exe), target) == 0)
		exe = mapped_at(view, view->exe, NULL);
	if (exe && open_path_of(view, exe, &open) == 0)
		return give(view->exe, open, ret_path, ret_open, err);
	for (int by_soname = 0; by_soname < 2 && found.n == 0; by_soname++)
		for (size_t i = 0; i < view->maps.n && rc == 0; i++)
			rc = add_mapped(view, &view->maps.files[i], target, by_soname, &found);
	if (rc < 0)
		rc = fail_short(target, rc, err);
	else
		rc = library_list_choose(&found, target, ret_path, ret_open, err);
	library_list_free(&found);
	if (rc == -ENOENT && view->out_of_reach)
		return fail_out_of_reach(view, view->out_of_reach, err);
	return rc;
}

static int fail_unknown(const struct view *view, const char *target, const char *script,
			struct ubp_err *err)
{
	char near_text[NEAREST_TEXT_MAX], of_process[48] = "";
	struct nearest nearest;

	if (script)
		return ubp_fail(err, ENOEXEC, "'%.128s' is %s, a script, not an ELF file",
				target, script);
	nearest_init(&nearest, target, strlen(target), NEAREST_EDITS_FILES);
	program_offer_near(&view->root, &nearest);
	library_offer_near(&view->root, &nearest);
	nearest_text(&nearest, near_text, sizeof(near_text));
	if (view->root.pid != 0)
		snprintf(of_process, sizeof(of_process), " for process %d", view->root.pid);
	return ubp_fail(err, ENOENT, "no program or library '%.128s'%s%s", target, of_process,
			near_text);
}

static int locate_name(struct view *view, const char *target, char **ret_path, char **ret_open,
		       struct ubp_err *err)
{
	struct library_list found = { 0 };
	char *script = NULL;
	int rc = -ENOENT;

	if (view->root.pid != 0)
		rc = locate_mapped(view, target, ret_path, ret_open, err);
	if (rc != -ENOENT)
		return rc;
	rc = program_find(&view->root, target, ret_path, ret_open, &script);
	if (rc == -ENOENT) {
		rc = library_find(&view->root, target, &found);
		if (rc == 0)
			rc = library_list_choose(&found, target, ret_path, ret_open, err);
		if (rc == -ENOENT)
			rc = fail_unknown(view, target, script, err);
	}
	if (file_is_shortage(rc))
		rc = fail_short(target, rc, err);
	library_list_free(&found);
	free(script);
	return rc;
}

int object_locate(const char *target, pid_t pid, char **ret_path, char **ret_open,
		  struct ubp_err *err)
{
	struct view *view;
	int rc;

	if (!target || target[0] == '\0')
		return ubp_fail(err, ENOENT, "no name of a program or library given");
	if (pid < 0)
		return ubp_fail(err, ESRCH, "no process %d", pid);
	view = malloc(sizeof(*view));
	if (!view)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = view_init(view, pid, err);
	if (rc == 0)
		rc = strchr(target, '/') ? locate_path(view, target, ret_path, ret_open, err)
					 : locate_name(view, target, ret_path, ret_open, err);
	mapped_free(&view->maps);
	free(view);
	return rc;
}
