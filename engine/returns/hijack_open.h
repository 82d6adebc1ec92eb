/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Functions that were entered by detours and never return: what detours replaced for them is counted. */

#ifndef UBP_RETURNS_HIJACK_OPEN_H
#define UBP_RETURNS_HIJACK_OPEN_H

#include <stdbool.h>

#include "engine/returns/ops.h"

struct guard_hijack;
struct space;
struct tracee;

/* Count @entry as missed, for each return probe of its function. */
void hijack_count(const struct space *space, const struct guard_hijack *entry,
		  enum missed_why why);

/* @t ends: what detours have replaced in its stacks is the tracer's from now on (return_ops.take_own()), or,
 * where there are link registers, counted. @is_last: then all that no stack told of counts, too,
 * as those that a longjmp() skipped. */
void hijack_thread_ends(struct tracee *t, bool is_last);

/* @t is about to execute a program, and @is_alone in its process. What it leaves open is noted, to
 * be counted once its memory is gone. @is_in_it: it is in that system call, and the last of the others
 * has ended. */
void hijack_note_exec(struct tracee *t, bool is_alone, bool is_in_it);

/* Its memory is gone. */
void hijack_count_exec(struct space *space);

/* @first, in a copy of its parent's memory that is kept, has what detours had replaced for that: its
 * parent will return there, too, so they are not counted in the copy. They are the tracer's from now on,
 * and its parent's tables do not know that (plant_clean_copy()); where there are link registers they
 * stay as they are. */
void hijack_adopt(struct tracee *first);

/* Those of functions that were entered on the stacks of stopped thread @t: by the stack words in the table. */
void hijack_look_at_own(struct tracee *t, enum with_open what);

#endif
