/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is told of a hit is kept in a list until its triggers are done: they may drop it, make other events, which come behind it,
 * or ask for its stack. Where there is a trigger "snapshot", what is told stays in the list, the oldest is dropped when there is
 * too much of it, and a snapshot hands all of it out. Who asked to be told of snapshots gets all at once, and a snapshot is a mark in the list.
 */

#include "engine/session/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/apart_counts.h"
#include "engine/session/caller.h"
#include "engine/session/event.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/triggers_priv.h"
#include "engine/sink/buf.h"
#include "engine/spec/probe.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "engine/trigger/trigger.h"
#include "engine/ubp_trigger.h"

/* Kept for a snapshot, at most. */
#define KEPT_BYTES (4 << 20)

/* An event that waits to be told. */
struct waiting {
	struct waiting *next;
	const struct trigger_event *made; /* a synthetic one; NULL: a hit */
	const struct event_record *hit;   /* the record that it is a copy of */
	uint16_t n_stack;                 /* as it was recorded */
	bool is_kept, is_due;
	bool is_mark;  /* a snapshot: no event */
	bool is_stack; /* its stack alone is wanted */
	struct event_record record;
};

/* --- what triggers ask for ---------------------------------------------------- */

static bool has_stack_trigger(const struct trigger_event *event)
{
	for (const struct trigger *t = event->triggers; t; t = t->next)
		if (t->kind == TRIGGER_STACK)
			return true;
	return false;
}

/* Where the list is parted by the last snapshot; NULL: by none. */
static struct waiting **last_mark(struct session_triggers *triggers)
{
	struct waiting **found = NULL;

	for (struct waiting **at = triggers->fresh; *at; at = &(*at)->next)
		if ((*at)->is_mark)
			found = at;
	return found;
}

/* It comes last, or, @in_snapshot, in front of the last snapshot. */
static void link_in(struct session_triggers *triggers, struct waiting *w, bool in_snapshot)
{
	struct waiting **mark = in_snapshot ? last_mark(triggers) : NULL;

	triggers->n_bytes += w->record.size;
	if (mark) {
		w->next = *mark;
		*mark = w;
		return;
	}
	*triggers->last = w;
	triggers->last = &w->next;
}

static void *reserve(void *ctx, const struct trigger_event *event,
		     const struct event_record *record, bool in_snapshot)
{
	struct session_triggers *triggers = ctx;
	struct waiting *w = malloc(offsetof(struct waiting, record) + record->size);

	if (!w)
		return NULL;
	*w = (struct waiting){ .made = event->synth ? event : NULL, .hit = record };
	memcpy(&w->record, record, record->size);
	w->n_stack = record->n_stack;
	/* Then a stack is what the trigger gives. */
	if (has_stack_trigger(event))
		w->record.n_stack = 0;
	w->is_due = in_snapshot || !triggers->set->has_snapshot || triggers->on_snapshot ||
		    record->time <= triggers->until_ns;
	link_in(triggers, w, in_snapshot);
	return w;
}

static void settle(void *ctx, void *place, bool keep)
{
	struct waiting *w = place;

	(void)ctx;
	w->is_kept = keep;
}

/* Of an event that is not recorded itself, too. */
static void give_stack(void *ctx, const struct trigger_event *event,
		       const struct event_record *record)
{
	struct session_triggers *triggers = ctx;
	struct waiting *w = *triggers->fresh;

	while (w && w->hit != record)
		w = w->next;
	if (!w) {
		w = reserve(ctx, event, record, false);
		if (!w)
			return;
		w->is_kept = w->is_stack = true;
	}
	w->record.n_stack = w->n_stack;
}

/* Where memory is short there is none. */
static void mark(struct session_triggers *triggers)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (!w)
		return;
	w->is_mark = w->is_kept = w->is_due = true;
	link_in(triggers, w, false);
}

static void snapshot(void *ctx)
{
	struct session_triggers *triggers = ctx;

	if (triggers->on_snapshot) {
		mark(triggers);
		return;
	}
	for (struct waiting *w = triggers->first; w; w = w->next)
		w->is_due = true;
	triggers->is_changed = true;
	if (triggers->after_ns)
		triggers->until_ns = triggers->hit_ns + triggers->after_ns;
}

static const struct trigger_out out = {
	.reserve = reserve,
	.settle = settle,
	.stack = give_stack,
	.snapshot = snapshot,
};

/* --- hits ----------------------------------------------------------------------- */

static int tell(struct session_triggers *triggers, const struct waiting *w, ubp_event_fn *fn,
		void *ctx)
{
	struct ubp_event event;

	if (w->is_mark) {
		triggers->on_snapshot(triggers->on_snapshot_ctx);
		return 0;
	}
	event = session_event(triggers->session, &w->record);
	event.is_stack = w->is_stack;
	if (w->made) {
		event.spec = w->made->probe;
		event.is_made = true;
		event.trace = triggers->trace;
	} else if (!event.spec) {
		/* Its probe was removed while it waited. */
		return 0;
	}
	return fn(ctx, &event);
}

/* It leaves the list, where *@at is it. */
static void drop(struct session_triggers *triggers, struct waiting **at)
{
	struct waiting *w = *at;

	if (triggers->fresh == &w->next)
		triggers->fresh = at;
	*at = w->next;
	triggers->n_bytes -= w->record.size;
	free(w);
}

/*
 * What is due is told to @fn (NULL: to nobody), what is not kept is dropped; what is left may be due later, the youngest of it. Of those that wait
 * since earlier hits none is looked at but for a snapshot, and to make room. True: @fn wants no more, or, with @is_ended, did not; the rest waits.
 */
static bool flush(struct session_triggers *triggers, bool is_ended, ubp_event_fn *fn, void *ctx)
{
	struct waiting **at = &triggers->first, *w;
	bool skips = !triggers->is_changed;

	while ((w = *at)) {
		bool is_told = fn && w->is_kept && w->is_due;
		bool stays =
			is_told ? is_ended
				: w->is_kept && !w->is_due && triggers->n_bytes <= KEPT_BYTES;

		skips &= at != triggers->fresh;
		w->hit = NULL;
		if (stays) {
			at = skips ? triggers->fresh : &w->next;
			continue;
		}
		if (is_told)
			is_ended = tell(triggers, w, fn, ctx) != 0;
		drop(triggers, at);
	}
	triggers->last = triggers->fresh = at;
	triggers->is_changed = triggers->is_ended = is_ended;
	return is_ended;
}

bool triggers_go_on(struct session_triggers *own, ubp_event_fn *fn, void *ctx)
{
	bool is_ended = false;

	for (struct session_triggers *at = own; at; at = at->next)
		if (at->is_ended)
			is_ended = flush(at, is_ended, fn, ctx);
	return is_ended;
}

bool triggers_hit(struct session_triggers *own, const struct event_record *record,
		  ubp_event_fn *fn, void *ctx)
{
	const struct trigger_place *place = triggers_place(own, record->probe);
	bool is_ended = false;
	struct ubp_event plain;

	if (!place) {
		plain = session_event(own->session, record);
		return fn(ctx, &plain) != 0;
	}
	for (struct session_triggers *at = own; at; at = at->next)
		at->hit_ns = record->time;
	trigger_hit(place->of->set, place->event, record);
	for (struct session_triggers *at = own; at; at = at->next)
		is_ended = flush(at, is_ended, fn, ctx);
	return is_ended;
}

/* Events that wait for a snapshot, and may be of an event that goes. */
static void drop_made(struct session_triggers *own)
{
	for (struct session_triggers *at = own; at; at = at->next) {
		for (struct waiting *w = at->first; w; w = w->next)
			if (w->made)
				w->is_kept = false;
		at->is_changed = true;
		(void)flush(at, false, NULL, NULL);
	}
}

void triggers_free_one(struct session_triggers *triggers)
{
	struct waiting *w;

	while ((w = triggers->first)) {
		triggers->first = w->next;
		free(w);
	}
	trigger_set_free(triggers->set);
	map_free(&triggers->counted);
	sink_buf_free(&triggers->text);
	free(triggers->trace);
	free(triggers);
}

void triggers_free(struct session_triggers *own)
{
	struct session_triggers *next;

	if (own)
		triggers_free_places(own);
	for (; own; own = next) {
		next = own->next;
		triggers_free_one(own);
	}
}

/* --- the public functions --------------------------------------------------------- */

/* All that is defined has an event, whose hits are told. 0 or -ENOMEM. */
static int add_events(struct session_triggers *triggers)
{
	const struct definitions *defined = triggers->session->defined;

	for (; triggers->n_defined < definitions_n(defined); triggers->n_defined++) {
		const struct spec_probe *spec = definitions_spec(defined, triggers->n_defined);
		struct trigger_event *event;
		int rc;

		if (trigger_set_find(triggers->set, spec->group, spec->event))
			continue;
		rc = trigger_set_add(triggers->set, spec->group, spec->event, spec, &event);
		if (rc < 0)
			return rc;
		trigger_write_enable(event, "1", 1);
	}
	return 0;
}

/* They are made when they are first asked for. NULL: memory is short. */
struct session_triggers *triggers_of(struct ubp_session *s)
{
	if (!s->out.triggers) {
		s->out.triggers = triggers_new(s, "");
		if (!s->out.triggers)
			return NULL;
		s->out.triggers->chosen = s->out.triggers;
	}
	return add_events(s->out.triggers) < 0 ? NULL : s->out.triggers->chosen;
}

struct session_triggers *triggers_new(struct ubp_session *s, const char *trace)
{
	struct session_triggers *triggers = calloc(1, sizeof(*triggers));

	if (!triggers)
		return NULL;
	triggers->session = s;
	triggers->last = triggers->fresh = &triggers->first;
	triggers->trace = strdup(trace);
	triggers->set = trigger_set_new(&out, triggers);
	if (!triggers->trace || !triggers->set) {
		triggers_free_one(triggers);
		return NULL;
	}
	triggers->set->escapes = !s->opt.strict;
	return triggers;
}

/* "GROUP:EVENT", or "EVENT" of any group. */
struct trigger_event *triggers_find(const struct session_triggers *triggers, const char *name)
{
	const char *colon = name ? strchr(name, ':') : NULL;
	size_t len = colon ? (size_t)(colon - name) : 0;
	char group[SPEC_NAME_MAX + 1];

	if (colon && len < sizeof(group)) {
		memcpy(group, name, len);
		group[len] = '\0';
		return trigger_set_find(triggers->set, group, colon + 1);
	}
	for (size_t i = 0; name && !colon && i < triggers->set->n_events; i++)
		if (strcmp(triggers->set->events[i]->name, name) == 0)
			return triggers->set->events[i];
	return NULL;
}

int triggers_may_change(const struct ubp_session *s, const char *given, struct ubp_err *err)
{
	struct ubp_err not_told;

	if (!err)
		err = &not_told;
	ubp_err_reset(err);
	if (calls_is_inside(s))
		return ubp_fail(err, EBUSY,
				"triggers are being carried out: this is a callback");
	return given ? 0 : ubp_fail(err, EINVAL, "no text is given");
}

int triggers_find_or_fail(struct ubp_session *s, const char *name,
			  struct trigger_event **ret_event, struct ubp_err *err)
{
	struct session_triggers *triggers = triggers_of(s);
	int rc;

	ubp_err_reset(err);
	if (!triggers)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (triggers->is_settled)
		return ubp_fail(err, EBUSY, "triggers are settled");
	rc = triggers_know(triggers, name);
	if (rc < 0)
		return ubp_fail(err, -rc,
				rc == -EBUSY ? "triggers are about an event '%s' with other "
					       "arguments that is gone"
					     : "'%s': out of memory",
				name);
	*ret_event = triggers_find(triggers, name);
	return *ret_event ? 0 : ubp_fail(err, ENOENT, "there is no event '%s'", name);
}

/* The first of what was logged since @before: what is told behind it follows from it. */
int triggers_fail(const struct session_triggers *triggers, size_t before, int rc,
		  const char *text, struct ubp_err *err)
{
	const struct trigger_log *log = &triggers->set->log;
	const struct trigger_log_entry *entry;

	if (rc >= 0)
		return 0;
	if (log->n == before || log->n - before > TRIGGER_LOG_MAX)
		return ubp_fail(err, -rc, "'%s': %s", text, strerror(-rc));
	entry = &log->entries[before % TRIGGER_LOG_MAX];
	ubp_fail(err, -rc, "%s", entry->text);
	ubp_err_caret(err, entry->command, strlen(entry->command), entry->caret);
	return rc;
}

/* A kernel says no more than that the argument is invalid. */
static bool tell_unknown(const char *text, struct ubp_err *err)
{
	struct sink_buf told = { 0 };
	size_t at;

	if (trigger_is_command(text, &told, &at))
		return false;
	ubp_fail(err, EINVAL, "%s", told.data ? told.data : "out of memory");
	ubp_err_caret(err, text, strlen(text), (unsigned)at);
	sink_buf_free(&told);
	return true;
}

/* The event that one switches is GROUP:EVENT, and there is one of that name; or nothing is told. */
static bool tell_target(const struct session_triggers *triggers, const char *text,
			struct ubp_err *err)
{
	const char *target = strchr(text, ':');
	char name[2 * SPEC_NAME_MAX + 2], *rest;
	size_t at = target ? (size_t)(target + 1 - text) : 0;

	if (!target || !(strncmp(text, "enable_", 7) == 0 || strncmp(text, "disable_", 8) == 0))
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(text + at, " \t"), text + at);
	rest = strchr(name, ':');
	if (rest)
		rest[1 + strcspn(rest + 1, ":")] = '\0';
	if (rest && triggers_find(triggers, name))
		return false;
	ubp_fail(err, EINVAL, rest ? "there is no event '%s'" : "'%s' is not GROUP:EVENT",
		 name);
	ubp_err_caret(err, text, strlen(text), (unsigned)at);
	return true;
}

/* Without stacks in records triggers that are about them would be about nothing. */
static bool lacks_stacks(const struct ubp_session *s, const struct trigger_event *event,
			 const char *text)
{
	return s->opt.stack == UBP_STACK_NONE && text[0] != '!' &&
	       strcasestr(text, "stacktrace") &&
	       (event_field(event, "stacktrace")->form == FIELD_TRACE);
}

int ubp_trigger_write(struct ubp_session *s, const char *name, const char *text,
		      struct ubp_err *err)
{
	struct session_triggers *triggers;
	struct trigger_event *event;
	size_t before;
	int rc;

	rc = triggers_may_change(s, name ? text : NULL, err);
	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_WRITE, name, text, 0, err);
	rc = triggers_find_or_fail(s, name, &event, err);
	if (rc < 0)
		return rc;
	triggers = triggers_of(s);
	if (lacks_stacks(s, event, text))
		return ubp_fail(err, EINVAL, "'%s': no stacks are taken (-s)", text);
	before = triggers->n_logged = triggers->set->log.n;
	rc = trigger_write(triggers->set, event, text, strlen(text));
	if (rc == -EINVAL && !s->opt.strict &&
	    (tell_unknown(text, err) || tell_target(triggers, text, err)))
		return rc;
	if (rc == -EEXIST && !s->opt.strict && triggers->set->log.n == before)
		return ubp_fail(err, EEXIST, "'%s': the event has one of that kind already",
				text);
	return triggers_fail(triggers, before, rc, text, err);
}

int ubp_trigger_record(struct ubp_session *s, const char *name, bool on, struct ubp_err *err)
{
	struct trigger_event *event;
	int rc;

	rc = triggers_may_change(s, name, err);
	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_TRIGGER_RECORD, name, NULL, on, err);
	rc = triggers_find_or_fail(s, name, &event, err);
	return rc < 0 ? rc : trigger_write_enable(event, on ? "1" : "0", 1);
}

int ubp_synthetic_add(struct ubp_session *s, const char *text, struct ubp_err *err)
{
	struct session_triggers *triggers;
	size_t before;
	int rc;

	rc = triggers_may_change(s, text, err);
	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_SYNTHETIC_ADD, NULL, text, 0, err);
	triggers = triggers_of(s);
	if (!triggers)
		return ubp_fail(err, ENOMEM, "out of memory");
	drop_made(s->out.triggers);
	before = triggers->n_logged = triggers->set->log.n;
	rc = synth_write(triggers->set, text, strlen(text));
	return triggers_fail(triggers, before, rc, text, err);
}

int ubp_synthetic_clear(struct ubp_session *s, struct ubp_err *err)
{
	struct session_triggers *triggers;
	int rc = triggers_may_change(s, "", err);

	if (rc < 0)
		return rc;
	if (s->tracing.apart)
		return apart_trigger(s, APART_SYNTHETIC_CLEAR, NULL, NULL, 0, err);
	triggers = triggers_of(s);
	if (!triggers)
		return ubp_fail(err, ENOMEM, "out of memory");
	drop_made(s->out.triggers);
	if (synth_truncate(triggers->set) == 0)
		return 0;
	return ubp_fail(err, EBUSY, "one of the synthetic events is in use");
}
