/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* entry(EXPR): a value that a return probe keeps from the function's entry. */

#include <errno.h>
#include <string.h>

#include "engine/spec/argument.h"
#include "engine/spec/chars.h"
#include "engine/spec/entry.h"
#include "engine/spec/env.h"
#include "engine/spec/expr.h"
#include "engine/spec/hint.h"

#define WORD "entry("

static const char takes[] = "entry() takes a register, a word of the stack, memory or argN";

static int fail(const struct spec_expr *e, const char *text)
{
	return spec_fail(e->p, EINVAL, e->col, text);
}

/* What an EXPR at an entry can have: no text, and nothing that is known at the return only. */
static int check(const struct spec_expr *e)
{
	switch (e->arg->source) {
	case SPEC_REG:
	case SPEC_STACK:
	case SPEC_FOFF:
		return 0;
	case SPEC_IMM: /* an address, or a number that is the same at the return */
		return e->arg->n_derefs ? 0 : fail(e, takes);
	case SPEC_RETVAL:
	case SPEC_DURATION:
	case SPEC_COMM:
	case SPEC_IMM_STRING:
		break;
	}
	return fail(e, "entry() takes what is known where a function is entered");
}

/* A variable would be one of the entry, whose place this is not. */
static bool is_variable(struct spec_span text)
{
	char first = span_at(text, 0);

	return char_is_alpha(first) || first == '_' || first == '(';
}

int spec_parse_entry(struct spec_expr *e, struct spec_span text)
{
	struct spec_span inner = span_from(text, text.s + strlen(WORD));
	const char *close = span_rfind(inner, ')');
	size_t col = e->col;
	int rc;

	if (e->is_at_entry) {
		(void)fail(e, "entry() stands inside of another one");
		hint_entry_once(e->p, text);
		return -EINVAL;
	}
	if (!close)
		return spec_fail(e->p, EINVAL, col + text.len,
				 "Brace of entry() is not closed");
	if (close + 1 != inner.s + inner.len)
		return spec_fail(e->p, EINVAL, col + (size_t)(close + 1 - text.s),
				 "Nothing but a type can follow entry()");
	inner = span_until(inner, close);
	if (e->kind != PROBE_RETURN) {
		(void)fail(e, "entry() is known only where a function returns (r:... or "
			      "%return)");
		hint_entry(e->p, inner);
		return -EINVAL;
	}
	e->is_at_entry = true;
	e->col += strlen(WORD);
	if (is_variable(inner) && !spec_is_entry(inner))
		return fail(e, takes);
	rc = spec_parse_nested(e, inner);
	if (rc == 0)
		rc = check(e);
	if (rc < 0)
		return rc;
	e->is_at_entry = false;
	e->col = col;
	e->arg->at_entry = true;
	e->arg->n_entry_derefs = e->arg->n_derefs;
	e->outer = OUTER_VALUE;
	return 0;
}

unsigned spec_entry_size(const struct spec_arg *arg)
{
	return arg->n_entry_derefs && arg->n_entry_derefs == arg->n_derefs ? arg->type.size : 0;
}

static bool is_same(const struct spec_arg *a, const struct spec_arg *b)
{
	return a->source == b->source && a->reg == b->reg && a->value == b->value &&
	       a->is_sum == b->is_sum && a->index_reg == b->index_reg &&
	       a->index_shift == b->index_shift && a->addend == b->addend &&
	       a->n_entry_derefs == b->n_entry_derefs &&
	       spec_entry_size(a) == spec_entry_size(b) &&
	       memcmp(a->deref, b->deref, a->n_entry_derefs * sizeof(a->deref[0])) == 0;
}

bool spec_entry_keep(const struct spec_probe *probe, size_t i)
{
	struct spec_arg *arg = &probe->args[i];
	unsigned n = 0;

	for (size_t k = 0; k < i; k++) {
		const struct spec_arg *other = &probe->args[k];

		if (!other->at_entry)
			continue;
		if (is_same(other, arg)) {
			arg->entry_number = other->entry_number;
			return true;
		}
		if (other->entry_number >= n)
			n = other->entry_number + 1u;
	}
	arg->entry_number = (uint8_t)n;
	return n < SPEC_ENTRY_MAX;
}
