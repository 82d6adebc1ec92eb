/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The files a process maps, by /proc/PID/maps. */

#ifndef UBP_FILES_MAPPED_H
#define UBP_FILES_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping;
struct maps;
struct object;
struct ubp_err;

struct mapped_file {
	char *path; /* as the process sees it, without " (deleted)" */
	bool is_deleted;
	uint64_t start, end; /* one of its mappings: names the link in map_files */
	uint64_t dev, ino;   /* only to tell files apart: not always st_dev */
};

struct mapped_files {
	struct mapped_file *files;
	size_t n;
};

/*
 * Each mapped file once. Errors: -ESRCH: no process @pid, or one without memory;
 * -EACCES or -EPERM: may not be looked at (the text says what is needed); -ENOMEM.
 */
int mapped_read(pid_t pid, struct mapped_files *ret_files, struct ubp_err *err);
/* Each file of these mappings once. Returns 0 or -ENOMEM. */
int mapped_from(const struct maps *maps, struct mapped_files *ret_files);
/*
 * Open the file of a mapping of process @pid as an object: the mapped file itself, or
 * what stands at its path in the process's root if that is the same file. NULL: it
 * can't be opened, or is no ELF file.
 */
struct object *mapped_open(pid_t pid, const struct mapping *m);
/*
 * Open the file of a mapping that process @pid had: that may have ended since, or be another. Whatever
 * is opened is the file that was mapped, by its number. @known: perhaps that file, open already, or NULL.
 * @is_our_root: the process saw our files, so its path may be tried here (struct maps).
 */
struct object *mapped_open_past(pid_t pid, const struct mapping *m, const struct object *known,
				bool is_our_root);

/* What the kernel maps into every program has no file: an object of these bytes of it, or NULL. */
struct object *mapped_open_vdso(const void *bytes, size_t len);
/* For maps by file: files that have the same are chained. */
static inline uint64_t mapped_key(uint64_t dev, uint64_t ino)
{
	return (ino * 0x9e3779b97f4a7c15ULL) ^ dev;
}

void mapped_free(struct mapped_files *files);

#endif
