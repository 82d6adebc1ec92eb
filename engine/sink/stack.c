/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/stack.h"

#include <string.h>

#include "engine/base/escape.h"
#include "engine/sink/value.h"

static void add_bytes(struct sink_buf *buf, const char *text,
		      const struct sink_text_options *opt)
{
	size_t len = strlen(text);
	char *to = opt->escape ? sink_buf_room(buf, ESCAPE_BYTE_MAX * len) : NULL;

	if (to)
		sink_buf_end(buf, escape_put(to, text, len));
	else
		sink_buf_add(buf, text, len);
}

static void add_hex(struct sink_buf *buf, const char *before, uint64_t value)
{
	size_t len = strlen(before);
	char *to = sink_buf_room(buf, len + SINK_NUMBER_MAX);

	if (to)
		sink_buf_end(buf, sink_put_hex(sink_put_text(to, before, len), value));
}

/* As the kernel has it: 16 digits. */
static void add_raw(struct sink_buf *buf, uint64_t vaddr)
{
	char digits[SINK_NUMBER_MAX];
	size_t len = (size_t)(sink_put_hex(digits, vaddr) - digits);
	char *to = sink_buf_room(buf, 32);

	if (!to)
		return;
	to = sink_put_text(to, " =>  <", 6);
	memset(to, '0', 16 - len);
	to = sink_put_text(to + 16 - len, digits, len);
	sink_buf_end(buf, sink_put_text(to, ">\n", 2));
}

static void add_source(struct sink_buf *buf, const struct sink_frame *frame,
		       const struct sink_text_options *opt)
{
	char *to;

	if (!frame->source)
		return;
	sink_buf_add(buf, " ", 1);
	add_bytes(buf, frame->source, opt);
	to = sink_buf_room(buf, SINK_NUMBER_MAX + 1);
	if (!to)
		return;
	*to++ = ':';
	sink_buf_end(buf, sink_put_dec(to, frame->line));
}

/* " => main+0x1c (/usr/bin/x) x.c:12", " => 0x7f0012345678 (/usr/lib/x.so+0x1234)" */
static void add_frame(struct sink_buf *buf, const struct sink_frame *frame,
		      const struct sink_text_options *opt)
{
	sink_buf_add(buf, " => ", 4);
	if (frame->function) {
		add_bytes(buf, frame->function, opt);
		if (frame->is_inlined)
			sink_buf_add_text(buf, " (inlined)");
		else
			add_hex(buf, "+0x", frame->offset);
	} else {
		add_hex(buf, "0x", frame->vaddr);
	}
	if (frame->file) {
		sink_buf_add(buf, " (", 2);
		add_bytes(buf, frame->file, opt);
		if (!frame->function && frame->file_vaddr)
			add_hex(buf, "+0x", frame->file_vaddr);
		sink_buf_add(buf, ")", 1);
	}
	add_source(buf, frame, opt);
	sink_buf_add(buf, "\n", 1);
}

void sink_text_stack(struct sink_buf *buf, const struct event_record *record,
		     const struct sink_text_options *opt)
{
	const struct sink_resolver *resolver = opt->resolver;
	struct sink_frame frames[SINK_FRAMES_MAX];

	for (size_t i = 0; i < record->n_stack; i++) {
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		for (size_t k = 0; k < n; k++)
			add_frame(buf, &frames[k], opt);
		if (!n)
			add_raw(buf, sink_stack_entry(record, i));
	}
}
