/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/sink.h"

#include <stdlib.h>
#include <string.h>

static const struct sink_kind *const kinds[] = { &sink_text,  &sink_json,       &sink_folded,
						 &sink_otlp,  &sink_html,       &sink_flame,
						 &sink_heat,  &sink_csv,        &sink_chrome,
						 &sink_stats, &sink_stats_json, &sink_perfetto,
						 &sink_pprof, &sink_ctf,        &sink_tree };

const struct sink_kind *sink_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

struct sink *sink_new(const struct sink_kind *kind, const struct sink_options *opt)
{
	struct sink *sink = calloc(1, kind->size);

	if (!sink)
		return NULL;
	sink->kind = kind;
	sink->opt = *opt;
	return sink;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	if (sink->kind->free)
		sink->kind->free(sink);
	free(sink);
}

void sink_begin(struct sink *sink, struct sink_buf *to)
{
	if (sink->kind->begin)
		sink->kind->begin(sink, to);
}

void sink_record(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		 const struct event_record *record)
{
	if (record->kind == EVENT_LOST)
		sink->kind->lost(sink, to, record->n_lost);
	else
		sink->kind->event(sink, to, probe, record);
}

void sink_lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	sink->kind->lost(sink, to, n);
}

void sink_flush(struct sink *sink, struct sink_buf *to)
{
	if (sink->kind->flush)
		sink->kind->flush(sink, to);
}

void sink_end(struct sink *sink, struct sink_buf *to)
{
	if (sink->kind->end)
		sink->kind->end(sink, to);
}
