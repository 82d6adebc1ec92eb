/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/text.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/sink/colour.h"
#include "engine/sink/float.h"
#include "engine/sink/names.h"
#include "engine/sink/sink.h"
#include "engine/sink/stack.h"
#include "engine/sink/value.h"

/* Everything in front of the args but the event's name, all numbers at their longest. */
#define HEAD_MAX 256

/* "0x", a number, a comma. */
#define NUMBER_MAX (SINK_FLOAT_MAX + 4)

/* Needs room for ESCAPE_BYTE_MAX * len bytes when escaping, else for len. */
static char *put_bytes(char *to, const uint8_t *s, size_t len,
		       const struct sink_text_options *opt)
{
	return opt->escape ? escape_put(to, s, len) : sink_put_text(to, (const char *)s, len);
}

static void add_string(struct sink_buf *buf, const struct sink_str *str,
		       const struct sink_text_options *opt)
{
	char *to;

	if (!str->bytes) {
		sink_buf_add(buf, "(fault)", 7);
		return;
	}
	to = sink_buf_room(buf, ESCAPE_BYTE_MAX * str->len + 2);
	if (!to)
		return;
	*to++ = '"';
	to = put_bytes(to, str->bytes, str->len, opt);
	*to++ = '"';
	sink_buf_end(buf, to);
}

static char *put_number(char *to, const struct event_record *record, const struct spec_arg *arg,
			size_t i, const struct sink_text_options *opt)
{
	uint8_t byte;

	if (sink_is_fault(record, arg, i))
		return sink_put_text(to, "(fault)", 7);
	switch (arg->type.format) {
	case SPEC_SIGNED:
		return sink_put_int(to, sink_signed_value(record, arg, i));
	case SPEC_HEX:
		*to++ = '0';
		*to++ = 'x';
		return sink_put_hex(to, sink_value(record, arg, i));
	case SPEC_CHAR:
		byte = (uint8_t)sink_value(record, arg, i);
		*to++ = '\'';
		to = put_bytes(to, &byte, 1, opt);
		*to++ = '\'';
		return to;
	case SPEC_FLOAT:
		return sink_put_float(to, sink_value(record, arg, i), arg->type.size);
	case SPEC_UNSIGNED:
	case SPEC_STRING:
		break;
	}
	return sink_put_dec(to, sink_value(record, arg, i));
}

static void add_numbers(struct sink_buf *buf, const struct event_record *record,
			const struct spec_arg *arg, const struct sink_text_options *opt)
{
	size_t n = sink_n_values(arg);
	char *to = sink_buf_room(buf, n * NUMBER_MAX);

	if (!to)
		return;
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			*to++ = ',';
		to = put_number(to, record, arg, i, opt);
	}
	sink_buf_end(buf, to);
}

/* Names may hold any byte; they come with the program. */
static void add_escaped(struct sink_buf *buf, const struct sink_buf *text,
			const struct sink_text_options *opt)
{
	char *to = sink_buf_room(buf, ESCAPE_BYTE_MAX * text->len);

	if (to && text->len)
		sink_buf_end(buf, put_bytes(to, (const uint8_t *)text->data, text->len, opt));
}

static void add_named(struct sink_buf *buf, const struct event_record *record,
		      const struct spec_arg *arg, const struct sink_text_options *opt)
{
	struct sink_buf name = { 0 };
	char *to;

	for (size_t i = 0; i < sink_n_values(arg); i++) {
		if (i > 0)
			sink_buf_add(buf, ",", 1);
		name.len = 0;
		if (sink_add_name(&name, record, arg, i)) {
			add_escaped(buf, &name, opt);
			continue;
		}
		to = sink_buf_room(buf, NUMBER_MAX);
		if (to)
			sink_buf_end(buf, put_number(to, record, arg, i, opt));
	}
	sink_buf_free(&name);
}

static void add_strings(struct sink_buf *buf, const struct event_record *record,
			const struct spec_arg *arg, const struct sink_text_options *opt)
{
	for (size_t i = 0; i < sink_n_values(arg); i++) {
		struct sink_str str = sink_string(record, arg, i);

		if (i > 0)
			sink_buf_add(buf, ",", 1);
		add_string(buf, &str, opt);
	}
}

static void add_name(struct sink_buf *buf, const char *name)
{
	size_t len = strlen(name);
	char *to = sink_buf_room(buf, len + 2);

	if (!to)
		return;
	*to++ = ' ';
	to = sink_put_text(to, name, len);
	*to++ = '=';
	sink_buf_end(buf, to);
}

void sink_text_value(struct sink_buf *buf, const struct spec_arg *arg,
		     const struct event_record *record, const struct sink_text_options *opt)
{
	if (arg->type.count)
		sink_buf_add(buf, "{", 1);
	if (arg->type.format == SPEC_STRING)
		add_strings(buf, record, arg, opt);
	else if (arg->names)
		add_named(buf, record, arg, opt);
	else
		add_numbers(buf, record, arg, opt);
	if (arg->type.count)
		sink_buf_add(buf, "}", 1);
}

/* Strings of synthetic events have no quotes, and an array is a stack. */
static void add_made_value(struct sink_buf *buf, const struct spec_arg *arg,
			   const struct event_record *record,
			   const struct sink_text_options *opt)
{
	uint32_t word;
	char *to;

	if (arg->type.format != SPEC_STRING && !arg->type.count) {
		sink_text_value(buf, arg, record, opt);
		return;
	}
	memcpy(&word, record->data + arg->at, sizeof(word));
	if (arg->type.count) {
		sink_buf_add_text(buf, "STACK:\n");
		for (size_t i = 0; i + 8 <= word >> 16; i += 8) {
			uint64_t address;

			memcpy(&address, record->data + (word & 0xffff) + i, sizeof(address));
			sink_buf_printf(buf, "=> 0x%" PRIx64 "\n", address);
		}
		return;
	}
	to = word >> 16 ? sink_buf_room(buf, ESCAPE_BYTE_MAX * (word >> 16)) : NULL;
	if (to)
		sink_buf_end(buf, put_bytes(to, record->data + (word & 0xffff),
					    (word >> 16) - 1, opt));
}

void sink_text_args(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		add_name(buf, probe->args[i].name);
		if (probe->is_made)
			add_made_value(buf, &probe->args[i], record, opt);
		else
			sink_text_value(buf, &probe->args[i], record, opt);
	}
}

/* @end in a field of @width that began at @start: blanks behind. */
static char *pad(const char *start, char *end, size_t width)
{
	while ((size_t)(end - start) < width)
		*end++ = ' ';
	return end;
}

static char *put_colour(char *to, const char *colour, const struct sink_text_options *opt)
{
	return opt->colour ? sink_put_text(to, colour, strlen(colour)) : to;
}

/* " 3927.545993: " */
static char *put_time(char *to, const struct event_record *record,
		      const struct sink_text_options *opt)
{
	uint64_t us = (record->time + 500) / 1000; /* rounded, as the kernel does */
	char digits[SINK_NUMBER_MAX], *end;

	if (opt->stamps)
		return sink_put_text(to, opt->stamps->text, opt->stamps->len);
	end = sink_put_dec(digits, us / 1000000);
	to = pad(to, to, end - digits < 5 ? (size_t)(5 - (end - digits)) : 0);
	to = sink_put_text(to, digits, (size_t)(end - digits));
	*to++ = '.';
	to = sink_put_digits(to, us % 1000000, 6);
	return sink_put_text(to, ": ", 2);
}

/* "            task-4242    [001] .....  3927.545993: " */
static char *put_context(char *to, const struct event_record *record,
			 const struct sink_text_options *opt)
{
	size_t comm_len = strnlen(record->comm, sizeof(record->comm));
	char *start;

	memset(to, ' ', 16 - comm_len);
	to = put_colour(to + 16 - comm_len, SINK_COLOUR_TASK, opt);
	to = put_bytes(to, (const uint8_t *)record->comm, comm_len, opt);
	*to++ = '-';
	start = to;
	to = sink_put_int(to, record->tid);
	if (opt->colour) {
		size_t len = (size_t)(to - start);

		to = put_colour(to, SINK_COLOUR_END, opt);
		to = pad(to, to, len < 7 ? 7 - len : 0);
	} else {
		to = pad(start, to, 7);
	}
	to = sink_put_text(to, " [", 2);
	if (record->cpu < 1000)
		to = sink_put_digits(to, record->cpu, 3);
	else
		to = sink_put_dec(to, record->cpu);
	to = sink_put_text(to, "] ..... ", 8);
	return put_time(to, record, opt);
}

/* "event: (0xIP)" or "event: (0xRETIP <- 0xFUNC)" */
static char *put_place(char *to, const struct spec_probe *probe,
		       const struct event_record *record, const struct sink_text_options *opt)
{
	to = put_colour(
		to, probe->kind == PROBE_RETURN ? SINK_COLOUR_RETURN : SINK_COLOUR_ENTRY, opt);
	to = sink_put_text(to, probe->event, strlen(probe->event));
	to = put_colour(to, SINK_COLOUR_END, opt);
	if (probe->is_made) {
		*to++ = ':';
		return to;
	}
	to = sink_put_text(to, ": (0x", 5);
	to = sink_put_hex(to, record->ip);
	if (probe->kind == PROBE_RETURN) {
		to = sink_put_text(to, " <- 0x", 6);
		to = sink_put_hex(to, record->func);
	}
	*to++ = ')';
	return to;
}

/* In ftrace the stack is an event of its own, so it gets a head of its own. */
static void add_stack(struct sink_buf *buf, const struct event_record *record,
		      const struct sink_text_options *opt)
{
	char *to = sink_buf_room(buf, HEAD_MAX);

	if (!to)
		return;
	to = put_context(to, record, opt);
	sink_buf_end(buf, sink_put_text(to, "<user stack trace>\n", 19));
	sink_text_stack(buf, record, opt);
}

static void add_lost(struct sink_buf *buf, uint64_t n, bool colour)
{
	sink_buf_printf(buf, "%s[LOST %" PRIu64 " EVENTS]%s\n", colour ? SINK_COLOUR_BAD : "",
			n, colour ? SINK_COLOUR_END : "");
}

void sink_text_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_text_options *opt)
{
	char *to;

	if (record->kind == EVENT_LOST) {
		add_lost(buf, record->n_lost, opt->colour);
		return;
	}
	if (record->kind == EVENT_PROCESS)
		return;
	to = sink_buf_room(buf, HEAD_MAX + SPEC_NAME_MAX);
	if (!to)
		return;
	to = put_context(to, record, opt);
	sink_buf_end(buf, put_place(to, probe, record, opt));
	sink_text_args(buf, probe, record, opt);
	sink_buf_add(buf, "\n", 1);
	if (record->n_stack > 0)
		add_stack(buf, record, opt);
}

void sink_text_header(struct sink_buf *buf, uint64_t n_entries, uint64_t n_written,
		      unsigned n_cpus)
{
	static const char legend[] =
		"#                                _-----=> irqs-off/BH-disabled\n"
		"#                               / _----=> need-resched\n"
		"#                              | / _---=> hardirq/softirq\n"
		"#                              || / _--=> preempt-depth\n"
		"#                              ||| / _-=> migrate-disable\n"
		"#                              |||| /     delay\n"
		"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		"#              | |         |   |||||     |         |\n";

	sink_buf_printf(buf,
			"# tracer: nop\n#\n"
			"# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64
			"   #P:%u\n#\n",
			n_entries, n_written, n_cpus);
	sink_buf_add_text(buf, legend);
}

/* --- as a way to print -------------------------------------------------------- */

struct text {
	struct sink sink;
	struct sink_stamps stamps;
};

static const struct sink_stamps *stamp(struct text *text, const struct event_record *record)
{
	const struct picture_about *about = text->sink.opt.about;

	if (text->sink.opt.time == SINK_TIME_KERNEL)
		return NULL;
	text->stamps.kind = text->sink.opt.time;
	text->stamps.to_real = about ? about->real_ns - about->clock_ns : 0;
	sink_stamps_next(&text->stamps, record->time);
	return &text->stamps;
}

static void begin(struct sink *sink, struct sink_buf *to)
{
	if (sink->opt.header)
		sink_text_header(to, 0, 0, sink->opt.n_cpus);
}

static void add_host(struct sink_buf *to, const char *host)
{
	size_t len = strlen(host);
	char *text = sink_buf_room(to, ESCAPE_BYTE_MAX * len + 2);

	if (!text)
		return;
	text = escape_put(text, host, len);
	*text++ = ':';
	*text++ = ' ';
	sink_buf_end(to, text);
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct sink_text_options opt = { .escape = sink->opt.escape,
					 .resolver = sink->opt.resolver,
					 .stamps = stamp((struct text *)sink, record),
					 .colour = sink->opt.colour };

	if (sink->host)
		add_host(to, sink->host);
	sink_text_line(to, probe, record, &opt);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	add_lost(to, n, sink->opt.colour);
}

const struct sink_kind sink_text = {
	.name = "text",
	.has_header = true,
	.is_apart = true,
	.size = sizeof(struct text),
	.begin = begin,
	.event = event,
	.lost = lost,
};
