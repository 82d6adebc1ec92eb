/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Libraries by their names: what fits a name, and which of those it means. */

#ifndef UBP_FILES_LIBRARY_H
#define UBP_FILES_LIBRARY_H

struct library_list;
struct nearest;
struct file_root;

enum library_fit {
	FIT_NONE,
	FIT_LOOSE, /* "libz", "z", "libz.so", "libz.so.1" for libz.so.1.2.13; "libm" for libm-2.31.so */
	FIT_EXACT, /* the file's name */
};

/* Does the file called @file_name (no folder) answer to @wanted? */
enum library_fit library_fits(const char *file_name, const char *wanted);

/*
 * Add the libraries that fit @wanted in @root: LD_LIBRARY_PATH (ours; not for
 * another process), the loader's cache, and if there was none the default folders.
 * Returns 0 or -ENOMEM.
 */
int library_find(const struct file_root *root, const char *wanted, struct library_list *found);

/* Offer the libraries of the cache as near names. */
void library_offer_near(const struct file_root *root, struct nearest *nearest);

#endif
