/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/field.h"

#include <string.h>

#include "engine/base/filter_program.h"
#include "engine/event/record.h"
#include "engine/spec/spec.h"
#include "engine/trigger/pool.h"

/* What follows the event's own fields, in the order in which names are looked for. */
static const struct trigger_field common_fields[] = {
	{ "CPU", "", FIELD_CPU, FIELD_FIXED, 0, false, 0 },
	{ "cpu", "", FIELD_CPU, FIELD_FIXED, 0, false, 0 },
	{ "COMM", "", FIELD_COMM, FIELD_FIXED, 0, false, 0 },
	{ "comm", "", FIELD_COMM, FIELD_FIXED, 0, false, 0 },
	{ "stacktrace", "", FIELD_TRACE, FIELD_FIXED, 0, false, 0 },
	{ "STACKTRACE", "", FIELD_TRACE, FIELD_FIXED, 0, false, 0 },
	{ "common_flags", "unsigned char", FIELD_NUMBER, FIELD_FIXED, 1, false, 255 },
	{ "common_preempt_count", "unsigned char", FIELD_NUMBER, FIELD_FIXED, 1, false, 255 },
	{ "common_pid", "int", FIELD_NUMBER, FIELD_TID, 4, true, 0 },
	{ "common_type", "unsigned short", FIELD_NUMBER, FIELD_FIXED, 2, false, 0 },
};

#define N_COMMON (sizeof(common_fields) / sizeof(common_fields[0]))

/* A number's type of a uprobe event; x8 and char are u8 there. */
static const char *number_type(const struct spec_type *type)
{
	static const char *const names[2][4] = { { "u8", "u16", "u32", "u64" },
						 { "s8", "s16", "s32", "s64" } };
	unsigned log = type->size == 1 ? 0 : type->size == 2 ? 1 : type->size == 4 ? 2 : 3;

	if (type->format == SPEC_FLOAT)
		return type->size == 4 ? "f32" : "f64";
	return names[type->format == SPEC_SIGNED][log];
}

static void field_of_arg(struct pool *pool, const struct spec_arg *arg,
			 struct trigger_field *ret)
{
	const struct spec_type *type = &arg->type;

	ret->name = pool_text(pool, arg->name, strlen(arg->name));
	ret->source = FIELD_IN_DATA;
	ret->at = arg->at;
	ret->size = type->size;
	if (type->count) {
		ret->form = FIELD_ARRAY;
		ret->size *= type->count;
		ret->type = pool_format(pool, "%s[%u]", number_type(type), type->count);
	} else if (type->format == SPEC_STRING) {
		ret->form = FIELD_TEXT;
		ret->type = "__data_loc char[]";
	} else {
		ret->form = FIELD_NUMBER;
		ret->is_signed = type->format == SPEC_SIGNED;
		ret->type = number_type(type);
	}
}

static void add_address(struct trigger_field *field, const char *name, enum field_source source)
{
	*field = (struct trigger_field){ .name = name,
					 .type = "unsigned long",
					 .form = FIELD_NUMBER,
					 .source = source,
					 .size = 8 };
}

struct trigger_field *field_all(struct pool *pool, const struct spec_probe *probe,
				unsigned type, bool probed, size_t *ret_n)
{
	struct trigger_field *fields =
		pool_get(pool, (probe->n_args + N_COMMON + 2) * sizeof(*fields));
	size_t n = 0;

	if (!fields)
		return NULL;
	for (; n < probe->n_args; n++) {
		field_of_arg(pool, &probe->args[n], &fields[n]);
		if (!fields[n].name || !fields[n].type)
			return NULL;
	}
	if (probed && probe->kind == PROBE_RETURN) {
		add_address(&fields[n++], "__probe_func", FIELD_FUNC);
		add_address(&fields[n++], "__probe_ret_ip", FIELD_IP);
	} else if (probed)
		add_address(&fields[n++], "__probe_ip", FIELD_IP);
	memcpy(fields + n, common_fields, sizeof(common_fields));
	n += N_COMMON;
	fields[n - 1].at = type;
	*ret_n = n;
	return fields;
}

/* Records may come from memory that a target writes: nothing in them is believed. */
static bool lies_in(const struct event_record *record, size_t at, size_t size)
{
	return at <= record->data_len && size <= record->data_len - at;
}

/* What the word at the field's place says: where it is, and how many bytes. False: that is not in the data. */
static bool find_bytes(const struct trigger_field *field, const struct event_record *record,
		       size_t *ret_at, size_t *ret_size)
{
	uint32_t word;

	if (!lies_in(record, field->at, sizeof(word)))
		return false;
	memcpy(&word, record->data + field->at, sizeof(word));
	*ret_at = word & 0xffff;
	*ret_size = word >> 16;
	return lies_in(record, *ret_at, *ret_size);
}

uint64_t field_number(const struct trigger_field *field, const struct event_record *record)
{
	uint64_t value = 0;

	switch (field->source) {
	case FIELD_IN_DATA:
		if (field->size <= sizeof(value) && lies_in(record, field->at, field->size))
			memcpy(&value, record->data + field->at, field->size);
		break;
	case FIELD_IP:
		value = record->ip;
		break;
	case FIELD_FUNC:
		value = record->func;
		break;
	case FIELD_TID:
		value = (uint64_t)record->tid;
		break;
	case FIELD_FIXED:
		value = field->at;
		break;
	}
	return filter_extend(value, field->size, field->is_signed);
}

const char *field_string(const struct trigger_field *field, const struct event_record *record,
			 size_t *ret_len)
{
	size_t at, size;

	*ret_len = 0;
	if (!find_bytes(field, record, &at, &size) || !size)
		return "";
	*ret_len = strnlen((const char *)record->data + at, size - 1);
	return (const char *)record->data + at;
}

const uint64_t *field_stack(const struct trigger_field *field,
			    const struct event_record *record, size_t *ret_n)
{
	size_t at, size;

	*ret_n = 0;
	if (!field) {
		*ret_n = record->n_stack;
		return (const uint64_t *)(record->data + ((record->data_len + 7) & ~7U));
	}
	if (!find_bytes(field, record, &at, &size))
		return NULL;
	*ret_n = size / sizeof(uint64_t);
	return (const uint64_t *)(record->data + at);
}
