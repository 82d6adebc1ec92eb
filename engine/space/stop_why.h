/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Why a hit has stopped its thread: what a jump would have had to do by itself. */

#ifndef UBP_SPACE_STOP_WHY_H
#define UBP_SPACE_STOP_WHY_H

enum stop_why {
	STOP_BREAKPOINT,  /* at a place that can have no jump */
	STOP_BEFORE_JUMP, /* at a place that may have one later */
	STOP_AT_RET, /* at a ret instruction: the probe's returns are caught there (%return) */
	STOP_RETURN, /* at a return whose address the tracer has replaced */
	/* In the detour of a jump: */
	STOP_THREAD, /* the thread has no ring yet, or there are no rings */
	STOP_MEMORY, /* memory was to be read that is not known to be there */
	STOP_TAIL, /* the function was entered by a jump from one whose return address is replaced */
	STOP_DETOUR, /* for another reason: a string without end, a full ring or table */
	STOP_N,
};

/* A word for each, as --stats prints it. */
const char *stop_why_name(enum stop_why why);

#endif
