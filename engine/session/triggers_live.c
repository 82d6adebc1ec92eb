/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Triggers of what is added while the session runs, and what is asked of them meanwhile. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/session/apart_counts.h"
#include "engine/session/inside.h"
#include "engine/session/numbers.h"
#include "engine/session/triggers_priv.h"
#include "engine/spec/probe.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/ubp_trigger.h"

/* --- events that come ------------------------------------------------------------------- */

/* Is it called "GROUP:EVENT", or "EVENT" of any group? */
static bool is_called(const struct spec_probe *spec, const char *group, const char *name)
{
	const char *colon = strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : 0;

	if (colon && (strlen(group) != len || memcmp(group, name, len) != 0))
		return false;
	return strcmp(spec->event, colon ? colon + 1 : name) == 0;
}

/* Its probes are gone, and with them what was asked of their hits. -EBUSY: other events' triggers are about it. */
static int forget(struct session_triggers *triggers, struct trigger_event *event)
{
	int rc;

	trigger_truncate(triggers->set, event);
	trigger_write_enable(event, "0", 1);
	rc = trigger_set_remove(triggers->set, event->group, event->name);
	if (rc == 0)
		triggers_forget(triggers, event);
	return rc;
}

static int know(struct session_triggers *triggers, const char *group,
		const struct spec_probe *spec)
{
	struct trigger_event *event = trigger_set_find(triggers->set, group, spec->event);
	int rc;

	if (event && !spec_probe_differing_arg(event->probe, spec))
		return 0;
	rc = event ? forget(triggers, event) : 0;
	if (rc == 0)
		rc = trigger_set_add(triggers->set, group, spec->event, spec, &event);
	return rc < 0 ? rc : trigger_write_enable(event, "1", 1);
}

int triggers_know(struct session_triggers *triggers, const char *name)
{
	struct ubp_session *s = triggers->session;
	int rc = 0;

	pthread_mutex_lock(&s->numbers.lock);
	for (size_t i = triggers->n_defined; rc == 0 && i < numbers_n(s); i++) {
		const struct session_number *entry = numbers_latest(s, i);
		const char *group;

		if (entry && triggers_owner(s->out.triggers, entry, &group) == triggers &&
		    is_called(entry->spec, group, name))
			rc = know(triggers, group, entry->spec);
	}
	pthread_mutex_unlock(&s->numbers.lock);
	return rc;
}

/* --- what was wrong ---------------------------------------------------------------------- */

void ubp_trigger_errors(const struct ubp_session *s, ubp_trigger_error_fn *fn, void *ctx)
{
	const struct session_triggers *triggers = triggers_chosen(s);
	const struct trigger_log *log = triggers ? &triggers->set->log : NULL;
	size_t i = triggers ? triggers->n_logged : 0;
	struct ubp_err err;

	if (!fn)
		return;
	if (s->tracing.apart)
		apart_trigger_errors(s, fn, ctx);
	if (log && log->n - i > TRIGGER_LOG_MAX)
		i = log->n - TRIGGER_LOG_MAX;
	for (; log && i < log->n; i++) {
		const struct trigger_log_entry *entry = &log->entries[i % TRIGGER_LOG_MAX];

		if (!entry->text || !entry->command || !entry->location)
			continue;
		ubp_err_reset(&err);
		(void)ubp_fail(&err, EINVAL, "%s", entry->text);
		ubp_err_caret(&err, entry->command, strlen(entry->command), entry->caret);
		fn(ctx, entry->location, &err);
	}
}

/* --- what is asked meanwhile ------------------------------------------------------------ */

const char *ubp_trigger_state(struct ubp_session *s, const char *name)
{
	struct session_triggers *triggers;
	const struct trigger_event *event = NULL;

	if (!name)
		return NULL;
	if (s->tracing.apart)
		return apart_trigger_state(s, name);
	triggers = triggers_of(s);
	if (triggers && triggers_know(triggers, name) == 0)
		event = triggers_find(triggers, name);
	return event ? event_state(event) : NULL;
}

int ubp_trigger_filter(struct ubp_session *s, const char *name, const char *filter,
		       struct ubp_err *err)
{
	struct session_triggers *triggers;
	struct trigger_event *event;
	size_t before;
	int rc;

	rc = triggers_may_change(s, name, err);
	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_FILTER, name, filter, 0, err);
	rc = triggers_find_or_fail(s, name, &event, err);
	if (rc < 0)
		return rc;
	triggers = triggers_of(s);
	before = triggers->set->log.n;
	rc = trigger_write_filter(triggers->set, event, filter);
	return triggers_fail(triggers, before, rc, filter, err);
}

int ubp_trigger_clear(struct ubp_session *s, const char *name, struct ubp_err *err)
{
	struct trigger_event *event;
	int rc = triggers_may_change(s, name, err);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_CLEAR, name, NULL, 0, err);
	rc = triggers_find_or_fail(s, name, &event, err);
	if (rc == 0)
		trigger_truncate(triggers_of(s)->set, event);
	return rc;
}

bool ubp_trigger_is_tracing(const struct ubp_session *s)
{
	const struct session_triggers *triggers = triggers_chosen(s);

	if (s->tracing.apart)
		return apart_is_tracing(s);
	return !triggers || triggers->set->tracing_on;
}

int ubp_trigger_set_tracing(struct ubp_session *s, bool on)
{
	struct session_triggers *triggers;
	int rc = triggers_may_change(s, "", NULL);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_SET_TRACING, NULL, NULL, on, NULL);
	triggers = triggers_of(s);
	if (!triggers)
		return -ENOMEM;
	triggers->set->tracing_on = on;
	return 0;
}

/* --- snapshots ------------------------------------------------------------------------ */

int ubp_trigger_snapshot_after(struct ubp_session *s, uint64_t ns)
{
	struct session_triggers *triggers;
	int rc = triggers_may_change(s, "", NULL);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_SNAPSHOT_AFTER, NULL, NULL, ns, NULL);
	triggers = triggers_of(s);
	if (!triggers)
		return -ENOMEM;
	triggers->after_ns = ns;
	return 0;
}

int ubp_trigger_on_snapshot(struct ubp_session *s, ubp_trigger_snapshot_fn *fn, void *ctx)
{
	struct session_triggers *triggers;
	int rc = triggers_may_change(s, "", NULL);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_on_snapshot(s, fn, ctx);
	triggers = triggers_of(s);
	if (!triggers)
		return -ENOMEM;
	triggers->on_snapshot = fn;
	triggers->on_snapshot_ctx = ctx;
	return 0;
}
