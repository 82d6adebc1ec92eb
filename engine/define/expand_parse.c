/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Is it a definition by source, and what are its parts? */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/err.h"
#include "engine/base/num.h"
#include "engine/define/expand.h"
#include "engine/spec/argument.h"
#include "engine/spec/chars.h"

#define RETURN_SUFFIX "%return"

static struct spec_span span(const char *s, const char *end)
{
	return (struct spec_span){ s, (size_t)(end - s) };
}

static const char *end_of(struct spec_span text)
{
	return text.s + text.len;
}

/* --- which word is what ---------------------------------------------------------- */

struct form {
	struct spec_span name, place;
	bool has_name;
	enum probe_kind kind;
	size_t first_arg;
};

/* "p:TARGET:PLACE" in a line of its own, unless the second word is a place. */
static bool is_short(const struct spec_words *words, struct spec_span rest)
{
	if (!span_find(rest, ':'))
		return false;
	return words->n < 2 || !span_find(words->word[1], '/') ||
	       !span_find(words->word[1], ':');
}

static bool cut_form(const struct spec_words *words, bool is_line, struct form *form)
{
	struct spec_span first = words->word[0], rest;
	enum probe_kind kind;

	*form = (struct form){ .first_arg = 1 };
	if (!probe_kind_by_letter(first.s[0], &kind) || (first.len > 1 && first.s[1] != ':')) {
		form->place = first;
		return !is_line;
	}
	form->kind = kind;
	rest = span_from(first, first.s + (first.len > 1 ? 2 : 1));
	if (is_line ? is_short(words, rest) : span_find(rest, ':') != NULL) {
		form->place = rest;
		return true;
	}
	if (words->n < 2)
		return false;
	form->has_name = rest.len > 0;
	form->name = rest;
	form->place = words->word[1];
	form->first_arg = 2;
	return true;
}

/* --- the place --------------------------------------------------------------------- */

static bool parse_decimal(struct spec_span text, unsigned *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.len; i++)
		if (!char_is_digit(text.s[i]))
			return false;
	if (text.len == 0)
		return false;
	/* No file has so many lines: that is told like any that has no code. */
	if (num_u64(text.s, text.len, 10, &value) < 0 || value > INT_MAX)
		value = INT_MAX;
	*ret_value = (unsigned)value;
	return true;
}

bool expand_is_file_name(struct spec_span name)
{
	const char *dot = span_rfind(name, '.');
	struct spec_span ending;

	if (span_find(name, '/'))
		return true;
	if (!dot || dot == name.s)
		return false;
	ending = span_from(name, dot + 1);
	/* What gcc puts behind names of functions. */
	if (span_is(ending, "cold") || span_is(ending, "part") || span_is(ending, "isra"))
		return false;
	return ending.len >= 1 && ending.len <= 4 && char_is_alpha(ending.s[0]);
}

static bool is_file(struct spec_span path)
{
	char *text = strndup(path.s, path.len);
	struct stat st;
	bool is = text && span_find(path, '/') && stat(text, &st) == 0 && S_ISREG(st.st_mode);

	free(text);
	return is;
}

/* Cut "NAME" or "NAME+OFFSET". */
static bool cut_name(struct expand_definition *d, struct spec_span text)
{
	const char *plus = span_find(text, '+');
	struct spec_span offset = { 0 };

	if (text.len == 0)
		return false;
	/* operator+ */
	if (plus && plus + 1 < end_of(text) && char_is_digit(plus[1])) {
		offset = span_from(text, plus + 1);
		text = span_until(text, plus);
	}
	if (offset.len && num_u64(offset.s, offset.len, 0, &d->offset) < 0)
		return false;
	if (text.len >= 2 && text.s[0] == '"' && text.s[text.len - 1] == '"')
		text = (struct spec_span){ text.s + 1, text.len - 2 };
	d->name = strndup(text.s, text.len);
	return d->name && d->name[0];
}

/* TARGET:NAME:LINE, TARGET:NAME[+OFFSET] or TARGET:OFFSET. */
static bool cut_place(struct expand_definition *d, struct spec_span place)
{
	const char *end, *colon;
	struct spec_span target, name;
	bool has_line;

	if (place.len > strlen(RETURN_SUFFIX) && span_ends(place, RETURN_SUFFIX)) {
		place.len -= strlen(RETURN_SUFFIX);
		d->probe_kind = PROBE_RETURN;
	}
	end = end_of(place);
	colon = span_place_colon(place);
	if (!colon || colon == place.s)
		return false;
	target = span_until(place, colon);
	/* A path may have a ':', and then it is a number in that file. */
	has_line = span_place_colon(target) &&
		   parse_decimal(span_from(place, colon + 1), &d->lineno) && !is_file(target);
	if (has_line) {
		end = colon;
		colon = span_place_colon(target);
		target = span_until(place, colon);
	}
	if (target.len > 4 && span_ends(target, ":cpp")) {
		target.len -= 4;
		d->is_cpp = true;
	}
	d->target = strndup(target.s, target.len);
	name = span(colon + 1, end);
	d->name_col = (size_t)(name.s - d->words.text);
	d->kind = !has_line                   ? EXPAND_FUNCTION
		  : expand_is_file_name(name) ? EXPAND_FILE
					      : EXPAND_LINE;
	if (!has_line && char_is_digit(span_at(name, 0))) {
		d->kind = EXPAND_OFFSET;
		return d->target && num_u64(name.s, name.len, 0, &d->offset) == 0;
	}
	return d->target && cut_name(d, name);
}

/* --- args ----------------------------------------------------------------------------- */

/* What is called argN is an argument by its number; "(arg1)" is a variable of that name. */
static bool begins_variable(struct spec_span text)
{
	char c = span_at(text, 0);

	if (spec_argument(text) || spec_is_entry(text))
		return false;
	return char_is_alpha(c) || c == '_' || c == '*' || c == '&' || c == '(' ||
	       (c == ':' && span_at(text, 1) == ':');
}

/* The "+8(" or "-0x10(" that @text starts with. 0: it does not. */
static size_t deref_len(struct spec_span text)
{
	const char *paren = span_find(text, '(');
	size_t sign = span_at(text, 1) == 'u' ? 2 : 1;
	int64_t offset;

	if (!paren || (span_at(text, 0) != '+' && span_at(text, 0) != '-') ||
	    (size_t)(paren - text.s) < sign ||
	    num_s64(text.s + sign, (size_t)(paren - text.s) - sign, &offset) < 0)
		return 0;
	return (size_t)(paren - text.s) + 1;
}

/* "+8(+0(VARIABLE))". Whatever else stands in a dereference is the kernel's. */
static void cut_derefs(struct expand_arg *arg)
{
	struct spec_span inner = arg->expr;
	size_t n = 0;

	for (size_t len = deref_len(inner); len; len = deref_len(inner), n++)
		inner = span_from(inner, inner.s + len);
	if (n == 0 || !begins_variable(inner))
		return;
	arg->kind = EXPAND_POINTED;
	arg->head = span_until(arg->expr, inner.s);
	arg->expr = inner;
}

/* The braces that were opened; any that are missing are for the parser to tell. */
static void cut_tail(struct expand_arg *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < arg->head.len; i++)
		n += arg->head.s[i] == '(';
	arg->tail = span_from(arg->expr, end_of(arg->expr));
	while (n-- && arg->expr.len && arg->tail.s[-1] == ')') {
		arg->tail.s--;
		arg->tail.len++;
		arg->expr.len--;
	}
}

static void cut_arg(struct spec_span word, struct expand_arg *arg)
{
	const char *equals = span_find(word, '='), *colon;

	*arg = (struct expand_arg){ .word = word, .expr = word };
	if (equals) {
		arg->name = span_until(word, equals);
		arg->expr = span_from(word, equals + 1);
	}
	if (span_is(arg->expr, "$params"))
		arg->kind = EXPAND_PARAMETERS;
	else if (span_is(arg->expr, "$vars"))
		arg->kind = EXPAND_VARIABLES;
	else if (begins_variable(arg->expr))
		arg->kind = EXPAND_VARIABLE;
	else
		cut_derefs(arg);
	if (arg->kind != EXPAND_VARIABLE && arg->kind != EXPAND_POINTED)
		return;
	colon = span_place_colon(arg->expr);
	if (colon) {
		arg->type = span_from(arg->expr, colon + 1);
		arg->expr = span_until(arg->expr, colon);
	}
	if (arg->kind == EXPAND_POINTED)
		cut_tail(arg);
}

static bool cut_args(struct expand_definition *d, size_t first)
{
	d->args = calloc(d->words.n - first + 1, sizeof(*d->args));
	if (!d->args)
		return false;
	for (size_t i = first; i < d->words.n; i++) {
		struct expand_arg *arg = &d->args[d->n_args++];

		cut_arg(d->words.word[i], arg);
		d->has_variables |= arg->kind != EXPAND_PLAIN;
	}
	return true;
}

/* --- all --------------------------------------------------------------------------------- */

static bool cut_event(struct expand_definition *d, struct spec_span name)
{
	const char *slash = span_find(name, '/');

	if (slash) {
		d->group = strndup(name.s, (size_t)(slash - name.s));
		if (!d->group)
			return false;
		name = span_from(name, slash + 1);
	}
	if (name.len)
		d->event = strndup(name.s, name.len);
	return !name.len || d->event;
}

bool expand_parse(const char *text, size_t len, bool is_line,
		  struct expand_definition *ret_definition)
{
	struct expand_definition *d = ret_definition;
	struct ubp_err ignored;
	struct form form;

	ubp_err_reset(&ignored);
	*d = (struct expand_definition){ 0 };
	if (spec_words_cut_extended(text, len, &d->words, &ignored) == 0 && d->words.n > 0 &&
	    cut_form(&d->words, is_line, &form)) {
		d->probe_kind = form.kind;
		if (cut_place(d, form.place) && cut_args(d, form.first_arg) &&
		    (!form.has_name || cut_event(d, form.name)))
			return true;
	}
	expand_free(d);
	return false;
}

void expand_free(struct expand_definition *d)
{
	spec_words_free(&d->words);
	free(d->group);
	free(d->event);
	free(d->target);
	free(d->name);
	free(d->args);
	*d = (struct expand_definition){ 0 };
}

bool expand_is_source(const struct expand_definition *d)
{
	return d->has_variables || d->kind == EXPAND_LINE || d->kind == EXPAND_FILE;
}
