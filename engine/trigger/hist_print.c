/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The hist file. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/hist_sort.h"
#include "engine/trigger/hist_text.h"
#include "engine/trigger/set.h"
#include "engine/trigger/syscall_name.h"
#include "engine/trigger/trigger.h"

#define BAR     20
#define NO_PART UINT32_MAX

/* Over all entries, of each value. */
struct sums {
	uint64_t total[HIST_VALUES_MAX], max[HIST_VALUES_MAX];
};

void hist_name_address(const struct trigger_set *set, uint64_t address, bool with_offset,
		       char *ret, size_t size)
{
	if (!set->out->symbol ||
	    !set->out->symbol(set->out_ctx, address, with_offset, ret, size))
		snprintf(ret, size, "0x%" PRIx64, address);
}

static void print_stack(const struct trigger_set *set, const uint8_t *key, struct sink_buf *out)
{
	for (size_t i = 0; i < HIST_STACK_ENTRIES; i++) {
		char name[HIST_ADDRESS_MAX];
		uint64_t address;

		memcpy(&address, key + i * sizeof(address), sizeof(address));
		if (!address)
			return;
		hist_name_address(set, address, true, name, sizeof(name));
		sink_buf_printf(out, "         %s\n", name);
	}
}

static void print_syscall(uint64_t value, struct sink_buf *out)
{
	const char *name = syscall_name((uint32_t)value);

	sink_buf_printf(out, "%-30s[%3" PRIu64 "]", name ? name : "unknown_syscall", value);
}

/* A stack that is printed frame by frame; with .hex its first word is a number. */
bool hist_is_frames(const struct hist_field *field)
{
	return field->flags & HIST_STACK &&
	       !(field->flags & (HIST_HEX | HIST_SYM | HIST_SYM_OFFSET | HIST_SYSCALL));
}

/* What the target chose, in @width columns at least. */
static void add_chosen(const struct trigger_set *set, const char *chosen, int width,
		       struct sink_buf *out)
{
	char escaped[ESCAPE_BYTE_MAX * SYNTH_TEXT_MAX + 1];
	size_t len = strnlen(chosen, SYNTH_TEXT_MAX);

	if (set->escapes)
		*escape_put(escaped, chosen, len) = '\0';
	sink_buf_printf(out, "%-*s", width, set->escapes ? escaped : chosen);
}

static void print_one(const struct trigger_set *set, const struct hist_field *field,
		      const uint8_t *bytes, const char *comm, struct sink_buf *out)
{
	char name[HIST_ADDRESS_MAX];
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	if (hist_is_frames(field)) {
		sink_buf_printf(out, "%s:\n",
				field->field ? field->field->name : "common_stacktrace");
		print_stack(set, bytes, out);
		return;
	}
	sink_buf_printf(out, "%s: ", hist_field_name(field));
	if (field->flags & HIST_HEX)
		sink_buf_printf(out, "%" PRIx64, value);
	else if (field->flags & (HIST_SYM | HIST_SYM_OFFSET)) {
		hist_name_address(set, value, field->flags & HIST_SYM_OFFSET, name,
				  sizeof(name));
		sink_buf_printf(out, "[%" PRIx64 "] %-*s", value,
				field->flags & HIST_SYM ? 45 : 55, name);
	} else if (field->flags & HIST_EXECNAME) {
		add_chosen(set, comm, 16, out);
		sink_buf_printf(out, "[%10" PRIu64 "]", value);
	} else if (field->flags & HIST_SYSCALL)
		print_syscall(value, out);
	else if (field->flags & HIST_LOG2)
		sink_buf_printf(out, "~ 2^%-2" PRIu64, value);
	else if (field->flags & HIST_BUCKET)
		sink_buf_printf(out, "~ %" PRIu64 "-%" PRIu64, value,
				value + field->buckets - 1);
	else if (field->flags & HIST_STRING)
		add_chosen(set, (const char *)bytes, 50, out);
	else
		sink_buf_printf(out, "%10" PRIu64, value);
}

static void print_key(const struct hist *hist, const uint8_t *key, const char *comm,
		      struct sink_buf *out)
{
	bool is_long = false;

	sink_buf_printf(out, "{ ");
	for (size_t i = hist->n_values; i < hist->n_fields; i++) {
		const struct hist_field *field = hist->fields[i];

		if (i > hist->n_values)
			sink_buf_printf(out, ", ");
		print_one(hist->set, field, key + field->offset, comm, out);
		is_long |= hist_is_frames(field);
	}
	sink_buf_printf(out, is_long ? "}" : " }");
}

/* In 32 bits. NO_PART: it is too much of a total that is too little. */
static uint64_t part_of(uint64_t value, uint64_t total)
{
	if (total && value < UINT64_MAX / 10000)
		return (uint32_t)(value * 10000 / total);
	total /= 10000;
	if (!total)
		return value ? NO_PART : 0;
	return (uint32_t)(value / total);
}

/* A variable that was written with its event is called so. */
static const char *value_name(const struct hist_field *field, char *spelt, size_t size)
{
	const char *name = hist_field_name(field);

	if (!(field->flags & HIST_REF) || !field->system)
		return name;
	snprintf(spelt, size, "%s.%s.$%s", field->system, field->event_name, name);
	return spelt;
}

static void print_value(const struct hist_field *field, uint64_t value, uint64_t total,
			uint64_t max, struct sink_buf *out)
{
	char spelt[3 * 64 + 4];
	const char *name = value_name(field, spelt, sizeof(spelt));
	uint64_t part = part_of(value, field->flags & HIST_PERCENT ? total : max);
	char bar[BAR + 1];

	if (field->flags & HIST_PERCENT && part == NO_PART)
		sink_buf_printf(out, " %s (%%):[ERROR]", name);
	else if (field->flags & HIST_PERCENT)
		sink_buf_printf(out, " %s (%%): %3" PRIu64 ".%02" PRIu64, name, part / 100,
				part % 100);
	else if (field->flags & HIST_GRAPH && part == NO_PART)
		sink_buf_printf(out, " %s: %20s", name, "[ERROR]");
	else if (field->flags & HIST_GRAPH) {
		size_t len = (uint32_t)(part * BAR) / 10000;

		memset(bar, ' ', BAR);
		memset(bar, '#', len < BAR ? len : BAR);
		bar[BAR] = '\0';
		sink_buf_printf(out, " %s: %20s", name, bar);
	} else if (field->flags & HIST_HEX)
		sink_buf_printf(out, " %s: %10" PRIx64, name, value);
	else
		sink_buf_printf(out, " %s: %10" PRIu64, name, value);
}

static void print_saved(const struct hist *hist, const struct hist_entry *entry,
			struct sink_buf *out)
{
	for (size_t i = 0; i < hist->n_saved; i++) {
		const struct hist_copy *saved = &hist->saved[i];
		const struct hist_var *var = &entry->vars[saved->var->var];

		if (saved->from->flags & HIST_STRING) {
			sink_buf_printf(out, "  %s: ", saved->var->var_name);
			add_chosen(hist->set, var->bytes ? (const char *)var->bytes : "(null)",
				   32, out);
		} else
			sink_buf_printf(out, "  %s: %10" PRIu64, saved->var->var_name,
					var->number);
	}
}

static void print_entry(const struct hist *hist, const struct hist_entry *entry,
			const struct sums *sums, struct sink_buf *out)
{
	print_key(hist, entry->key, entry->comm, out);
	for (size_t i = hist->text->nohitcount; i < hist->n_values; i++) {
		if (hist->fields[i]->flags & (HIST_VAR | HIST_EXPR))
			continue;
		if (i)
			sink_buf_printf(out, " ");
		print_value(hist->fields[i], entry->sums[i], sums->total[i], sums->max[i], out);
	}
	for (size_t i = 0; i < hist->n_doers; i++) {
		const struct hist_doer *doer = hist->doers[i];

		if (doer->handler == HIST_ONMATCH || doer->action == HIST_SNAPSHOT)
			continue;
		sink_buf_printf(out, "\n\t%s: %10" PRIu64,
				doer->handler == HIST_ONMAX ? "max" : "changed",
				entry->vars[doer->best->var].number);
		print_saved(hist, entry, out);
	}
	sink_buf_printf(out, "\n");
}

static void print_snapshot(const struct hist *hist, struct sink_buf *out)
{
	const struct track *track = hist->set->snapshot_by;

	if (!track || track->hist != hist || !track->is_taken)
		return;
	sink_buf_printf(out, "\nSnapshot taken (see tracing/snapshot).  Details:\n");
	sink_buf_printf(out, "\ttriggering value { %s(%s) }: %10" PRIu64,
			track->doer->handler == HIST_ONMAX ? "onmax" : "onchange",
			track->doer->watched, track->value);
	sink_buf_printf(out, "\ttriggered by event with key: ");
	print_key(hist, track->key, track->comm, out);
	sink_buf_printf(out, "\n");
}

void hist_print(struct trigger_set *set, const struct trigger *trigger, struct sink_buf *out)
{
	const struct hist *hist = trigger->hist;
	struct hist_entry **sorted = hist_sorted(hist);
	struct sums sums = { 0 };

	(void)set;
	sink_buf_printf(out, "# event histogram\n#\n# trigger info: ");
	hist_list(trigger, out);
	sink_buf_printf(out, "#\n\n");
	for (size_t i = 0; sorted && i < hist->map.n; i++)
		for (size_t k = 0; k < HIST_VALUES_MAX; k++) {
			sums.total[k] += sorted[i]->sums[k];
			if (sums.max[k] < sorted[i]->sums[k])
				sums.max[k] = sorted[i]->sums[k];
		}
	for (size_t i = 0; sorted && i < hist->map.n; i++)
		print_entry(hist, sorted[i], &sums, out);
	print_snapshot(hist, out);
	sink_buf_printf(out,
			"\nTotals:\n    Hits: %" PRIu64
			"\n    Entries: %zu\n    Dropped: %" PRIu64 "\n",
			hist->map.hits, hist->map.n, hist->map.drops);
	free(sorted);
}

/* All histograms of the event, by @print, with @between of two. */
static void read_hists(struct trigger_set *set, struct trigger_event *event,
		       const struct tally *counted, hist_print_fn *print, const char *between,
		       struct sink_buf *out)
{
	bool first = true;

	for (const struct trigger *t = event->triggers; t; t = t->next) {
		if (t->kind != TRIGGER_HIST)
			continue;
		if (!first)
			sink_buf_add_text(out, between);
		if (counted)
			hist_print_counted(set, t, counted, print, out);
		else
			print(set, t, out);
		first = false;
	}
}

void trigger_read_hist(struct trigger_set *set, struct trigger_event *event,
		       const struct tally *counted, struct sink_buf *out)
{
	read_hists(set, event, counted, hist_print, "\n\n", out);
}

void trigger_read_hist_json(struct trigger_set *set, struct trigger_event *event,
			    const struct tally *counted, struct sink_buf *out)
{
	read_hists(set, event, counted, hist_json, "", out);
}
