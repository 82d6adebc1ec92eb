/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Programs by name, in the folders of PATH. */

#ifndef UBP_OBJECT_PROGRAM_H
#define UBP_OBJECT_PROGRAM_H

struct nearest;
struct place;

/*
 * The first ELF program called @name in PATH, in @place. Scripts are passed over:
 * *ret_script is the first one (malloc()ed), or NULL. *ret_path and *ret_open are
 * malloc()ed. Returns 0, -ENOENT or -ENOMEM.
 */
int program_find(const struct place *place, const char *name, char **ret_path, char **ret_open,
		 char **ret_script);

/* Offer the programs in PATH as near names. */
void program_offer_near(const struct place *place, struct nearest *nearest);

#endif
