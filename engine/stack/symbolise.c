/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/stack/symbolise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/aside.h"
#include "engine/base/err.h"
#include "engine/dwarf/dwarf.h"
#include "engine/elf/segments.h"
#include "engine/event/clock.h"
#include "engine/files/build_id.h"
#include "engine/files/file_root.h"
#include "engine/files/mapped_code.h"
#include "engine/os/maps.h"
#include "engine/sink/value.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/named_file.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"

/* Addresses whose names are kept; then all are forgotten. */
#define KEPT_MAX 100000

/* How soon the mappings of a process are looked at again, for an address that is in none; the longer the
 * more often that was for nothing. */
#define LOOK_NS     100000000ULL
#define LOOK_MAX_NS 10000000000ULL

/* An address with its names. Strings that are not owned are its file's, or a set's. */
struct named {
	struct named *next; /* of the same key */
	const struct maps *maps;
	uint64_t vaddr;
	bool is_exact;
	bool is_signal; /* code that returns from a signal handler */
	char *owned;    /* .function of the outermost */
	size_t n;
	struct sink_frame frames[];
};

/* Where an entry is looked up. */
struct where {
	pid_t pid;
	const struct maps *maps; /* NULL: not known */
	uint64_t vaddr;
	bool is_exact; /* not behind a call */
};

/* An address that is looked up in a file by a thread of its own, which may never come back. */
struct naming {
	struct naming *next;
	struct named_file *file, *mark;
	struct mapping mapping; /* .path is only noted */
	struct where where;
	bool lines;
	struct named *named; /* what came of it */
	struct aside *aside; /* the thread */
};

/* What is known of a process beyond its mappings. */
struct process_names {
	struct perf_map *perf_map;
	uint64_t looked_ns, wait_ns;
	uint32_t maps; /* as it was looked at then */
};

struct symboliser {
	struct symboliser_options opt;
	struct named_files files;
	struct map named; /* by key_of() */
	size_t n_named;
	struct map processes; /* pid -> struct process_names */
	struct aside *aside;  /* the thread that names are looked up by; NULL: none yet */
	struct naming *left;  /* that did not come back; their files are theirs */
	bool is_over;         /* no file is read any more */
};

int symboliser_new(const struct symboliser_options *options, struct symboliser **ret_symboliser,
		   struct ubp_err *err)
{
	struct symboliser *s = calloc(1, sizeof(*s));

	if (!s)
		return ubp_fail(err, ENOMEM, "out of memory");
	s->opt = *options;
	s->files = (struct named_files){
		.debug = options->debug,
		.known = options->known,
		.ctx = options->ctx,
	};
	*ret_symboliser = s;
	return 0;
}

static void free_named(struct named *named)
{
	if (!named)
		return;
	free(named->owned);
	free(named);
}

static void forget_all(struct symboliser *s)
{
	size_t pos = 0;
	void *value;

	while (map_next(&s->named, &pos, NULL, &value))
		for (struct named *named = value, *next; named; named = next) {
			next = named->next;
			free_named(named);
		}
	map_free(&s->named);
	s->n_named = 0;
}

void symboliser_forget(struct symboliser *s)
{
	size_t pos = 0;
	void *value;

	forget_all(s);
	while (map_next(&s->processes, &pos, NULL, &value)) {
		perf_map_free(((struct process_names *)value)->perf_map);
		free(value);
	}
	map_free(&s->processes);
}

/* With the file: it was left. */
static void free_naming(void *ctx)
{
	struct naming *n = ctx;

	named_file_free(n->file);
	free_named(n->named);
	free(n);
}

void symboliser_free(struct symboliser *s)
{
	if (!s)
		return;
	symboliser_forget(s);
	aside_free(s->aside);
	while (s->left) {
		struct naming *n = s->left;

		s->left = n->next;
		if (!aside_leave(n->aside, free_naming, n))
			free_naming(n);
	}
	named_files_free(&s->files);
	free(s);
}

/* --- processes ------------------------------------------------------------------------ */

static struct process_names *process_of(struct symboliser *s, pid_t pid)
{
	struct process_names *p = map_get(&s->processes, (uint64_t)pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (p && map_put(&s->processes, (uint64_t)pid, p) < 0) {
		free(p);
		p = NULL;
	}
	return p;
}

static const struct mapping *first_code(const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].exec && maps->v[i].ino)
			return &maps->v[i];
	return NULL;
}

/* Of the same image, not another one that it executed since? */
static bool is_same_program(const struct maps *a, const struct maps *b)
{
	const struct mapping *x = first_code(a), *y = first_code(b);

	return x && y && x->start == y->start && x->dev == y->dev && x->ino == y->ino;
}

/* Its mappings as they are now, unless that was asked a moment ago. NULL: not to be had. */
static const struct maps *look_at(struct symboliser *s, pid_t pid)
{
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);
	struct process_names *p = process_of(s, pid);
	struct ubp_err ignored;
	struct maps maps;
	pid_t whose;

	if (!p)
		return NULL;
	if (!p->looked_ns || now - p->looked_ns > p->wait_ns) {
		p->looked_ns = now;
		p->wait_ns =
			p->wait_ns < LOOK_MAX_NS / 2 ? 2 * p->wait_ns + LOOK_NS : LOOK_MAX_NS;
		p->maps = 0;
		if (maps_read(pid, &maps, &ignored) == 0) {
			maps.is_our_root = file_root_is_ours(pid);
			p->maps = stack_maps_set_add(s->opt.maps, pid, &maps);
		} else {
			maps_free(&maps);
		}
	}
	return stack_maps_set_get(s->opt.maps, p->maps, &whose);
}

/* What a call came back to, or will, is looked up where the call is. */
static uint64_t looked_up(const struct where *where)
{
	return where->is_exact ? where->vaddr : where->vaddr - 1;
}

/* Mapped since: by code that the program loaded or made, and nobody told us. */
static const struct mapping *mapping_of(struct symboliser *s, struct where *where)
{
	const struct mapping *m = where->maps ? maps_at(where->maps, looked_up(where)) : NULL;
	const struct maps *now;

	if (m)
		return m;
	now = look_at(s, where->pid);
	if (!now || (where->maps && !is_same_program(where->maps, now)))
		return NULL;
	m = maps_at(now, looked_up(where));
	if (!m)
		return NULL;
	process_of(s, where->pid)->wait_ns = LOOK_NS;
	where->maps = now;
	return m;
}

/* --- one address ----------------------------------------------------------------------- */

static struct named *alloc_named(const struct where *where, size_t n)
{
	struct named *named = calloc(1, sizeof(*named) + n * sizeof(named->frames[0]));

	if (!named)
		return NULL;
	named->maps = where->maps;
	named->vaddr = where->vaddr;
	named->is_exact = where->is_exact;
	named->n = n;
	for (size_t i = 0; i < n; i++)
		named->frames[i].vaddr = where->vaddr;
	return named;
}

/* Functions that were inlined there, innermost first, and lines; the outermost is in .frames already. */
static void add_lines(const struct dwarf_frame *lines, struct named *named)
{
	for (size_t i = 0; i < named->n; i++) {
		struct sink_frame *frame = &named->frames[i];

		frame->source = lines[i].file;
		frame->line = lines[i].line;
		if (i + 1 == named->n)
			break;
		frame->is_inlined = true;
		frame->function = lines[i].function;
		frame->file = named->frames[named->n - 1].file;
		frame->file_vaddr = named->frames[named->n - 1].file_vaddr;
	}
}

static void name_function(const struct object_symbol *symbol, const char *otherwise,
			  struct named *named)
{
	struct sink_frame *frame = &named->frames[named->n - 1];

	if (symbol->name)
		named->owned = demangle_short(symbol->name);
	frame->function = named->owned ? named->owned : symbol->name ? symbol->name : otherwise;
	if (frame->function)
		frame->offset = frame->file_vaddr - symbol->elf_vaddr;
}

/*
 * In a file that is open. Code that returns from a signal handler was not called: its address
 * is that of its first instruction. NULL: memory is short, or that is no place of the file.
 */
static struct named *name_in_file(struct named_file *file, const struct mapping *m,
				  const struct where *where, bool with_lines)
{
	uint64_t lookup = looked_up(where), elf_vaddr, at;
	struct dwarf_frame lines[SINK_FRAMES_MAX];
	struct object_symbol symbol;
	struct dwarf *dwarf = with_lines ? named_file_dwarf(file) : NULL;
	struct named *named;
	bool is_signal;
	size_t n = 0;

	if (object_foffset_to_vaddr(file->object, lookup - m->start + m->foffset, &at) < 0)
		return NULL;
	elf_vaddr = at + (where->vaddr - lookup);
	is_signal = named_file_is_signal_frame(file, elf_vaddr);
	if (is_signal)
		at = elf_vaddr;
	if (dwarf)
		n = dwarf_frames_at(dwarf, at, lines, SINK_FRAMES_MAX);
	named = alloc_named(where, n ? n : 1);
	if (!named)
		return NULL;
	named->is_signal = is_signal;
	named->frames[named->n - 1].file = m->path;
	named->frames[named->n - 1].file_vaddr = elf_vaddr;
	if (object_function_around(file->object, at, &symbol))
		name_function(&symbol, n ? lines[n - 1].function : NULL, named);
	if (n)
		add_lines(lines, named);
	return named;
}

/* --- by a thread of its own ------------------------------------------------------------ */

static void run_naming(void *ctx)
{
	struct naming *n = ctx;

	n->named = name_in_file(n->file, &n->mapping, &n->where, n->lines);
}

static struct naming *new_naming(const struct symboliser *s, struct named_file *file,
				 const struct mapping *m, const struct where *where)
{
	struct naming *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->file = file;
	n->mark = calloc(1, sizeof(*n->mark));
	n->mapping = *m;
	n->where = *where;
	n->lines = s->opt.lines;
	if (n->mark)
		return n;
	free(n);
	return NULL;
}

static void warn_left(const struct symboliser *s, int end, const struct aside_late *late,
		      const char *path)
{
	struct ubp_err why;

	if (end == ASIDE_LATE)
		(void)dwarf_fail_late(late->path, late->limit_ns, &why);
	else
		(void)ubp_fail(&why, EINTR,
			       "ended while names in %s were read: addresses follow", path);
	if (s->opt.warn.warn)
		s->opt.warn.warn(s->opt.warn.ctx, why.text);
}

/* NULL: as for name_in_file(); or it takes too long, and the file is left to the thread. */
static struct named *name_aside(struct symboliser *s, struct named_file *file,
				const struct mapping *m, const struct where *where)
{
	struct naming *n = new_naming(s, file, m, where);
	struct aside_late late;
	struct named *named;
	int end;

	if (!n)
		return NULL;
	end = aside_do(&s->aside, run_naming, n, s->opt.until, &late);
	/* Where there is no thread there is no name. */
	if (end < 0 || end == ASIDE_DONE) {
		named = n->named;
		free(n->mark);
		free(n);
		return named;
	}
	s->is_over |= end == ASIDE_OVER;
	named_files_leave(&s->files, file, n->mark);
	n->aside = s->aside;
	s->aside = NULL;
	n->next = s->left;
	s->left = n;
	warn_left(s, end, &late, m->path);
	return NULL;
}

/* --- those that are kept ---------------------------------------------------------------- */

static uint64_t key_of(const struct where *where)
{
	return (where->vaddr << 1 | where->is_exact) ^
	       (uint64_t)(uintptr_t)where->maps * 0x9e3779b97f4a7c15ULL;
}

static struct named *find_named(const struct symboliser *s, const struct where *where)
{
	struct named *named = map_get(&s->named, key_of(where));

	while (named && (named->vaddr != where->vaddr || named->maps != where->maps ||
			 named->is_exact != where->is_exact))
		named = named->next;
	return named;
}

static void keep(struct symboliser *s, const struct where *where, struct named *named)
{
	named->next = map_get(&s->named, key_of(where));
	if (map_put(&s->named, key_of(where), named) < 0) {
		free_named(named);
		return;
	}
	s->n_named++;
}

/* NULL: its file is out of reach, or it is in none. *ret_m: where it is, if that is known. */
static const struct named *name_of(struct symboliser *s, struct where *where,
				   const struct mapping **ret_m)
{
	struct named *named = where->maps ? find_named(s, where) : NULL;
	struct named_file *file;

	*ret_m = NULL;
	if (named)
		return named;
	*ret_m = mapping_of(s, where);
	file = *ret_m && !s->is_over ? named_file_of(&s->files, where->pid, where->maps, *ret_m)
				     : NULL;
	if (!file)
		return NULL;
	named = find_named(s, where); /* its mappings may be others now */
	if (named)
		return named;
	named = file == s->files.vdso ? name_in_file(file, *ret_m, where, false)
				      : name_aside(s, file, *ret_m, where);
	if (!named)
		return NULL;
	keep(s, where, named);
	return find_named(s, where);
}

/* --- a stack -------------------------------------------------------------------------- */

/* Code that no file has: what made it may have written down what it is. */
static void name_otherwise(struct symboliser *s, const struct where *where,
			   const struct mapping *m, struct sink_frame *frame)
{
	struct process_names *p = process_of(s, where->pid);
	uint64_t start = 0;

	*frame = (struct sink_frame){ .vaddr = where->vaddr };
	if (m && m->path[0] == '/') {
		frame->file = m->path;
		frame->file_vaddr = where->vaddr - m->start + m->foffset;
	} else if (m) {
		frame->file = m->path[0] ? m->path : "//anon";
	}
	if (p && !p->perf_map)
		p->perf_map = perf_map_new(where->pid, where->maps && where->maps->is_our_root,
					   &s->opt.warn);
	if (p && p->perf_map)
		frame->function = perf_map_at(p->perf_map, looked_up(where), &start);
	if (frame->function)
		frame->offset = where->vaddr - start;
}

/* Then the next entry is where the signal came to: no call. */
static bool returns_from_signal(struct symboliser *s, const struct event_record *record,
				size_t i, const struct maps *maps)
{
	struct where where = { .pid = record->pid,
			       .maps = maps,
			       .vaddr = sink_stack_entry(record, i),
			       .is_exact = i == 0 };
	const struct mapping *m;
	const struct named *named = name_of(s, &where, &m);

	return named && named->is_signal;
}

size_t symboliser_resolve(void *ctx, const struct event_record *record, size_t i,
			  struct sink_frame frames[SINK_FRAMES_MAX])
{
	struct symboliser *s = ctx;
	struct where where = { .pid = record->pid,
			       .vaddr = sink_stack_entry(record, i),
			       .is_exact = i == 0 };
	const struct named *named;
	const struct mapping *m;
	pid_t pid = 0;

	if (s->n_named > KEPT_MAX)
		forget_all(s);
	where.maps = stack_maps_set_get(s->opt.maps, record->maps, &pid);
	if (i > 0 && s->opt.is_cfi)
		where.is_exact = returns_from_signal(s, record, i - 1, where.maps);
	named = name_of(s, &where, &m);
	if (!named) {
		name_otherwise(s, &where, m, frames);
		return 1;
	}
	memcpy(frames, named->frames, named->n * sizeof(frames[0]));
	return named->n;
}

void symboliser_identify(struct symboliser *s, pid_t pid, const struct maps *maps,
			 const struct mapping *m, struct mapped_code *code)
{
	struct named_file *file = s->is_over ? NULL : named_file_of(&s->files, pid, maps, m);

	if (!file || object_foffset_to_vaddr(file->object, m->foffset, &code->elf_vaddr) < 0)
		return;
	code->is_known = true;
	object_build_id(file->object, code->build_id);
}
