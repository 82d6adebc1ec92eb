/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --flame and --heat as they are typed. */

#include "cli/common/pictures.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"

bool pictures_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n > n_end && strcmp(text + n - n_end, end) == 0;
}

static int set(const char **to, const char *option, const char *arg)
{
	if (!pictures_ends_with(arg, ".svg") && !pictures_ends_with(arg, ".html"))
		return cli_usage_error("%s takes a file that ends in .svg or .html, not '%s'",
				       option, arg);
	*to = arg;
	return CLI_OK;
}

int pictures_set_flame(void *into, const char *arg)
{
	return set(&((struct trace_options *)into)->to.pictures.flame, "--flame", arg);
}

int pictures_set_heat(void *into, const char *arg)
{
	return set(&((struct trace_options *)into)->to.pictures.heat, "--heat", arg);
}

bool pictures_want_stacks(const struct trace_options *o)
{
	if (!o->to.pictures.flame)
		return false;
	for (size_t i = 0; i < o->n_definitions; i++)
		if (o->definitions[i].kind == DEFINITION_FILE ||
		    o->definitions[i].text[0] == 'r' ||
		    strstr(o->definitions[i].text, "$duration"))
			return false;
	return true;
}
