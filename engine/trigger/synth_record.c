/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Records of synthetic events: made from values, told as text. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/event/record.h"
#include "engine/sink/buf.h"
#include "engine/spec/spec.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"

/* Put @len bytes behind the data, at a multiple of 8, and the word that says so at @at. */
static void put_bytes(struct event_record *record, uint32_t at, const void *bytes, size_t len,
		      bool ends)
{
	uint32_t from = (record->data_len + 7) & ~7U, word;

	if (bytes && len)
		memcpy(record->data + from, bytes, len);
	if (ends)
		record->data[from + len++] = '\0';
	word = (uint32_t)len << 16 | from;
	memcpy(record->data + at, &word, sizeof(word));
	record->data_len = from + (uint32_t)len;
}

static void put(struct event_record *record, const struct synth_field *field, uint32_t at,
		const struct synth_value *value)
{
	size_t len = value->bytes ? value->len : 0;

	if (field->is_stack)
		put_bytes(record, at, value->bytes, len, false);
	else if (field->is_string) {
		size_t room = field->is_dynamic ? SYNTH_TEXT_MAX : field->size;

		put_bytes(record, at, value->bytes, len < room ? len : room - 1, true);
	} else
		memcpy(record->data + at, &value->number, field->size);
}

static void happen_in(struct trigger_set *set, struct trigger_event *event,
		      const struct synth_value *values, const struct event_record *hit)
{
	const struct synth *synth = event->synth;
	struct event_record *record;

	/* Eight more for each field: what is put behind begins at a multiple of that. */
	record = calloc(1, sizeof(*record) + SYNTH_FIELDS_MAX * (SYNTH_TEXT_MAX + 16));
	if (!record)
		return;
	record->kind = EVENT_HIT;
	record->pid = hit->pid;
	record->tid = hit->tid;
	record->cpu = hit->cpu;
	record->time = hit->time;
	memcpy(record->comm, hit->comm, sizeof(record->comm));
	record->data_len = (uint32_t)event->probe->fixed_size;
	for (size_t i = 0; i < synth->n_fields; i++)
		put(record, &synth->fields[i], event->probe->args[i].at, &values[i]);
	record->size = (uint32_t)(sizeof(*record) + record->data_len + 7) & ~7U;
	trigger_hit(set, event, record);
	free(record);
}

void synth_happen(struct trigger_set *set, struct trigger_event *event,
		  const struct synth_value *values, const struct event_record *hit)
{
	const char *name = event->name;
	struct trigger_set *at = set;

	do {
		struct trigger_event *here = at == set ? event : synth_find(at, name);

		if (here && here->is_on)
			happen_in(at, here, values, hit);
		at = at->ring;
	} while (at != set);
}

static void add_stack(const struct trigger_set *set, const struct trigger_field *field,
		      const struct event_record *record, struct sink_buf *out)
{
	size_t n;
	const uint64_t *entries = field_stack(field, record, &n);

	sink_buf_printf(out, "STACK:\n");
	for (size_t i = 0; i < n && entries[i]; i++) {
		char name[256];

		if (!set->out->symbol ||
		    !set->out->symbol(set->out_ctx, entries[i], true, name, sizeof(name)))
			sink_buf_printf(out, "=> 0x%" PRIx64 "\n", entries[i]);
		else
			sink_buf_printf(out, "=> %s\n", name);
	}
}

void synth_text(const struct trigger_set *set, const struct trigger_event *event,
		const struct event_record *record, struct sink_buf *out)
{
	const struct synth *synth = event->synth;

	sink_buf_printf(out, "%s: ", event->name);
	for (size_t i = 0; i < synth->n_fields; i++) {
		const struct synth_field *field = &synth->fields[i];
		const struct trigger_field *of = &event->fields[i];
		size_t len;

		/* Behind a stack a line begins. */
		sink_buf_printf(out, "%s%s=", i && !synth->fields[i - 1].is_stack ? " " : "",
				field->name);
		if (field->is_stack)
			add_stack(set, of, record, out);
		else if (field->is_string) {
			const char *bytes = field_string(of, record, &len);

			sink_buf_printf(out, "%.*s", (int)len, bytes);
		} else if (strcmp(field->type, "gfp_t") == 0)
			sink_buf_printf(out, "%" PRIx64 " ()", field_number(of, record));
		else if (field->is_signed)
			sink_buf_printf(out, "%" PRId64, (int64_t)field_number(of, record));
		else
			sink_buf_printf(out, "%" PRIu64, field_number(of, record));
	}
}
