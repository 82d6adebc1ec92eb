/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Libraries by their names: what fits a name, and which of those it means. */

#ifndef UBP_OBJECT_LIBRARY_H
#define UBP_OBJECT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nearest;
struct place;
struct ubp_err;

enum library_fit {
	FIT_NONE,
	FIT_LOOSE, /* "libz", "z", "libz.so", "libz.so.1" for libz.so.1.2.13; "libm" for libm-2.31.so */
	FIT_EXACT, /* the file's name */
};

/* Does the file called @file_name (no folder) answer to @wanted? */
enum library_fit library_fits(const char *file_name, const char *wanted);

/* A file that fits. */
struct find {
	char *path, *open; /* as in object_locate() */
	uint64_t dev, ino;
	uint64_t hwcap; /* of the loader's cache */
	bool is_exact;
};

/* All that fit, each file once, in the order in which the loader would look. */
struct finds {
	struct find *finds;
	size_t n;
};

/*
 * Add a file; copies the strings. Without @keep_all, a file of a name that is
 * there already is hidden by it, as the loader stops at the first. Returns 0,
 * -ENOMEM, or the errno of stat().
 */
int finds_add(struct finds *finds, const char *path, const char *open, bool is_exact,
	      uint64_t hwcap, bool keep_all);
void finds_free(struct finds *finds);

/*
 * The one file that @target means: the exact one, else the only one. Moves its
 * strings out. Returns 0; -ENOENT, without a text: none; -EEXIST: several.
 */
int finds_choose(struct finds *finds, const char *target, char **ret_path, char **ret_open,
		 struct ubp_err *err);

/*
 * Add the libraries that fit @wanted in @place: LD_LIBRARY_PATH (ours; not for
 * another process), the loader's cache, and if there was none the default folders.
 * Returns 0 or -ENOMEM.
 */
int library_find(const struct place *place, const char *wanted, struct finds *finds);

/* Offer the libraries of the cache as near names. */
void library_offer_near(const struct place *place, struct nearest *nearest);

#endif
