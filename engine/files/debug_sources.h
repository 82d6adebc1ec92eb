/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The debug files of an object: the one that the user gave, and those that it names itself. Each is
 * looked for when it is asked for, and once.
 */

#ifndef UBP_FILES_DEBUG_SOURCES_H
#define UBP_FILES_DEBUG_SOURCES_H

#include <gelf.h>
#include <stddef.h>

struct debug_file;
struct object;

/* The file of .options.symbols. NULL: none was given, or it does not belong to the object. */
const struct debug_file *debug_given(struct object *object);
/* What .gnu_debugdata holds: names of functions. NULL: there is none, or it is corrupt. */
const struct debug_file *debug_embedded(struct object *object);
/* The file that was split off, by build-id or .gnu_debuglink. NULL: not found. */
const struct debug_file *debug_separate(struct object *object);
/* What several debug files share (dwz), for @elf at @path, a file of DWARF. NULL: not found. */
const struct debug_file *debug_alt(struct object *object, Elf *elf, const char *path);

/* "looked for A and B; ...": what can be done where there is no separate file. */
void debug_say_sought(struct object *object, char *text, size_t size);

#endif
