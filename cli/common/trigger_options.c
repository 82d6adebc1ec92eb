/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --trigger, --synthetic and --snapshot-after as they are typed. */

#include <limits.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "engine/base/vec.h"

int trigger_add(void *into, const char *arg)
{
	struct trace_options *o = into;
	struct trigger_options *t = &o->triggers;

	if (o->n_definitions == 0)
		return cli_usage_error("a trigger comes after the definition it is for");
	if (VEC_FIT(t->v, t->n + 1) < 0)
		return cli_error("out of memory");
	t->v[t->n++] =
		(struct trigger_option){ .definition = o->n_definitions - 1, .text = arg };
	return CLI_OK;
}

int trigger_add_synthetic(void *into, const char *arg)
{
	struct trigger_options *t = &((struct trace_options *)into)->triggers;

	if (VEC_FIT(t->synthetic, t->n_synthetic + 1) < 0)
		return cli_error("out of memory");
	t->synthetic[t->n_synthetic++] = arg;
	return CLI_OK;
}

int trigger_check(const struct trace_options *o)
{
	bool any = !o->triggers.after_ns;

	for (size_t i = 0; i < o->triggers.n; i++)
		any |= strstr(o->triggers.v[i].text, "snapshot") != NULL;
	return any ? CLI_OK : cli_usage_error("--snapshot-after is for --trigger snapshot");
}

int trigger_set_after(void *into, const char *arg)
{
	uint64_t ms;

	if (!cli_number(arg, 1, INT_MAX, &ms))
		return cli_usage_error("--snapshot-after takes milliseconds, from 1, not '%s'",
				       arg);
	((struct trace_options *)into)->triggers.after_ns = ms * 1000000;
	return CLI_OK;
}
