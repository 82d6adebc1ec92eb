/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the commands say to the user, and how they exit. Messages go to standard
 * error, start with the program's name and are written in one piece.
 */

#ifndef UBP_CLI_COMMON_MESSAGE_H
#define UBP_CLI_COMMON_MESSAGE_H

#include <stddef.h>
#include <stdio.h>

struct ubp_err;

enum cli_status {
	CLI_OK,     /* done */
	CLI_FAILED, /* could not; a message said why */
	CLI_USAGE,  /* the command line makes no sense */
};

/* The program's name, defined beside each main(). */
extern const char cli_program[];

/*
 * All text is escaped (engine/base/escape.h), wherever it goes: there may be names in it that others chose,
 * and a message is one line.
 */

/* "NAME: error: TEXT". Returns CLI_FAILED. */
__attribute__((format(printf, 1, 2))) int cli_error(const char *fmt, ...);

/* cli_error() for a failure of the engine; a bad definition is shown with a caret. */
int cli_error_record(const struct ubp_err *err);

/* "NAME: error: TEXT" and where to find help. Returns CLI_USAGE. */
__attribute__((format(printf, 1, 2))) int cli_usage_error(const char *fmt, ...);

/* "NAME: warning: TEXT"; fits the engine's warn callback. */
void cli_warn(void *ctx, const char *text);

/* "NAME: TEXT"; fits the engine's tell callback. */
void cli_tell(void *ctx, const char *text);

/* "TEXT" */
void cli_line(const char *text);

/* Messages go to @file from now on, and not to standard error. Where they went before. For one thread. */
FILE *cli_messages_to(FILE *file);
/* Those on standard error come behind a call of @first, which makes room for them; NULL: they stand alone. */
void cli_messages_behind(void (*first)(void));

#endif
