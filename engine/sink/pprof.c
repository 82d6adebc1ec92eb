/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The way "pprof": a profile as pprof reads it, packed by gzip, at the end. Samples are stacks of records where these have stacks, else
 * the functions that called each other. Each has two values: how many hits, and for calls the nanoseconds that were their own.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/sink/of_calls.h"
#include "engine/sink/value.h"
#include "pprof.pb-c.h"

#define GZIP       (15 + 16) /* deflateInit2(): the largest window, with a head of gzip */
#define N_VALUES   2
#define FRAMES_MAX 16384

/* Things that are told apart by what they are, numbered. All begin alike. */
struct text {
	struct text *next; /* of one hash */
	int64_t number;
	char text[];
};

struct location {
	struct location *next;
	int64_t number, function, line, mapping;
	uint64_t address; /* where no function is known */
};

struct function {
	struct function *next;
	int64_t number, name, file;
};

struct stack {
	struct stack *next;
	int64_t values[N_VALUES];
	size_t n;
	uint64_t locations[];
};

struct table {
	struct map map;
	void **v; /* by number, from 0 */
	size_t n, cap;
};

struct pprof {
	struct sink sink;
	struct calls *calls;
	struct table texts, locations, functions, mappings, stacks;
	uint64_t *stack; /* that is looked for */
	size_t n_stack, cap_stack;
	uint64_t first_ns, last_ns, n_lost;
	uint64_t total_ns;
};

static struct pprof *pprof_of(struct sink *sink)
{
	return (struct pprof *)sink;
}

/* --- tables ------------------------------------------------------------------------------- */

/* Take up @item, whose .next is set. False: memory is short, it is freed. */
static bool add_item(struct table *table, uint64_t hash, void *item)
{
	if (item && VEC_ROOM(table->v, &table->cap, table->n) == 0 &&
	    map_put(&table->map, hash, item) == 0) {
		table->v[table->n++] = item;
		return true;
	}
	free(item);
	return false;
}

static void free_table(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->v[i]);
	free(table->v);
	map_free(&table->map);
}

/* Number of a string: 0 is the empty one. Where memory is short it is that. */
static int64_t text_number(struct pprof *p, const char *text)
{
	uint64_t hash = hash_text(0, text);
	struct text *first = map_get(&p->texts.map, hash), *t = first;
	size_t len = strlen(text) + 1;

	if (!p->texts.n && *text)
		(void)text_number(p, "");
	while (t && strcmp(t->text, text) != 0)
		t = t->next;
	if (t)
		return t->number;
	t = malloc(sizeof(*t) + len);
	if (t) {
		*t = (struct text){ .next = first, .number = (int64_t)p->texts.n };
		memcpy(t->text, text, len);
	}
	if (add_item(&p->texts, hash, t))
		return t->number;
	p->sink.is_short = true;
	return 0;
}

static int64_t function_number(struct pprof *p, int64_t name, int64_t file, struct table *table)
{
	uint64_t hash = hash_number(hash_number(0, (uint64_t)name), (uint64_t)file);
	struct function *first = map_get(&table->map, hash), *f = first;

	while (f && (f->name != name || f->file != file))
		f = f->next;
	if (f)
		return f->number;
	f = malloc(sizeof(*f));
	if (f)
		*f = (struct function){ first, (int64_t)table->n + 1, name, file };
	if (add_item(table, hash, f))
		return f->number;
	p->sink.is_short = true;
	return 0;
}

static uint64_t location_number(struct pprof *p, const struct location *wanted)
{
	uint64_t hash = hash_number(
		hash_number(hash_number(wanted->address, (uint64_t)wanted->function),
			    (uint64_t)wanted->line),
		(uint64_t)wanted->mapping);
	struct location *first = map_get(&p->locations.map, hash), *l = first;

	while (l && (l->function != wanted->function || l->line != wanted->line ||
		     l->mapping != wanted->mapping || l->address != wanted->address))
		l = l->next;
	if (l)
		return (uint64_t)l->number;
	l = malloc(sizeof(*l));
	if (l) {
		*l = *wanted;
		l->next = first;
		l->number = (int64_t)p->locations.n + 1;
	}
	if (add_item(&p->locations, hash, l))
		return (uint64_t)l->number;
	p->sink.is_short = true;
	return 0;
}

/* --- stacks, the innermost first --------------------------------------------------------------- */

static void push(struct pprof *p, const char *function, const char *file, int64_t line,
		 const char *mapped, uint64_t address)
{
	struct location l = { .line = line };

	if (VEC_ROOM(p->stack, &p->cap_stack, p->n_stack) < 0) {
		p->sink.is_short = true;
		return;
	}
	if (mapped)
		l.mapping = function_number(p, text_number(p, mapped), 0, &p->mappings);
	if (function)
		l.function = function_number(p, text_number(p, function),
					     text_number(p, file ? file : ""), &p->functions);
	else
		l.address = address;
	p->stack[p->n_stack++] = location_number(p, &l);
}

static void take_stack(struct pprof *p, const struct event_record *record)
{
	const struct sink_resolver *resolver = p->sink.opt.resolver;
	struct sink_frame frames[SINK_FRAMES_MAX];

	p->n_stack = 0;
	for (size_t i = 0; i < record->n_stack; i++) {
		uint64_t address = sink_stack_entry(record, i);
		size_t n = resolver ? resolver->resolve(resolver->ctx, record, i, frames) : 0;

		for (size_t k = 0; k < n; k++)
			push(p, frames[k].function, frames[k].source,
			     frames[k].source ? (int64_t)frames[k].line : 0, frames[k].file,
			     address);
		if (!n)
			push(p, NULL, NULL, 0, NULL, address);
	}
}

static void take_path(struct pprof *p, uint32_t path)
{
	const struct calls_function *f;

	p->n_stack = 0;
	for (; (f = calls_path_function(p->calls, path)) && p->n_stack < FRAMES_MAX;
	     path = calls_path_parent(p->calls, path))
		push(p, f->name, NULL, 0, f->file, 0);
}

static void count(struct pprof *p, uint64_t hits, uint64_t ns)
{
	size_t bytes;
	uint64_t hash;
	struct stack *first, *s;

	/* Where there are several hosts they are above all. */
	if (p->sink.host)
		push(p, p->sink.host, NULL, 0, NULL, 0);
	bytes = p->n_stack * sizeof(*p->stack);
	hash = hash_number(0, p->n_stack);
	for (size_t i = 0; i < p->n_stack; i++)
		hash = hash_number(hash, p->stack[i]);
	first = s = map_get(&p->stacks.map, hash);
	while (s && (s->n != p->n_stack || memcmp(s->locations, p->stack, bytes) != 0))
		s = s->next;
	if (!s) {
		s = calloc(1, sizeof(*s) + bytes);
		if (s) {
			s->next = first;
			s->n = p->n_stack;
			if (bytes)
				memcpy(s->locations, p->stack, bytes);
		}
		if (!add_item(&p->stacks, hash, s)) {
			p->sink.is_short = true;
			return;
		}
	}
	p->total_ns += ns;
	s->values[0] = (int64_t)((uint64_t)s->values[0] + hits);
	s->values[1] = (int64_t)((uint64_t)s->values[1] + ns);
}

/* --- events ------------------------------------------------------------------------------------- */

static void on_call(void *ctx, const struct call *call)
{
	struct pprof *p = ctx;
	bool has_time = call->end == CALL_RETURNED && call->has_start && !call->is_uncertain;
	uint64_t weight = sink_calls_weight(&p->sink, call);

	if (call->entry && call->entry->n_stack)
		take_stack(p, call->entry);
	else if (call->ret && call->ret->n_stack)
		take_stack(p, call->ret);
	else if (call->path)
		take_path(p, call->path);
	else {
		p->n_stack = 0;
		push(p, call->function->name, NULL, 0, call->function->file, 0);
	}
	count(p, weight, has_time ? weight * call->self_ns : 0);
}

static void event(struct sink *sink, struct sink_buf *to, const struct spec_probe *probe,
		  const struct event_record *record)
{
	struct pprof *p = pprof_of(sink);

	(void)to;
	if (!p->first_ns)
		p->first_ns = record->time;
	p->last_ns = record->time;
	if (sink_calls_add(sink, &p->calls, on_call, probe, record) != CALLS_OTHER)
		return;
	p->n_stack = 0;
	if (record->n_stack)
		take_stack(p, record);
	else
		push(p, probe->event, NULL, 0, probe->path, 0);
	count(p, sink->weight ? sink->weight : 1, 0);
}

static void lost(struct sink *sink, struct sink_buf *to, uint64_t n)
{
	(void)to;
	pprof_of(sink)->n_lost += n;
	sink_calls_lost(pprof_of(sink)->calls, n);
}

/* --- the profile --------------------------------------------------------------------------------- */

/* What a profile points to. */
struct made {
	Pprof__Profile profile;
	Pprof__ValueType types[N_VALUES], *type_list[N_VALUES];
	Pprof__Sample *samples, **sample_list;
	Pprof__Mapping *mappings, **mapping_list;
	Pprof__Location *locations, **location_list;
	Pprof__Line *lines, **line_list;
	Pprof__Function *functions, **function_list;
	char **strings;
	int64_t comment;
};

static bool make_room(struct made *m, const struct pprof *p)
{
	m->samples = calloc(p->stacks.n + 1, sizeof(*m->samples));
	m->sample_list = calloc(p->stacks.n + 1, sizeof(*m->sample_list));
	m->mappings = calloc(p->mappings.n + 1, sizeof(*m->mappings));
	m->mapping_list = calloc(p->mappings.n + 1, sizeof(*m->mapping_list));
	m->locations = calloc(p->locations.n + 1, sizeof(*m->locations));
	m->location_list = calloc(p->locations.n + 1, sizeof(*m->location_list));
	m->lines = calloc(p->locations.n + 1, sizeof(*m->lines));
	m->line_list = calloc(p->locations.n + 1, sizeof(*m->line_list));
	m->functions = calloc(p->functions.n + 1, sizeof(*m->functions));
	m->function_list = calloc(p->functions.n + 1, sizeof(*m->function_list));
	m->strings = calloc(p->texts.n + 1, sizeof(*m->strings));
	return m->samples && m->sample_list && m->mappings && m->mapping_list && m->locations &&
	       m->location_list && m->lines && m->line_list && m->functions &&
	       m->function_list && m->strings;
}

static void free_room(struct made *m)
{
	free(m->samples);
	free(m->sample_list);
	free(m->mappings);
	free(m->mapping_list);
	free(m->locations);
	free(m->location_list);
	free(m->lines);
	free(m->line_list);
	free(m->functions);
	free(m->function_list);
	free(m->strings);
}

static void make_types(struct made *m, struct pprof *p)
{
	static const char *const names[N_VALUES][2] = { { "hits", "count" },
							{ "duration", "nanoseconds" } };

	for (size_t i = 0; i < N_VALUES; i++) {
		pprof__value_type__init(&m->types[i]);
		m->types[i].type = text_number(p, names[i][0]);
		m->types[i].unit = text_number(p, names[i][1]);
		m->type_list[i] = &m->types[i];
	}
	/* Readers show the last one, unless told: times, if there are any. */
	m->profile.default_sample_type = m->types[p->total_ns > 0].type;
	m->profile.n_sample_type = N_VALUES;
	m->profile.sample_type = m->type_list;
}

static void make_samples(struct made *m, const struct pprof *p)
{
	for (size_t i = 0; i < p->stacks.n; i++) {
		struct stack *s = p->stacks.v[i];

		pprof__sample__init(&m->samples[i]);
		m->samples[i].n_location_id = s->n;
		m->samples[i].location_id = s->locations;
		m->samples[i].n_value = N_VALUES;
		m->samples[i].value = s->values;
		m->sample_list[i] = &m->samples[i];
	}
	m->profile.n_sample = p->stacks.n;
	m->profile.sample = m->sample_list;
}

static void make_locations(struct made *m, const struct pprof *p)
{
	for (size_t i = 0; i < p->locations.n; i++) {
		const struct location *l = p->locations.v[i];

		pprof__location__init(&m->locations[i]);
		pprof__line__init(&m->lines[i]);
		m->lines[i].function_id = (uint64_t)l->function;
		m->lines[i].line = l->line;
		m->line_list[i] = &m->lines[i];
		m->locations[i].id = (uint64_t)l->number;
		m->locations[i].mapping_id = (uint64_t)l->mapping;
		m->locations[i].address = l->address;
		m->locations[i].n_line = l->function != 0;
		m->locations[i].line = &m->line_list[i];
		m->location_list[i] = &m->locations[i];
	}
	m->profile.n_location = p->locations.n;
	m->profile.location = m->location_list;
}

static void make_names(struct made *m, const struct pprof *p)
{
	for (size_t i = 0; i < p->functions.n; i++) {
		const struct function *f = p->functions.v[i];

		pprof__function__init(&m->functions[i]);
		m->functions[i].id = (uint64_t)f->number;
		m->functions[i].name = m->functions[i].system_name = f->name;
		m->functions[i].filename = f->file;
		m->function_list[i] = &m->functions[i];
	}
	for (size_t i = 0; i < p->mappings.n; i++) {
		const struct function *f = p->mappings.v[i];

		pprof__mapping__init(&m->mappings[i]);
		m->mappings[i].id = (uint64_t)f->number;
		m->mappings[i].filename = f->name;
		m->mappings[i].has_functions = 1;
		m->mapping_list[i] = &m->mappings[i];
	}
	for (size_t i = 0; i < p->texts.n; i++)
		m->strings[i] = ((struct text *)p->texts.v[i])->text;
	m->profile.n_function = p->functions.n;
	m->profile.function = m->function_list;
	m->profile.n_mapping = p->mappings.n;
	m->profile.mapping = m->mapping_list;
	m->profile.n_string_table = p->texts.n;
	m->profile.string_table = m->strings;
}

/* 0 or -ENOMEM. */
static int add_packed(struct sink_buf *to, uint8_t *bytes, size_t len)
{
	z_stream z = { .next_in = bytes, .avail_in = (uInt)len };
	size_t bound;
	char *room;
	int rc;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, len);
	room = sink_buf_room(to, bound);
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)bound;
	rc = room ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	if (rc == Z_STREAM_END)
		sink_buf_end(to, room + z.total_out);
	(void)deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -ENOMEM;
}

static void tell_lost(struct made *m, struct pprof *p)
{
	char text[64];

	if (!p->n_lost)
		return;
	(void)snprintf(text, sizeof(text), "%llu events were lost",
		       (unsigned long long)p->n_lost);
	m->comment = text_number(p, text);
	m->profile.n_comment = 1;
	m->profile.comment = &m->comment;
}

static void end(struct sink *sink, struct sink_buf *to)
{
	struct pprof *p = pprof_of(sink);
	struct made m = { .profile = PPROF__PROFILE__INIT };
	uint8_t *bytes = NULL;
	size_t size = 0;

	if (p->calls)
		calls_end(p->calls);
	(void)text_number(p, "");
	make_types(&m, p);
	tell_lost(&m, p);
	m.profile.duration_nanos = (int64_t)(p->last_ns - p->first_ns);
	if (make_room(&m, p)) {
		make_samples(&m, p);
		make_locations(&m, p);
		make_names(&m, p);
		size = pprof__profile__get_packed_size(&m.profile);
		bytes = size < UINT32_MAX ? malloc(size + 1) : NULL;
	}
	if (!bytes || add_packed(to, bytes, pprof__profile__pack(&m.profile, bytes)) < 0)
		sink->is_short = true;
	free(bytes);
	free_room(&m);
}

static void free_pprof(struct sink *sink)
{
	struct pprof *p = pprof_of(sink);

	calls_free(p->calls);
	free_table(&p->texts);
	free_table(&p->locations);
	free_table(&p->functions);
	free_table(&p->mappings);
	free_table(&p->stacks);
	free(p->stack);
}

const struct sink_kind sink_pprof = {
	.name = "pprof",
	.is_data = true,
	.is_whole = true,
	.is_binary = true,
	.size = sizeof(struct pprof),
	.event = event,
	.lost = lost,
	.end = end,
	.free = free_pprof,
};
