/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* One definition, in either form: which word is what, and in which order. */

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/spec/env.h"
#include "engine/spec/parse.h"
#include "engine/spec/probe.h"

#define DEFAULT_GROUP "uprobes"

static int parse_args(const struct spec_parse *p, size_t first, struct spec_probe *probe)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		int rc = spec_parse_arg(p, p->words->word[first + i], probe, i);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int fill_probe(const struct spec_parse *p, const struct spec_form *form,
		      struct spec_probe *probe)
{
	struct spec_span target = { 0 };
	struct spec_parse named = *p;
	int rc;

	probe->kind = form->kind;
	probe->command = strdup(p->words->text);
	if (!probe->command)
		return spec_fail_memory(p);
	rc = spec_parse_place(p, form->place, probe, &target);
	if (rc < 0)
		return rc;
	memcpy(probe->group, DEFAULT_GROUP, sizeof(DEFAULT_GROUP));
	if (form->has_name) {
		rc = spec_parse_name(p, form->name, probe);
		if (rc < 0)
			return rc;
	}
	if (probe->event[0] == '\0' && !probe->is_pattern)
		spec_name_auto(probe, target, form->is_short);
	if (p->env->arch_of)
		named.arch = p->env->arch_of(p->env->ctx, probe->dev, probe->ino);
	return parse_args(&named, form->first_arg, probe);
}

static int parse_form(const struct spec_parse *p, const struct spec_form *form,
		      struct spec_probe **ret_probe)
{
	size_t n_args = p->words->n - form->first_arg;
	struct spec_probe *probe;
	int rc;

	if (n_args > SPEC_ARGS_MAX)
		return spec_fail(p, E2BIG, spec_col(p, p->words->word[form->first_arg].s),
				 "Too many arguments are specified");
	probe = spec_probe_new(n_args);
	if (!probe)
		return spec_fail_memory(p);
	rc = fill_probe(p, form, probe);
	if (rc < 0) {
		spec_probe_free(probe);
		return rc;
	}
	*ret_probe = probe;
	return 0;
}

int spec_parse_line(const struct spec_parse *p, struct spec_probe **ret_probe)
{
	const struct spec_words *words = p->words;
	struct spec_span first = words->word[0];
	struct spec_form form = { .first_arg = 2 };

	if (!probe_kind_by_letter(first.s[0], &form.kind))
		return spec_fail_unlogged(p, EINVAL, 0, "Definition must begin with p or r");
	if (words->n < 2)
		return spec_fail_unlogged(p, EINVAL, words->len,
					  "No place to probe is specified");
	form.place = words->word[1];
	/* Anything else behind the letter is ignored; so the kernel does. */
	if (span_at(first, 1) == ':') {
		form.has_name = true;
		form.name = span_from(first, first.s + 2);
	}
	return parse_form(p, &form, ret_probe);
}

#define SHORT_FORMS "p:TARGET:SYMBOL, r:TARGET:SYMBOL, p:NAME TARGET:SYMBOL or TARGET:SYMBOL"

/* Which words of the perf-tools form are what. */
static int cut_short(const struct spec_parse *p, struct spec_form *form)
{
	const struct spec_words *words = p->words;
	struct spec_span first = words->word[0], rest;
	enum probe_kind kind;
	bool has_letter = probe_kind_by_letter(first.s[0], &kind);

	form->first_arg = 1;
	if (!has_letter || (first.len > 1 && first.s[1] != ':')) {
		form->place = first;
		if (span_find(first, ':'))
			return 0;
		return spec_fail_unlogged(p, EINVAL, 0,
					  "Not a definition; wanted is " SHORT_FORMS);
	}
	form->kind = kind;
	rest = span_from(first, first.s + (first.len > 1 ? 2 : 1));
	if (span_find(rest, ':')) {
		form->place = rest;
		return 0;
	}
	if (words->n < 2)
		return spec_fail_unlogged(
			p, EINVAL, words->len,
			"No place to probe is specified; wanted is " SHORT_FORMS);
	form->has_name = first.len > 1;
	form->name = rest;
	form->place = words->word[1];
	form->first_arg = 2;
	return 0;
}

/*
 * "p:TARGET:SYMBOL" is no definition of the kernel's, whose names hold no colon;
 * but where the second word is a place, the colon in the first is a mistake.
 */
bool spec_is_short(const struct spec_parse *p)
{
	const struct spec_words *words = p->words;
	struct spec_span first = words->word[0];
	enum probe_kind kind;

	if (first.len < 3 || !probe_kind_by_letter(first.s[0], &kind) || first.s[1] != ':' ||
	    !span_find(span_from(first, first.s + 2), ':'))
		return false;
	return words->n < 2 || !span_find(words->word[1], '/') ||
	       !span_find(words->word[1], ':');
}

int spec_parse_short(const struct spec_parse *p, struct spec_probe **ret_probe)
{
	struct spec_form form = { .is_short = true };
	int rc;

	if (p->words->n == 0)
		return ubp_fail(p->err, EINVAL, "Empty definition; wanted is " SHORT_FORMS);
	rc = cut_short(p, &form);
	return rc < 0 ? rc : parse_form(p, &form, ret_probe);
}
