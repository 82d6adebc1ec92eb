/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes and records for tests of filters, built by hand so that a mistake in
 * the parser of definitions or in the fetching of values cannot hide here.
 */

#ifndef UBP_TESTS_FILTER_FIXTURE_H
#define UBP_TESTS_FILTER_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/event/record.h"
#include "engine/spec/spec.h"

enum fixture_kind {
	FIXTURE_CORPUS, /* the definition of nearly all rows of filters.jsonl */
	FIXTURE_SHADOW, /* its other one: args named like the generic fields */
	FIXTURE_RETURN, /* a return probe with a number and a string */
	FIXTURE_EXTENDED, /* what no kernel has: floats, numbers with names */
	FIXTURE_KINDS,
};

/* What an arg of a fixture takes from the hit. */
enum fixture_value {
	FROM_N,	     /* %di */
	FROM_D,	     /* %dx */
	FROM_STRING, /* the string at %si */
	FROM_BYTES,  /* the bytes there */
	FROM_COMM,
	FROM_TEXTS, /* an array of two strings, "" and "gamma delta" */
	FROM_FAULT, /* nothing can be read */
};

struct fixture_arg {
	const char *name;
	enum spec_format format;
	uint8_t size;
	uint16_t count;
	enum fixture_value value;
};

static const struct fixture_arg fixture_corpus[] = {
	{ "n", SPEC_HEX, 8, 0, FROM_N },
	{ "sn", SPEC_SIGNED, 8, 0, FROM_N },
	{ "n32", SPEC_UNSIGNED, 4, 0, FROM_N },
	{ "s32", SPEC_SIGNED, 4, 0, FROM_N },
	{ "u8", SPEC_UNSIGNED, 1, 0, FROM_D },
	{ "s8", SPEC_SIGNED, 1, 0, FROM_D },
	{ "x16", SPEC_HEX, 2, 0, FROM_D },
	{ "c", SPEC_CHAR, 1, 0, FROM_D },
	{ "bf", SPEC_UNSIGNED, 1, 0, FROM_D }, /* 4 bits of it: see fixture_value() */
	{ "s", SPEC_STRING, 4, 0, FROM_STRING },
	{ "us", SPEC_STRING, 4, 0, FROM_STRING },
	{ "arr", SPEC_UNSIGNED, 1, 4, FROM_BYTES },
	{ "arr3", SPEC_UNSIGNED, 1, 3, FROM_BYTES },
	{ "sarr", SPEC_STRING, 4, 2, FROM_TEXTS },
	{ "lit", SPEC_STRING, 4, 0, FROM_FAULT },
	{ "cm", SPEC_STRING, 4, 0, FROM_COMM },
};

static const struct fixture_arg fixture_shadow[] = {
	{ "n", SPEC_HEX, 8, 0, FROM_N },	 { "comm", SPEC_STRING, 4, 0, FROM_COMM },
	{ "CPU", SPEC_HEX, 8, 0, FROM_D },	 { "cpu", SPEC_UNSIGNED, 1, 0, FROM_D },
	{ "COMM", SPEC_UNSIGNED, 2, 0, FROM_D },
};

static const struct fixture_arg fixture_return[] = {
	{ "n", SPEC_HEX, 8, 0, FROM_N },
	{ "s", SPEC_STRING, 4, 0, FROM_STRING },
};

static const struct fixture_arg fixture_extended[] = {
	{ "f64", SPEC_FLOAT, 8, 0, FROM_N },
	{ "f32", SPEC_FLOAT, 4, 0, FROM_D },
	{ "e", SPEC_SIGNED, 4, 0, FROM_D },
	{ "n", SPEC_HEX, 8, 0, FROM_N },
};

/* Of "e". */
static const struct value_name fixture_name[] = { { 1, "BLUE" }, { 2, "GREEN" }, { -1, "x::RED" } };
static const struct value_names fixture_names = { .n = 3, .v = fixture_name };

/* A probe and where the values of its args come from. */
struct fixture {
	struct spec_probe probe;
	struct spec_arg args[16];
	const struct fixture_arg *from;
};

/* One hit: %di, the string at %si (NULL: unreadable), %dx. */
struct fixture_hit {
	uint64_t n;
	const char *s;
	uint64_t d;
};

/* Records of fixtures have this much data at most. */
#define FIXTURE_DATA_MAX 1024

static inline void fixture_init(struct fixture *f, enum fixture_kind kind)
{
	static const struct {
		const struct fixture_arg *args;
		size_t n_args;
	} kinds[] = {
		[FIXTURE_CORPUS] = { fixture_corpus,
				     sizeof(fixture_corpus) / sizeof(fixture_corpus[0]) },
		[FIXTURE_SHADOW] = { fixture_shadow,
				     sizeof(fixture_shadow) / sizeof(fixture_shadow[0]) },
		[FIXTURE_RETURN] = { fixture_return,
				     sizeof(fixture_return) / sizeof(fixture_return[0]) },
		[FIXTURE_EXTENDED] = { fixture_extended,
				       sizeof(fixture_extended) / sizeof(fixture_extended[0]) },
	};

	memset(f, 0, sizeof(*f));
	f->from = kinds[kind].args;
	f->probe.args = f->args;
	f->probe.n_args = kinds[kind].n_args;
	f->probe.kind = kind == FIXTURE_RETURN ? PROBE_RETURN : PROBE_ENTRY;
	for (size_t i = 0; i < f->probe.n_args; i++) {
		const struct fixture_arg *from = &f->from[i];
		struct spec_arg *arg = &f->args[i];

		snprintf(arg->name, sizeof(arg->name), "%s", from->name);
		arg->type.format = from->format;
		arg->type.size = from->size;
		arg->type.count = from->count;
		arg->names = strcmp(from->name, "e") == 0 ? &fixture_names : NULL;
		arg->at = (uint32_t)f->probe.fixed_size;
		f->probe.fixed_size += from->size * (from->count ? from->count : 1U);
	}
}

static inline void fixture_put_text(struct event_record *record, uint32_t at, const char *text)
{
	uint32_t len = (uint32_t)strlen(text) + 1, word = len << 16 | record->data_len;

	memcpy(record->data + at, &word, sizeof(word));
	memcpy(record->data + record->data_len, text, len);
	record->data_len += len;
}

static inline void fixture_put_arg(struct event_record *record, const struct spec_arg *arg,
				   const struct fixture_arg *from,
				   const struct fixture_hit *hit)
{
	uint64_t number = from->value == FROM_N ? hit->n : hit->d;
	size_t len = hit->s ? strlen(hit->s) : 0;

	switch (from->value) {
	case FROM_N:
	case FROM_D:
		if (strcmp(from->name, "bf") == 0)
			number &= 0xf;
		memcpy(record->data + arg->at, &number, from->size);
		break;
	case FROM_STRING:
		if (hit->s)
			fixture_put_text(record, arg->at, hit->s);
		break;
	case FROM_BYTES: /* behind the string the memory is zero */
		if (len)
			memcpy(record->data + arg->at, hit->s,
			       len < from->count ? len : from->count);
		break;
	case FROM_COMM:
		fixture_put_text(record, arg->at, record->comm);
		break;
	case FROM_TEXTS:
		fixture_put_text(record, arg->at, "");
		fixture_put_text(record, arg->at + 4, "gamma delta");
		break;
	case FROM_FAULT:
		break;
	}
}

/*
 * The record of @hit at @f's probe, into @record with FIXTURE_DATA_MAX bytes of
 * data. The strings of a hit must fit.
 */
static inline void fixture_record(const struct fixture *f, const struct fixture_hit *hit,
				  struct event_record *record)
{
	memset(record, 0, sizeof(*record) + FIXTURE_DATA_MAX);
	record->kind = EVENT_HIT;
	record->pid = 4242;
	record->tid = 4243;
	record->ip = 0x401136;
	record->func = f->probe.kind == PROBE_RETURN ? 0x401100 : 0;
	strcpy(record->comm, "valtgt");
	record->data_len = (uint32_t)f->probe.fixed_size;
	for (size_t i = 0; i < f->probe.n_args; i++)
		fixture_put_arg(record, &f->args[i], &f->from[i], hit);
	record->size = (uint32_t)((sizeof(*record) + record->data_len + 7) & ~7UL);
}

#endif
