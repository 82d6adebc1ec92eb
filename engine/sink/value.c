/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/value.h"

#include <string.h>

#include "engine/base/page.h"
#include "engine/spec/probe.h"

size_t sink_n_values(const struct spec_arg *arg)
{
	return arg->type.count ? arg->type.count : 1;
}

uint64_t sink_value(const struct event_record *record, const struct spec_arg *arg, size_t i)
{
	size_t size = arg->type.size, at = arg->at + i * size;
	uint64_t value = 0;

	if (size > sizeof(value) || at + size > record->data_len)
		return 0;
	/* Written out, so that the copy is one instruction. */
	switch (size) {
	case 8:
		memcpy(&value, record->data + at, 8);
		break;
	case 4:
		memcpy(&value, record->data + at, 4);
		break;
	default:
		memcpy(&value, record->data + at, size);
		break;
	}
	return value;
}

int64_t sink_signed_value(const struct event_record *record, const struct spec_arg *arg,
			  size_t i)
{
	unsigned shift = 64 - 8u * arg->type.size;

	return (int64_t)(sink_value(record, arg, i) << shift) >> shift;
}

bool sink_is_read(const struct event_record *record, const struct spec_arg *arg, size_t i)
{
	const uint8_t *read = record->data + arg->read_at;
	size_t size = arg->type.size, at;
	uint16_t low;

	if (!arg->read_at || arg->read_at + spec_arg_read_size(arg) > record->data_len)
		return true;
	if (!arg->type.count || read[0] == read[1])
		return read[0];
	/* It lies on two pages, of which one is there. */
	memcpy(&low, read + 2, sizeof(low));
	at = (low + (uint32_t)arg->deref[arg->n_derefs - 1]) % PAGE + i * size;
	return read[0] ? at + size <= PAGE : at >= PAGE;
}

bool sink_is_fault(const struct event_record *record, const struct spec_arg *arg, size_t i)
{
	return arg->at_entry && !sink_is_read(record, arg, i);
}

struct sink_str sink_string(const struct event_record *record, const struct spec_arg *arg,
			    size_t i)
{
	uint32_t word = (uint32_t)sink_value(record, arg, i);
	uint32_t offset = word & 0xffff;

	if (word >> 16 == 0 || offset >= record->data_len)
		return (struct sink_str){ 0 };
	return (struct sink_str){
		.bytes = record->data + offset,
		.len = strnlen((const char *)record->data + offset, record->data_len - offset),
	};
}

uint64_t sink_stack_entry(const struct event_record *record, size_t i)
{
	uint64_t entry;

	memcpy(&entry, record->data + (record->data_len + 7) / 8 * 8 + 8 * i, sizeof(entry));
	return entry;
}
