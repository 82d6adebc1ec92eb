/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/landing_set.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/search.h"
#include "engine/base/vec.h"
#include "engine/elf/object_priv.h"

/* A bit for each byte of an executable segment. */
struct text {
	uint64_t start, len;
	uint64_t *marks[LANDING_N];
	uint64_t *any; /* of all kinds: mostly nothing is there */
};

/* By target, once they are sorted. */
struct mentions {
	struct mention *v;
	size_t n;
};

struct landings {
	struct text *texts;
	size_t n;
	uint64_t low, high; /* all texts lie between */
	bool all;           /* every byte is one */
	struct mentions mentions[MENTION_N];
};

struct landings *landings_new(void)
{
	return calloc(1, sizeof(struct landings));
}

int landings_cover(struct landings *l, const struct object *object)
{
	l->texts = calloc(object->n_segments + 1, sizeof(*l->texts));
	if (!l->texts)
		return -ENOMEM;
	l->low = UINT64_MAX;
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];
		struct text *t = &l->texts[l->n];

		if (!s->is_exec || s->file_len == 0)
			continue;
		l->n++;
		t->start = s->elf_vaddr;
		t->len = s->file_len;
		for (size_t k = 0; k < LANDING_N; k++) {
			t->marks[k] = calloc(t->len / 64 + 1, sizeof(*t->marks[k]));
			if (!t->marks[k])
				return -ENOMEM;
		}
		t->any = calloc(t->len / 64 + 1, sizeof(*t->any));
		if (!t->any)
			return -ENOMEM;
		l->low = t->start < l->low ? t->start : l->low;
		l->high = t->start + t->len > l->high ? t->start + t->len : l->high;
	}
	return 0;
}

void landings_free(struct landings *landings)
{
	if (!landings)
		return;
	for (size_t i = 0; i < landings->n; i++) {
		for (size_t k = 0; k < LANDING_N; k++)
			free(landings->texts[i].marks[k]);
		free(landings->texts[i].any);
	}
	free(landings->texts);
	for (size_t i = 0; i < MENTION_N; i++)
		free(landings->mentions[i].v);
	free(landings);
}

static struct text *text_of(const struct landings *l, uint64_t elf_vaddr)
{
	if (elf_vaddr < l->low || elf_vaddr >= l->high)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		if (elf_vaddr - l->texts[i].start < l->texts[i].len)
			return &l->texts[i];
	return NULL;
}

static void set_bit(uint64_t *bits, uint64_t at)
{
	bits[at / 64] |= UINT64_C(1) << (at % 64);
}

bool landings_add(struct landings *l, enum landing_kind kind, uint64_t elf_vaddr)
{
	struct text *t = text_of(l, elf_vaddr);

	if (!t)
		return false;
	set_bit(t->marks[kind], elf_vaddr - t->start);
	set_bit(t->any, elf_vaddr - t->start);
	return true;
}

void landings_add_all(struct landings *l)
{
	l->all = true;
}

bool landings_has_code(const struct landings *l, uint64_t elf_vaddr)
{
	return text_of(l, elf_vaddr);
}

void landings_bounds(const struct landings *l, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = l->low;
	*ret_high = l->high;
}

/* The first bit set in @from <= bit < @to, or @to. */
static uint64_t first_bit(const uint64_t *bits, uint64_t from, uint64_t to)
{
	for (uint64_t word = from / 64; word <= (to - 1) / 64 && from < to; word++) {
		uint64_t here = bits[word];

		if (word == from / 64)
			here &= ~UINT64_C(0) << (from % 64);
		if (here) {
			uint64_t at = word * 64 + (uint64_t)__builtin_ctzll(here);

			return at < to ? at : to;
		}
	}
	return to;
}

/* The first of @kinds in @from <= byte < @to of @t, or @to. */
static uint64_t first_in(const struct text *t, unsigned kinds, uint64_t from, uint64_t to)
{
	if (first_bit(t->any, from, to) == to)
		return to;
	for (size_t k = 0; k < LANDING_N; k++)
		if (kinds >> k & 1)
			to = first_bit(t->marks[k], from, to);
	return to;
}

uint64_t landings_first(const struct landings *l, unsigned kinds, uint64_t from, uint64_t to)
{
	if (l->all && from < to)
		return from;
	for (size_t i = 0; i < l->n; i++) {
		const struct text *t = &l->texts[i];
		uint64_t a = from > t->start ? from - t->start : 0, at;
		uint64_t b = to > t->start ? to - t->start : 0;

		b = b < t->len ? b : t->len;
		if (a >= b)
			continue;
		at = first_in(t, kinds, a, b);
		if (at < b)
			return t->start + at;
	}
	return 0;
}

/* --- mentions ------------------------------------------------------------------- */

#define MENTIONS_MAX (1u << 22)

int landings_mention(struct landings *l, enum mention_kind kind, uint64_t target, uint64_t at)
{
	struct mentions *m = &l->mentions[kind];

	if (VEC_DOUBLE(m->v, m->n) < 0)
		return -ENOMEM;
	if (m->n == MENTIONS_MAX)
		return -EFBIG;
	m->v[m->n++] = (struct mention){ target, at };
	return 0;
}

static int compare_mentions(const void *pa, const void *pb)
{
	const struct mention *a = pa, *b = pb;

	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

void landings_sort_mentions(struct landings *l, enum mention_kind kind)
{
	struct mentions *m = &l->mentions[kind];

	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), compare_mentions);
}

const struct mention *landings_mentions(const struct landings *l, enum mention_kind kind,
					uint64_t from, uint64_t to, size_t *ret_n)
{
	const struct mentions *m = &l->mentions[kind];
	size_t first = search_at_least(m->v, m->n, target, from), n = 0;

	while (first + n < m->n && m->v[first + n].target < to)
		n++;
	*ret_n = n;
	return n ? m->v + first : NULL;
}
