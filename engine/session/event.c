/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What can be asked of an event, whether it was just traced or is in a file. */

#include "engine/session/event.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/float_bits.h"
#include "engine/session/maker.h"
#include "engine/sink/text.h"
#include "engine/sink/value.h"
#include "engine/ubp_event.h"

int ubp_event_probe(const struct ubp_event *e)
{
	if (e->is_made)
		return UBP_EVENT_SYNTHETIC;
	return e->record->kind == EVENT_PROCESS ? UBP_EVENT_PROCESS : e->probe;
}

enum ubp_process_event ubp_event_process(const struct ubp_event *e)
{
	return e->record->kind == EVENT_PROCESS ? (enum ubp_process_event)e->record->probe
						: UBP_PROCESS_NONE;
}

void *ubp_event_cookie(const struct ubp_event *e)
{
	return e->cookie;
}

uint64_t ubp_event_lost(const struct ubp_event *e)
{
	return e->record->n_lost;
}

uint64_t ubp_event_time_ns(const struct ubp_event *e)
{
	return e->record->time;
}

pid_t ubp_event_pid(const struct ubp_event *e)
{
	return e->record->pid;
}

pid_t ubp_event_tid(const struct ubp_event *e)
{
	return e->record->tid;
}

unsigned ubp_event_cpu(const struct ubp_event *e)
{
	return e->record->cpu;
}

const char *ubp_event_comm(const struct ubp_event *e)
{
	return e->record->comm;
}

uint64_t ubp_event_ip(const struct ubp_event *e)
{
	return e->record->ip;
}

const char *ubp_event_name(const struct ubp_event *e)
{
	const struct spec_probe *spec = e->spec;

	return spec ? spec->event : NULL;
}

const char *ubp_event_line(const struct ubp_event *e, size_t *ret_len)
{
	struct sink_text_options opt = { .escape = e->texts->escape,
					 .resolver = e->texts->resolver };
	struct sink_buf *line = &e->texts->line;

	line->len = 0;
	sink_text_line(line, e->spec, e->record, &opt);
	*ret_len = line->len;
	return line->data ? line->data : "";
}

const char *ubp_event_arg_name(const struct ubp_event *e, size_t i)
{
	const struct spec_probe *spec = e->spec;

	return spec && i < spec->n_args ? spec->args[i].name : NULL;
}

const char *ubp_event_arg_text(const struct ubp_event *e, size_t i)
{
	struct sink_text_options opt = { .escape = e->texts->escape };
	const struct spec_probe *spec = e->spec;
	struct sink_buf *arg = &e->texts->arg;

	if (!spec || i >= spec->n_args)
		return NULL;
	arg->len = 0;
	sink_text_value(arg, &spec->args[i], e->record, &opt);
	sink_buf_add(arg, "", 1);
	return arg->data;
}

/* The kind of value that the argument's type is. */
static enum ubp_type type_of(const struct spec_type *type)
{
	switch (type->format) {
	case SPEC_SIGNED:
		return UBP_SIGNED;
	case SPEC_FLOAT:
		return UBP_FLOAT;
	case SPEC_CHAR:
		return UBP_CHAR;
	case SPEC_STRING:
		return UBP_STRING;
	case SPEC_UNSIGNED:
	case SPEC_HEX:
		break;
	}
	return UBP_UNSIGNED;
}

static void give_string(const struct sink_str *str, struct ubp_value *ret_value)
{
	if (!str->bytes) {
		ret_value->type = UBP_FAULT;
		return;
	}
	ret_value->as.s = (const char *)str->bytes;
	ret_value->len = str->len;
}

bool ubp_event_arg(const struct ubp_event *e, size_t i, size_t element,
		   struct ubp_value *ret_value)
{
	const struct spec_arg *arg = e->spec && i < e->spec->n_args ? &e->spec->args[i] : NULL;
	struct sink_str str;

	if (!arg || element >= sink_n_values(arg))
		return false;
	*ret_value = (struct ubp_value){
		.type = type_of(&arg->type),
		.is_hex = arg->type.format == SPEC_HEX,
		.size = arg->type.format == SPEC_STRING ? 0 : arg->type.size,
		.n = arg->type.count,
	};
	if (ret_value->type == UBP_STRING) {
		str = sink_string(e->record, arg, element);
		give_string(&str, ret_value);
	} else if (ret_value->type == UBP_SIGNED) {
		ret_value->as.i = sink_signed_value(e->record, arg, element);
	} else if (ret_value->type == UBP_FLOAT) {
		ret_value->as.f =
			float_of_bits(sink_value(e->record, arg, element), arg->type.size);
	} else {
		ret_value->as.u = sink_value(e->record, arg, element);
	}
	if (ret_value->type != UBP_STRING && !sink_is_read(e->record, arg, element))
		ret_value->type = UBP_FAULT;
	return true;
}

size_t ubp_event_n_args(const struct ubp_event *e)
{
	return e->spec ? e->spec->n_args : 0;
}

size_t ubp_event_stack(const struct ubp_event *e, uint64_t *ret_addr, size_t most)
{
	size_t n = e->record->kind == EVENT_HIT ? e->record->n_stack : 0;

	for (size_t i = 0; i < n && i < most; i++)
		ret_addr[i] = sink_stack_entry(e->record, i);
	return n;
}

size_t ubp_event_frames(const struct ubp_event *e, size_t i, struct ubp_frame *ret_frames,
			size_t most)
{
	const struct sink_resolver *names = e->texts->resolver;
	struct sink_frame frames[SINK_FRAMES_MAX];
	size_t n;

	if (!names || e->record->kind != EVENT_HIT || i >= e->record->n_stack)
		return 0;
	n = names->resolve(names->ctx, e->record, i, frames);
	for (size_t k = 0; k < n && k < most; k++)
		ret_frames[k] = (struct ubp_frame){
			.addr = frames[k].vaddr,
			.function = frames[k].function,
			.offset = frames[k].offset,
			.file = frames[k].file,
			.file_vaddr = frames[k].file_vaddr,
			.source = frames[k].source,
			.line = frames[k].line,
			.is_inlined = frames[k].is_inlined,
		};
	return n;
}

/* A copy, and the record that it is of, and the name of its trace, in one piece. */
struct copied {
	struct ubp_event event;
	_Alignas(struct event_record) unsigned char record[];
};

struct ubp_event *ubp_event_copy(const struct ubp_event *e)
{
	size_t size =
		e->record->size < sizeof(*e->record) ? sizeof(*e->record) : e->record->size;
	/* That may end. */
	size_t trace = e->trace ? strlen(e->trace) + 1 : 0;
	struct copied *copy = malloc(sizeof(*copy) + size + trace);

	if (!copy)
		return NULL;
	copy->event = *e;
	memcpy(copy->record, e->record, size);
	copy->event.record = (const struct event_record *)copy->record;
	copy->event.trace = e->trace ? memcpy(copy->record + size, e->trace, trace) : NULL;
	(void)maker_get(e->made_by);
	return &copy->event;
}

void ubp_event_free(struct ubp_event *copy)
{
	if (copy)
		maker_put(copy->made_by);
	free(copy);
}
