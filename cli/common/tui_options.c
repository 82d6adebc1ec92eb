/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What makes no sense with --tui. */

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "cli/common/tui.h"

int tui_check(const struct trace_options *o)
{
	const char *other = o->command                   ? "a command"
			    : o->to.output               ? "-o"
			    : o->to.record.path          ? "--record"
			    : o->strict                  ? "--strict"
			    : tally_is_wanted(&o->tally) ? "--count, --hist and --sum"
							 : NULL;

	if (o->form.is_data)
		return cli_usage_error("--tui has the terminal for itself: it excludes --%s",
				       o->form.name);
	if (other)
		return cli_usage_error("--tui has the terminal for itself: it excludes %s",
				       other);
	return tui_has_terminal() ? CLI_OK : cli_usage_error("--tui wants a terminal");
}
