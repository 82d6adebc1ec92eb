/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What triggers show: lists, histograms, synthetic events. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/map.h"
#include "engine/session/apart_counts.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/triggers_priv.h"
#include "engine/sink/buf.h"
#include "engine/spec/probe.h"
#include "engine/tally/tally.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_rows.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

/* The text that is given is begun anew: what @read says of the event, or of all with @name NULL. */
static const char *give(struct ubp_session *s, const char *name, size_t *ret_len,
			void (*read)(struct session_triggers *triggers,
				     struct trigger_event *event, struct sink_buf *to))
{
	struct session_triggers *triggers = triggers_of(s);
	struct trigger_event *event = NULL;
	struct sink_buf *text;

	if (triggers && name && triggers_know(triggers, name) == 0)
		event = triggers_find(triggers, name);
	if (!triggers || (name && !event))
		return NULL;
	text = &triggers->text;
	sink_buf_free(text);
	read(triggers, event, text);
	if (ret_len)
		*ret_len = text->len;
	if (text->failed)
		return NULL;
	return text->data ? text->data : "";
}

static void read_list(struct session_triggers *triggers, struct trigger_event *event,
		      struct sink_buf *to)
{
	(void)triggers;
	if (event->triggers)
		trigger_read(event, to);
}

/* What was counted of @event's histogram; NULL: it is not counted. *ret_own is to be freed. False: memory is short. */
static bool look_counted(struct session_triggers *triggers, const struct trigger_event *event,
			 const struct tally **ret_counted, struct tally **ret_own)
{
	size_t table = (size_t)(uintptr_t)map_get(&triggers->counted, (uintptr_t)event);

	*ret_own = NULL;
	*ret_counted =
		table ? counting_look(triggers->session, (uint32_t)table - 1, ret_own) : NULL;
	return !table || *ret_counted;
}

static void read_hist_by(struct session_triggers *triggers, struct trigger_event *event,
			 void (*read)(struct trigger_set *set, struct trigger_event *event,
				      const struct tally *counted, struct sink_buf *out),
			 struct sink_buf *to)
{
	const struct tally *counted;
	struct tally *own;

	if (look_counted(triggers, event, &counted, &own))
		read(triggers->set, event, counted, to);
	else
		to->failed = -ENOMEM;
	tally_free(own);
}

static void read_hist(struct session_triggers *triggers, struct trigger_event *event,
		      struct sink_buf *to)
{
	read_hist_by(triggers, event, trigger_read_hist, to);
}

static void read_hist_json(struct session_triggers *triggers, struct trigger_event *event,
			   struct sink_buf *to)
{
	read_hist_by(triggers, event, trigger_read_hist_json, to);
}

/* --- as data ------------------------------------------------------------------------------- */

struct rows_to {
	ubp_trigger_row_fn *fn;
	void *ctx;
};

static struct ubp_tally_part key_of(const struct hist_part *part)
{
	static const enum ubp_tally_kind kinds[] = {
		[HIST_PART_NUMBER] = UBP_TALLY_NUMBER,
		[HIST_PART_TEXT] = UBP_TALLY_STRING,
		[HIST_PART_LOG2] = UBP_TALLY_LOG2,
		[HIST_PART_BUCKETS] = UBP_TALLY_BUCKETS,
	};
	bool is_plain = part->kind == HIST_PART_NUMBER;

	return (struct ubp_tally_part){
		.kind = is_plain && part->is_signed ? UBP_TALLY_SIGNED : kinds[part->kind],
		.number = part->kind == HIST_PART_BUCKETS ? part->number / part->width
							  : part->number,
		.width = part->width,
		.is_signed = !is_plain && part->is_signed,
		.text = part->text,
		.name = part->name,
	};
}

static void give_row(void *ctx, const struct hist_head *head, const struct hist_row *from)
{
	const struct rows_to *to = ctx;
	struct ubp_trigger_hist hist = { .number = head->number,
					 .n = head->n,
					 .name = head->name,
					 .dropped = head->dropped };
	struct ubp_tally_row row = { 0 };

	if (!from) {
		to->fn(to->ctx, &hist, NULL);
		return;
	}
	row.hits = from->hits;
	for (; row.n_keys < from->n_keys && row.n_keys < UBP_TALLY_KEYS; row.n_keys++)
		row.keys[row.n_keys] = key_of(&from->keys[row.n_keys]);
	for (; row.n_values < from->n_sums && row.n_values < UBP_TALLY_VALUES; row.n_values++)
		row.values[row.n_values] = key_of(&from->sums[row.n_values]);
	to->fn(to->ctx, &hist, &row);
}

int ubp_trigger_hist_rows(struct ubp_session *s, const char *name, ubp_trigger_row_fn *fn,
			  void *ctx)
{
	struct session_triggers *triggers =
		s->tracing.apart || !name || !fn ? NULL : triggers_of(s);
	struct trigger_event *event = triggers ? triggers_find(triggers, name) : NULL;
	struct rows_to to = { fn, ctx };
	const struct tally *counted = NULL;
	struct tally *own = NULL;
	int rc = -ENOMEM;

	if (!name || !fn)
		return -EINVAL;
	if (s->tracing.apart)
		return apart_trigger_rows(s, name, fn, ctx);
	if (!event)
		return triggers ? -ENOENT : -ENOMEM;
	if (look_counted(triggers, event, &counted, &own))
		rc = trigger_hist_rows(event, counted, give_row, &to);
	tally_free(own);
	return rc;
}

static void read_synthetic(struct session_triggers *triggers, struct trigger_event *event,
			   struct sink_buf *to)
{
	(void)event;
	synth_read(triggers->set, to);
}

static void read_format(struct session_triggers *triggers, struct trigger_event *event,
			struct sink_buf *to)
{
	(void)triggers;
	if (event->synth)
		synth_format(event, to);
}

const char *ubp_synthetic_format(struct ubp_session *s, const char *name, size_t *ret_len)
{
	const char *text = NULL;
	char *full;

	if (!name)
		return NULL;
	if (s->tracing.apart)
		return apart_trigger_text(s, APART_SYNTHETIC_FORMAT, name, ret_len);
	/* The kernel's limit for names of other events does not hold for these. */
	if (asprintf(&full, "%s:%s", SYNTH_GROUP, name) >= 0) {
		text = give(s, full, ret_len, read_format);
		free(full);
	}
	return text;
}

const char *ubp_trigger_list(struct ubp_session *s, const char *name, size_t *ret_len)
{
	if (!name)
		return NULL;
	return s->tracing.apart ? apart_trigger_text(s, APART_TRIGGER_LIST, name, ret_len)
				: give(s, name, ret_len, read_list);
}

const char *ubp_trigger_hist(struct ubp_session *s, const char *name, size_t *ret_len)
{
	if (!name)
		return NULL;
	return s->tracing.apart ? apart_trigger_text(s, APART_TRIGGER_HIST, name, ret_len)
				: give(s, name, ret_len, read_hist);
}

const char *ubp_trigger_hist_json(struct ubp_session *s, const char *name, size_t *ret_len)
{
	if (!name)
		return NULL;
	return s->tracing.apart ? apart_trigger_text(s, APART_TRIGGER_HIST_JSON, name, ret_len)
				: give(s, name, ret_len, read_hist_json);
}

const char *ubp_synthetic_list(struct ubp_session *s, size_t *ret_len)
{
	return s->tracing.apart ? apart_trigger_text(s, APART_SYNTHETIC_LIST, NULL, ret_len)
				: give(s, NULL, ret_len, read_synthetic);
}
