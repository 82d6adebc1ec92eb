/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/index.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/hash.h"
#include "engine/spec/probe.h"

/* Those of one hash; in the end they are compared, so hashes may collide. */
struct link {
	const struct spec_probe *probe;
	struct link *next;
};

/* Some at a time: each probe has three or more, and all go together. */
struct spec_index_links {
	struct spec_index_links *before;
	struct link v[SPEC_INDEX_LINKS];
};

static uint64_t event_key(const struct spec_probe *probe)
{
	return hash_text(hash_text(1, probe->group), probe->event);
}

/* Probes are at one place by their offsets, or by their symbols' names. */
static uint64_t offset_key(const struct spec_probe *probe)
{
	return hash_number(hash_number(hash_number(2, probe->dev), probe->ino), probe->offset);
}

static uint64_t symbol_key(const struct spec_probe *probe)
{
	uint64_t file = hash_number(hash_number(3, probe->dev), probe->ino);

	return hash_number(hash_text(file, probe->symbol), probe->symbol_off);
}

static uint64_t twin_key(const struct spec_probe *probe, uint64_t place)
{
	uint64_t hash = hash_number(event_key(probe), place);

	for (size_t i = 0; i < probe->n_args; i++)
		hash = hash_text(hash, probe->args[i].text);
	return hash;
}

static struct link *new_link(struct spec_index *index)
{
	if (index->n_free == 0) {
		struct spec_index_links *more = malloc(sizeof(*more));

		if (!more)
			return NULL;
		more->before = index->made;
		index->made = more;
		index->n_free = SPEC_INDEX_LINKS;
	}
	return &index->made->v[--index->n_free];
}

static int add_link(struct spec_index *index, uint64_t key, const struct spec_probe *probe)
{
	struct link *link = new_link(index), *first;
	void **place = link ? map_place(&index->links, key) : NULL;

	if (!place)
		return -ENOMEM;
	first = *place;
	*link = (struct link){ .probe = probe };
	if (!first) {
		*place = link;
		return 0;
	}
	/* Behind the first: what was there before is found before. */
	link->next = first->next;
	first->next = link;
	return 0;
}

static int add_place(struct spec_index *index, uint64_t place, const struct spec_probe *probe)
{
	int rc = add_link(index, place, probe);

	return rc < 0 ? rc : add_link(index, twin_key(probe, place), probe);
}

int spec_index_resolved(struct spec_index *index, const struct spec_probe *probe)
{
	return add_place(index, offset_key(probe), probe);
}

int spec_index_add(struct spec_index *index, const struct spec_probe *probe)
{
	int rc = add_link(index, event_key(probe), probe);

	if (rc == 0 && probe->is_resolved)
		rc = add_place(index, offset_key(probe), probe);
	if (rc == 0 && probe->symbol)
		rc = add_place(index, symbol_key(probe), probe);
	index->n++;
	return rc;
}

void spec_index_clear(struct spec_index *index)
{
	while (index->made) {
		struct spec_index_links *before = index->made->before;

		free(index->made);
		index->made = before;
	}
	map_free(&index->links);
	*index = (struct spec_index){ 0 };
}

static const struct spec_probe *
find(const struct spec_index *index, uint64_t key, const struct spec_probe *probe,
     bool (*is_same)(const struct spec_probe *a, const struct spec_probe *b))
{
	const struct link *link = map_get(&index->links, key);

	while (link && !is_same(link->probe, probe))
		link = link->next;
	return link ? link->probe : NULL;
}

const struct spec_probe *spec_index_event(const struct spec_index *index,
					  const struct spec_probe *probe)
{
	return find(index, event_key(probe), probe, spec_probe_same_event);
}

const struct spec_probe *spec_index_place(const struct spec_index *index,
					  const struct spec_probe *probe)
{
	const struct spec_probe *found = NULL;

	if (probe->is_resolved)
		found = find(index, offset_key(probe), probe, spec_probe_same_place);
	if (!found && probe->symbol)
		found = find(index, symbol_key(probe), probe, spec_probe_same_place);
	return found;
}

static bool is_twin(const struct spec_probe *a, const struct spec_probe *b)
{
	return spec_probe_same_event(a, b) && spec_probe_same_place(a, b) &&
	       a->n_args == b->n_args && spec_probe_same_texts(a, b);
}

const struct spec_probe *spec_index_twin(const struct spec_index *index,
					 const struct spec_probe *probe)
{
	const struct spec_probe *found = NULL;

	if (probe->is_resolved)
		found = find(index, twin_key(probe, offset_key(probe)), probe, is_twin);
	if (!found && probe->symbol)
		found = find(index, twin_key(probe, symbol_key(probe)), probe, is_twin);
	return found;
}
