/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/hint.h"

#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/nearest.h"
#include "engine/spec/env.h"
#include "engine/spec/filter_parse.h"
#include "engine/spec/type.h"

/* Names are short: one more or one other letter, or two. */
#define EDITS    2
#define LIST_MAX 160

/* " NAME" behind those that are there; what has no room is left out. */
static void list_add(char *list, const char *prefix, const char *name)
{
	size_t len = strlen(list);

	if (len + strlen(prefix) + strlen(name) + 2 < LIST_MAX)
		(void)snprintf(list + len, LIST_MAX - len, " %s%s", prefix, name);
}

/* "did you mean PREFIXname?", or all names there are. */
static void hint_name(struct ubp_err *err, struct nearest *near, const char *prefix,
		      const char *known, const char *list)
{
	if (near->n > 0)
		ubp_err_hint(err, "did you mean %s%s?", prefix, near->best[0].name);
	else
		ubp_err_hint(err, "%s:%s", known, list);
}

void hint_register(const struct spec_parse *p, struct spec_span name)
{
	const struct arch_reg *reg = &p->arch->reg;
	char list[LIST_MAX] = "";
	struct nearest near;
	const char *one;

	if (p->env->strict || !reg->name)
		return;
	nearest_init(&near, name.s, name.len, EDITS);
	for (size_t i = 0; (one = reg->name(i)) != NULL; i++) {
		nearest_offer(&near, one);
		list_add(list, "%", one);
	}
	hint_name(p->err, &near, "%", "registers are", list);
}

void hint_variable(const struct spec_parse *p, struct spec_span name)
{
	static const char *const names[] = { "retval", "stack", "stack0",
					     "arg1",   "comm",  "duration" };
	char list[LIST_MAX] = "";
	struct nearest near;

	if (p->env->strict)
		return;
	nearest_init(&near, name.s, name.len, EDITS);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		nearest_offer(&near, names[i]);
		list_add(list, "$", names[i]);
	}
	hint_name(p->err, &near, "$", "variables are", list);
}

void hint_retval(const struct spec_parse *p)
{
	if (!p->env->strict)
		ubp_err_hint(p->err, "r: in place of p: is a probe where the function returns");
}

void hint_type(const struct spec_parse *p, struct spec_span name)
{
	char list[LIST_MAX] = "";
	struct nearest near;
	const char *one;

	if (p->env->strict)
		return;
	nearest_init(&near, name.s, name.len, EDITS);
	for (size_t i = 0; (one = spec_type_name(i)) != NULL; i++) {
		nearest_offer(&near, one);
		list_add(list, "", one);
	}
	list_add(list, "", "bWIDTH@OFFSET/SIZE");
	hint_name(p->err, &near, "", "types are", list);
}

void hint_string(const struct spec_parse *p, struct spec_span expr)
{
	if (!p->env->strict && expr.len < LIST_MAX)
		ubp_err_hint(p->err, "+0(%.*s):string is the text that %.*s points to",
			     (int)expr.len, expr.s, (int)expr.len, expr.s);
}

void hint_operator(struct filter_parser *p, size_t at)
{
	static const struct {
		const char *written, *meant;
	} operators[] = {
		{ "=~", "~ is followed by a pattern, as in name ~ \"*.so\"" },
		{ "=", "== is equal" },
		{ "and", "&& is and" },
		{ "or", "|| is or" },
		{ "not", "! is not" },
		{ "is", "== is equal" },
		{ "<>", "!= is not equal" },
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const char *written = operators[i].written;

		if (strncasecmp(p->text + at, written, strlen(written)) == 0) {
			ubp_err_hint(p->err, "%s", operators[i].meant);
			return;
		}
	}
}

void hint_field(struct filter_parser *p, const char *name, size_t len)
{
	char list[LIST_MAX] = "";
	struct nearest near;

	nearest_init(&near, name, len, EDITS);
	for (size_t i = 0; i < p->probe->n_args; i++) {
		nearest_offer(&near, p->probe->args[i].name);
		list_add(list, "", p->probe->args[i].name);
	}
	list_add(list, "", "comm");
	list_add(list, "", "common_pid");
	list_add(list, "", "cpu");
	nearest_offer(&near, "comm");
	nearest_offer(&near, "common_pid");
	hint_name(p->err, &near, "", "fields are", list);
}
