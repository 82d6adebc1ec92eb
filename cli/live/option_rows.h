/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The rows of the options about sessions that run, for the table of those who trace: FLAG(member) is one of struct trace_options. */

#ifndef UBP_CLI_LIVE_OPTION_ROWS_H
#define UBP_CLI_LIVE_OPTION_ROWS_H

#include "cli/live/keep.h"
#include "cli/live/options.h"

#define LIVE_OPTIONS                                                                           \
	{ 0, "session", "NAME", .set = live_set_session,                                       \
	  .help = "a name for this trace, by which it is asked and changed while it runs;\n"   \
		  "it may begin without a definition" },                                       \
		{ 0, "detach", FLAG(live.detach),                                              \
		  .help = "with --session: go on in the background once all is planted" },     \
		{ 0, "keep", "SIZE[/thread]", .set = keep_set_size,                            \
		  .help = "with --session: keep the newest events in memory, in all or of "    \
			  "each\n"                                                             \
			  "thread, for --dump; so it is with --detach where nothing says "     \
			  "where\n"                                                            \
			  "events go (64MiB)" },                                               \
		{ 0, "list-sessions", FLAG(live.lists),                                        \
		  .help = "print the names of the traces that run (without a name: their "     \
			  "process\n"                                                          \
			  "ids), trace nothing" },                                             \
		{ 0, "add", "DEF", .set = live_set_add,                                        \
		  .help = "of --session NAME, which runs: trace DEF, too; repeatable, and "    \
			  "--filter\n"                                                         \
			  "may follow" },                                                      \
		{ 0, "remove", "EVENT", .set = live_set_remove,                                \
		  .help = "the same: trace EVENT no more; a name, GROUP:EVENT, or a "          \
			  "pattern" },                                                         \
		{ 0,                                                                           \
		  "enable",                                                                    \
		  "EVENT",                                                                     \
		  .is_optional = true,                                                         \
		  .set = live_set_enable,                                                      \
		  .help = "the same: switch EVENT on; without it, all. The session's "         \
			  "--filter EXPR\n"                                                    \
			  "EVENT sets a filter (0: none), -l lists its probes, --stats "       \
			  "prints counts" },                                                   \
		{ 0,                                                                           \
		  "disable",                                                                   \
		  "EVENT",                                                                     \
		  .is_optional = true,                                                         \
		  .set = live_set_disable,                                                     \
		  .help = "the same: switch EVENT off" },                                      \
		{ 0, "dump", "FILE", .set = live_set_dump,                                     \
		  .help = "the same: write what --keep has to FILE, for ubp-report" },         \
	{                                                                                      \
		0, "end", .choose = live_set_end,                                              \
			  .help = "the same: end it, and wait until it has"                    \
	}

#endif
