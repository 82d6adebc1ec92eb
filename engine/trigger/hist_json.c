/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A histogram as JSON: an object for each entry, and one for the totals, a line each (TRIGGERS in uprobe(1)). */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/sink/json.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_sort.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/set.h"
#include "engine/trigger/syscall_name.h"
#include "engine/trigger/trigger.h"

static void add_string(struct sink_buf *out, const char *text, size_t max)
{
	sink_json_quoted(out, text, strnlen(text, max));
}

static void add_member(struct sink_buf *out, const char *name, bool is_first)
{
	sink_buf_add_text(out, is_first ? "" : ",");
	add_string(out, name, PTRDIFF_MAX);
	sink_buf_add(out, ":", 1);
}

static void add_number(struct sink_buf *out, const struct hist_field *field, uint64_t value)
{
	if (field->is_signed)
		sink_buf_printf(out, "%" PRId64, (int64_t)value);
	else
		sink_buf_printf(out, "%" PRIu64, value);
}

/* Of a row: @width values from @first on. */
static void add_range(struct sink_buf *out, const struct hist_field *field, uint64_t first,
		      uint64_t width)
{
	bool is_signed = field->operand[0] && field->operand[0]->is_signed;

	sink_json_range(out, first, sink_range_last(first, width, is_signed), is_signed);
}

static void add_address(const struct trigger_set *set, uint64_t address, struct sink_buf *out)
{
	char name[HIST_ADDRESS_MAX];

	hist_name_address(set, address, true, name, sizeof(name));
	add_string(out, name, sizeof(name));
}

/* The innermost one first, as in events. */
static void add_stack(const struct trigger_set *set, const uint8_t *key, struct sink_buf *out)
{
	sink_buf_add(out, "[", 1);
	for (size_t i = 0; i < HIST_STACK_ENTRIES; i++) {
		uint64_t address;

		memcpy(&address, key + i * sizeof(address), sizeof(address));
		if (!address)
			break;
		sink_buf_add_text(out, i ? "," : "");
		add_address(set, address, out);
	}
	sink_buf_add(out, "]", 1);
}

static void add_part(const struct hist *hist, const struct hist_field *field,
		     const uint8_t *bytes, const char *comm, struct sink_buf *out)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	if (hist_is_frames(field)) {
		add_stack(hist->set, bytes, out);
	} else if (field->flags & (HIST_SYM | HIST_SYM_OFFSET)) {
		add_address(hist->set, value, out);
	} else if (field->flags & HIST_EXECNAME) {
		sink_buf_add_text(out, "{\"comm\":");
		add_string(out, comm, 16);
		sink_buf_printf(out, ",\"pid\":%" PRIu64 "}", value);
	} else if (field->flags & HIST_SYSCALL && syscall_name((uint32_t)value)) {
		add_string(out, syscall_name((uint32_t)value), PTRDIFF_MAX);
	} else if (field->flags & HIST_LOG2) {
		add_range(out, field, value ? (1ULL << ((value - 1) & 63)) + 1 : 0,
			  value ? 1ULL << ((value - 1) & 63) : 2);
	} else if (field->flags & HIST_BUCKET) {
		add_range(out, field, value, field->buckets);
	} else if (field->flags & HIST_STRING) {
		add_string(out, (const char *)bytes, SYNTH_TEXT_MAX);
	} else {
		add_number(out, field, value);
	}
}

static void add_key(const struct hist *hist, const struct hist_entry *entry,
		    struct sink_buf *out)
{
	sink_buf_add_text(out, ",\"key\":{");
	for (size_t i = hist->n_values; i < hist->n_fields; i++) {
		const struct hist_field *field = hist->fields[i];

		add_member(out,
			   hist_is_frames(field) && field->field ? field->field->name
								 : hist_field_name(field),
			   i == hist->n_values);
		add_part(hist, field, entry->key + field->offset, entry->comm, out);
	}
	sink_buf_add(out, "}", 1);
}

/* The first value is how many hits there were, whether that is printed or not. */
static void add_values(const struct hist *hist, const struct hist_entry *entry,
		       struct sink_buf *out)
{
	bool is_first = true;

	sink_buf_printf(out, ",\"hits\":%" PRIu64, entry->sums[0]);
	for (size_t i = 1; i < hist->n_values; i++) {
		if (hist->fields[i]->flags & (HIST_VAR | HIST_EXPR))
			continue;
		sink_buf_add_text(out, is_first ? ",\"sums\":{" : "");
		add_member(out, hist_field_name(hist->fields[i]), is_first);
		add_number(out, hist->fields[i], entry->sums[i]);
		is_first = false;
	}
	sink_buf_add_text(out, is_first ? "" : "}");
}

static void add_saved(const struct hist *hist, const struct hist_entry *entry,
		      struct sink_buf *out)
{
	for (size_t i = 0; i < hist->n_saved; i++) {
		const struct hist_copy *saved = &hist->saved[i];
		const struct hist_var *var = &entry->vars[saved->var->var];

		add_member(out, saved->var->var_name, i == 0);
		if (!(saved->from->flags & HIST_STRING))
			add_number(out, saved->from, var->number);
		else if (var->bytes)
			add_string(out, (const char *)var->bytes, SYNTH_TEXT_MAX);
		else
			sink_buf_add_text(out, "null");
	}
}

/* What onmax() and onchange() keep. */
static void add_tracked(const struct hist *hist, const struct hist_entry *entry,
			struct sink_buf *out)
{
	for (size_t i = 0; i < hist->n_doers; i++) {
		const struct hist_doer *doer = hist->doers[i];

		if (doer->handler == HIST_ONMATCH || doer->action == HIST_SNAPSHOT)
			continue;
		sink_buf_printf(out,
				",\"%s\":", doer->handler == HIST_ONMAX ? "max" : "changed");
		add_number(out, doer->best, entry->vars[doer->best->var].number);
		sink_buf_add_text(out, ",\"saved\":{");
		add_saved(hist, entry, out);
		sink_buf_add(out, "}", 1);
	}
}

static void add_event(const struct hist *hist, struct sink_buf *out)
{
	char name[160];

	(void)snprintf(name, sizeof(name), "%s:%s", hist->event->group, hist->event->name);
	sink_buf_add_text(out, "{\"event\":");
	add_string(out, name, sizeof(name));
}

void hist_json(struct trigger_set *set, const struct trigger *trigger, struct sink_buf *out)
{
	const struct hist *hist = trigger->hist;
	struct hist_entry **sorted = hist_sorted(hist);

	(void)set;
	for (size_t i = 0; sorted && i < hist->map.n; i++) {
		add_event(hist, out);
		add_key(hist, sorted[i], out);
		add_values(hist, sorted[i], out);
		add_tracked(hist, sorted[i], out);
		sink_buf_add(out, "}\n", 2);
	}
	add_event(hist, out);
	sink_buf_printf(out,
			",\"totals\":{\"hits\":%" PRIu64 ",\"entries\":%zu,\"dropped\":%" PRIu64
			"}}\n",
			hist->map.hits, hist->map.n, hist->map.drops);
	free(sorted);
}
