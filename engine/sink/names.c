/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/names.h"

#include <inttypes.h>

#include "engine/sink/value.h"

/* Numbers are compared as they are in the type. */
static uint64_t cut(uint64_t value, size_t size)
{
	return size < 8 ? value & ((UINT64_C(1) << (8 * size)) - 1) : value;
}

static bool add_exact(struct sink_buf *buf, const struct value_names *names, uint64_t value,
		      size_t size)
{
	for (size_t i = 0; i < names->n; i++) {
		if (cut((uint64_t)names->v[i].value, size) != value)
			continue;
		sink_buf_add_text(buf, names->v[i].name);
		return true;
	}
	return false;
}

/* The names of its bits, and what is left of it. */
static void add_flags(struct sink_buf *buf, const struct value_names *names, uint64_t value,
		      size_t size)
{
	const char *joint = "(";

	for (size_t i = 0; i < names->n; i++) {
		uint64_t flag = cut((uint64_t)names->v[i].value, size);

		if (!(value & flag))
			continue;
		sink_buf_add_text(buf, joint);
		sink_buf_add_text(buf, names->v[i].name);
		value &= ~flag;
		joint = " | ";
	}
	if (value)
		sink_buf_printf(buf, "%sunknown: 0x%" PRIx64, joint, value);
	sink_buf_add_text(buf, ")");
}

bool sink_add_name(struct sink_buf *buf, const struct event_record *record,
		   const struct spec_arg *arg, size_t i)
{
	const struct value_names *names = arg->names;
	size_t size = arg->type.size;
	uint64_t value;

	if (!names || arg->type.format == SPEC_STRING || arg->type.format == SPEC_FLOAT)
		return false;
	value = sink_value(record, arg, i);
	if (add_exact(buf, names, value, size))
		return true;
	if (!names->is_flags || !value)
		return false;
	add_flags(buf, names, value, size);
	return true;
}
