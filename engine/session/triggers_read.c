/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What triggers show: lists, histograms, synthetic events. */

#include <errno.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/session/counting.h"
#include "engine/session/inside.h"
#include "engine/session/triggers_priv.h"
#include "engine/sink/buf.h"
#include "engine/tally/tally.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "engine/ubp_trigger.h"

/* The text that is given is begun anew: what @read says of the event, or of all with @name NULL. */
static const char *give(struct ubp_session *s, const char *name, size_t *ret_len,
			void (*read)(struct session_triggers *triggers,
				     struct trigger_event *event, struct sink_buf *to))
{
	struct session_triggers *triggers = triggers_of(s);
	struct trigger_event *event = triggers && name ? triggers_find(triggers, name) : NULL;
	struct sink_buf *text;

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

static void read_hist_by(struct session_triggers *triggers, struct trigger_event *event,
			 void (*read)(struct trigger_set *set, struct trigger_event *event,
				      const struct tally *counted, struct sink_buf *out),
			 struct sink_buf *to)
{
	size_t table = (size_t)(uintptr_t)map_get(&triggers->counted, (uintptr_t)event);
	const struct tally *counted = NULL;
	struct tally *own = NULL;

	if (table)
		counted = counting_look(triggers->session, (uint32_t)table - 1, &own);
	if (table && !counted)
		to->failed = -ENOMEM;
	else
		read(triggers->set, event, counted, to);
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

static void read_synthetic(struct session_triggers *triggers, struct trigger_event *event,
			   struct sink_buf *to)
{
	(void)event;
	synth_read(triggers->set, to);
}

const char *ubp_trigger_list(struct ubp_session *s, const char *name, size_t *ret_len)
{
	return give(s, name, ret_len, read_list);
}

const char *ubp_trigger_hist(struct ubp_session *s, const char *name, size_t *ret_len)
{
	return give(s, name, ret_len, read_hist);
}

const char *ubp_trigger_hist_json(struct ubp_session *s, const char *name, size_t *ret_len)
{
	return give(s, name, ret_len, read_hist_json);
}

const char *ubp_synthetic_list(struct ubp_session *s, size_t *ret_len)
{
	return give(s, NULL, ret_len, read_synthetic);
}
