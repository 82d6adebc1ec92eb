/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/spec/type.h"

struct spec_probe *spec_probe_new(size_t n_args)
{
	struct spec_probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return NULL;
	if (n_args)
		probe->args = calloc(n_args, sizeof(*probe->args));
	if (n_args && !probe->args) {
		free(probe);
		return NULL;
	}
	probe->n_args = n_args;
	return probe;
}

int spec_probe_tell_faults(struct spec_probe *probe, bool all)
{
	for (size_t i = 0; i < probe->n_args; i++) {
		struct spec_arg *arg = &probe->args[i];

		if (arg->type.format == SPEC_STRING ||
		    (!arg->at_entry && (!all || !arg->n_derefs)))
			continue;
		arg->read_at = (uint32_t)probe->fixed_size;
		probe->fixed_size += spec_arg_read_size(arg);
	}
	return probe->fixed_size > SPEC_FIXED_MAX ? -E2BIG : 0;
}

void spec_probe_free(struct spec_probe *probe)
{
	if (!probe)
		return;
	free(probe->path);
	free(probe->symbol);
	free(probe->command);
	free(probe->args);
	free(probe);
}

struct spec_probe *spec_probe_copy(const struct spec_probe *probe)
{
	struct spec_probe *copy = spec_probe_new(probe->n_args);
	struct spec_arg *args;

	if (!copy)
		return NULL;
	args = copy->args;
	if (probe->n_args)
		memcpy(args, probe->args, probe->n_args * sizeof(*args));
	*copy = *probe;
	copy->args = args;
	copy->path = strdup(probe->path);
	copy->symbol = probe->symbol ? strdup(probe->symbol) : NULL;
	copy->command = strdup(probe->command);
	if (!copy->path || !copy->command || (probe->symbol && !copy->symbol)) {
		spec_probe_free(copy);
		return NULL;
	}
	return copy;
}

bool spec_probe_same_event(const struct spec_probe *a, const struct spec_probe *b)
{
	return strcmp(a->event, b->event) == 0 && strcmp(a->group, b->group) == 0;
}

bool spec_probe_same_place(const struct spec_probe *a, const struct spec_probe *b)
{
	if (a->dev != b->dev || a->ino != b->ino)
		return false;
	if (a->is_resolved && b->is_resolved)
		return a->offset == b->offset;
	return a->symbol && b->symbol && strcmp(a->symbol, b->symbol) == 0 &&
	       a->symbol_off == b->symbol_off;
}

size_t spec_probe_differing_arg(const struct spec_probe *a, const struct spec_probe *b)
{
	if (a->n_args != b->n_args)
		return (a->n_args < b->n_args ? a->n_args : b->n_args) + 1;
	for (size_t i = 0; i < a->n_args; i++)
		if (!spec_type_equal(&a->args[i].type, &b->args[i].type) ||
		    strcmp(a->args[i].name, b->args[i].name) != 0)
			return i + 1;
	return 0;
}

bool spec_probe_same_texts(const struct spec_probe *a, const struct spec_probe *b)
{
	for (size_t i = 0; i < a->n_args; i++)
		if (strcmp(a->args[i].text, b->args[i].text) != 0)
			return false;
	return true;
}
