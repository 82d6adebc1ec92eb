/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Programs by name, in the folders of PATH. */

#ifndef UBP_FILES_PROGRAM_H
#define UBP_FILES_PROGRAM_H

struct nearest;
struct file_root;

/*
 * The first ELF program called @name in PATH, in @root. Scripts are passed over:
 * *ret_script is the first one (malloc()ed), or NULL. *ret_path and *ret_open are
 * malloc()ed. Returns 0, -ENOENT or -ENOMEM.
 */
int program_find(const struct file_root *root, const char *name, char **ret_path,
		 char **ret_open, char **ret_script);

/* Offer the programs in PATH as near names. */
void program_offer_near(const struct file_root *root, struct nearest *nearest);

#endif
