/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/calls/functions.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/spec/spec.h"

#define PROBE_BITS 64

static const char *path_of(const struct spec_probe *probe)
{
	return probe->path ? probe->path : "";
}

/* Of the function, in its file. */
static uint64_t entry_of(const struct spec_probe *probe)
{
	return probe->offset - probe->past_entry;
}

static void free_function(struct function *f)
{
	if (f) {
		free(f->name);
		free(f->file);
	}
	free(f);
}

static bool set_name(struct function *f, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return false;
	free(f->name);
	f->name = copy;
	f->public.name = copy;
	return true;
}

static struct function *add_function(struct functions *functions, uint64_t hash,
				     const struct spec_probe *probe)
{
	struct function *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->file = strdup(path_of(probe));
	f->next = map_get(&functions->by_place, hash);
	f->public.number = (uint32_t)functions->n;
	f->public.offset = entry_of(probe);
	f->public.file = f->file;
	if (!f->file || !set_name(f, probe->event) ||
	    VEC_ROOM(functions->v, &functions->cap, functions->n) < 0 ||
	    map_put(&functions->by_place, hash, f) < 0) {
		free_function(f);
		return NULL;
	}
	functions->v[functions->n++] = f;
	return f;
}

static struct function *find_function(struct functions *functions,
				      const struct spec_probe *probe)
{
	uint64_t hash = hash_text(hash_number(0, entry_of(probe)), path_of(probe));
	struct function *f = map_get(&functions->by_place, hash);

	for (; f; f = f->next)
		if (f->public.offset == entry_of(probe) && strcmp(f->file, path_of(probe)) == 0)
			return f;
	return add_function(functions, hash, probe);
}

/* By its text: that is what a recording has. */
static const struct spec_arg *find_arg(const struct spec_probe *probe, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < probe->n_args; i++) {
		const struct spec_arg *arg = &probe->args[i];

		if (strncmp(arg->text, text, len) == 0 &&
		    (arg->text[len] == '\0' || arg->text[len] == ':') && arg->type.size == 8 &&
		    !arg->type.count && !arg->type.bit_width)
			return arg;
	}
	return NULL;
}

static bool is_lone(const struct function *f)
{
	return f->has_duration && !f->n_entries;
}

static bool fill(struct functions *functions, struct function_probe *p,
		 const struct spec_probe *probe)
{
	struct function *f = find_function(functions, probe);
	bool was_lone = f && is_lone(f);
	unsigned *n;

	if (!f)
		return false;
	*p = (struct function_probe){
		.function = f,
		.is_return = probe->kind == PROBE_RETURN,
		.serial = probe->serial,
		.offset = probe->offset,
	};
	if (p->is_return) {
		p->duration = find_arg(probe, "$duration");
	} else {
		p->sp = find_arg(probe, "%sp");
		if (!p->sp)
			p->sp = find_arg(probe, "$stack");
		if (!f->n_entries && !set_name(f, probe->event))
			return false;
	}
	n = p->is_return ? &f->n_returns : &f->n_entries;
	p->i = *n < PROBE_BITS ? (*n)++ : PROBE_BITS - 1;
	f->has_duration |= p->duration != NULL;
	functions->n_lone += is_lone(f);
	functions->n_lone -= was_lone;
	return true;
}

const struct function_probe *functions_probe(struct functions *functions,
					     const struct spec_probe *probe)
{
	struct function_probe *p = map_get(&functions->by_probe, (uintptr_t)probe);
	bool is_new = !p;

	if (p && p->serial == probe->serial && p->offset == probe->offset &&
	    p->is_return == (probe->kind == PROBE_RETURN))
		return p;
	if (is_new)
		p = calloc(1, sizeof(*p));
	if (p && fill(functions, p, probe) &&
	    (!is_new || map_put(&functions->by_probe, (uintptr_t)probe, p) == 0))
		return p;
	if (is_new)
		free(p);
	return NULL;
}

void functions_free(struct functions *functions)
{
	size_t pos = 0;
	void *value;

	while (map_next(&functions->by_probe, &pos, NULL, &value))
		free(value);
	for (size_t i = 0; i < functions->n; i++)
		free_function(functions->v[i]);
	map_free(&functions->by_probe);
	map_free(&functions->by_place);
	free(functions->v);
}
