/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "csv": a line for each event, as RFC 4180 has it, behind one header. Columns for args are those of all probes that are
 * known when the first event comes; what a probe that was added later has beside these stands in the column "more".
 */

#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/sink/folded.h"
#include "engine/sink/names.h"
#include "engine/sink/sink.h"
#include "engine/sink/text.h"
#include "engine/sink/value.h"

static const char columns[] =
	"time,task,pid,tid,cpu,group,event,type,ip,func,ret_ip,lost,weight,host,stack,more";

struct csv_probe {
	bool has_more;                 /* args without a column */
	const struct spec_arg *args[]; /* of each column; NULL: it has none */
};

struct csv {
	struct sink sink;
	bool has_header;
	char **names; /* of args: their columns, in this order */
	size_t n, cap;
	struct map by_probe; /* -> struct csv_probe */
	struct sink_buf cell, cell2;
};

static struct csv *csv_of(struct sink *sink)
{
	return (struct csv *)sink;
}

/* --- cells ---------------------------------------------------------------------------- */

static void add_cell(struct sink_buf *to, const char *text, size_t len)
{
	bool is_plain = true;

	for (size_t i = 0; i < len && is_plain; i++)
		is_plain =
			text[i] != '"' && text[i] != ',' && text[i] != '\r' && text[i] != '\n';
	if (is_plain && len && text[0] != ' ' && text[len - 1] != ' ') {
		sink_buf_add(to, text, len);
		return;
	}
	if (!len)
		return;
	sink_buf_add(to, "\"", 1);
	for (const char *quote; (quote = memchr(text, '"', len));) {
		size_t n = (size_t)(quote - text) + 1;

		sink_buf_add(to, text, n);
		sink_buf_add(to, "\"", 1);
		text += n;
		len -= n;
	}
	sink_buf_add(to, text, len);
	sink_buf_add(to, "\"", 1);
}

/* What a target or somebody else has chosen: it goes to no terminal as it is. */
static void add_foreign(const struct csv *csv, struct sink_buf *to, const void *bytes,
			size_t len)
{
	char *room;

	if (!csv->sink.opt.escape) {
		sink_buf_add(to, bytes, len);
		return;
	}
	room = sink_buf_room(to, ESCAPE_BYTE_MAX * len + 1);
	if (room)
		sink_buf_end(to, escape_put(room, bytes, len));
}

static void add_foreign_cell(struct csv *csv, struct sink_buf *to, const char *text, size_t len)
{
	csv->cell.len = 0;
	add_foreign(csv, &csv->cell, text, len);
	add_cell(to, csv->cell.data ? csv->cell.data : "", csv->cell.len);
}

/* Strings alone have no quotes of their own; what could not be read is empty. */
static void add_value(struct csv *csv, struct sink_buf *to, const struct spec_arg *arg,
		      const struct event_record *record)
{
	struct sink_text_options opt = { .escape = csv->sink.opt.escape };

	if (arg->type.format == SPEC_STRING && !arg->type.count) {
		struct sink_str str = sink_string(record, arg, 0);

		/* An empty string is told from one that is not there. */
		if (str.bytes && !str.len)
			sink_buf_add(to, "\"\"", 2);
		else if (str.bytes)
			add_foreign_cell(csv, to, (const char *)str.bytes, str.len);
		return;
	}
	csv->cell.len = 0;
	if (!arg->type.count && sink_is_fault(record, arg, 0))
		return;
	if (arg->type.format == SPEC_CHAR && !arg->type.count && !arg->names) {
		uint8_t byte = (uint8_t)sink_value(record, arg, 0);

		add_foreign(csv, &csv->cell, &byte, 1);
	} else {
		sink_text_value(&csv->cell, arg, record, &opt);
	}
	add_cell(to, csv->cell.data ? csv->cell.data : "", csv->cell.len);
}

/* --- columns ----------------------------------------------------------------------------- */

static size_t find_column(const struct csv *csv, const char *name)
{
	size_t i = 0;

	while (i < csv->n && strcmp(csv->names[i], name) != 0)
		i++;
	return i;
}

static void know_probe(struct csv *csv, const struct spec_probe *probe)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		const char *name = probe->args[i].name;

		if (find_column(csv, name) < csv->n)
			continue;
		if (VEC_ROOM(csv->names, &csv->cap, csv->n) < 0 ||
		    !(csv->names[csv->n] = strdup(name))) {
			csv->sink.is_short = true;
			return;
		}
		csv->n++;
	}
}

static void add_header(struct csv *csv, struct sink_buf *to, const struct spec_probe *first)
{
	const struct sink_probes *probes = csv->sink.opt.probes;
	const struct spec_probe *probe;
	unsigned at = 0;

	csv->has_header = true;
	while (probes && (probe = probes->next(probes->ctx, &at)))
		know_probe(csv, probe);
	if (first)
		know_probe(csv, first);
	sink_buf_add_text(to, columns);
	for (size_t i = 0; i < csv->n; i++)
		sink_buf_printf(to, ",args.%s", csv->names[i]);
	sink_buf_add_text(to, "\r\n");
}

/* --- lines ---------------------------------------------------------------------------------- */

static char *put_address(char *to, uint64_t address)
{
	return sink_put_hex(sink_put_text(to, "0x", 2), address);
}

/* ip, func, ret_ip: an entry has the first, a return the others. */
static char *put_place(char *to, const struct spec_probe *probe,
		       const struct event_record *record)
{
	bool is_return = !probe->is_made && probe->kind == PROBE_RETURN;

	if (!probe->is_made && !is_return)
		to = put_address(to, record->ip);
	*to++ = ',';
	if (is_return)
		to = put_address(to, record->func);
	*to++ = ',';
	return is_return ? put_address(to, record->ip) : to;
}

static void add_head(struct csv *csv, struct sink_buf *to, const struct spec_probe *probe,
		     const struct event_record *record)
{
	char *room = sink_buf_room(to, 2 * SINK_NUMBER_MAX);

	if (!room)
		return;
	room = sink_put_dec(room, record->time / 1000000000);
	*room++ = '.';
	room = sink_put_digits(room, record->time % 1000000000, 9);
	*room++ = ',';
	sink_buf_end(to, room);
	add_foreign_cell(csv, to, record->comm, strnlen(record->comm, sizeof(record->comm)));
	room = sink_buf_room(to, 6 * (SINK_NUMBER_MAX + 3) + 2 * SPEC_NAME_MAX + 16);
	if (!room)
		return;
	*room++ = ',';
	room = sink_put_int(room, record->pid);
	*room++ = ',';
	room = sink_put_int(room, record->tid);
	*room++ = ',';
	room = sink_put_dec(room, record->cpu);
	*room++ = ',';
	room = sink_put_text(room, probe->group, strlen(probe->group));
	*room++ = ',';
	room = sink_put_text(room, probe->event, strlen(probe->event));
	*room++ = ',';
	*room++ = probe->is_made ? 's' : probe_kind_letter(probe->kind);
	*room++ = ',';
	room = put_place(room, probe, record);
	sink_buf_end(to, sink_put_text(room, ",,", 2));
}

/* The outermost first, without the name of the task. */
static void add_stack(struct csv *csv, struct sink_buf *to, const struct event_record *record)
{
	const char *stack;

	if (!record->n_stack)
		return;
	csv->cell.len = 0;
	sink_folded_stack(&csv->cell, record, csv->sink.opt.resolver);
	stack = csv->cell.data ? memchr(csv->cell.data, ';', csv->cell.len) : NULL;
	if (stack)
		add_cell(to, stack + 1, csv->cell.len - (size_t)(stack + 1 - csv->cell.data));
}

/* Args that have no column: "a=1 b=2". */
static void add_more(struct csv *csv, struct sink_buf *to, const struct spec_probe *probe,
		     const struct event_record *record)
{
	struct sink_text_options opt = { .escape = csv->sink.opt.escape };
	struct sink_buf *more = &csv->cell2;

	more->len = 0;
	for (size_t i = 0; i < probe->n_args; i++)
		if (find_column(csv, probe->args[i].name) == csv->n) {
			sink_buf_printf(more, "%s%s=", more->len ? " " : "",
					probe->args[i].name);
			sink_text_value(more, &probe->args[i], record, &opt);
		}
	add_cell(to, more->data ? more->data : "", more->len);
}

/* A probe's args by their columns. NULL: memory is short. */
static const struct csv_probe *columns_of(struct csv *csv, const struct spec_probe *probe)
{
	struct csv_probe *p = map_get(&csv->by_probe, (uintptr_t)probe);

	if (p)
		return p;
	p = calloc(1, sizeof(*p) + csv->n * sizeof(p->args[0]));
	if (!p || map_put(&csv->by_probe, (uintptr_t)probe, p) < 0) {
		free(p);
		return NULL;
	}
	for (size_t i = 0; i < probe->n_args; i++) {
		size_t column = find_column(csv, probe->args[i].name);

		if (column < csv->n)
			p->args[column] = &probe->args[i];
		else
			p->has_more = true;
	}
	return p;
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct csv *csv = csv_of(sink);
	const struct csv_probe *p;

	if (!csv->has_header)
		add_header(csv, to, probe);
	p = columns_of(csv, probe);
	if (!p) {
		sink->is_short = true;
		sink->n_untold++;
		return;
	}
	add_head(csv, to, probe, record);
	if (sink->weight)
		sink_buf_printf(to, "%llu", (unsigned long long)sink->weight);
	sink_buf_add(to, ",", 1);
	if (sink->host)
		add_foreign_cell(csv, to, sink->host, strlen(sink->host));
	sink_buf_add(to, ",", 1);
	add_stack(csv, to, record);
	sink_buf_add(to, ",", 1);
	if (p->has_more)
		add_more(csv, to, probe, record);
	for (size_t i = 0; i < csv->n; i++) {
		sink_buf_add(to, ",", 1);
		if (p->args[i])
			add_value(csv, to, p->args[i], record);
	}
	sink_buf_add_text(to, "\r\n");
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	struct csv *csv = csv_of(sink);

	if (!csv->has_header)
		add_header(csv, to, NULL);
	sink_buf_printf(to, ",,,,,,,,,,,%llu,,,,", (unsigned long long)n);
	for (size_t i = 0; i < csv->n; i++)
		sink_buf_add(to, ",", 1);
	sink_buf_add_text(to, "\r\n");
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct csv *csv = csv_of(sink);

	if (!csv->has_header)
		add_header(csv, to, NULL);
}

static void free_csv(struct sink *sink)
{
	struct csv *csv = csv_of(sink);
	size_t pos = 0;
	void *value;

	for (size_t i = 0; i < csv->n; i++)
		free(csv->names[i]);
	free(csv->names);
	while (map_next(&csv->by_probe, &pos, NULL, &value))
		free(value);
	map_free(&csv->by_probe);
	sink_buf_free(&csv->cell);
	sink_buf_free(&csv->cell2);
}

const struct sink_kind sink_csv = {
	.name = "csv",
	.is_data = true,
	.is_whole = true,
	.size = sizeof(struct csv),
	.event = event,
	.lost = lost,
	.end = end,
	.free = free_csv,
};
