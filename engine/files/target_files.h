/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The TARGET of a definition with wildcards: the files that it stands for. */

#ifndef UBP_FILES_TARGET_FILES_H
#define UBP_FILES_TARGET_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ubp_err;

/* Has it a wildcard of glob(7), and is no file called so? */
bool target_is_pattern(const char *target);

struct target_files {
	char **paths; /* sorted; with a process, as that sees them */
	size_t n;
};

/*
 * The ELF files that @pattern matches, each once, whatever its names. @pid 0: those that are there, and
 * the pattern has a '/'. Else those that process maps: by their paths if the pattern has a '/', by
 * the last part of them if it has none. A '*' does not match a '/'.
 * Errors: -ENOENT: none; -EINVAL: no '/' and no process; -ESRCH, -EACCES: of mapped_read(); -ENOMEM.
 */
int target_files_find(const char *pattern, pid_t pid, struct target_files *ret_files,
		      struct ubp_err *err);
/* Zeros are fine. */
void target_files_free(struct target_files *files);

#endif
