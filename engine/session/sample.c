/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/event/ring_sample.h"
#include "engine/fetch/match.h"
#include "engine/session/apart.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/tally/sample.h"
#include "engine/ubp_event.h"

int ubp_sample_check(const char *text, struct ubp_err *err)
{
	struct sample_text ignored;

	if (ubp_need(text, "text of what to sample", err) < 0)
		return -EINVAL;
	ubp_err_reset(err);
	return sample_text_parse(text, &ignored, err);
}

int session_sample_init(struct ubp_session *s, struct ubp_err *err)
{
	if (!s->opt.sample)
		return 0;
	s->out.sample = calloc(1, sizeof(*s->out.sample));
	return s->out.sample ? sample_text_parse(s->opt.sample, s->out.sample, err)
			     : ubp_fail(err, ENOMEM, "out of memory");
}

void ubp_sample_next(struct ubp_session *s, bool on)
{
	if (s->tracing.apart) {
		apart_sample_next(s, on);
		return;
	}
	definitions_set_sample(s->defined, on ? s->out.sample : NULL);
}

void session_sample_free(struct ubp_session *s)
{
	free(s->out.sample);
	s->out.sample = NULL;
}

bool session_sample_ring(void *ctx, const struct event_record *record, struct ring *ring)
{
	struct uprobe *probe = live_probe(ctx, record->probe);
	const struct sample_plan *plan = probe ? probe->at_hit.sample : NULL;

	/* What the filter stops is dropped by who is given it. */
	if (!plan || !filter_match(probe->filter, record) ||
	    ring_sample(ring, probe->number, sample_step(plan, record->data), plan->every))
		return true;
	uprobe_count(&probe->stats.ring_hits);
	uprobe_count(&probe->stats.ring_left_out);
	return false;
}

uint64_t session_sample_weight(struct ubp_session *s, const struct event_record *record)
{
	const struct uprobe *probe = s->out.sample && record->kind == EVENT_HIT
					     ? live_probe(s, record->probe)
					     : NULL;

	return probe && probe->at_hit.sample ? sample_weight(probe->at_hit.sample, record->data)
					     : 0;
}

uint64_t ubp_event_weight(const struct ubp_event *e)
{
	return e->weight;
}

/* --- --explain ---------------------------------------------------------------------------- */

static const char *where(const struct ubp_session *s, size_t i, const struct uprobe *probe)
{
	if (s->no_jumps || definitions_stop(s->defined, i))
		return "at its stops";
	if (!probe->arch->detour.samples)
		return "from its records: there is no code for that on this machine";
	return "in the target";
}

const char *ubp_probe_sample(struct ubp_session *s, size_t i)
{
	struct sink_buf *told = &s->out.texts.arg;
	const struct sample_plan *plan;
	const struct uprobe *probe;

	if (s->tracing.apart)
		return apart_text(s, APART_SAMPLE, i);
	probe = i < definitions_n(s->defined) ? definitions_uprobe(s->defined, i) : NULL;
	plan = probe ? probe->at_hit.sample : NULL;
	if (!plan)
		return NULL;
	told->len = 0;
	if (plan->has_field)
		sink_buf_printf(told, "sampled: a hit for each %" PRIu32 " that %s adds up to",
				plan->every, s->out.sample->arg);
	else
		sink_buf_printf(told, "sampled: one hit of each %" PRIu32, plan->every);
	sink_buf_printf(told, ", for each thread, %s", where(s, i, probe));
	sink_buf_add(told, "", 1);
	return told->data;
}
