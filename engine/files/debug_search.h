/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where debug files are kept. */

#ifndef UBP_FILES_DEBUG_SEARCH_H
#define UBP_FILES_DEBUG_SEARCH_H

struct debug_file;
struct debug_wanted;
struct object;

/*
 * In the folders of the options, then in the usual ones of the root of the process whose
 * file the object is, and by build-id in ours; then by debuginfod, if DEBUGINFOD_URLS asks for it (debuginfod.h). Returns 0 or
 * -ENOENT; what was found, but does not fit, is noted (debug_note_misfit()).
 */
int debug_search(struct object *object, const struct debug_wanted *wanted,
		 struct debug_file *ret_file);

#endif
