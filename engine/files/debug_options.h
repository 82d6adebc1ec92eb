/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where files with symbols and DWARF are looked for (debug.h). */

#ifndef UBP_FILES_DEBUG_OPTIONS_H
#define UBP_FILES_DEBUG_OPTIONS_H

struct object;

/* Where to look. Strings are the caller's, and stay as long as the object. */
struct object_debug_options {
	/* "DIR:DIR...", beside the usual ones: like /usr/lib/debug, or flat */
	const char *dirs;
	const char *symbols; /* a file with the symbols of this one; NULL: none is given */
};

/* Before the first use of symbols. */
void object_set_debug(struct object *object, const struct object_debug_options *options);

#endif
