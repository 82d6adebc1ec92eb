/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Files are read by loops that may take seconds: a file has as many symbols as somebody wants it to
 * have. A thread that may be told to give that up says by what; the loops ask now and then.
 */

#ifndef UBP_BASE_CANCEL_H
#define UBP_BASE_CANCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From now on this thread gives up reading as soon as @flag is not 0: an int that others set atomically, and
 * never take back. NULL: it never does.
 */
void cancel_by(const int *flag);

/* And as soon as it has had so much processor time (CLOCK_THREAD_CPUTIME_ID). 0: it never does. */
void cancel_at(uint64_t end_ns);

/* Has it had that? It stays true until the next cancel_at(). */
bool cancel_is_late(void);

/* Is this thread to give up? What it has read so far is not whole, and must not be kept as if it were. */
bool cancel_is_asked(void);

/* cancel_is_asked() for round @i of a loop with short rounds: one of many asks. */
static inline bool cancel_in_loop(size_t i)
{
	return i % 4096 == 0 && cancel_is_asked();
}

#endif
