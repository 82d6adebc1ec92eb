/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The option --notes. */

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/notes.h"
#include "cli/common/option.h"
#include "cli/common/trace_options.h"

int notes_set(void *into, const char *arg)
{
	struct notes_options *o = &((struct trace_options *)into)->notes;

	o->when = NOTES_ALWAYS;
	if (strcmp(arg, "auto") == 0)
		o->when = NOTES_AUTO;
	else if (strcmp(arg, "never") == 0)
		o->when = NOTES_NEVER;
	else if (strcmp(arg, "always") != 0 && !cli_seconds(arg, &o->after_ns))
		return cli_usage_error(
			"--notes takes auto, always, never, or seconds, not '%s'", arg);
	return CLI_OK;
}
