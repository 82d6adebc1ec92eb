/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/folded.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/map.h"
#include "engine/sink/value.h"

struct folded_stack {
	struct folded_stack *next; /* of the same hash */
	uint64_t n;
	size_t len;
	char text[];
};

struct folded {
	struct sink sink;
	struct map by_hash; /* -> struct folded_stack */
	size_t n;
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

	sink_buf_add(buf, ";", 1);
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
	char *to = sink_buf_room(buf, 3 + SINK_NUMBER_MAX);

	if (to)
		sink_buf_end(buf, sink_put_hex(sink_put_text(to, ";0x", 3), vaddr));
}

void sink_folded_stack(struct sink_buf *buf, const struct event_record *record,
		       const struct sink_resolver *resolver)
{
	struct sink_frame frames[SINK_FRAMES_MAX];

	add_name(buf, record->comm, strnlen(record->comm, sizeof(record->comm)));
	for (size_t i = record->n_stack; i-- > 0;) {
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		for (size_t k = n; k-- > 0;)
			add_folded_frame(buf, &frames[k]);
		if (!n)
			add_address(buf, sink_stack_entry(record, i));
	}
}

/* --- counting ----------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return hash;
}

static struct folded *folded_of(struct sink *sink)
{
	return (struct folded *)sink;
}

static void count(struct folded *folded, const char *text, size_t len, uint64_t weight)
{
	uint64_t hash = hash_of(text, len);
	struct folded_stack *first = map_get(&folded->by_hash, hash), *s = first;

	while (s && (s->len != len || memcmp(s->text, text, len) != 0))
		s = s->next;
	if (s) {
		s->n += weight;
		return;
	}
	s = malloc(sizeof(*s) + len + 1);
	if (!s || map_put(&folded->by_hash, hash, s) < 0) {
		free(s);
		folded->sink.is_short = true;
		return;
	}
	*s = (struct folded_stack){ .next = first, .n = weight, .len = len };
	memcpy(s->text, text, len);
	s->text[len] = '\0';
	folded->n++;
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

static int by_text(const void *a, const void *b)
{
	return strcmp((*(const struct folded_stack *const *)a)->text,
		      (*(const struct folded_stack *const *)b)->text);
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct folded *folded = folded_of(sink);
	const struct folded_stack **all = calloc(folded->n + 1, sizeof(struct folded_stack *));
	size_t n = 0, pos = 0;
	void *value;

	if (!all) {
		sink->is_short = true;
		return;
	}
	while (map_next(&folded->by_hash, &pos, NULL, &value))
		for (const struct folded_stack *s = value; s; s = s->next)
			all[n++] = s;
	qsort(all, n, sizeof(all[0]), by_text);
	for (size_t i = 0; i < n; i++)
		sink_buf_printf(to, "%s %" PRIu64 "\n", all[i]->text, all[i]->n);
	free(all);
}

static void free_folded(struct sink *sink)
{
	struct folded *folded = folded_of(sink);
	size_t pos = 0;
	void *value;

	while (map_next(&folded->by_hash, &pos, NULL, &value))
		for (struct folded_stack *s = value, *next; s; s = next) {
			next = s->next;
			free(s);
		}
	map_free(&folded->by_hash);
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
