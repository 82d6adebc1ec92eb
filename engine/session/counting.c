/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/counting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/texts.h"
#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/event/ring_tally.h"
#include "engine/session/inside.h"
#include "engine/session/numbers.h"
#include "engine/sink/buf.h"
#include "engine/sink/folded.h"
#include "engine/spec/filter.h"
#include "engine/tally/tally.h"

/* One probe, by its number. A table of a thread may have what was counted by a probe that is gone. */
struct counting_probe {
	struct tally_plan *plan;     /* NULL: it does not count */
	const struct filter *filter; /* borrowed; beside its definition's */
};

struct session_counting {
	struct counting_probe *probes;
	size_t n_probes, cap_probes;
	struct tally_plan *plans; /* of each table, one that all of its probes' are like */
	struct tally *
		*taken; /* of each: of records, and of threads that have no ring any more */
	size_t n, cap_plans, cap_taken;
	uint32_t slot;
	bool records;          /* some probes' hits are counted from records, each; atomic */
	struct texts stacks;   /* functions, as --folded has them */
	struct sink_buf stack; /* the one that is counted next */
	char why[96];
};

static const struct tally_plan *plan_of(const struct ubp_session *s, uint32_t number)
{
	const struct session_counting *c = s->out.counting;

	return c && number < c->n_probes ? c->probes[number].plan : NULL;
}

/* --- counting ---------------------------------------------------------------------------- */

static void on_counted(void *ctx, const struct ring_count *count)
{
	struct ubp_session *s = ctx;
	const struct tally_plan *plan = plan_of(s, count->probe);
	const struct session_number *entry = numbers_at(s, count->probe);
	struct uprobe *probe = entry ? entry->uprobe : NULL;

	if (plan)
		tally_count(s->out.counting->taken[plan->table], plan, count);
	if (!probe)
		return;
	__atomic_store_n(&probe->stats.ring_hits, probe->stats.ring_hits + count->hits,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&probe->stats.ring_passed, probe->stats.ring_passed + count->hits,
			 __ATOMIC_RELAXED);
}

/* What is asked for. */
struct look {
	const struct ubp_session *session;
	uint32_t number;
	struct tally *
		own; /* NULL: threads that have a ring have counted nothing of it, or .failed */
	bool failed;
};

static struct tally *copy_taken(const struct session_counting *c, uint32_t number)
{
	struct tally *copy = tally_new(&c->plans[number], tally_size(c->taken[number]));

	if (copy)
		tally_merge(copy, c->taken[number]);
	return copy;
}

static void on_there(void *ctx, const struct ring_count *count)
{
	struct look *look = ctx;
	const struct tally_plan *plan = plan_of(look->session, count->probe);

	if (look->failed || !plan || plan->table != look->number)
		return;
	if (!look->own)
		look->own = copy_taken(look->session->out.counting, look->number);
	look->failed = !look->own;
	if (look->own)
		tally_count(look->own, plan, count);
}

/* tally_stack_fn */
static uint64_t number_of_stack(void *ctx, const struct event_record *record)
{
	struct ubp_session *s = ctx;
	struct session_counting *c = s->out.counting;
	int64_t number;

	c->stack.len = 0;
	sink_folded_frames(&c->stack, record, stacks_resolver(s));
	number = texts_number(&c->stacks, c->stack.data ? c->stack.data : "", c->stack.len);
	return number < 0 ? UINT64_MAX : (uint64_t)number;
}

const char *counting_stack(const struct ubp_session *s, uint64_t number)
{
	return texts_get(&s->out.counting->stacks, number);
}

bool counting_took(struct ubp_session *s, const struct event_record *record)
{
	const struct tally_plan *plan;

	if (!s->out.counting || record->kind != EVENT_HIT)
		return false;
	plan = plan_of(s, record->probe);
	if (plan)
		tally_record(s->out.counting->taken[plan->table], plan, record);
	return plan && !plan->is_told;
}

const struct tally *counting_look(struct ubp_session *s, uint32_t number,
				  struct tally **ret_own)
{
	struct look look = { .session = s, .number = number };

	if (s->out.rings)
		ring_set_count(s->out.rings, on_there, &look);
	*ret_own = look.own;
	if (look.failed)
		return NULL;
	return look.own ? look.own : s->out.counting->taken[number];
}

/* --- tables and probes ------------------------------------------------------------------- */

int counting_add(struct ubp_session *s, const struct tally_plan *plan, size_t size,
		 uint32_t *ret_number)
{
	struct session_counting *c = s->out.counting;

	if (!c) {
		c = s->out.counting = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
	}
	if (VEC_ROOM(c->plans, &c->cap_plans, c->n) < 0 ||
	    VEC_ROOM(c->taken, &c->cap_taken, c->n) < 0)
		return -ENOMEM;
	c->taken[c->n] = tally_new(plan, size);
	if (!c->taken[c->n])
		return -ENOMEM;
	tally_set_stacks(c->taken[c->n], number_of_stack, s);
	c->plans[c->n] = *plan;
	*ret_number = (uint32_t)c->n++;
	if (tally_slot(plan) > c->slot)
		c->slot = tally_slot(plan);
	if (s->out.rings)
		ring_set_tally(s->out.rings, c->slot, on_counted, s);
	return 0;
}

static int add_filter(struct uprobe *probe, const struct filter *filter)
{
	struct filter *both;
	int rc;

	if (!filter)
		return 0;
	rc = filter_both(probe->filter, filter, &both);
	if (rc < 0)
		return rc;
	filter_free(probe->filter);
	probe->filter = both;
	return 0;
}

/* NULL: a detour can do it. */
static const char *why_records(const struct ubp_session *s, const struct uprobe *probe,
			       const struct tally_plan *plan)
{
	const char *why = probe->arch->detour.tallies
				  ? detour_why_no_tally(plan, probe->program)
				  : "there is no code for that on this machine";

	if (!why && !detour_does_filter(probe->program, probe->filter, probe->kind))
		why = "its filter is not compiled";
	if (!why && s->opt.stack != UBP_STACK_NONE)
		why = "stacks are recorded";
	return why;
}

static struct tally_plan *copy_plan(const struct tally_plan *plan)
{
	struct tally_plan *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *plan;
	return copy;
}

static int set(struct ubp_session *s, struct uprobe *probe, size_t number,
	       const struct tally_plan *plan, const struct filter *filter)
{
	struct session_counting *c = s->out.counting;
	struct counting_probe entry = { .plan = copy_plan(plan), .filter = filter };
	struct tally_plan *its = copy_plan(plan);
	int rc = entry.plan && its ? 0 : -ENOMEM;

	while (rc == 0 && c->n_probes <= number) {
		rc = VEC_ROOM(c->probes, &c->cap_probes, c->n_probes);
		if (rc == 0)
			c->probes[c->n_probes++] = (struct counting_probe){ 0 };
	}
	if (rc == 0)
		rc = add_filter(probe, filter);
	if (rc < 0) {
		free(entry.plan);
		free(its);
		return rc;
	}
	c->probes[number] = entry;
	probe->at_hit.tally = its;
	if (why_records(s, probe, plan))
		__atomic_store_n(&c->records, true, __ATOMIC_RELAXED);
	return 0;
}

int counting_set(struct ubp_session *s, size_t i, const struct tally_plan *plan,
		 const struct filter *filter)
{
	return set(s, definitions_uprobe(s->defined, i), i, plan, filter);
}

void counting_tell(struct ubp_session *s)
{
	struct session_counting *c = s->out.counting;

	__atomic_store_n(&c->records, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < c->n_probes; i++) {
		if (!c->probes[i].plan)
			continue;
		c->probes[i].plan->is_told = true;
		definitions_uprobe(s->defined, i)->at_hit.tally->is_told = true;
	}
}

int counting_take_place(struct ubp_session *s, struct uprobe *probe, unsigned number,
			unsigned old)
{
	const struct tally_plan *plan = plan_of(s, old);

	if (!plan)
		return 0;
	return set(s, probe, number, plan, s->out.counting->probes[old].filter);
}

void counting_forget(struct ubp_session *s, unsigned number)
{
	struct session_counting *c = s->out.counting;

	if (!c || number >= c->n_probes)
		return;
	free(c->probes[number].plan);
	c->probes[number] = (struct counting_probe){ 0 };
}

void counting_free(struct ubp_session *s)
{
	struct session_counting *c = s->out.counting;

	if (!c)
		return;
	for (size_t i = 0; i < c->n_probes; i++)
		free(c->probes[i].plan);
	for (size_t i = 0; i < c->n; i++)
		tally_free(c->taken[i]);
	texts_free(&c->stacks);
	sink_buf_free(&c->stack);
	free(c->probes);
	free(c->plans);
	free(c->taken);
	free(c);
	s->out.counting = NULL;
}

bool counting_records(const struct ubp_session *s)
{
	const struct session_counting *c = s->out.counting;

	return c && __atomic_load_n(&c->records, __ATOMIC_RELAXED);
}

const char *counting_explain(struct ubp_session *s, size_t i)
{
	bool is_defined = i < definitions_n(s->defined);
	const struct tally_plan *plan = is_defined ? plan_of(s, (uint32_t)i) : NULL;
	const char *why;

	if (!plan)
		return NULL;
	if (s->no_jumps || definitions_stop(s->defined, i))
		return "counted at its stops";
	why = why_records(s, definitions_uprobe(s->defined, i), plan);
	if (!why)
		return "counted in the target";
	(void)snprintf(s->out.counting->why, sizeof(s->out.counting->why),
		       "counted from its records: %s", why);
	return s->out.counting->why;
}
