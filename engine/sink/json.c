/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Written by hand although jansson is at hand for reading: jansson refuses
 * strings that are not UTF-8 (traced programs are full of them), has no number
 * for the upper half of u64, and allocates for every value of every line.
 * Writing JSON needs one thing done right, which is put_quoted() below; the
 * tests read every line back with jansson.
 */

#include "engine/sink/json.h"

#include <inttypes.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/sink/float.h"
#include "engine/sink/names.h"
#include "engine/sink/value.h"

/* Longest form of one byte in a string: \u001b, or \\xff. */
#define QUOTED_BYTE_MAX 6

static const char hex[] = "0123456789abcdef";

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* One that is not plain. */
static char *put_quoted_byte(char *to, uint8_t c)
{
	static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (const char *p = short_forms; *p; p += 2) {
		if ((uint8_t)p[0] != c)
			continue;
		*to++ = '\\';
		*to++ = p[1];
		return to;
	}
	to = c < 0x80 ? sink_put_text(to, "\\u00", 4) : sink_put_text(to, "\\\\x", 3);
	*to++ = hex[c >> 4];
	*to++ = hex[c & 15];
	return to;
}

/* What would do something to a terminal or to readers of lines: \u202e. */
static char *put_code(char *to, uint32_t code)
{
	to = sink_put_text(to, "\\u", 2);
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = hex[code >> shift & 15];
	return to;
}

/* Needs room for QUOTED_BYTE_MAX * len + 2 bytes. */
static char *put_quoted(char *to, const void *bytes, size_t len)
{
	const uint8_t *s = bytes;
	uint64_t word;
	uint32_t code;

	*to++ = '"';
	for (size_t i = 0; i < len;) {
		/* At the end some of them for a second time: those are there as they are. */
		size_t n, again = len - i < 8 ? 8 - (len - i) : 0;

		if (len >= 8) {
			memcpy(&word, s + i - again, 8);
			if (escape_is_plain(word) && !escape_has_byte(word, '"')) {
				memcpy(to - again, &word, 8);
				to += 8 - again;
				i += 8 - again;
				continue;
			}
		}
		if (is_plain(s[i])) {
			*to++ = (char)s[i++];
			continue;
		}
		n = utf8_sequence(s + i, len - i, &code);

		if (n > 1) {
			to = utf8_is_unsafe(code) ? put_code(to, code)
						  : sink_put_text(to, (const char *)s + i, n);
			i += n;
		} else {
			to = put_quoted_byte(to, s[i++]);
		}
	}
	*to++ = '"';
	return to;
}

/* The lengths of their keys are known where they are called. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

void sink_json_quoted(struct sink_buf *buf, const void *bytes, size_t len)
{
	char *to = sink_buf_room(buf, QUOTED_BYTE_MAX * len + 2);

	if (to)
		sink_buf_end(buf, put_quoted(to, bytes, len));
}

uint64_t sink_range_last(uint64_t first, uint64_t width, bool is_signed)
{
	uint64_t most = is_signed && first <= INT64_MAX ? INT64_MAX : UINT64_MAX;

	return width - 1 > most - first ? most : first + width - 1;
}

void sink_json_range(struct sink_buf *to, uint64_t first, uint64_t last, bool is_signed)
{
	if (is_signed)
		sink_buf_printf(to, "{\"from\":%" PRId64 ",\"to\":%" PRId64 "}", (int64_t)first,
				(int64_t)last);
	else
		sink_buf_printf(to, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}", first, last);
}

void sink_json_functions(struct sink_buf *to, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	const char *before = "";

	sink_buf_add(to, "[", 1);
	while (len) {
		const char *colon = memrchr(text, ';', len);
		size_t from = colon ? (size_t)(colon + 1 - text) : 0;

		sink_buf_add_text(to, before);
		sink_json_quoted(to, text + from, len - from);
		before = ",";
		len = from ? from - 1 : 0;
	}
	sink_buf_add(to, "]", 1);
}

ALWAYS_INLINE void add_text_member(struct sink_buf *buf, const char *key, const char *value,
				   size_t len)
{
	sink_buf_add_text(buf, key);
	sink_json_quoted(buf, value, len);
}

ALWAYS_INLINE void add_hex(struct sink_buf *buf, const char *key, uint64_t value)
{
	size_t len = strlen(key);
	char *to = sink_buf_room(buf, len + SINK_NUMBER_MAX + 4);

	if (!to)
		return;
	to = sink_put_text(to, key, len);
	to = sink_put_text(to, "\"0x", 3);
	to = sink_put_hex(to, value);
	*to++ = '"';
	sink_buf_end(buf, to);
}

ALWAYS_INLINE void add_number(struct sink_buf *buf, const char *key, int64_t value)
{
	size_t len = strlen(key);
	char *to = sink_buf_room(buf, len + SINK_NUMBER_MAX);

	if (to)
		sink_buf_end(buf, sink_put_int(sink_put_text(to, key, len), value));
}

/* JSON has no infinity and nothing that is no number. */
static void add_float(struct sink_buf *buf, uint64_t bits, size_t size)
{
	bool is_number = sink_is_finite(bits, size);
	char *to = sink_buf_room(buf, SINK_FLOAT_MAX + 2);

	if (!to)
		return;
	if (!is_number)
		*to++ = '"';
	to = sink_put_float(to, bits, size);
	if (!is_number)
		*to++ = '"';
	sink_buf_end(buf, to);
}

static bool add_named(struct sink_buf *buf, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	struct sink_buf name = { 0 };
	bool has_name = sink_add_name(&name, record, arg, i);

	if (has_name)
		sink_json_quoted(buf, name.data, name.len);
	sink_buf_free(&name);
	return has_name;
}

static void add_value(struct sink_buf *buf, const struct event_record *record,
		      const struct spec_arg *arg, size_t i)
{
	struct sink_str str;
	uint8_t byte;
	char *to;

	if (arg->names && add_named(buf, record, arg, i))
		return;
	if (sink_is_fault(record, arg, i)) {
		sink_buf_add(buf, "null", 4);
		return;
	}
	switch (arg->type.format) {
	case SPEC_STRING:
		str = sink_string(record, arg, i);
		if (str.bytes)
			sink_json_quoted(buf, str.bytes, str.len);
		else
			sink_buf_add(buf, "null", 4);
		return;
	case SPEC_CHAR:
		byte = (uint8_t)sink_value(record, arg, i);
		sink_json_quoted(buf, &byte, 1);
		return;
	case SPEC_HEX:
		add_hex(buf, "", sink_value(record, arg, i));
		return;
	case SPEC_SIGNED:
		add_number(buf, "", sink_signed_value(record, arg, i));
		return;
	case SPEC_FLOAT:
		add_float(buf, sink_value(record, arg, i), arg->type.size);
		return;
	case SPEC_UNSIGNED:
		break;
	}
	to = sink_buf_room(buf, SINK_NUMBER_MAX);
	if (to)
		sink_buf_end(buf, sink_put_dec(to, sink_value(record, arg, i)));
}

void sink_json_args(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record)
{
	size_t n = 0;

	sink_buf_add(buf, "{", 1);
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];

		/* A stack. */
		if (probe->is_made && arg->type.count)
			continue;
		if (n++ > 0)
			sink_buf_add(buf, ",", 1);
		sink_json_quoted(buf, arg->name, strlen(arg->name));
		sink_buf_add(buf, arg->type.count ? ":[" : ":", arg->type.count ? 2 : 1);
		for (size_t k = 0; k < sink_n_values(arg); k++) {
			if (k > 0)
				sink_buf_add(buf, ",", 1);
			add_value(buf, record, arg, k);
		}
		if (arg->type.count)
			sink_buf_add(buf, "]", 1);
	}
	sink_buf_add(buf, "}", 1);
}

static void add_head(struct sink_buf *buf, const struct spec_probe *probe,
		     const struct event_record *record)
{
	const char kind = probe->is_made ? 's' : probe_kind_letter(probe->kind);
	char *to = sink_buf_room(buf, 64);

	if (!to)
		return;
	to = sink_put_text(to, "{\"time\":", 8);
	to = sink_put_dec(to, record->time / 1000000000);
	*to++ = '.';
	sink_buf_end(buf, sink_put_digits(to, record->time % 1000000000, 9));
	add_text_member(buf, ",\"task\":", record->comm,
			strnlen(record->comm, sizeof(record->comm)));
	add_number(buf, ",\"pid\":", record->pid);
	add_number(buf, ",\"tid\":", record->tid);
	add_number(buf, ",\"cpu\":", record->cpu);
	add_text_member(buf, ",\"group\":", probe->group, strlen(probe->group));
	add_text_member(buf, ",\"event\":", probe->event, strlen(probe->event));
	add_text_member(buf, ",\"type\":", &kind, 1);
	if (probe->is_made)
		return;
	if (probe->kind == PROBE_RETURN) {
		add_hex(buf, ",\"func\":", record->func);
		add_hex(buf, ",\"ret_ip\":", record->ip);
	} else {
		add_hex(buf, ",\"ip\":", record->ip);
	}
}

static void add_frame(struct sink_buf *buf, const struct sink_frame *frame)
{
	add_hex(buf, "{\"addr\":", frame->vaddr);
	if (frame->function)
		add_text_member(buf, ",\"function\":", frame->function,
				strlen(frame->function));
	if (frame->function && !frame->is_inlined)
		add_number(buf, ",\"offset\":", (int64_t)frame->offset);
	if (frame->file)
		add_text_member(buf, ",\"file\":", frame->file, strlen(frame->file));
	if (frame->file_vaddr)
		add_hex(buf, ",\"file_addr\":", frame->file_vaddr);
	if (frame->source) {
		add_text_member(buf, ",\"source\":", frame->source, strlen(frame->source));
		add_number(buf, ",\"line\":", frame->line);
	}
	sink_buf_add_text(buf, frame->is_inlined ? ",\"inlined\":true}" : "}");
}

static void add_stack(struct sink_buf *buf, const struct event_record *record,
		      const struct sink_resolver *resolver)
{
	struct sink_frame frames[SINK_FRAMES_MAX];

	sink_buf_add_text(buf, ",\"stack\":[");
	for (size_t i = 0; i < record->n_stack; i++) {
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		if (i > 0)
			sink_buf_add(buf, ",", 1);
		for (size_t k = 0; k < n; k++) {
			if (k > 0)
				sink_buf_add(buf, ",", 1);
			add_frame(buf, &frames[k]);
		}
		if (!n)
			add_hex(buf, "", sink_stack_entry(record, i));
	}
	sink_buf_add(buf, "]", 1);
}

static void add_host(struct sink_buf *buf, const char *host)
{
	if (host)
		add_text_member(buf, ",\"host\":", host, strlen(host));
}

static void add_lost(struct sink_buf *buf, uint64_t n, const char *host)
{
	sink_buf_printf(buf, "{\"lost\":%" PRIu64, n);
	add_host(buf, host);
	sink_buf_add(buf, "}\n", 2);
}

static void add_line(struct sink_buf *buf, const struct spec_probe *probe,
		     const struct event_record *record, const struct sink_resolver *resolver,
		     const struct sink *sink)
{
	uint64_t weight = sink ? sink->weight : 0;

	if (record->kind == EVENT_LOST) {
		add_lost(buf, record->n_lost, sink ? sink->host : NULL);
		return;
	}
	add_head(buf, probe, record);
	sink_buf_add_text(buf, ",\"args\":");
	sink_json_args(buf, probe, record);
	if (sink)
		add_host(buf, sink->host);
	if (weight)
		sink_buf_printf(buf, ",\"weight\":%" PRIu64, weight);
	if (record->n_stack)
		add_stack(buf, record, resolver);
	sink_buf_add(buf, "}\n", 2);
}

void sink_json_line(struct sink_buf *buf, const struct spec_probe *probe,
		    const struct event_record *record, const struct sink_resolver *resolver)
{
	add_line(buf, probe, record, resolver, NULL);
}

/* --- as a way to print -------------------------------------------------------- */

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	add_line(to, probe, record, sink->opt.resolver, sink);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	(void)sink;
	add_lost(to, n, NULL);
}

const struct sink_kind sink_json = {
	.name = "json",
	.is_data = true,
	.is_apart = true,
	.size = sizeof(struct sink),
	.event = event,
	.lost = lost,
};
