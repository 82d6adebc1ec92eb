/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command line of usdt. */

#ifndef UBP_CLI_USDT_OPTIONS_H
#define UBP_CLI_USDT_OPTIONS_H

#include "cli/common/trace_options.h"

struct usdt_options {
	struct trace_options trace; /* first: see trace_options_parse() */
	bool list, details;         /* -l, -L; then the words are a target and a pattern */
	bool raise_semaphore;       /* -i of others: accepted, means nothing */
};

/* As trace_options_parse(). */
int usdt_options_parse(int argc, char **argv, struct usdt_options *ret_options, bool *ret_done);
void usdt_options_free(struct usdt_options *options);

#endif
