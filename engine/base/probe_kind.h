/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Kinds of probes, and what differs by the kind alone. Who asks for PROBE_RETURN asks whether a probe is hit where its
 * function returns; a probe of any other kind is hit at its instruction, by breakpoint and jump, without being asked for.
 */

#ifndef UBP_BASE_PROBE_KIND_H
#define UBP_BASE_PROBE_KIND_H

#include <stdbool.h>

enum probe_kind {
	PROBE_ENTRY,  /* hit where a thread comes to an instruction: a uprobe */
	PROBE_RETURN, /* hit where a function returns: a uretprobe */
	PROBE_KINDS,
};

/* What its definition begins with. */
static inline char probe_kind_letter(enum probe_kind kind)
{
	static const char letters[PROBE_KINDS] = { [PROBE_ENTRY] = 'p', [PROBE_RETURN] = 'r' };

	return letters[kind];
}

/* The kind whose definitions begin with @letter. False: there is none. */
static inline bool probe_kind_by_letter(char letter, enum probe_kind *ret_kind)
{
	for (unsigned kind = 0; kind < PROBE_KINDS; kind++)
		if (probe_kind_letter((enum probe_kind)kind) == letter) {
			*ret_kind = (enum probe_kind)kind;
			return true;
		}
	return false;
}

/* Bytes of its records in front of the arguments: 8 of every event, then the probed address; of a return the function and
 * where it returns to. */
static inline unsigned probe_kind_head(enum probe_kind kind)
{
	static const unsigned char heads[PROBE_KINDS] = {
		[PROBE_ENTRY] = 16, [PROBE_RETURN] = 24
	};

	return heads[kind];
}

#endif
