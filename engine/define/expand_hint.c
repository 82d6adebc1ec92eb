/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a person may have meant whose definition by source is refused. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/making.h"
#include "engine/files/target_files.h"
#include "engine/spec/argument.h"
#include "engine/spec/chars.h"
#include "engine/spec/type.h"
#include "engine/symbols/demangle.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/match.h"

#define TEXT_MAX 160

/* "NAME=" as typed, or "". */
static int name_len(const struct expand_arg *arg)
{
	return arg->name.s ? (int)arg->name.len + 1 : 0;
}

static bool hint_retval(const struct expand_definition *d, const struct expand_arg *arg,
			struct ubp_err *err)
{
	bool is_text = spec_type_is_text(arg->type);

	if (!span_is(arg->expr, "retval") && !span_is(arg->expr, "ret"))
		return false;
	ubp_err_hint(err, "%.*s%s$retval%s%s%.*s is what the function returned%s",
		     name_len(arg), arg->word.s, is_text ? "+0(" : "", is_text ? ")" : "",
		     arg->type.len ? ":" : "", (int)arg->type.len,
		     arg->type.s ? arg->type.s : "",
		     d->probe_kind == PROBE_RETURN ? "" : ", of r: in place of p:");
	return true;
}

/* bpftrace's str(arg0) is the first argument's text; others begin with 1, as we do. */
static bool hint_str(const struct expand_arg *arg, struct ubp_err *err)
{
	struct spec_span inner;
	const char *close;

	if (!span_starts(arg->expr, "str("))
		return false;
	inner = span_from(arg->expr, arg->expr.s + strlen("str("));
	close = span_rfind(inner, ')');
	if (!close || inner.len > TEXT_MAX)
		return false;
	inner = span_until(inner, close);
	if (span_is(inner, "retval") || span_is(inner, "$retval"))
		ubp_err_hint(err, "%.*s+0($retval):string is the text that it returned",
			     name_len(arg), arg->word.s);
	else if (span_is(inner, "arg0"))
		ubp_err_hint(err, "%.*sarg1:string is the text of the first argument",
			     name_len(arg), arg->word.s);
	else
		ubp_err_hint(err, "%.*s%.*s:string is that text", name_len(arg), arg->word.s,
			     (int)inner.len, inner.s);
	return true;
}

static bool is_at_fault(const struct expand_definition *d, const struct expand_arg *arg,
			bool has_dwarf, const struct ubp_err *err)
{
	size_t from = (size_t)(arg->word.s - d->words.text);

	return !has_dwarf ||
	       (err->has_caret && err->caret >= from && err->caret <= from + arg->word.len);
}

static bool hint_arg(const struct expand_definition *d, const struct expand_arg *arg,
		     struct ubp_err *err)
{
	if (arg->word.len > TEXT_MAX)
		return false;
	if (arg->kind == EXPAND_VARIABLE && span_is(arg->expr, "arg0")) {
		ubp_err_hint(err, "the first argument is arg1");
		return true;
	}
	return arg->kind == EXPAND_VARIABLE && (hint_retval(d, arg, err) || hint_str(arg, err));
}

void expand_hint_foreign_args(const struct expand_definition *d, bool has_dwarf,
			      struct ubp_err *err)
{
	for (size_t i = 0; i < d->n_args && !err->hint[0]; i++)
		if (is_at_fault(d, &d->args[i], has_dwarf, err) &&
		    hint_arg(d, &d->args[i], err))
			return;
	if (!err->hint[0] && d->has_variables && d->kind == EXPAND_FUNCTION && !d->offset &&
	    (!has_dwarf || d->probe_kind == PROBE_RETURN) &&
	    (err->code == ENODATA || err->code == EINVAL))
		ubp_err_hint(
			err,
			d->probe_kind == PROBE_RETURN
				? "entry(arg1) is the first argument, as it was at the entry"
				: "without it arg1 is the first argument, arg2 the second");
}

void expand_hint_entry_value(const struct expand_arg *arg, const struct dwarf_value *value,
			     struct ubp_err *err)
{
	const struct spec_span expr = { value->expr, strlen(value->expr) };
	const struct spec_span type = { value->type, strlen(value->type) };
	const char *colon = value->type[0] ? ":" : "";
	struct spec_span name = arg->name.s ? arg->name : making_last_name(arg->expr);

	if (spec_type_is_text(type) && span_starts(expr, "+0("))
		ubp_err_hint(err, "%.*s=+0(entry(%.*s))%s%s is what it was at the entry",
			     (int)name.len, name.s, (int)expr.len - 4, expr.s + 3, colon,
			     value->type);
	else
		ubp_err_hint(err, "%.*s=entry(%s)%s%s is what it was at the entry",
			     (int)name.len, name.s, value->expr, colon, value->type);
}

/* The field that a filter has and its event has not, as @err says. False: that is not what it says. */
static bool cut_field(const struct ubp_err *err, char *field, size_t size)
{
	size_t end = err->caret ? err->caret - 1 : 0, from = end;

	if (strcmp(err->text, "Field not found") != 0 || !err->has_caret ||
	    end > strlen(err->command))
		return false;
	while (from > 0 && char_is_name(err->command[from - 1]))
		from--;
	return from < end && end - from < size &&
	       snprintf(field, size, "%.*s", (int)(end - from), err->command + from) > 0;
}

/* The argument that would be field @field. */
static void arg_text(const char *field, char *text, size_t size)
{
	bool is_value = strcmp(field, "retval") == 0;

	(void)snprintf(text, size, "%s%s%s", is_value ? "retval=" : "",
		       is_value || strcmp(field, "duration") == 0 ? "$" : "", field);
}

/* Is it an argument there, which needs no debug information? */
static bool is_plain_arg(const struct expand_definition *d, const char *field)
{
	bool is_return = d->probe_kind == PROBE_RETURN;

	if (strcmp(field, "retval") == 0 || strcmp(field, "duration") == 0)
		return is_return;
	return !is_return && spec_argument((struct spec_span){ field, strlen(field) });
}

void expand_hint_missing_arg(struct definitions *defs, const char *definition, bool is_line,
			     struct ubp_err *err)
{
	char field[SPEC_ARG_NAME_MAX + 1], arg[SPEC_ARG_NAME_MAX + 16], text[2 * TEXT_MAX];
	struct expand_definition d;
	struct ubp_err why;

	ubp_err_reset(&why);
	if (!cut_field(err, field, sizeof(field)) || strlen(definition) > TEXT_MAX ||
	    strchr(definition, '\n'))
		return;
	arg_text(field, arg, sizeof(arg));
	(void)snprintf(text, sizeof(text), "%s %s", definition, arg);
	if (!expand_parse(text, strlen(text), is_line, &d))
		return;
	if (!target_is_pattern(d.target) &&
	    (is_plain_arg(&d, field) || expand_can_add(defs, &d, &why)))
		ubp_err_hint(err, "add it to the definition: '%s'", text);
	else if (strstr(why.hint, "=entry("))
		ubp_err_hint(err, "add it to the definition: %s", why.hint);
	expand_free(&d);
}

void expand_hint_overloads(struct object *object, const char *name, struct ubp_err *err)
{
	char *base = strndup(name, strcspn(name, "(")), list[UBP_ERR_HINT_MAX] = "";
	const struct object_wanted wanted = { .text = base, .is_name = true };
	struct object_symbol *symbols = NULL;
	struct ubp_err ignored;
	size_t n = 0, at = 0;

	ubp_err_reset(&ignored);
	if (base && strchr(name, '(') && base[0])
		(void)object_match_functions(object, &wanted, &symbols, &n, &ignored);
	for (size_t i = 0; i < n && at < sizeof(list); i++) {
		char *shown = demangle(symbols[i].name);

		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "",
				       shown ? shown : symbols[i].name);
		free(shown);
	}
	if (at)
		ubp_err_hint(err, "%s: %s", n > 1 ? "there are" : "there is", list);
	free(symbols);
	free(base);
}
