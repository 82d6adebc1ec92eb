/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The command line of uprobe. */

#ifndef UBP_CLI_UPROBE_OPTIONS_H
#define UBP_CLI_UPROBE_OPTIONS_H

#include "cli/common/trace_options.h"

struct uprobe_options {
	struct trace_options trace; /* first: see trace_options_parse() */
	const char *lines_of;       /* --lines-of FUNCTION */
	const char *vars;           /* --vars PLACE */
};

/* As trace_options_parse(). */
int uprobe_options_parse(int argc, char **argv, struct uprobe_options *ret_options,
			 bool *ret_done);
void uprobe_options_free(struct uprobe_options *options);

#endif
