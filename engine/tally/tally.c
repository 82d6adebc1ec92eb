/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/tally/tally.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/tally_table.h"
#include "engine/base/vec.h"
#include "engine/event/ring_tally.h"
#include "engine/event/ring_time.h"

/* Entries lie in pieces, so that none is copied when more come. */
#define PIECE 65536

/* A number, or a string with zeros up to a whole word behind its NUL. */
#define KEY_MAX (TALLY_KEYS * (TALLY_STRING_MAX + 9))

struct entry {
	uint64_t hits;
	uint64_t words[]; /* values, with .has_first a struct first, then the key */
};

/* When it came first. A thread may count twice in a nanosecond of the clock: the processor's ticks tell which hit was before. */
struct first {
	uint64_t ns;
	uint64_t ticks; /* 0: a record has none */
};

struct tally {
	struct tally_plan plan;
	size_t size;
	uint64_t hits, dropped;
	uint8_t **pieces;
	size_t n_pieces, cap_pieces, used; /* bytes of the last one */
	struct entry **entries;
	size_t n, cap;
	uint32_t *index; /* number of an entry + 1; 0: none */
	size_t n_index;  /* a power of two, or 0 */
	tally_stack_fn *stack_of;
	void *stack_ctx;
};

/* What is about to be counted. */
struct counted {
	uint64_t hits;
	struct first first;
	uint64_t values[TALLY_VALUES];
	size_t n_words;
	uint64_t key[KEY_MAX / 8];
};

struct tally *tally_new(const struct tally_plan *plan, size_t size)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->plan = *plan;
	t->size = size ? size : SIZE_MAX;
	return t;
}

void tally_set_stacks(struct tally *t, tally_stack_fn *fn, void *ctx)
{
	t->stack_of = fn;
	t->stack_ctx = ctx;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_pieces; i++)
		free(t->pieces[i]);
	free(t->pieces);
	free(t->entries);
	free(t->index);
	free(t);
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool is_text(const struct tally_key *key)
{
	return key->source == TALLY_STRING || key->source == TALLY_COMM;
}

/* Bytes of the texts of a key tell where it ends: a NUL in the last word of each, as no text has one before. */
static size_t text_words(const uint64_t *words)
{
	return strnlen((const char *)words, TALLY_STRING_MAX) / 8 + 1;
}

static size_t key_words(const struct tally *t, const uint64_t *words)
{
	size_t n = 0;

	for (unsigned i = 0; i < t->plan.n_keys; i++)
		n += is_text(&t->plan.keys[i]) ? text_words(words + n) : 1;
	return n;
}

static uint64_t hash_of(const uint64_t *words, size_t n)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++)
		hash = tally_hash(hash, words[i]);
	return hash;
}

static void add_number(struct counted *c, uint64_t number)
{
	c->key[c->n_words++] = number;
}

static void add_text(struct counted *c, const void *text, size_t len)
{
	uint64_t *to = c->key + c->n_words;

	len = strnlen(text, len < TALLY_STRING_MAX ? len : TALLY_STRING_MAX);
	to[len / 8] = 0;
	memcpy(to, text, len);
	c->n_words += len / 8 + 1;
}

/* --- entries --------------------------------------------------------------------------------- */

static size_t key_at(const struct tally *t)
{
	return t->plan.n_values + (t->plan.has_first ? sizeof(struct first) / 8 : 0);
}

static const uint64_t *key_of(const struct tally *t, const struct entry *e)
{
	return e->words + key_at(t);
}

/* NULL: it is not told. */
static struct first *first_of(const struct tally *t, struct entry *e)
{
	return t->plan.has_first ? (struct first *)(e->words + t->plan.n_values) : NULL;
}

static bool is_before(const struct first *a, const struct first *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->ticks < b->ticks;
}

static void put_index(struct tally *t, uint64_t hash, uint32_t number)
{
	size_t i = hash & (t->n_index - 1);

	while (t->index[i])
		i = (i + 1) & (t->n_index - 1);
	t->index[i] = number;
}

static bool make_room(struct tally *t)
{
	size_t n = t->n_index ? 2 * t->n_index : 64;

	if (t->n < t->n_index / 4 * 3)
		return true;
	if (t->n >= UINT32_MAX / 2)
		return false;
	free(t->index);
	t->index = calloc(n, sizeof(*t->index));
	t->n_index = t->index ? n : 0;
	for (size_t i = 0; t->index && i < t->n; i++) {
		const uint64_t *key = key_of(t, t->entries[i]);

		put_index(t, hash_of(key, key_words(t, key)), (uint32_t)i + 1);
	}
	return t->index;
}

static struct entry *alloc_entry(struct tally *t, size_t len)
{
	uint8_t *piece;

	if (!t->n_pieces || PIECE - t->used < len) {
		if (VEC_ROOM(t->pieces, &t->cap_pieces, t->n_pieces) < 0)
			return NULL;
		piece = malloc(PIECE);
		if (!piece)
			return NULL;
		t->pieces[t->n_pieces++] = piece;
		t->used = 0;
	}
	t->used += len;
	return (struct entry *)(t->pieces[t->n_pieces - 1] + t->used - len);
}

static struct entry *make(struct tally *t, const struct counted *c, uint64_t hash)
{
	size_t n_words = key_at(t) + c->n_words;
	struct entry *e;

	if (t->n >= t->size || VEC_ROOM(t->entries, &t->cap, t->n) < 0 || !make_room(t))
		return NULL;
	e = alloc_entry(t, sizeof(*e) + 8 * n_words);
	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e) + 8 * t->plan.n_values);
	if (first_of(t, e))
		*first_of(t, e) = (struct first){ UINT64_MAX, UINT64_MAX };
	memcpy(e->words + key_at(t), c->key, 8 * c->n_words);
	t->entries[t->n++] = e;
	put_index(t, hash, (uint32_t)t->n);
	return e;
}

/* Of two keys the one that is longer differs in a word that both have: where a text of the other ends. */
static bool is_same(const uint64_t *a, const uint64_t *b, size_t n)
{
	size_t i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i == n;
}

static struct entry *find(const struct tally *t, const struct counted *c, uint64_t hash)
{
	for (size_t i = hash; t->n_index && t->index[i & (t->n_index - 1)]; i++) {
		struct entry *e = t->entries[t->index[i & (t->n_index - 1)] - 1];

		if (is_same(key_of(t, e), c->key, c->n_words))
			return e;
	}
	return NULL;
}

static void add(struct tally *t, const struct counted *c)
{
	uint64_t hash = hash_of(c->key, c->n_words);
	struct entry *e = find(t, c, hash);

	if (!e)
		e = make(t, c, hash);
	if (!e) {
		t->dropped += c->hits;
		return;
	}
	t->hits += c->hits;
	e->hits += c->hits;
	if (first_of(t, e) && is_before(&c->first, first_of(t, e)))
		*first_of(t, e) = c->first;
	for (unsigned i = 0; i < t->plan.n_values; i++) {
		if (t->plan.values[i].kind == TALLY_SUM)
			e->words[i] += c->values[i];
		else if (c->values[i] > e->words[i])
			e->words[i] = c->values[i];
	}
}

/* --- records --------------------------------------------------------------------------------- */

uint64_t tally_field_value(const struct tally_field *field, const struct event_record *record)
{
	unsigned unused = 64 - 8u * field->size;
	uint64_t value = 0;

	if (field->at > record->data_len || record->data_len - field->at < field->size)
		return 0;
	for (unsigned i = 0; i < field->size; i++)
		value |= (uint64_t)record->data[field->at + i] << (8 * i);
	if (!field->is_signed || !field->size)
		return value;
	return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void add_string(struct counted *c, const struct tally_field *field,
		       const struct event_record *record)
{
	uint32_t word = 0, at, len;

	if (field->at <= record->data_len && record->data_len - field->at >= sizeof(word))
		memcpy(&word, record->data + field->at, sizeof(word));
	at = word & 0xffff;
	len = word >> 16;
	if (at > record->data_len)
		at = record->data_len;
	if (len > record->data_len - at)
		len = record->data_len - at;
	add_text(c, record->data + at, len);
}

/* Whose hit it is: what neither the data nor a table's entry tells. */
struct whose {
	pid_t pid, tid;
	const char *comm;
};

/* False: that part of the key is found out at each hit. */
static bool add_whose(struct counted *c, const struct tally_plan *its,
		      const struct tally_key *key, const struct whose *whose)
{
	switch (key->source) {
	case TALLY_PID:
		add_number(c, tally_scaled(key, (uint32_t)whose->pid));
		return true;
	case TALLY_TID:
		add_number(c, tally_scaled(key, (uint32_t)whose->tid));
		return true;
	case TALLY_COMM:
		add_text(c, whose->comm, 16);
		return true;
	case TALLY_EVENT:
		add_number(c, its->event);
		return true;
	case TALLY_FUNCTION:
		add_number(c, its->function);
		return true;
	case TALLY_NUMBER:
	case TALLY_STRING:
	case TALLY_CPU:
	case TALLY_STACK:
		break;
	}
	return false;
}

static uint64_t number_of(const struct tally *t, const struct tally_key *key,
			  const struct event_record *record)
{
	switch (key->source) {
	case TALLY_STACK:
		return t->stack_of ? t->stack_of(t->stack_ctx, record) : 0;
	case TALLY_CPU:
		return record->cpu;
	default:
		return tally_field_value(&key->field, record);
	}
}

void tally_record(struct tally *t, const struct tally_plan *its,
		  const struct event_record *record)
{
	const struct whose whose = { record->pid, record->tid, record->comm };
	struct counted c = { .hits = 1, .first = { .ns = record->time } };

	for (unsigned i = 0; i < its->n_keys; i++) {
		const struct tally_key *key = &its->keys[i];

		if (add_whose(&c, its, key, &whose))
			continue;
		if (key->source == TALLY_STRING)
			add_string(&c, &key->field, record);
		else
			add_number(&c, tally_scaled(key, number_of(t, key, record)));
	}
	for (unsigned i = 0; i < its->n_values; i++)
		c.values[i] = tally_turned(&its->values[i],
					   tally_field_value(&its->values[i].field, record));
	add(t, &c);
}

/* --- tables ------------------------------------------------------------------------------------ */

void tally_count(struct tally *t, const struct tally_plan *its, const struct ring_count *count)
{
	const struct whose whose = { count->pid, count->tid, count->comm };
	struct counted c = { .hits = count->hits };
	const uint64_t *word = count->words + 1;

	for (unsigned i = 0; i < its->n_keys; i++) {
		const struct tally_key *key = &its->keys[i];

		if (add_whose(&c, its, key, &whose))
			continue;
		if (key->source == TALLY_STRING)
			add_text(&c, word, TALLY_TABLE_STRING - 1);
		else
			add_number(&c, *word);
		word += tally_key_words(key);
	}
	for (unsigned i = 0; i < its->n_values; i++)
		c.values[i] = *word++;
	if (its->has_first)
		c.first = (struct first){ ring_time_ns(count->time, *word), *word };
	add(t, &c);
}

void tally_merge(struct tally *t, const struct tally *from)
{
	t->dropped += from->dropped;
	for (size_t i = 0; i < from->n; i++) {
		struct entry *e = from->entries[i];
		const uint64_t *key = key_of(from, e);
		struct counted c = { .hits = e->hits, .n_words = key_words(from, key) };

		memcpy(c.values, e->words, 8 * from->plan.n_values);
		if (first_of(from, e))
			c.first = *first_of(from, e);
		memcpy(c.key, key, 8 * c.n_words);
		add(t, &c);
	}
}

/* --- what is there ----------------------------------------------------------------------------- */

size_t tally_size(const struct tally *t)
{
	return t->size;
}

size_t tally_n(const struct tally *t)
{
	return t->n;
}

uint64_t tally_hits(const struct tally *t)
{
	return t->hits;
}

uint64_t tally_dropped(const struct tally *t)
{
	return t->dropped;
}

void tally_row(const struct tally *t, size_t i, struct tally_row *row)
{
	struct entry *e = t->entries[i];
	const uint64_t *word = key_of(t, e);

	*row = (struct tally_row){ .hits = e->hits };
	if (first_of(t, e)) {
		row->first = first_of(t, e)->ns;
		row->first_ticks = first_of(t, e)->ticks;
	}
	for (unsigned k = 0; k < t->plan.n_values; k++)
		row->values[k] = tally_turned_back(&t->plan.values[k], e->words[k]);
	for (unsigned k = 0; k < t->plan.n_keys; k++) {
		bool text = is_text(&t->plan.keys[k]);

		row->keys[k].number = *word;
		row->keys[k].text = text ? (const char *)word : NULL;
		word += text ? text_words(word) : 1;
	}
}
