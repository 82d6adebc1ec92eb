/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/once.h"

#include <stddef.h>

#include "engine/event/record.h"
#include "engine/plant/change.h"
#include "engine/session/live.h"
#include "engine/session/state.h"
#include "engine/session/tell.h"
#include "engine/space/probe_list.h"

/* The first hits of a program's functions come in a crowd: what is hit soon after is taken out with it. */
#define WAIT_NS 500000000ULL

/* --- delivering ---------------------------------------------------------------------------- */

static bool had_event(const struct uprobe *probe)
{
	return __atomic_load_n(&probe->stats.taken_out, __ATOMIC_ACQUIRE) == TAKEN_OUT_ONCE;
}

bool once_is_again(struct ubp_session *s, const struct event_record *record)
{
	struct uprobe *probe;

	if (!s->opt.once || record->kind != EVENT_HIT)
		return false;
	probe = live_probe(s, record->probe);
	if (!probe || had_event(probe))
		return probe != NULL;
	live_switch_probe(s, probe, false);
	__atomic_store_n(&probe->stats.taken_out, TAKEN_OUT_ONCE, __ATOMIC_RELEASE);
	__atomic_add_fetch(&s->budget.once.n_due, 1, __ATOMIC_RELEASE);
	return false;
}

/* --- taking out -------------------------------------------------------------------------------- */

void once_begin(struct ubp_session *s)
{
	if (s->opt.once && !alarm_turns_begin(&s->budget.once.turns, &s->tracer, WAIT_NS))
		session_warn(s, "there is no timer for --once: what was hit is not taken out "
				"before the end");
}

void once_end(struct ubp_session *s)
{
	alarm_turns_end(&s->budget.once.turns);
}

static struct plant_change *make_change(const struct probe_list *list)
{
	struct plant_change *change = plant_change_new(0, list->n);

	for (size_t i = 0; change && i < list->n; i++)
		if (had_event(list->v[i]))
			change->retired[change->n_retired++] = list->v[i]->number;
	return change;
}

/* False: memory is short: later then. */
static bool take_out(struct ubp_session *s)
{
	struct probe_list *before = probe_list_get(&s->plant);
	struct plant_change *change = make_change(before);
	bool good = change &&
		    (!change->n_retired || plant_change(&s->plant, &s->tracer, change) == 0);

	plant_change_free(change);
	probe_list_put(before);
	return good;
}

void once_pass(struct ubp_session *s)
{
	struct session_once *o = &s->budget.once;
	uint64_t n_due, now_ns = alarm_turn_begin(&o->turns);

	if (!now_ns)
		return;
	n_due = __atomic_load_n(&o->n_due, __ATOMIC_ACQUIRE);
	if (n_due != o->n_done && take_out(s))
		o->n_done = n_due;
	alarm_turn_end(&o->turns, now_ns);
}
