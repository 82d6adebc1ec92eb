/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/text_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"

int text_take_time(struct text_options *o, const char *arg)
{
	static const char *const names[] = {
		[UBP_SINK_TIME_KERNEL] = "kernel", [UBP_SINK_TIME_RELATIVE] = "relative",
		[UBP_SINK_TIME_DELTA] = "delta",   [UBP_SINK_TIME_CLOCK] = "clock",
		[UBP_SINK_TIME_NONE] = "none",
	};

	o->has_time = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			o->time = (enum ubp_sink_time)i;
			return CLI_OK;
		}
	}
	return cli_usage_error("--time takes kernel, relative, delta, clock or none, not '%s'",
			       arg);
}

int text_take_colour(struct text_options *o, const char *arg)
{
	static const char *const names[] = {
		[TEXT_COLOUR_AUTO] = "auto",
		[TEXT_COLOUR_ALWAYS] = "always",
		[TEXT_COLOUR_NEVER] = "never",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(arg, names[i]) == 0) {
			o->colour = (enum text_colour)i;
			return CLI_OK;
		}
	}
	return cli_usage_error("--color takes auto, always or never, not '%s'", arg);
}

/* Forms for programs have times of their own. */
static bool is_text(const struct ubp_sink_form *form)
{
	return strcmp(form->name, "text") == 0;
}

int text_check(const struct text_options *o, const struct ubp_sink_form *form)
{
	if (o->has_time && !is_text(form))
		return cli_usage_error("--time is for text: it excludes --%s", form->name);
	return CLI_OK;
}

/* https://no-color.org: set, and not empty. */
static bool is_shown(const struct text_options *o, bool is_tty)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (o->colour != TEXT_COLOUR_AUTO)
		return o->colour == TEXT_COLOUR_ALWAYS;
	return is_tty && !(no_colour && *no_colour) &&
	       !(terminal && strcmp(terminal, "dumb") == 0);
}

void text_apply(const struct text_options *o, const struct ubp_sink_form *form, bool is_tty,
		struct ubp_sink_options *how)
{
	how->time = o->time;
	how->colour = !form->is_data && is_shown(o, is_tty);
}
