/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From the short forms to the text of a trigger. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/option.h"
#include "cli/common/tally.h"
#include "cli/common/trace_options.h"
#include "engine/base/units.h"
#include "engine/ubp_tally.h"

static struct tally_options *of(void *into)
{
	return &((struct trace_options *)into)->tally;
}

/* A number is what -n takes, whose long name this was. */
int tally_set_count(void *into, const char *arg)
{
	struct trace_options *o = into;

	if (arg && cli_number(arg, 1, UINT64_MAX, &o->ends.count))
		return CLI_OK;
	o->tally.count = true;
	o->tally.keys = arg;
	if (arg && !*arg)
		return cli_usage_error("--count= takes what is counted by: --count=comm");
	return CLI_OK;
}

int tally_set_hist(void *into, const char *arg)
{
	of(into)->hist = true;
	of(into)->arg = arg;
	return CLI_OK;
}

int tally_set_sum(void *into, const char *arg)
{
	of(into)->sum = arg;
	return CLI_OK;
}

int tally_set_by(void *into, const char *arg)
{
	of(into)->by = arg;
	return CLI_OK;
}

int tally_set_top(void *into, const char *arg)
{
	if (!cli_number(arg, 1, UINT64_MAX, &of(into)->top))
		return cli_usage_error("--top takes a number of lines, from 1, not '%s'", arg);
	return CLI_OK;
}

int tally_set_every(void *into, const char *arg)
{
	if (!cli_seconds(arg, &of(into)->every_ns))
		return cli_usage_error("--every takes seconds, not '%s'", arg);
	return CLI_OK;
}

/* Behind the argument of --hist, which has no ':' in it. NULL: there is none. */
static const char *step_text(const struct tally_options *o)
{
	const char *colon = o->arg ? strrchr(o->arg, ':') : NULL;

	return colon ? colon + 1 : NULL;
}

static bool take_step(const char *text, uint64_t *ret_step)
{
	size_t len = strlen(text);

	return (units_digits(text, len, ret_step) ||
		units_number(text, len, false, ret_step)) &&
	       *ret_step;
}

bool tally_is_wanted(const struct tally_options *o)
{
	return o->count || o->hist || o->sum || o->by || o->top;
}

static int check_others(const struct trace_options *all)
{
	if (all->budget.once)
		return cli_usage_error(
			"--once has one event of each probe: it excludes --count, "
			"--hist and --sum");
	if (all->ends.count && !all->tally.with_events)
		return cli_usage_error(
			"-n is for events: it excludes --count, --hist and --sum");
	if (all->form.needs_stack)
		return cli_usage_error("--%s has a form of its own: it excludes --count, "
				       "--hist and --sum",
				       all->form.name);
	if (all->to.pictures.flame || all->to.pictures.heat)
		return cli_usage_error(
			"hits that are counted are no events: --flame and --heat "
			"exclude --count, --hist and --sum");
	if (all->triggers.n)
		return cli_usage_error("hits that are counted are no events: --trigger "
				       "excludes --count, --hist and --sum");
	return CLI_OK;
}

/* Stacks of hits that are no events would be taken for nothing: that stops threads. */
static int check_stacks(const struct trace_options *all)
{
	const struct tally_options *o = &all->tally;

	if (tally_is_wanted(o) && (all->stacks.asked || all->stacks.kind) &&
	    !tally_needs_stacks(o) && !o->with_events)
		return cli_usage_error("no stack is printed of hits that are counted; "
				       "--count=ustack counts by stack");
	return CLI_OK;
}

int tally_check(const struct trace_options *all)
{
	const struct tally_options *o = &all->tally;
	uint64_t step;

	if (tally_is_wanted(o) && check_others(all) != CLI_OK)
		return CLI_USAGE;
	if (check_stacks(all) != CLI_OK)
		return CLI_USAGE;
	if (o->hist && step_text(o) && !take_step(step_text(o), &step))
		return cli_usage_error("--hist=ARG:STEP takes a step from 1, as 64 or 4KiB, "
				       "not '%s'",
				       step_text(o));
	if (o->count + o->hist + (o->sum != NULL) > 1)
		return cli_usage_error("--count, --hist and --sum exclude each other");
	if (o->keys && o->by)
		return cli_usage_error("--count=%s says what is counted by: it excludes --by",
				       o->keys);
	if (o->every_ns && !tally_is_wanted(o))
		return cli_usage_error("--every is for --count, --hist and --sum");
	if (o->hist && o->top)
		return cli_usage_error(
			"--top is for --count and --sum: a histogram has all its rows");
	if (o->with_events && !tally_is_wanted(o))
		return cli_usage_error("--with-events is for --count, --hist and --sum");
	return CLI_OK;
}

bool tally_needs_stacks(const struct tally_options *o)
{
	const char *keys = o->keys ? o->keys : o->by ? o->by : "";

	for (size_t len; *keys; keys += len + (keys[len] == ',')) {
		len = strcspn(keys, ",");
		if ((len == 5 && strncmp(keys, "stack", len) == 0) ||
		    (len == 6 && strncmp(keys, "ustack", len) == 0))
			return true;
	}
	return false;
}

/* --- the text --------------------------------------------------------------------------- */

static char *hist_text(const struct tally_options *o)
{
	const char *arg = o->arg ? o->arg : "arg1", *step = step_text(o);
	int len = step ? (int)(step - 1 - arg) : (int)strlen(arg), n;
	uint64_t width = 0;
	char *text = NULL, vals[320] = "";

	if (o->with_sum)
		(void)snprintf(vals, sizeof(vals), ":vals=hitcount,%.*s", len, arg);

	if (step && take_step(step, &width))
		n = asprintf(&text, "hist:keys=%s%s%.*s.buckets=%" PRIu64 "%s",
			     o->by ? o->by : "", o->by ? "," : "", len, arg, width, vals);
	else
		n = asprintf(&text, "hist:keys=%s%s%s.log2%s", o->by ? o->by : "",
			     o->by ? "," : "", arg, vals);
	return n < 0 ? NULL : text;
}

char *tally_text(const struct tally_options *o)
{
	const char *keys = o->keys ? o->keys : o->by ? o->by : "event";
	char *text = NULL;
	int n;

	if (o->hist)
		return hist_text(o);
	if (o->sum)
		n = asprintf(&text, "hist:keys=%s:vals=hitcount,%s,%s.min,%s.max", keys, o->sum,
			     o->sum, o->sum);
	else
		n = asprintf(&text, "hist:keys=%s", keys);
	return n < 0 ? NULL : text;
}

int tally_begin(struct ubp_session *session, const struct tally_options *o)
{
	char *text = tally_text(o);
	struct ubp_err err;
	int rc;

	if (!text)
		return cli_error("out of memory");
	ubp_err_reset(&err);
	rc = ubp_tally(session, text, &err);
	if (rc == 0 && o->with_events)
		rc = ubp_tally_events(session, &err);
	free(text);
	return rc < 0 ? cli_error_record(&err) : CLI_OK;
}
