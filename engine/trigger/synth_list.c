/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Synthetic events as files tell of them: synthetic_events, dynamic_events, format. */

#include <string.h>

#include "engine/sink/buf.h"
#include "engine/trigger/event.h"
#include "engine/trigger/set.h"
#include "engine/trigger/synth.h"
#include "engine/trigger/synth_parse.h"

/* Where the fields of a record begin, and what one takes at least. */
#define FIRST_FIELD 8
#define WORD        8

void synth_read_fields(const struct trigger_event *event, struct sink_buf *out)
{
	const struct synth *synth = event->synth;

	for (size_t i = 0; i < synth->n_fields; i++)
		sink_buf_printf(out, "%s%s %s", i ? "; " : "", synth->fields[i].type,
				synth->fields[i].name);
}

static void list(const struct trigger_set *set, const char *before, struct sink_buf *out)
{
	for (size_t i = 0; i < set->n_events; i++) {
		if (!set->events[i]->synth)
			continue;
		sink_buf_printf(out, "%s%s\t", before, set->events[i]->name);
		synth_read_fields(set->events[i], out);
		sink_buf_printf(out, "\n");
	}
}

void synth_read(const struct trigger_set *set, struct sink_buf *out)
{
	list(set, "", out);
}

void synth_read_dynamic(const struct trigger_set *set, struct sink_buf *out)
{
	list(set, "s:" SYNTH_GROUP "/", out);
}

static void add_field(const struct synth_field *field, unsigned at, struct sink_buf *out)
{
	bool dynamic = field->is_dynamic || field->is_stack;

	if (dynamic)
		sink_buf_printf(out, "\tfield:__data_loc %s %s;", field->type, field->name);
	else if (field->is_string)
		sink_buf_printf(out, "\tfield:char %s[];", field->name);
	else
		sink_buf_printf(out, "\tfield:%s %s;", field->type, field->name);
	sink_buf_printf(out, "\toffset:%u;\tsize:%u;\tsigned:%d;\n", at,
			dynamic ? WORD : field->size,
			field->is_signed || field->is_string || field->is_stack);
}

static const char *print_format(const struct synth_field *field)
{
	if (field->is_string || field->is_stack)
		return "%s";
	if (strcmp(field->type, "gfp_t") == 0)
		return "%x";
	if (strstr(field->type, "long"))
		return field->is_signed ? "%ld" : "%lu";
	if (field->size == 8)
		return field->is_signed ? "%lld" : "%llu";
	return field->is_signed ? "%d" : "%u";
}

void synth_format(const struct trigger_event *event, struct sink_buf *out)
{
	const struct synth *synth = event->synth;
	unsigned at = FIRST_FIELD;

	sink_buf_printf(out, "name: %s\nID: %u\nformat:\n", event->name, event->type);
	sink_buf_printf(
		out,
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	for (size_t i = 0; i < synth->n_fields; i++) {
		const struct synth_field *field = &synth->fields[i];

		add_field(field, at, out);
		/* Strings of a fixed length have room for the longest. */
		at += field->is_string && !field->is_dynamic ? SYNTH_TEXT_MAX : WORD;
	}
	sink_buf_printf(out, "\nprint fmt: \"");
	for (size_t i = 0; i < synth->n_fields; i++)
		sink_buf_printf(out, "%s%s=%s", i ? ", " : "", synth->fields[i].name,
				print_format(&synth->fields[i]));
	sink_buf_printf(out, "\"");
	for (size_t i = 0; i < synth->n_fields; i++) {
		const struct synth_field *field = &synth->fields[i];

		sink_buf_printf(out,
				field->is_stack     ? ", __get_stacktrace(%s)"
				: field->is_dynamic ? ", __get_str(%s)"
						    : ", REC->%s",
				field->name);
	}
	sink_buf_printf(out, "\n");
}
