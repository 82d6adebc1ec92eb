/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/argument.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/spec/chars.h"
#include "engine/spec/hint.h"
#include "engine/spec/parse.h"
#include "engine/spec/spec.h"
#include "engine/spec/type.h"

#define ENTRY "entry("

/* "+8(" "arg2" "):u32", or "+0(entry(" "arg2" ")):string" */
struct parts {
	struct spec_span head, tail;
	unsigned n;
	bool at_entry; /* entry( is in .head */
};

bool spec_is_entry(struct spec_span text)
{
	return span_starts(text, ENTRY);
}

/* Behind the "+8(", "-u0x10(" or "entry(" that @s starts with, or @s. */
static const char *skip_deref(const char *s, const char *end)
{
	const char *at = s;

	if (spec_is_entry((struct spec_span){ s, (size_t)(end - s) }))
		return s + strlen(ENTRY);
	if (at == end || (*at != '+' && *at != '-'))
		return s;
	while (at < end && *at != '(' && *at != ':')
		at++;
	return at < end && *at == '(' ? at + 1 : s;
}

static bool cut(struct spec_span expr, struct parts *parts)
{
	const char *end = expr.s + expr.len, *at = expr.s, *next;

	while ((next = skip_deref(at, end)) != at) {
		parts->at_entry |= *at == 'e';
		at = next;
	}
	parts->head = span_until(expr, at);
	if (at < end && *at == '$')
		at++;
	if (end - at < 4 || memcmp(at, "arg", 3) != 0 || at[3] == '0')
		return false;
	parts->n = 0;
	for (at += 3; at < end && char_is_digit(*at) && parts->n < 100; at++)
		parts->n = parts->n * 10 + (unsigned)(*at - '0');
	parts->tail = span_from(expr, at);
	return parts->n > 0 && parts->n < 100 && (at == end || *at == ')' || *at == ':');
}

unsigned spec_argument(struct spec_span expr)
{
	struct parts parts = { 0 };

	return cut(expr, &parts) ? parts.n : 0;
}

static const char *register_name(const struct arch_reg *reg, uint8_t number)
{
	const char *name = NULL;

	for (size_t i = 0; reg->name && (name = reg->name(i)) != NULL; i++)
		if (reg->by_name(name, strlen(name)) == number)
			break;
	return name;
}

/* "%di", "$stack1". False: it cannot be told where it is. */
static bool find(const struct ubp_arch *arch, unsigned n, char *text, size_t size)
{
	const struct arch_reg *reg = &arch->reg;
	unsigned word = arch->elf_class == ELFCLASS64 ? 8 : 4;
	const char *name;

	if (n > reg->n_args) {
		if (reg->stack_args < 0)
			return false;
		(void)snprintf(text, size, "$stack%u",
			       (unsigned)reg->stack_args / word + n - reg->n_args - 1);
		return true;
	}
	name = register_name(reg, reg->args[n - 1]);
	(void)snprintf(text, size, "%%%s", name ? name : "");
	return name;
}

/* An argument is no text; it may point to one. */
static bool is_pointed(const struct parts *parts)
{
	return !parts->head.len && span_starts(parts->tail, ":") &&
	       spec_type_is_text(span_from(parts->tail, parts->tail.s + 1));
}

/* HEAD EXPR TAIL, and what makes an address of it. */
static int put(char *text, const struct parts *parts, const char *expr)
{
	bool is_address = is_pointed(parts);

	return snprintf(text, SPEC_ARG_TEXT_MAX + 1, "%.*s%s%s%s%.*s", (int)parts->head.len,
			parts->head.s, is_address ? "+0(" : "", expr, is_address ? ")" : "",
			(int)parts->tail.len, parts->tail.s);
}

static int fail_place(const struct spec_parse *p, const struct spec_probe *probe,
		      struct spec_span expr, const struct parts *parts)
{
	char text[SPEC_ARG_TEXT_MAX + 1], entry[32];

	(void)spec_fail(p, EINVAL, spec_col(p, expr.s),
			span_find(expr, '$')
				? "$arg* can be used only on function entry or exit"
				: "Arguments are known only where a function is entered");
	(void)snprintf(entry, sizeof(entry), ENTRY "arg%u)", parts->n);
	if (probe->kind != PROBE_ENTRY && put(text, parts, entry) <= SPEC_ARG_TEXT_MAX)
		hint_at_entry(p, text);
	return -EINVAL;
}

int spec_argument_expand(const struct spec_parse *p, const struct spec_probe *probe,
			 struct spec_span expr, char *text)
{
	struct parts parts = { 0 };
	char place[32];

	(void)cut(expr, &parts);
	/* entry() itself tells where it cannot be. */
	if ((probe->kind != PROBE_ENTRY && !parts.at_entry) || probe->symbol_off)
		return fail_place(p, probe, expr, &parts);
	if (!find(p->arch, parts.n, place, sizeof(place)))
		return spec_fail(p, EINVAL, spec_col(p, expr.s), "Invalid argument number");
	return put(text, &parts, place) > SPEC_ARG_TEXT_MAX
		       ? spec_fail(p, E2BIG, spec_col(p, expr.s),
				   "Argument expression is too long")
		       : 0;
}
