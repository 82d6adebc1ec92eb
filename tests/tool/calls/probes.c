/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Calls of ubp_live.h, and what is asked of probes by their numbers. */

#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"
#include "tests/tool/calls/calls.h"

#define S target.session

CALL(ubp_add_pid)
{
	(void)is_well(ubp_add_pid(S, a_pid(), &here.err));
}

CALL(ubp_remove_pid)
{
	(void)is_well(ubp_remove_pid(S, a_pid(), &here.err));
}

CALL(ubp_probe_arg_index)
{
	static const char *const names[] = { "n", "name", "arg1" };

	is_code(ubp_probe_arg_index(S, a_number(), A_TEXT(names)));
}

CALL(ubp_probe_cookie)
{
	(void)ubp_probe_cookie(S, a_number());
}

/* Texts of a probe last as long as it: another thread may remove it. */
#define TEXT_OF(name)                                                                          \
	CALL(name)                                                                             \
	{                                                                                      \
		(void)name(S, a_number());                                                     \
	}
TEXT_OF(ubp_probe_event)
TEXT_OF(ubp_probe_explain)
TEXT_OF(ubp_probe_filter)
TEXT_OF(ubp_probe_format)
TEXT_OF(ubp_probe_group)
TEXT_OF(ubp_probe_is_enabled)
TEXT_OF(ubp_probe_is_return)
TEXT_OF(ubp_probe_left_out)
TEXT_OF(ubp_probe_listing)
TEXT_OF(ubp_probe_next)
TEXT_OF(ubp_probe_path)
TEXT_OF(ubp_probe_sample)
TEXT_OF(ubp_probe_state)

CALL(ubp_probe_definition)
{
	const char *why;

	(void)ubp_probe_definition(S, a_number(), &why);
}

CALL(ubp_probe_enable)
{
	(void)is_well(ubp_probe_enable(S, a_number(), any(2), &here.err));
}

CALL(ubp_probe_handler_stats)
{
	struct {
		struct ubp_handler_stats stats;
		uint64_t behind;
	} room = { .stats = UBP_HANDLER_STATS_INIT, .behind = 0 };

	if (seldom(6))
		room.stats.size = seldom(2) ? sizeof(room) : any(sizeof(room.stats));
	is_code(ubp_probe_handler_stats(S, a_number(), &room.stats));
	if (room.behind)
		fail("something is written behind the structure", (int64_t)room.behind);
}

CALL(ubp_probe_set_cookie)
{
	(void)is_well(ubp_probe_set_cookie(S, a_number(), any(2) ? &target : NULL, &here.err));
}

CALL(ubp_probe_set_filter)
{
	(void)is_well(ubp_probe_set_filter(S, a_number(), a_filter(), &here.err));
}

CALL(ubp_probe_set_handler)
{
	bool may_change = seldom(4);

	(void)is_well(ubp_probe_set_handler(S, a_number(),
					    seldom(4)    ? NULL
					    : may_change ? on_hit_that_may_change
							 : on_hit,
					    may_change, &here.err));
}

CALL(ubp_probe_stats)
{
	struct ubp_probe_stats stats;

	ubp_probe_stats(S, a_number(), &stats);
	look_at_text(stats.why_unanswered);
}

CALL(ubp_probes_add)
{
	struct {
		struct ubp_probe_options opt;
		uint64_t behind;
	} more = { .opt = UBP_PROBE_OPTIONS_INIT, .behind = 0 };
	struct ubp_probe_options *opt = &more.opt;
	const char *texts[3];
	size_t first, n;

	for (size_t i = 0; i < ARRAY_N(texts); i++)
		texts[i] = a_definition();
	opt->form = (enum ubp_form)any(any(8) ? 1 : 5);
	opt->filter = a_filter();
	opt->disabled = seldom(4);
	opt->may_change = seldom(8);
	opt->handler = any(2) ? NULL : opt->may_change ? on_hit_that_may_change : on_hit;
	if (seldom(20))
		opt->size = any(sizeof(*opt));
	if (seldom(40)) {
		opt->size = sizeof(more);
		more.behind = any(2);
	}
	(void)is_well(ubp_probes_add(S, any(20) ? texts : NULL, any(4), any(4) ? opt : NULL,
				     any(2) ? &first : NULL, any(2) ? &n : NULL, &here.err));
}

CALL(ubp_probes_remove)
{
	size_t numbers[4];

	for (size_t i = 0; i < ARRAY_N(numbers); i++)
		numbers[i] = a_number();
	(void)is_well(ubp_probes_remove(S, any(20) ? numbers : NULL, any(5), &here.err));
}

CALL(ubp_untold)
{
	(void)ubp_untold(S);
}
