/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/remove.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/spec/probe.h"

struct selection {
	bool has_group;
	struct spec_span group, event; /* an empty event means all of the group */
	const struct spec_span *words; /* place and args */
	size_t n_words;
};

static bool place_matches(const struct spec_probe *probe, struct spec_span word)
{
	int len = spec_probe_place_text(probe, NULL, 0);
	char *text = malloc((size_t)len + 1);
	bool equal;

	if (!text)
		return false;
	spec_probe_place_text(probe, text, (size_t)len + 1);
	equal = span_is(word, text);
	free(text);
	return equal;
}

static bool arg_matches(const struct spec_arg *arg, struct spec_span word)
{
	const char *equals = span_find(word, '=');

	return equals && span_is(span_until(word, equals), arg->name) &&
	       span_is(span_from(word, equals + 1), arg->text);
}

static bool selection_has(const struct selection *sel, const struct spec_probe *probe)
{
	if (sel->event.len > 0 && !span_is(sel->event, probe->event))
		return false;
	if (sel->has_group && !span_is(sel->group, probe->group))
		return false;
	if (sel->n_words == 0)
		return true;
	if (!place_matches(probe, sel->words[0]) || sel->n_words - 1 > probe->n_args)
		return false;
	for (size_t i = 1; i < sel->n_words; i++)
		if (!arg_matches(&probe->args[i - 1], sel->words[i]))
			return false;
	return true;
}

static int parse_selection(const struct spec_parse *p, struct selection *sel)
{
	struct spec_span first = p->words->word[0];
	const char *slash;

	if (span_at(first, 1) != ':')
		return spec_fail_unlogged(p, EINVAL, 1, "Deletion must begin with -:");
	sel->event = span_from(first, first.s + 2);
	slash = span_find(sel->event, '/');
	if (slash) {
		sel->has_group = true;
		sel->group = span_until(sel->event, slash);
		sel->event = span_from(sel->event, slash + 1);
	} else if (sel->event.len == 0) {
		return spec_fail_unlogged(p, EINVAL, 2, "No event to delete is specified");
	}
	sel->words = p->words->word + 1;
	sel->n_words = p->words->n - 1;
	return 0;
}

int spec_remove(const struct spec_parse *p, struct spec_probe **probes, size_t *n)
{
	struct selection sel = { 0 };
	size_t n_left = 0;
	int rc;

	rc = parse_selection(p, &sel);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < *n; i++) {
		if (selection_has(&sel, probes[i]))
			spec_probe_free(probes[i]);
		else
			probes[n_left++] = probes[i];
	}
	if (n_left == *n)
		return spec_fail_unlogged(p, ENOENT, 0, "No such event to delete");
	*n = n_left;
	return 0;
}
