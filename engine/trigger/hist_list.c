/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A histogram as the trigger file lists it. */

#include "engine/sink/buf.h"
#include "engine/trigger/field.h"
#include "engine/trigger/hist.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/trigger.h"

static void list_keys(const struct hist *hist, struct sink_buf *out)
{
	for (size_t i = hist->n_values; i < hist->n_fields; i++) {
		const struct hist_field *key = hist->fields[i];

		sink_buf_printf(out, "%s", i > hist->n_values ? "," : "keys=");
		if (key->flags & HIST_STACK)
			sink_buf_printf(out, "%s%s",
					key->field ? key->field->name : "common_stacktrace",
					key->field ? ".stacktrace" : "");
		else
			hist_field_text(key, out);
	}
}

static void list_values(const struct hist *hist, struct sink_buf *out)
{
	const char *before = ":vals=";

	for (size_t i = hist->text->nohitcount; i < hist->n_values; i++) {
		if (hist->fields[i]->flags & HIST_VAR)
			continue;
		sink_buf_printf(out, "%s", before);
		hist_field_text(hist->fields[i], out);
		before = ",";
	}
	before = ":";
	for (size_t i = 0; i < hist->n_values; i++) {
		if (!(hist->fields[i]->flags & HIST_VAR))
			continue;
		sink_buf_printf(out, "%s", before);
		hist_field_text(hist->fields[i], out);
		before = ",";
	}
}

static const struct hist_field *sorted_by(const struct hist *hist, unsigned value)
{
	for (size_t i = 0; i < hist->n_fields; i++)
		if (!(hist->fields[i]->flags & HIST_VAR) && value-- == 0)
			return hist->fields[i];
	return NULL;
}

static void list_sorts(const struct hist *hist, struct sink_buf *out)
{
	for (size_t i = 0; i < hist->n_sorts; i++) {
		sink_buf_printf(out, "%s", i ? "," : ":sort=");
		hist_field_text(sorted_by(hist, hist->sorts[i].value), out);
		if (hist->sorts[i].descending)
			sink_buf_printf(out, ".descending");
	}
}

static void list_doer(const struct hist_doer *doer, struct sink_buf *out)
{
	const char *before = "";

	if (doer->handler == HIST_ONMATCH)
		sink_buf_printf(out, ":onmatch(%s.%s).", doer->system, doer->event_name);
	else
		sink_buf_printf(out, ":%s(%s).",
				doer->handler == HIST_ONMAX ? "onmax" : "onchange",
				doer->watched);
	sink_buf_printf(out, "%s(", doer->word);
	if (doer->synth) {
		sink_buf_printf(out, "%s", doer->synth);
		before = ",";
	}
	for (size_t i = 0; i < doer->n_params; i++, before = ",")
		sink_buf_printf(out, "%s%s", before, doer->params[i]);
	sink_buf_printf(out, ")");
}

void hist_list(const struct trigger *trigger, struct sink_buf *out)
{
	const struct hist *hist = trigger->hist;

	sink_buf_printf(out, "hist:");
	if (trigger->name)
		sink_buf_printf(out, "name=%s:", trigger->name);
	list_keys(hist, out);
	list_values(hist, out);
	list_sorts(hist, out);
	sink_buf_printf(out, ":size=%u", 1U << hist->map.bits);
	if (hist->has_time)
		sink_buf_printf(out, ":clock=%s", hist->text->clock);
	if (hist->text->nohitcount)
		sink_buf_printf(out, ":nohitcount");
	for (size_t i = 0; i < hist->n_doers; i++)
		list_doer(hist->doers[i], out);
	if (trigger->filter_text)
		sink_buf_printf(out, " if %s", trigger->filter_text);
	sink_buf_printf(out, trigger->is_paused ? " [paused]\n" : " [active]\n");
}
