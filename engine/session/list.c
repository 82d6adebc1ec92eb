/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of functions, and how they could be probed. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/object/debug.h"
#include "engine/object/demangle.h"
#include "engine/object/locate.h"
#include "engine/object/window.h"
#include "engine/session/session.h"

struct entry {
	char *name; /* as it is printed */
	struct object_symbol symbol;
};

struct listing {
	struct entry *entries;
	size_t n, room;
};

static int add_entry(void *ctx, const struct object_symbol *symbol)
{
	struct listing *l = ctx;
	char *name;

	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 256;
		struct entry *bigger = reallocarray(l->entries, room, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		l->entries = bigger;
		l->room = room;
	}
	name = demangle(symbol->name);
	if (!name)
		name = strdup(symbol->name);
	if (!name)
		return -ENOMEM;
	l->entries[l->n++] = (struct entry){ name, *symbol };
	return 0;
}

static void free_listing(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->entries[i].name);
	free(l->entries);
}

static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	return (a->symbol.foffset > b->symbol.foffset) -
	       (a->symbol.foffset < b->symbol.foffset);
}

/* --- how it could be probed -------------------------------------------------------- */

/* A session that never starts knows what can be probed. */
struct explaining {
	struct ubp_session *s;
	struct session_file *file;
	char *path;
	char text[UBP_ERR_TEXT_MAX + 16];
};

static int begin_explaining(const struct ubp_target *target, struct explaining *x,
			    struct ubp_err *err)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	uint64_t dev, ino;
	int rc;

	opt.pids = &target->pid;
	opt.n_pids = target->pid != 0;
	opt.debug = target->debug;
	rc = ubp_session_new(&opt, &x->s, err);
	if (rc == 0)
		rc = files_find(x->s, target->name, &dev, &ino, &x->path, err);
	if (rc < 0)
		return rc;
	x->file = files_by_id(x->s, dev, ino);
	if (!x->path)
		x->path = strdup(target->name);
	if (!x->file || !x->path)
		return ubp_fail(err, ENOMEM, "out of memory");
	return define_check_arch(x->file, x->path, err);
}

static const char *explain(struct explaining *x, const struct object_symbol *symbol)
{
	struct spec_probe spec = { .path = x->path, .is_resolved = true };
	struct session_probe *p = calloc(1, sizeof(*p));
	enum place_refusal why;
	struct window window;
	struct ubp_err err;
	int rc = p ? 0 : -ENOMEM;

	ubp_err_reset(&err);
	spec.offset = symbol->foffset;
	if (rc == 0 && symbol->is_ifunc)
		rc = ifunc_choice(x->s, x->file, symbol, &spec.offset, &err);
	if (rc == 0)
		rc = define_check(x->s, &spec, x->file, p, &why, &err);
	define_free_probe(p);
	if (rc < 0) {
		snprintf(x->text, sizeof(x->text), "refused: %s", err.text);
		return x->text;
	}
	if (object_window(x->file->object, spec.offset, &window, &err) == 0)
		return "jump";
	snprintf(x->text, sizeof(x->text), "breakpoint: %s", err.text);
	return x->text;
}

/* --- the list ----------------------------------------------------------------------- */

static int collect(struct object *object, const struct ubp_target *target, struct listing *l,
		   struct ubp_err *err)
{
	struct object_wanted wanted = { .text = target->pattern, .exclude = target->exclude };
	bool is_all = !target->pattern && !target->exclude;
	int rc = object_check_symbols(object, err);

	if (rc == 0)
		rc = object_each_wanted(object, is_all ? NULL : &wanted, add_entry, l, err);
	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (rc == 0 && l->n)
		qsort(l->entries, l->n, sizeof(*l->entries), compare_entries);
	return rc;
}

static int open_target(const struct ubp_target *target, struct object **ret_object,
		       struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	int rc = object_locate(target->name, target->pid, &path, &open_path, err);

	if (rc == 0)
		rc = object_open(open_path, ret_object, err);
	free(path);
	free(open_path);
	if (rc == 0)
		object_set_debug(*ret_object,
				 &(struct object_debug_options){ target->debug.dirs,
								 target->debug.symbols });
	return rc;
}

int ubp_list_functions(const struct ubp_target *target,
		       int (*each)(void *ctx, const char *name, uint64_t offset,
				   const char *how),
		       void *ctx, struct ubp_err *err)
{
	struct explaining x = { .s = NULL };
	struct listing l = { .entries = NULL };
	struct object *object = NULL;
	int rc;

	ubp_err_reset(err);
	rc = target->explain ? begin_explaining(target, &x, err)
			     : open_target(target, &object, err);
	if (rc == 0)
		rc = collect(object ? object : x.file->object, target, &l, err);
	for (size_t i = 0; i < l.n && rc == 0; i++) {
		const struct entry *e = &l.entries[i];

		/* Overloads have other names; copies that a compiler made have not. */
		if (i && strcmp(e->name, e[-1].name) == 0)
			continue;
		rc = each(ctx, e->name, e->symbol.foffset,
			  target->explain ? explain(&x, &e->symbol) : NULL);
	}
	free_listing(&l);
	object_free(object);
	ubp_session_free(x.s);
	free(x.path);
	return rc;
}
