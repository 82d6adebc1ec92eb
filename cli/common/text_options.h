/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How events are shown as text: --time, --color. For the tables of all commands that print events. */

#ifndef UBP_CLI_COMMON_TEXT_OPTIONS_H
#define UBP_CLI_COMMON_TEXT_OPTIONS_H

#include <stdbool.h>

#include "engine/ubp_sink.h"

enum text_colour { TEXT_COLOUR_AUTO, TEXT_COLOUR_ALWAYS, TEXT_COLOUR_NEVER };

struct text_options {
	bool has_time; /* --time was given */
	enum ubp_sink_time time;
	enum text_colour colour;
};

/* CLI_OK, or said what is wrong. */
int text_take_time(struct text_options *o, const char *arg);
int text_take_colour(struct text_options *o, const char *arg);
/* @form is printed: does --time make sense? CLI_OK, or said why not. */
int text_check(const struct text_options *o, const struct ubp_sink_form *form);

/* @how: for what is printed in this @form, to a terminal or not. */
void text_apply(const struct text_options *o, const struct ubp_sink_form *form, bool is_tty,
		struct ubp_sink_options *how);

/* Rows of a table; @time, @colour: struct cli_option.set. */
#define TEXT_OPTIONS(time, colour)                                                             \
	{ 0,                                                                                   \
	  "time",                                                                              \
	  "WHEN",                                                                              \
	  .values = "kernel relative delta clock none",                                        \
	  .set = (time),                                                                       \
	  .help = "what time text has: kernel (default: seconds of the clock), "               \
		  "relative\n"                                                                 \
		  "(since the first event), delta (since the one before), clock (of "          \
		  "day),\n"                                                                    \
		  "none" },                                                                    \
	{                                                                                      \
		0, "color", "WHEN",                                                            \
			.values = "auto always never", .set = (colour),                        \
			.help = "colours in text: auto (default: on a terminal without "       \
				"NO_COLOR),\nalways, never"                                    \
	}

#endif
