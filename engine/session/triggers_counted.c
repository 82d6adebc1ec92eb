/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Histograms that are counted in the target, in place of hits that are handed in. */

#include <errno.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/apart_counts.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/triggers_priv.h"
#include "engine/sink/buf.h"
#include "engine/spec/probe.h"
#include "engine/tally/tally.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/trigger.h"
#include "engine/ubp_trigger.h"

/* NULL: a plan does all that is asked of its hits. */
static const char *why_no_plan(const struct session_triggers *triggers,
			       const struct trigger_event *event, struct tally_plan *ret_plan,
			       const struct filter **ret_filter)
{
	const struct ubp_session *s = triggers->session;

	if (!triggers->is_settled)
		return "nothing is settled";
	if (s->out.tally)
		return "all hits are counted in another way";
	if (s->opt.once)
		return "each probe has one event";
	if (s->opt.limits.max_rate || s->opt.limits.max_overhead)
		return "it is watched what probes cost";
	return trigger_plan(event, ret_plan, ret_filter);
}

static struct trigger_event *event_of_probe(const struct session_triggers *triggers, size_t i)
{
	const struct spec_probe *spec = definitions_spec(triggers->session->defined, i);

	return trigger_set_find(triggers->set, spec->group, spec->event);
}

/* Its event's table, made with the first of its probes. 0 or -ENOMEM. */
static int table_of(struct session_triggers *triggers, const struct trigger_event *event,
		    struct tally_plan *plan)
{
	void **place = map_place(&triggers->counted, (uintptr_t)event);
	int rc;

	if (!place)
		return -ENOMEM;
	if (!*place) {
		rc = counting_add(triggers->session, plan, 0, &plan->table);
		if (rc < 0)
			return rc;
		*place = (void *)(uintptr_t)(plan->table + 1);
	}
	plan->table = (uint32_t)(uintptr_t)*place - 1;
	return 0;
}

/* One that does not count hands in its hits: both are in the histogram. */
static int count_probe(struct session_triggers *triggers, size_t i)
{
	struct trigger_event *event = event_of_probe(triggers, i);
	const struct filter *filter;
	struct tally_plan plan;
	int rc;

	if (!trigger_has_hist(event) || why_no_plan(triggers, event, &plan, &filter) ||
	    spec_probe_differing_arg(event->probe,
				     definitions_spec(triggers->session->defined, i)))
		return 0;
	rc = table_of(triggers, event, &plan);
	if (rc == 0)
		rc = counting_set(triggers->session, i, &plan, filter);
	return rc == -E2BIG ? 0 : rc;
}

int ubp_trigger_settle(struct ubp_session *s, struct ubp_err *err)
{
	struct session_triggers *triggers;
	int rc = triggers_may_change(s, "", err);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_SETTLE, NULL, NULL, 0, err);
	rc = session_check_new(s, err);
	if (rc < 0)
		return rc;
	if (!triggers_of(s))
		return ubp_fail(err, ENOMEM, "out of memory");
	triggers = s->out.triggers;
	if (triggers->is_settled)
		return 0;
	triggers->is_settled = true;
	for (size_t i = 0; i < triggers->n_defined && rc == 0; i++)
		rc = count_probe(triggers, i);
	return rc < 0 ? ubp_fail(err, -rc, "out of memory") : 0;
}

const char *ubp_trigger_explain(struct ubp_session *s, size_t i)
{
	struct session_triggers *triggers =
		!s->tracing.apart && triggers_of(s) ? s->out.triggers : NULL;
	/* Those of probes that came later make records. */
	struct trigger_event *event =
		triggers && i < triggers->n_defined ? event_of_probe(triggers, i) : NULL;
	const struct filter *filter;
	struct tally_plan plan;
	const char *why, *how;

	if (s->tracing.apart)
		return apart_text(s, APART_TRIGGER_EXPLAIN, i);
	if (!event || !trigger_has_hist(event))
		return NULL;
	sink_buf_free(&triggers->text);
	how = s->out.tally ? NULL : counting_explain(s, i);
	why = how ? NULL : why_no_plan(triggers, event, &plan, &filter);
	if (how)
		sink_buf_printf(&triggers->text, "histogram: %s", how);
	else
		sink_buf_printf(&triggers->text, "histogram: made of records: %s",
				why ? why : "its event's places have other arguments");
	return triggers->text.data;
}
