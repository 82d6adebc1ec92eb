/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: errors.
 *
 * The caller owns the record (usually one on the stack per command). Functions that fail fill it and return a negative
 * errno; they never print and never exit. A record needs no destructor, so reporting "out of memory" cannot itself
 * run out of memory.
 *
 * .text may name functions and files of a target. Such names may hold any byte; in .text control bytes are \ooo, as
 * in an event's line (ubp_event.h), so that it is one line and may go to a terminal.
 */

#ifndef UBP_ERR_H
#define UBP_ERR_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define UBP_ERR_TEXT_MAX 768

#define UBP_ERR_HINT_MAX 256

/* Longest command shown with a caret: the kernel's longest line. */
#define UBP_ERR_COMMAND_MAX 4096

struct ubp_err {
	int code;                          /* errno value, positive; 0: nothing recorded */
	unsigned line;                     /* of a text of several, from 1; 0: not known */
	bool has_caret;                    /* .command and .caret are set */
	unsigned caret;                    /* byte column in .command */
	char text[UBP_ERR_TEXT_MAX];       /* "outer: inner: cause", NUL-ended, escaped */
	char hint[UBP_ERR_HINT_MAX];       /* what was meant, perhaps, escaped; "": not known */
	char command[UBP_ERR_COMMAND_MAX]; /* the definition, words joined by one blank; raw */
};

/* Forget what was recorded. A record must be reset before its first use. */
void ubp_err_reset(struct ubp_err *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
