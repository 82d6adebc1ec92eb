/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/target_files.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/files/locate.h"
#include "engine/files/mapped.h"
#include "engine/os/untrusted_file.h"

bool target_is_pattern(const char *target)
{
	return strpbrk(target, "*?[") && access(target, F_OK) < 0;
}

/* Which file it is, if it is an ELF file. Nothing else is opened. Returns 1 if so, 0 if not, or -errno. */
static int is_elf(const char *open_path, struct stat *ret_st)
{
	char magic[SELFMAG];
	bool is;
	int fd = file_open(open_path, ret_st);

	if (fd < 0)
		return file_is_shortage(fd) ? fd : 0;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	     memcmp(magic, ELFMAG, SELFMAG) == 0;
	(void)close(fd);
	return is;
}

/* What is found, and what tells files apart. */
struct finding {
	struct target_files files;
	struct {
		uint64_t dev, ino;
	} * ids;
};

static bool is_known(const struct finding *f, const struct stat *st)
{
	for (size_t i = 0; i < f->files.n; i++)
		if (f->ids[i].dev == st->st_dev && f->ids[i].ino == st->st_ino)
			return true;
	return false;
}

static int begin(struct finding *f, size_t most)
{
	f->files = (struct target_files){ calloc(most + 1, sizeof(*f->files.paths)), 0 };
	f->ids = calloc(most + 1, sizeof(*f->ids));
	return f->files.paths && f->ids ? 0 : -ENOMEM;
}

/* @open_path opens from here what is called @path. */
static int take(struct finding *f, const char *path, const char *open_path)
{
	struct stat st;
	int rc = is_elf(open_path, &st);

	if (rc <= 0 || is_known(f, &st))
		return rc < 0 ? rc : 0;
	f->files.paths[f->files.n] = strdup(path);
	if (!f->files.paths[f->files.n])
		return -ENOMEM;
	f->ids[f->files.n].dev = st.st_dev;
	f->ids[f->files.n].ino = st.st_ino;
	f->files.n++;
	return 0;
}

/* For glob(), of a folder that it cannot read: is that to end it? */
static int is_shortage(const char *path, int code)
{
	(void)path;
	return file_is_shortage(-code);
}

static int find_here(struct finding *f, const char *pattern)
{
	glob_t found = { 0 };
	int how = glob(pattern, 0, is_shortage, &found);
	int rc = how == GLOB_NOSPACE ? -ENOMEM : how == GLOB_ABORTED ? -EMFILE : 0;

	if (rc == 0)
		rc = begin(f, found.gl_pathc);
	for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
		rc = take(f, found.gl_pathv[i], found.gl_pathv[i]);
	globfree(&found);
	return rc;
}

static int find_mapped(struct finding *f, const struct mapped_files *mapped, pid_t pid,
		       const char *pattern)
{
	bool is_path = strchr(pattern, '/');
	int rc = begin(f, mapped->n);

	for (size_t i = 0; i < mapped->n && rc == 0; i++) {
		const char *path = mapped->files[i].path;
		char *seen = NULL, *open_path = NULL;
		struct ubp_err ignored;

		if (fnmatch(pattern, is_path ? path : strrchr(path, '/') + 1, FNM_PATHNAME))
			continue;
		ubp_err_reset(&ignored);
		rc = object_locate(path, pid, &seen, &open_path, &ignored);
		if (rc == 0)
			rc = take(f, path, open_path);
		rc = file_is_shortage(rc) ? rc : 0;
		free(seen);
		free(open_path);
	}
	return rc;
}

static int compare_paths(const void *pa, const void *pb)
{
	return strcmp(*(char *const *)pa, *(char *const *)pb);
}

int target_files_find(const char *pattern, pid_t pid, struct target_files *ret_files,
		      struct ubp_err *err)
{
	struct mapped_files mapped = { 0 };
	struct finding f = { 0 };
	int rc = 0;

	if (pid)
		rc = mapped_read(pid, &mapped, err);
	else if (!strchr(pattern, '/'))
		rc = ubp_fail(
			err, EINVAL,
			"'%s' stands for files that a process maps, which needs -p; files "
			"of a folder have a path",
			pattern);
	if (rc < 0)
		return rc;
	rc = pid ? find_mapped(&f, &mapped, pid, pattern) : find_here(&f, pattern);
	mapped_free(&mapped);
	free(f.ids);
	if (rc < 0) {
		(void)ubp_fail(err, -rc, "'%s' cannot be looked for: %s", pattern,
			       strerror(-rc));
	} else if (f.files.n == 0) {
		rc = pid ? ubp_fail(err, ENOENT, "process %d maps no program or library '%s'",
				    (int)pid, pattern)
			 : ubp_fail(err, ENOENT, "no program or library is called '%s'",
				    pattern);
	}
	if (rc < 0) {
		target_files_free(&f.files);
		return rc;
	}
	qsort(f.files.paths, f.files.n, sizeof(*f.files.paths), compare_paths);
	*ret_files = f.files;
	return 0;
}

void target_files_free(struct target_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->paths[i]);
	free(files->paths);
	*files = (struct target_files){ 0 };
}
