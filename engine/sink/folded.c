/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/folded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/texts.h"
#include "engine/base/vec.h"
#include "engine/sink/value.h"

struct folded {
	struct sink sink;
	struct texts stacks;
	uint64_t *weights; /* of each */
	size_t n_weights, cap_weights;
	struct sink_buf stack; /* the one that is counted next */
};

/* --- a stack as text ---------------------------------------------------------------- */

/* Escaped, and what has a meaning there is something else. */
static void add_name(struct sink_buf *buf, const char *name, size_t len)
{
	char *to = sink_buf_room(buf, ESCAPE_BYTE_MAX * len), *end;

	if (!to)
		return;
	end = escape_put(to, name, len);
	sink_buf_end(buf, end);
	for (; to < end; to++)
		if (*to == ';')
			*to = ':';
}

static void add_folded_frame(struct sink_buf *buf, const struct sink_frame *frame)
{
	const char *file = frame->file ? strrchr(frame->file, '/') : NULL;

	if (frame->function) {
		add_name(buf, frame->function, strlen(frame->function));
		if (frame->is_inlined)
			sink_buf_add(buf, "_[i]", 4);
		return;
	}
	file = file ? file + 1 : frame->file ? frame->file : "unknown";
	if (*file != '[')
		sink_buf_add(buf, "[", 1);
	add_name(buf, file, strlen(file));
	if (*file != '[')
		sink_buf_add(buf, "]", 1);
}

static void add_address(struct sink_buf *buf, uint64_t vaddr)
{
	char *to = sink_buf_room(buf, 2 + SINK_NUMBER_MAX);

	if (to)
		sink_buf_end(buf, sink_put_hex(sink_put_text(to, "0x", 2), vaddr));
}

static void add_separator(struct sink_buf *buf, size_t begin)
{
	if (buf->len > begin)
		sink_buf_add(buf, ";", 1);
}

void sink_folded_frames(struct sink_buf *buf, const struct event_record *record,
			const struct sink_resolver *resolver)
{
	struct sink_frame frames[SINK_FRAMES_MAX];
	size_t begin = buf->len;

	for (size_t i = record->n_stack; i-- > 0;) {
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		for (size_t k = n; k-- > 0;) {
			add_separator(buf, begin);
			add_folded_frame(buf, &frames[k]);
		}
		if (n)
			continue;
		add_separator(buf, begin);
		add_address(buf, sink_stack_entry(record, i));
	}
}

void sink_folded_stack(struct sink_buf *buf, const struct event_record *record,
		       const struct sink_resolver *resolver)
{
	add_name(buf, record->comm, strnlen(record->comm, sizeof(record->comm)));
	if (!record->n_stack)
		return;
	sink_buf_add(buf, ";", 1);
	sink_folded_frames(buf, record, resolver);
}

/* --- counting ----------------------------------------------------------------------- */

static struct folded *folded_of(struct sink *sink)
{
	return (struct folded *)sink;
}

static void count(struct folded *folded, const char *text, size_t len, uint64_t weight)
{
	int64_t number = texts_number(&folded->stacks, text, len);
	int rc = number < 0 ? -1 : 0;

	while (rc == 0 && folded->n_weights <= (size_t)number) {
		rc = VEC_ROOM(folded->weights, &folded->cap_weights, folded->n_weights);
		if (rc == 0)
			folded->weights[folded->n_weights++] = 0;
	}
	if (rc == 0)
		folded->weights[number] += weight;
	else
		folded->sink.is_short = true;
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct folded *folded = folded_of(sink);

	(void)to;
	(void)probe;
	if (!record->n_stack)
		return;
	folded->stack.len = 0;
	if (sink->host) {
		add_name(&folded->stack, sink->host, strlen(sink->host));
		sink_buf_add(&folded->stack, ";", 1);
	}
	sink_folded_stack(&folded->stack, record, sink->opt.resolver);
	if (folded->stack.data)
		count(folded, folded->stack.data, folded->stack.len,
		      sink->weight ? sink->weight : 1);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	(void)to;
	sink->n_untold += n;
}

struct folded_line {
	const char *text;
	uint64_t weight;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->text,
		      ((const struct folded_line *)b)->text);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct folded *folded = folded_of(sink);
	size_t n = folded->n_weights;
	struct folded_line *all = calloc(n + 1, sizeof(*all));

	if (!all) {
		sink->is_short = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = (struct folded_line){ texts_get(&folded->stacks, i),
					       folded->weights[i] };
	qsort(all, n, sizeof(all[0]), by_text);
	for (size_t i = 0; i < n; i++)
		if (all[i].weight)
			sink_buf_printf(to, "%s %" PRIu64 "\n", all[i].text, all[i].weight);
	free(all);
}

static void free_folded(struct sink *sink)
{
	struct folded *folded = folded_of(sink);

	texts_free(&folded->stacks);
	free(folded->weights);
	sink_buf_free(&folded->stack);
}

const struct sink_kind sink_folded = {
	.name = "folded",
	.is_data = true,
	.needs_stack = true,
	.size = sizeof(struct folded),
	.event = event,
	.lost = lost,
	.end = end,
	.free = free_folded,
};
