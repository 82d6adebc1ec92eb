/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Statistics of calls, for programs: one object. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sink/json.h"
#include "engine/sink/stats.h"

static void add_text(struct sink_buf *to, const char *key, const char *text)
{
	sink_buf_printf(to, "\"%s\":", key);
	sink_json_quoted(to, text, strlen(text));
}

void stats_json_function(struct sink_buf *to, const struct stats_function *f)
{
	sink_buf_printf(to,
			"\"calls\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"self_ns\":%" PRIu64
			",\"min_ns\":%" PRIu64 ",\"median_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
			",\"max_ns\":%" PRIu64 ",\"unreturned\":%" PRIu64,
			f->n, f->total, f->self, f->n ? f->min : 0, stats_quantile(f, 0.5),
			stats_quantile(f, 0.99), f->max, f->unreturned);
}

static void add_functions(struct stats *s, struct sink_buf *to)
{
	size_t n;
	const struct stats_function **all = stats_by_total(s, &n);

	if (!all)
		s->sink.is_short = true;
	sink_buf_add_text(to, "{\"functions\":[");
	for (size_t i = 0; i < n; i++) {
		const struct calls_function *f = all[i]->function;

		sink_buf_add_text(to, i ? ",\n{" : "\n{");
		add_text(to, "name", f->name);
		sink_buf_add(to, ",", 1);
		add_text(to, "file", f->file);
		sink_buf_printf(to, ",\"offset\":\"0x%" PRIx64 "\",", f->offset);
		stats_json_function(to, all[i]);
		sink_buf_add(to, "}", 1);
	}
	sink_buf_add(to, "]", 1);
	free(all);
}

static void add_tree(const struct stats *s, struct sink_buf *to)
{
	uint32_t n = s->calls ? calls_n_paths(s->calls) : 0;

	sink_buf_add_text(to, ",\n\"tree\":[");
	for (uint32_t path = 1; path <= n; path++) {
		static const struct stats_path none;
		const struct stats_path *its = path < s->n_paths ? &s->paths[path] : &none;

		sink_buf_printf(to, "%s\n{\"path\":%" PRIu32 ",\"parent\":%" PRIu32 ",",
				path > 1 ? "," : "", path, calls_path_parent(s->calls, path));
		add_text(to, "name", calls_path_function(s->calls, path)->name);
		sink_buf_printf(to,
				",\"calls\":%" PRIu64 ",\"total_ns\":%" PRIu64
				",\"self_ns\":%" PRIu64 "}",
				its->n, its->total, its->self);
	}
	sink_buf_add(to, "]", 1);
}

static void add_events(struct stats *s, struct sink_buf *to)
{
	size_t n;
	const struct stats_event **all = stats_events(s, &n);

	if (!all)
		s->sink.is_short = true;
	sink_buf_add_text(to, ",\n\"events\":[");
	for (size_t i = 0; i < n; i++) {
		sink_buf_add_text(to, i ? ",\n{" : "\n{");
		add_text(to, "name", all[i]->name);
		sink_buf_printf(to, ",\"hits\":%" PRIu64 "}", all[i]->n);
	}
	sink_buf_add(to, "]", 1);
	free(all);
}

void stats_json(struct stats *s, struct sink_buf *to)
{
	struct calls_counts counts = stats_counts(s);

	add_functions(s, to);
	add_tree(s, to);
	add_events(s, to);
	sink_buf_printf(to,
			",\n\"quantile_error\":%.6f,\"lost\":%" PRIu64 ",\"uncertain\":%" PRIu64
			",\"no_entry\":%" PRIu64 ",\"left\":%" PRIu64 ",\"open\":%" PRIu64
			",\"given_up\":%" PRIu64 "}\n",
			QUANTILES_ERROR, s->lost, counts.uncertain, counts.no_entry,
			counts.left, counts.open, counts.given_up);
}
