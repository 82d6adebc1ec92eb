/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Options for forms of output that all commands have: rows of a table of options. */

#ifndef UBP_CLI_COMMON_FORM_OPTIONS_H
#define UBP_CLI_COMMON_FORM_OPTIONS_H

/* @set: struct cli_option.choose, which is handed the form's name. */
#define FORM_OPTIONS(set)                                                                      \
	{ 0, "csv", .choose = (set),                                                           \
	  .help = "a line of comma-separated values for each event, behind a header" },        \
		{ 0, "chrome", .choose = (set),                                                \
		  .help = "calls and events as Trace Event JSON, for ui.perfetto.dev, "        \
			  "speedscope,\n"                                                      \
			  "chrome://tracing" },                                                \
		{ 0, "perfetto", .choose = (set),                                              \
		  .help = "the same as Perfetto's protobuf; to a file (-o) or a pipe" },       \
		{ 0, "pprof", .choose = (set),                                                 \
		  .help = "a profile of stacks, or of calls, for pprof; to a file (-o) or a "  \
			  "pipe" },                                                            \
	{                                                                                      \
		0, "ctf", .choose = (set),                                                     \
			  .help = "a folder for babeltrace2 and Trace Compass; -o gives its "  \
				  "name"                                                       \
	}

/* For those who have returns of functions. */
#define TREE_OPTION(set)                                                                       \
	{                                                                                      \
		0, "tree", .choose = (set),                                                    \
			   .help = "calls of each thread, each below the one that made it; "   \
				   "takes\nentries and returns"                                \
	}

#endif
