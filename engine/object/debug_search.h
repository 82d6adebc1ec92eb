/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where debug files are kept; for debug_file.c. */

#ifndef UBP_OBJECT_DEBUG_SEARCH_H
#define UBP_OBJECT_DEBUG_SEARCH_H

#include <stddef.h>
#include <stdint.h>

struct debug_file;
struct object;

/* What to look for. */
struct debug_wanted {
	const void *build_id;
	size_t build_id_len; /* 0: it has none, and the checksum must be right */
	const char *link;    /* a file's name, or NULL */
	uint32_t crc;
	const char *alt; /* or a path, as dwz writes it ... */
	const char
		*near; /* ... relative to the folder of this file; NULL: that of the object */
};

/*
 * In the folders of the options, then in the usual ones of the root of the process whose
 * file the object is, and by build-id in ours; then by debuginfod, if DEBUGINFOD_URLS asks for it (debuginfod.h). Returns 0 or
 * -ENOENT; object->debug->misfit tells of a file that was found, but does not fit.
 */
int debug_search(struct object *object, const struct debug_wanted *wanted,
		 struct debug_file *ret_file);

/* Open @path if it is what is wanted. Returns 0 or -errno. (debug_file.c) */
int debug_open_candidate(struct object *object, const char *path,
			 const struct debug_wanted *wanted, struct debug_file *ret_file);

#endif
