/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of functions, and how they could be probed. */

#include "engine/define/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/define/explain.h"
#include "engine/define/target.h"
#include "engine/elf/object.h"
#include "engine/files/debug.h"
#include "engine/files/target_files.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

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

	if (VEC_ROOM(l->entries, &l->room, l->n) < 0)
		return -ENOMEM;
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

/* --- the list ----------------------------------------------------------------------- */

static int collect(struct object *object, const struct define_target *target, struct listing *l,
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

/* What the caller wants. */
struct wanted {
	int (*each)(void *ctx, const char *name, uint64_t offset, const char *how);
	void *ctx;
};

/* @file: stands before each name; NULL: nothing does. */
static int list_entry(const struct wanted *w, const char *file, const struct entry *e,
		      const char *how)
{
	char *name;
	int rc;

	if (!file)
		return w->each(w->ctx, e->name, e->symbol.foffset, how);
	if (asprintf(&name, "%s:%s", file, e->name) < 0)
		return -ENOMEM;
	rc = w->each(w->ctx, name, e->symbol.foffset, how);
	free(name);
	return rc;
}

static int list_file(const struct define_target *target, const char *file,
		     const struct wanted *w, struct ubp_err *err)
{
	struct explaining x = { .defs = NULL };
	struct listing l = { .entries = NULL };
	struct object *object = NULL, *listed;
	int rc;

	rc = target->explain ? explaining_begin(target, target->name, &x, err)
			     : target_open(target, NULL, &object, err);
	listed = x.object ? x.object : object;
	if (rc == 0 && listed)
		rc = collect(listed, target, &l, err);
	for (size_t i = 0; i < l.n && rc == 0; i++) {
		const struct entry *e = &l.entries[i];

		/* Overloads have other names; copies that a compiler made have not. */
		if (i && strcmp(e->name, e[-1].name) == 0)
			continue;
		rc = list_entry(w, file, e,
				target->explain
					? explaining_text(&x, e->symbol.foffset, &e->symbol)
					: NULL);
	}
	free_listing(&l);
	object_free(object);
	explaining_end(&x);
	return rc;
}

/* Those without names have nothing to list. */
static int list_files(const struct define_target *target, const struct wanted *w,
		      struct ubp_err *err)
{
	const char *pattern = target->name ? target->name : "*";
	struct target_files files;
	size_t n_listed = 0;
	struct ubp_err first;
	int rc = target_files_find(pattern, target->pid, &files, err);

	if (rc < 0)
		return rc;
	ubp_err_reset(&first);
	for (size_t i = 0; i < files.n && rc >= 0; i++) {
		struct define_target one = *target;
		struct ubp_err failed;

		one.name = files.paths[i];
		ubp_err_reset(&failed);
		rc = list_file(&one, files.paths[i], w, &failed);
		n_listed += rc == 0;
		if (rc < 0 && failed.code) {
			first = first.code ? first : failed;
			rc = 0;
		}
		if (rc > 0)
			break;
	}
	target_files_free(&files);
	if (rc == 0 && !n_listed) {
		*err = first;
		return -err->code;
	}
	return rc;
}

int define_list_functions(const struct define_target *target,
			  int (*each)(void *ctx, const char *name, uint64_t offset,
				      const char *how),
			  void *ctx, struct ubp_err *err)
{
	const struct wanted w = { each, ctx };

	ubp_err_reset(err);
	if (!target->name && !target->pid)
		return ubp_fail(err, EINVAL, "neither a target nor a process is given");
	if (!target->name || target_is_pattern(target->name))
		return list_files(target, &w, err);
	return list_file(target, NULL, &w, err);
}
