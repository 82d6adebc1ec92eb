/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The list of files that fit a library's name. */

#ifndef UBP_FILES_LIBRARY_LIST_H
#define UBP_FILES_LIBRARY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ubp_err;

/* A file that fits. */
struct library_file {
	char *path, *open; /* as in object_locate() */
	uint64_t dev, ino;
	uint64_t hwcap; /* of the loader's cache */
	bool is_exact;
};

/* All that fit, each file once, in the order in which the loader would look. */
struct library_list {
	struct library_file *v;
	size_t n;
};

/*
 * Add a file; copies the strings. Without @keep_all, a file of a name that is
 * there already is hidden by it, as the loader stops at the first. Returns 0,
 * -ENOMEM, or the errno of stat().
 */
int library_list_add(struct library_list *found, const char *path, const char *open,
		     bool is_exact, uint64_t hwcap, bool keep_all);
void library_list_free(struct library_list *found);

/*
 * The one file that @target means: the exact one, else the only one. Moves its
 * strings out. Returns 0; -ENOENT, without a text: none; -EEXIST: several.
 */
int library_list_choose(struct library_list *found, const char *target, char **ret_path,
			char **ret_open, struct ubp_err *err);

#endif
