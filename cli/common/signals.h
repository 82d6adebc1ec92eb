/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Signals that end a command, as a descriptor to poll. Nothing runs inside a
 * signal handler and nothing is left half done.
 */

#ifndef UBP_CLI_COMMON_SIGNALS_H
#define UBP_CLI_COMMON_SIGNALS_H

#include <stdbool.h>

struct ubp_err;

struct signals_one {
	int number;
	bool from_terminal; /* a key: all of the foreground has got it too */
	bool failed;        /* there is no way to learn of signals any more */
};

/*
 * From now on INT, TERM, HUP, QUIT, PIPE and XFSZ are read from the descriptor that
 * is returned, or a negative errno. A HUP ignored since before (nohup) stays so.
 * Call this before threads are started, and after the command to run was named:
 * it gets the signal mask of that moment.
 */
int signals_open(struct ubp_err *err);

/* The next signal; false: none waits. A PIPE or XFSZ of our own making is left
 * out: the write that caused it has failed and knows. */
bool signals_read(int fd, struct signals_one *ret_signal);

/*
 * Ctrl-Z does nothing: a tracer that is stopped stops its targets at their next
 * hit. Not with a command, which has the terminal and stops by itself.
 */
void signals_no_stop(void);

/* For what only prints: a write into a closed pipe, or past a limit, just fails. */
void signals_no_pipe(void);

/* The same from now on until signals_open(), which does so, too: for who writes before, and a command of ours is not to inherit it. */
void signals_hold_writes(void);

#endif
