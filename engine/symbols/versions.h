/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Symbol versions: .gnu.version, .gnu.version_d and .gnu.version_r. */

#ifndef UBP_SYMBOLS_VERSIONS_H
#define UBP_SYMBOLS_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct ubp_err;
struct versions;

/*
 * Read the versions of .dynsym. *ret_versions is NULL when there are none.
 * Returns 0, -ENOEXEC (with a text) or -ENOMEM.
 */
int versions_read(const struct object *object, struct versions **ret_versions,
		  struct ubp_err *err);
void versions_free(struct versions *versions);

/*
 * Version of symbol @i of .dynsym: *ret_name NULL when it has none; *ret_library
 * is the library an imported one is expected from, or NULL. Returns true when the
 * symbol is what its plain name means (not a hidden, old version). @versions may
 * be NULL.
 */
bool versions_of(const struct versions *versions, size_t i, const char **ret_name,
		 const char **ret_library);

#endif
