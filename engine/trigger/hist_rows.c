/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_rows.h"

#include <inttypes.h>
#include <string.h>

#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/hist_field.h"
#include "engine/trigger/syscall_name.h"
#include "engine/trigger/trigger.h"

/* Texts of the keys of one entry. */
struct texts_of_row {
	struct sink_buf of[HIST_KEYS_MAX];
};

static void add_address(const struct hist *hist, uint64_t address, struct sink_buf *out)
{
	char name[HIST_ADDRESS_MAX];

	hist_name_address(hist->set, address, true, name, sizeof(name));
	sink_buf_add_text(out, name);
}

/* Keys have the innermost function first. */
static void add_stack(const struct hist *hist, const uint8_t *key, struct sink_buf *out)
{
	uint64_t stack[HIST_STACK_ENTRIES];
	size_t n = 0;

	memcpy(stack, key, sizeof(stack));
	while (n < HIST_STACK_ENTRIES && stack[n])
		n++;
	for (; n; n--) {
		add_address(hist, stack[n - 1], out);
		sink_buf_add_text(out, n > 1 ? ";" : "");
	}
}

/* False: the key is a number. */
static bool add_text(const struct hist *hist, const struct hist_field *field,
		     const uint8_t *bytes, const char *comm, struct sink_buf *out)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	if (hist_is_frames(field))
		add_stack(hist, bytes, out);
	else if (field->flags & (HIST_SYM | HIST_SYM_OFFSET))
		add_address(hist, value, out);
	else if (field->flags & HIST_EXECNAME)
		sink_buf_printf(out, "%.16s-%" PRIu64, comm, value);
	else if (field->flags & HIST_SYSCALL && syscall_name((uint32_t)value))
		sink_buf_add_text(out, syscall_name((uint32_t)value));
	else if (field->flags & HIST_STRING)
		sink_buf_add(out, bytes, strnlen((const char *)bytes, SYNTH_TEXT_MAX));
	else
		return false;
	sink_buf_add(out, "", 1);
	return true;
}

static bool is_range(const struct hist_field *field)
{
	return field->flags & (HIST_LOG2 | HIST_BUCKET);
}

static struct hist_part key_of(const struct hist *hist, const struct hist_field *field,
			       const struct hist_entry *entry, struct sink_buf *text)
{
	struct hist_part part = {
		.name = hist_is_frames(field) && field->field ? field->field->name
							      : hist_field_name(field),
		.is_signed = is_range(field) ? field->operand[0] && field->operand[0]->is_signed
					     : field->is_signed,
	};

	text->len = 0;
	if (field->flags & HIST_LOG2)
		part.kind = HIST_PART_LOG2;
	else if (field->flags & HIST_BUCKET)
		part.kind = HIST_PART_BUCKETS;
	else if (add_text(hist, field, entry->key + field->offset, entry->comm, text))
		part.kind = HIST_PART_TEXT;
	else
		part.kind = HIST_PART_NUMBER;
	part.width = field->buckets;
	part.text = part.kind == HIST_PART_TEXT ? text->data : NULL;
	memcpy(&part.number, entry->key + field->offset, sizeof(part.number));
	return part;
}

static void make_row(const struct hist *hist, const struct hist_entry *entry,
		     struct texts_of_row *texts, struct hist_row *row)
{
	*row = (struct hist_row){ .hits = entry->sums[0] };
	for (size_t i = 1; i < hist->n_values; i++) {
		const struct hist_field *field = hist->fields[i];

		if (!(field->flags & (HIST_VAR | HIST_EXPR)))
			row->sums[row->n_sums++] = (struct hist_part){
				.name = hist_field_name(field),
				.number = entry->sums[i],
				.is_signed = field->is_signed,
			};
	}
	for (size_t i = hist->n_values; i < hist->n_fields; i++, row->n_keys++)
		row->keys[row->n_keys] =
			key_of(hist, hist->fields[i], entry, &texts->of[row->n_keys]);
}

static int tell(const struct hist *hist, struct hist_head *head, hist_row_fn *fn, void *ctx)
{
	struct texts_of_row texts = { 0 };
	struct hist_row row;
	int rc = 0;

	head->dropped = hist->map.drops;
	fn(ctx, head, NULL);
	for (size_t i = 0; i < hist->map.n; i++) {
		make_row(hist, hist->map.entries[i], &texts, &row);
		fn(ctx, head, &row);
	}
	for (size_t i = 0; i < HIST_KEYS_MAX; i++) {
		rc = texts.of[i].failed ? texts.of[i].failed : rc;
		sink_buf_free(&texts.of[i]);
	}
	return rc;
}

static int tell_counted(struct hist *hist, const struct tally *counted, struct hist_head *head,
			hist_row_fn *fn, void *ctx)
{
	struct hist_map own;
	int rc = hist_count_in(hist, counted, &own), told;

	told = tell(hist, head, fn, ctx);
	hist_count_out(hist, &own);
	return rc < 0 ? rc : told;
}

int trigger_hist_rows(const struct trigger_event *event, const struct tally *counted,
		      hist_row_fn *fn, void *ctx)
{
	struct hist_head head = { 0 };
	int rc = 0, told;

	for (const struct trigger *t = event->triggers; t; t = t->next)
		head.n += t->kind == TRIGGER_HIST;
	for (const struct trigger *t = event->triggers; t; t = t->next) {
		if (t->kind != TRIGGER_HIST)
			continue;
		head.name = t->name;
		if (t->hist->event == event) {
			told = counted ? tell_counted(t->hist, counted, &head, fn, ctx)
				       : tell(t->hist, &head, fn, ctx);
			rc = told < 0 ? told : rc;
		}
		head.number++;
	}
	return rc;
}
