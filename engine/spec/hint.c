/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/hint.h"

#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/base/units.h"
#include "engine/spec/chars.h"
#include "engine/spec/env.h"
#include "engine/spec/filter_parse.h"
#include "engine/spec/type.h"

/* Names are short: one more or one other letter, or two. */
#define EDITS    2
#define LIST_MAX 160

/* Names that may have been meant. */
struct names {
	const char *prefix;
	struct nearest near;
	char list[LIST_MAX]; /* " %ax %bx" */
};

static void names_begin(struct names *names, const char *prefix, struct spec_span written)
{
	names->prefix = prefix;
	names->list[0] = '\0';
	nearest_init(&names->near, written.s, written.len, EDITS);
}

/* It stands in the list alone; what has no room is left out. */
static void names_list(struct names *names, const char *name)
{
	size_t len = strlen(names->list);

	if (len + strlen(names->prefix) + strlen(name) + 2 < LIST_MAX)
		(void)snprintf(names->list + len, LIST_MAX - len, " %s%s", names->prefix, name);
}

static void names_add(struct names *names, const char *name)
{
	nearest_offer(&names->near, name);
	names_list(names, name);
}

/* "did you mean %ax?", or all there are. */
static void names_tell(const struct names *names, const char *known, struct ubp_err *err)
{
	if (names->near.n > 0)
		ubp_err_hint(err, "did you mean %s%s?", names->prefix,
			     names->near.best[0].name);
	else
		ubp_err_hint(err, "%s:%s", known, names->list);
}

void hint_register(const struct spec_parse *p, struct spec_span name)
{
	const struct arch_reg *reg = &p->arch->reg;
	struct names names;
	const char *one;

	if (p->env->strict || !reg->name)
		return;
	names_begin(&names, "%", name);
	for (size_t i = 0; (one = reg->name(i)) != NULL; i++)
		names_add(&names, one);
	names_tell(&names, "registers are", p->err);
}

void hint_variable(const struct spec_parse *p, struct spec_span name)
{
	static const char *const known[] = { "retval", "stack", "stack0",
					     "arg1",   "comm",  "duration" };
	struct names names;

	if (p->env->strict)
		return;
	names_begin(&names, "$", name);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		names_add(&names, known[i]);
	names_tell(&names, "variables are", p->err);
}

void hint_set(const struct spec_parse *p, struct spec_span text)
{
	if (!p->env->strict && text.len < LIST_MAX)
		ubp_err_hint(p->err, "arguments are only read, none is set: '%.*s' alone reads",
			     (int)text.len, text.s);
}

void hint_number(const struct spec_parse *p, struct spec_span text)
{
	if (!p->env->strict && text.len < LIST_MAX && char_is_digit(span_at(text, 0)))
		ubp_err_hint(p->err, "arguments are only read, none is set; a number is \\%.*s",
			     (int)text.len, text.s);
}

void hint_argument(const struct spec_parse *p, struct spec_span number)
{
	if (!p->env->strict && span_is(number, "0"))
		ubp_err_hint(p->err, "the first argument is arg1");
}

void hint_at_entry(const struct spec_parse *p, const char *text)
{
	if (!p->env->strict)
		ubp_err_hint(p->err, "%s is what it was at the entry", text);
}

void hint_retval(const struct spec_parse *p)
{
	if (!p->env->strict)
		ubp_err_hint(p->err, "r: in place of p: is a probe where the function returns");
}

void hint_entry(const struct spec_parse *p, struct spec_span expr)
{
	if (expr.len < LIST_MAX)
		ubp_err_hint(p->err, "where it is entered, %.*s is that value", (int)expr.len,
			     expr.s);
}

void hint_entry_once(const struct spec_parse *p, struct spec_span inner)
{
	if (inner.len < LIST_MAX)
		ubp_err_hint(p->err, "%.*s is enough", (int)inner.len, inner.s);
}

/* Is it the word NAME=EXPR? */
static bool is_named(struct spec_span word, struct spec_span name)
{
	return word.len > name.len && word.s[name.len] == '=' &&
	       memcmp(word.s, name.s, name.len) == 0;
}

void hint_length(const struct spec_parse *p, size_t col, struct spec_span name)
{
	const struct spec_words *words = p->words;
	size_t i = 0;

	while (i < words->n && col >= spec_col(p, words->word[i].s) + words->word[i].len)
		i++;
	if (i == words->n || words->word[i].len + name.len > LIST_MAX)
		return;
	for (size_t behind = i + 1; behind < words->n; behind++)
		if (is_named(words->word[behind], name)) {
			ubp_err_hint(p->err, "put %.*s before it", (int)words->word[behind].len,
				     words->word[behind].s);
			return;
		}
	ubp_err_hint(p->err,
		     "%.*s=%%dx %.*s, if %%dx tells it; %.*s alone, if it is a variable",
		     (int)name.len, name.s, (int)words->word[i].len, words->word[i].s,
		     (int)name.len, name.s);
}

/* Other languages' names of types, where a word has 8 bytes. */
static const struct {
	const char *written, *meant;
} foreign_types[] = {
	{ "int", "s32" },      { "int32", "s32" },
	{ "int32_t", "s32" },  { "signed", "s32" },
	{ "pid_t", "s32" },    { "uint", "u32" },
	{ "unsigned", "u32" }, { "uint32", "u32" },
	{ "uint32_t", "u32" }, { "short", "s16" },
	{ "int16_t", "s16" },  { "uint16_t", "u16" },
	{ "int8_t", "s8" },    { "uint8_t", "u8" },
	{ "byte", "u8" },      { "bool", "u8" },
	{ "int64", "s64" },    { "int64_t", "s64" },
	{ "uint64", "u64" },   { "uint64_t", "u64" },
	{ "char*", "string" }, { "const char*", "string" },
	{ "str", "string" },   { "s", "string" },
	{ "d", "s32" },        { "u", "u32" },
	{ "float", "f32" },    { "double", "f64" },
	{ "f128", "f80" },     { "long double", "f80" },
	{ "x", "x64" },        { "long", "s64" },
	{ "ulong", "u64" },    { "size_t", "u64" },
	{ "ssize_t", "s64" },  { "void*", "x64" },
	{ "ptr", "x64" },      { "pointer", "x64" },
};

static bool hint_foreign_type(struct spec_span name, struct ubp_err *err)
{
	for (size_t i = 0; i < sizeof(foreign_types) / sizeof(foreign_types[0]); i++)
		if (span_is(name, foreign_types[i].written)) {
			ubp_err_hint(err, "did you mean %s?", foreign_types[i].meant);
			return true;
		}
	return false;
}

void hint_type_name(struct spec_span name, struct ubp_err *err)
{
	struct names names;
	const char *one;

	if (hint_foreign_type(name, err))
		return;
	names_begin(&names, "", name);
	for (size_t i = 0; (one = spec_type_name(i)) != NULL; i++)
		names_add(&names, one);
	names_list(&names, "bWIDTH@OFFSET/SIZE");
	names_tell(&names, "types are", err);
}

void hint_type(const struct spec_parse *p, struct spec_span name)
{
	if (!p->env->strict)
		hint_type_name(name, p->err);
}

void hint_string(const struct spec_parse *p, struct spec_span expr, struct spec_span type)
{
	if (!p->env->strict && expr.len + type.len < LIST_MAX)
		ubp_err_hint(p->err, "+0(%.*s):%.*s is %s %.*s points to", (int)expr.len,
			     expr.s, (int)type.len, type.s,
			     span_starts(type, "hex") ? "what" : "the text that", (int)expr.len,
			     expr.s);
}

/* Does @text, of @len bytes, end in a unit? */
static bool has_unit(const char *text, size_t len)
{
	char one[8] = "1";
	uint64_t ignored;
	size_t n = 0;

	while (n < len && char_is_alpha(text[len - n - 1]))
		n++;
	if (n > 4)
		return false;
	memcpy(one + 1, text + len - n, n);
	return units_number(one, 1 + n, false, &ignored);
}

/* What is wrong with a number that has one? */
static const char *before_unit(const char *text, size_t len, bool is_signed)
{
	bool minus = *text == '-';

	if (minus && !is_signed)
		return "this number has no sign";
	if (text[minus] == '0' && (char_is_digit(text[minus + 1]) || text[minus + 1] == 'x'))
		return "a number with a unit is decimal, as in 50ms";
	if (memchr(text, '.', len))
		return "with its unit this is no whole number of nanoseconds or bytes, or is "
		       "too large";
	return "with its unit this number is too large";
}

void hint_unit(struct filter_parser *p, size_t at, bool is_signed)
{
	const char *text = p->text + at;
	size_t len = *text == '-', digits = strspn(text, "-.0123456789");

	while (char_is_alnum(text[len]) || text[len] == '.')
		len++;
	if (!digits || !p->probe->takes_units || !char_is_alpha(text[len - 1]))
		return;
	if (has_unit(text, len))
		ubp_err_hint(p->err, "%s", before_unit(text, len, is_signed));
	else
		ubp_err_hint(p->err, "units are ns us ms s min h, or B kB KiB MB MiB GB GiB TB "
				     "TiB, as in 50ms");
}

/* A word behind a number: a unit, after a blank? */
static bool is_apart(const struct filter_parser *p, size_t at)
{
	size_t before = at, len = 0;
	char number[8] = "1";
	uint64_t ignored;

	while (before > 0 && char_is_space(p->text[before - 1]))
		before--;
	for (; char_is_alpha(p->text[at + len]) && len < 4; len++)
		number[1 + len] = p->text[at + len];
	return before > 0 && before < at && char_is_digit(p->text[before - 1]) &&
	       p->probe->takes_units && units_number(number, 1 + len, false, &ignored);
}

void hint_operator(struct filter_parser *p, size_t at)
{
	static const struct {
		const char *written, *meant;
	} operators[] = {
		{ "=~", "~ is followed by a pattern, as in name ~ \"*.so\"" },
		{ "=>", ">= is greater or equal" },
		{ "=<", "<= is less or equal" },
		{ "=", "== is equal" },
		{ "and", "&& is and" },
		{ "or", "|| is or" },
		{ "not", "! is not" },
		{ "is", "== is equal" },
		{ "<>", "!= is not equal" },
	};

	if (!p->probe->takes_units)
		return;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const char *written = operators[i].written;

		if (strncasecmp(p->text + at, written, strlen(written)) == 0) {
			ubp_err_hint(p->err, "%s", operators[i].meant);
			return;
		}
	}
	if (is_apart(p, at))
		ubp_err_hint(p->err, "a unit stands right behind its number, as in 50ms");
}

/* What other tools call a field. */
static const struct {
	const char *written, *meant;
} foreign_fields[] = {
	{ "pid", "common_pid is the thread's id; -p PID traces one process" },
	{ "tid", "common_pid is the thread's id" },
	{ "name", "did you mean comm?" },
	{ "command", "did you mean comm?" },
	{ "process", "did you mean comm?" },
};

void hint_field(struct filter_parser *p, const char *name, size_t len)
{
	const struct spec_span span = { name, len };
	struct names names;

	if (!p->probe->takes_units)
		return;
	names_begin(&names, "", span);
	for (size_t i = 0; i < p->probe->n_args; i++)
		names_add(&names, p->probe->args[i].name);
	for (size_t i = 0; i < sizeof(foreign_fields) / sizeof(foreign_fields[0]); i++)
		if (names.near.n == 0 && span_is(span, foreign_fields[i].written)) {
			ubp_err_hint(p->err, "%s", foreign_fields[i].meant);
			return;
		}
	names_add(&names, "comm");
	names_add(&names, "common_pid");
	names_list(&names, "cpu");
	names_tell(&names, "fields are", p->err);
}

void hint_no_field(struct filter_parser *p)
{
	const char *text = p->text;

	if (!p->probe->takes_units)
		return;
	if (text[0] == '/' && p->len > 2 && text[p->len - 1] == '/')
		ubp_err_hint(p->err, "no slashes stand around a filter: '%.*s'",
			     (int)(p->len - 2), text + 1);
	else if (text[0] == '$' && char_is_alpha(text[1]))
		ubp_err_hint(p->err, "a field is the name of an argument, without $");
}

void hint_value(struct filter_parser *p, size_t at, const struct value_names *known)
{
	const char *text = p->text + at;
	struct names names;
	size_t len = 0;

	while (char_is_name(text[len]))
		len++;
	names_begin(&names, "", (struct spec_span){ text, len });
	for (size_t i = 0; i < known->n; i++)
		names_add(&names, known->v[i].name);
	if (names.near.n > 0)
		ubp_err_hint(p->err, "did you mean %s? Values are:%s", names.near.best[0].name,
			     names.list);
	else
		ubp_err_hint(p->err, "values are:%s", names.list);
}
