/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --record and its options as they are typed. */

#include "cli/common/record.h"

#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/common/trace_options.h"
#include "engine/base/units.h"

#define LEVEL_DEFAULT 1
#define LEVEL_MAX     19
#define SIZE_LEAST    (8ULL << 20) /* two blocks */

int record_set_path(void *into, const char *arg)
{
	((struct trace_options *)into)->to.record.path = arg;
	return CLI_OK;
}

int record_set_level(void *into, const char *arg)
{
	uint64_t level = LEVEL_DEFAULT;

	if (arg && !cli_number(arg, 1, LEVEL_MAX, &level))
		return cli_usage_error("--compress takes a level from 1 to %d, not '%s'",
				       LEVEL_MAX, arg);
	((struct trace_options *)into)->to.record.level = (int)level;
	return CLI_OK;
}

int record_set_max_size(void *into, const char *arg)
{
	uint64_t *size = &((struct trace_options *)into)->to.record.max_size;

	if (!units_size(arg, strlen(arg), size) || *size < SIZE_LEAST)
		return cli_usage_error("--max-size takes bytes, from 8MiB, as 100MiB or 2GiB, "
				       "not '%s'",
				       arg);
	return CLI_OK;
}

int record_set_rotate(void *into, const char *arg)
{
	struct record_options *o = &((struct trace_options *)into)->to.record;
	const char *comma = strchr(arg, ',');
	size_t len = comma ? (size_t)(comma - arg) : strlen(arg);

	o->keep = 0;
	if (!units_size(arg, len, &o->rotate) || o->rotate < SIZE_LEAST ||
	    (comma && !cli_number(comma + 1, 1, UINT32_MAX, &o->keep)))
		return cli_usage_error(
			"--rotate takes bytes, from 8MiB, and how many files are "
			"kept, as 100MiB,5, not '%s'",
			arg);
	return CLI_OK;
}

int record_check(const struct trace_options *o)
{
	const char *other = o->to.output           ? "-o"
			    : o->form.is_data      ? "forms of output, as --json"
			    : o->to.pictures.flame ? "--flame"
			    : o->to.pictures.heat  ? "--heat"
			    : o->header            ? "-H"
			    : o->ends.count        ? "-n"
						   : NULL;
	const struct record_options *r = &o->to.record;

	if (!r->path && (r->level || r->max_size || r->rotate))
		return cli_usage_error("--compress, --max-size and --rotate are for --record");
	if (r->max_size && r->rotate)
		return cli_usage_error(
			"--rotate goes on in another file: it excludes --max-size");
	if (o->to.append && !r->path && !o->to.output)
		return cli_usage_error("--append is for a file, of -o or --record");
	if (r->path && tally_is_wanted(&o->tally))
		return cli_usage_error(
			"hits that are counted are no events: --count, --hist and "
			"--sum leave nothing to --record");
	if (r->path && o->triggers.n_synthetic)
		return cli_usage_error("events that triggers make are not recorded: --record "
				       "excludes --synthetic");
	if (r->path && other)
		return cli_usage_error("--record keeps events, which ubp-report prints: it "
				       "excludes %s",
				       other);
	return CLI_OK;
}
