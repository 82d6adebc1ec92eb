/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The EXPR of a fetch arg: +8(%di), $stack2, @0x601000, \5.
 */

#ifndef UBP_SPEC_EXPR_H
#define UBP_SPEC_EXPR_H

#include "engine/base/probe_kind.h"
#include "engine/spec/parse.h"

/*
 * The kernel keeps the operations of an arg in so many slots, and refuses args
 * that need more. Nothing of ours is that short, but an arg that is accepted
 * here must be accepted there.
 */
#define SPEC_SLOTS_MAX 15

/* The outermost operation: it decides which types are possible. */
enum expr_outer {
	OUTER_VALUE,      /* register, stack word, return value */
	OUTER_IMM,        /* \NUM */
	OUTER_TEXT,       /* $comm, \"TEXT" */
	OUTER_DEREF,      /* +OFF(), @ */
	OUTER_USER_DEREF, /* +uOFF() */
};

struct spec_expr {
	const struct spec_parse *p;
	struct spec_arg *arg; /* gets source and dereferences */
	enum probe_kind kind;
	size_t col; /* where carets go; see expr.c on what the kernel does to it */
	unsigned n_slots;
	enum expr_outer outer;
	bool is_at_entry; /* inside of entry() */
};

/* Parse @text; the caller has set .p, .arg, .kind and .col. */
int spec_parse_expr(struct spec_expr *e, struct spec_span text);

/*
 * Extended, sum.c: is @text, which begins with '%', a sum of registers? Then
 * spec_parse_sum() fills in the arg's.
 */
bool spec_is_sum(struct spec_span text);
int spec_parse_sum(struct spec_expr *e, struct spec_span text);

/* Extended, entry.c: parse "entry(EXPR)" (spec_is_entry()), and fill in what the arg has of the entry. */
int spec_parse_entry(struct spec_expr *e, struct spec_span text);

/* Parse what stands in a dereference, or in entry(). */
int spec_parse_nested(struct spec_expr *e, struct spec_span text);

/* Number of a register by its name without '%', as the arch table gives it; or -1. */
int spec_register(const struct spec_parse *p, struct spec_span name);

/* Take one more slot; false when there is none. */
bool spec_expr_slot(struct spec_expr *e);

#endif
