/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/conflict.h"

#include <errno.h>
#include <string.h>

#include "engine/spec/index.h"
#include "engine/spec/probe.h"

/* Names tried before giving up; the check then fails with the last one. */
#define RENAMES_MAX 1000

/* The same for what a pattern finds: long names of C++ are equal where they are cut. */
#define NUMBERS_MAX 100000

/* Column of word @i, also of the one that would come behind the last. */
static size_t word_col(const struct spec_parse *p, size_t i)
{
	if (i >= p->words->n)
		return p->words->len + 1;
	return spec_col(p, p->words->word[i].s);
}

int spec_conflict_check(const struct spec_parse *p, const struct spec_index *others,
			const struct spec_probe *probe)
{
	const struct spec_probe *event = spec_index_event(others, probe);
	const struct spec_probe *there = spec_index_place(others, probe);
	size_t arg;

	/* A place has one reference counter, and none counts as one. */
	if (there && there->ref != probe->ref)
		return spec_fail_unlogged(p, EINVAL, 0, "Reference counter offset mismatch");
	if (!event)
		return 0;
	if (event->kind != probe->kind)
		return spec_fail(p, EEXIST, 0, "Probe type is different from existing probe");
	arg = spec_probe_differing_arg(event, probe);
	if (arg > 0)
		return spec_fail(p, EEXIST, word_col(p, p->words->n - probe->n_args + arg - 1),
				 "Argument type or name is different from existing probe");
	if (spec_index_twin(others, probe))
		return spec_fail(p, EEXIST, 0, "There is already the exact same probe event");
	return 0;
}

void spec_conflict_rename(const struct spec_index *others, struct spec_probe *probe)
{
	char wanted[SPEC_NAME_MAX + 1];

	memcpy(wanted, probe->event, sizeof(wanted));
	for (unsigned k = 1; k <= RENAMES_MAX; k++) {
		const struct spec_probe *event = spec_index_event(others, probe);

		if (!event ||
		    (event->kind == probe->kind && spec_probe_differing_arg(event, probe) == 0))
			return;
		spec_name_number(wanted, k, probe->event);
	}
}

void spec_conflict_number(const struct spec_index *others, struct spec_probe *probe)
{
	char wanted[SPEC_NAME_MAX + 1];

	memcpy(wanted, probe->event, sizeof(wanted));
	for (unsigned k = 1; k <= NUMBERS_MAX; k++) {
		if (!spec_index_event(others, probe))
			return;
		spec_name_number(wanted, k, probe->event);
	}
}
