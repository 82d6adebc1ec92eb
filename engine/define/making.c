/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/making.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/spec/chars.h"

int making_no_memory(struct ubp_err *err)
{
	return ubp_fail(err, ENOMEM, "out of memory");
}

const char *making_keep(struct expand_args *args, char *text)
{
	if (!text || VEC_ROOM(args->texts, &args->cap_texts, args->n_texts) < 0) {
		free(text);
		return NULL;
	}
	args->texts[args->n_texts++] = text;
	return text;
}

unsigned making_col(const struct making *m, const char *s)
{
	return (unsigned)(s - m->d->words.text);
}

int making_add(struct making *m, const struct plain_arg *arg)
{
	struct expand_args *args = m->args;

	if (!arg->name || !arg->text || VEC_ROOM(args->v, &args->cap, args->n) < 0)
		return making_no_memory(m->err);
	args->v[args->n++] = *arg;
	return 0;
}

const char *making_text(struct making *m, const struct dwarf_value *value)
{
	char *text;

	if (asprintf(&text, "%s%s%s", value->expr, value->type[0] ? ":" : "", value->type) < 0)
		return NULL;
	return making_keep(m->args, text);
}

const char *making_copy(struct making *m, struct spec_span text)
{
	return making_keep(m->args, strndup(text.s, text.len));
}

int making_leave_out(struct making *m, const char *name, const char *why)
{
	struct expand_left_out *l = m->left_out;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return 0;
	if (l->n == 0)
		snprintf(l->why, sizeof(l->why), "%s", why);
	if (VEC_ROOM(l->names, &l->cap, l->n) < 0)
		return making_no_memory(m->err);
	l->names[l->n] = strdup(name);
	return l->names[l->n++] ? 0 : making_no_memory(m->err);
}

static bool is_taken(const struct making *m, const char *name)
{
	for (size_t i = 0; i < m->args->n; i++)
		if (m->args->v[i].name && strcmp(m->args->v[i].name, name) == 0)
			return true;
	/* Those that are yet to come. */
	for (size_t i = 0; i < m->d->n_args; i++)
		if (span_is(m->d->args[i].name, name))
			return true;
	return false;
}

struct spec_span making_last_name(struct spec_span expr)
{
	size_t end = expr.len, start;

	while (end > 0) {
		/* An index is no name. */
		if (expr.s[end - 1] == ']')
			while (end > 0 && expr.s[end - 1] != '[')
				end--;
		else if (char_is_name(expr.s[end - 1]))
			break;
		if (end > 0)
			end--;
	}
	for (start = end; start > 0 && char_is_name(expr.s[start - 1]);)
		start--;
	return (struct spec_span){ expr.s + start, end - start };
}

const char *making_name(struct making *m, struct spec_span wanted)
{
	char name[SPEC_ARG_NAME_MAX + 1], tail[16] = "";

	for (unsigned i = 2;; i++) {
		size_t len = SPEC_ARG_NAME_MAX - strlen(tail), n = 0;

		if (wanted.len == 0 || char_is_digit(wanted.s[0]))
			name[n++] = '_';
		for (size_t at = 0; at < wanted.len && n < len; at++)
			name[n++] = (char)(char_is_name(wanted.s[at]) ? wanted.s[at] : '_');
		memcpy(name + n, tail, strlen(tail) + 1);
		if (!is_taken(m, name))
			return making_keep(m->args, strdup(name));
		snprintf(tail, sizeof(tail), "_%u", i);
	}
}
