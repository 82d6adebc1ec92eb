/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/define/add.h"
#include "engine/define/adding.h"
#include "engine/define/check.h"
#include "engine/define/describe.h"
#include "engine/define/entry_note.h"
#include "engine/define/exit_jumps.h"
#include "engine/define/files.h"
#include "engine/define/match.h"
#include "engine/define/probes.h"
#include "engine/define/stops.h"
#include "engine/define/windows.h"

static int take_pids(struct definitions *defs)
{
	size_t n = defs->opt.n_pids;

	defs->pids = calloc(n + 1, sizeof(*defs->pids));
	if (!defs->pids)
		return -ENOMEM;
	if (n)
		memcpy(defs->pids, defs->opt.pids, n * sizeof(*defs->pids));
	defs->opt.pids = defs->pids;
	return 0;
}

int definitions_new(const struct definitions_options *opt, struct definitions **ret_defs,
		    struct ubp_err *err)
{
	struct definitions *defs = calloc(1, sizeof(*defs));
	struct spec_env env = {
		.arch = opt->arch,
		.strict = opt->strict,
		.tells_faults = opt->tells_faults,
		.find_file = files_find,
		.arch_of = files_arch,
		.match = match_each,
		.ctx = defs,
	};

	if (!defs)
		return ubp_fail(err, ENOMEM, "out of memory");
	defs->opt = *opt;
	defs->table = spec_table_new(&env);
	if (!defs->table || take_pids(defs) < 0) {
		definitions_free(defs);
		return ubp_fail(err, ENOMEM, "out of memory");
	}
	*ret_defs = defs;
	return 0;
}

void definitions_free(struct definitions *defs)
{
	if (!defs || adding_end(defs, definitions_free))
		return;
	probes_free(defs);
	files_free(defs);
	spec_table_free(defs->table);
	free(defs->pids);
	free(defs);
}

void definitions_tell_faults(struct definitions *defs)
{
	defs->opt.tells_faults = true;
	spec_table_tell_faults(defs->table);
}

void definitions_see_as(struct definitions *defs, pid_t pid)
{
	defs->opt.view = pid;
}

bool definitions_tells_faults(const struct definitions *defs)
{
	return defs->opt.tells_faults;
}

void definitions_set_program(struct definitions *defs, const char *program)
{
	defs->program = program;
}

/* --- adding ------------------------------------------------------------------------ */

int definitions_add(struct definitions *defs, const char *definition, const char *filter,
		    struct ubp_err *err)
{
	return adding_do(defs, ADD_WORD, definition, strlen(definition), filter, err);
}

int definitions_add_events(struct definitions *defs, const char *text, size_t len,
			   const char *filter, struct ubp_err *err)
{
	return adding_do(defs, ADD_EVENTS, text, len, filter, err);
}

int definitions_add_usdt(struct definitions *defs, const char *definition, const char *filter,
			 struct ubp_err *err)
{
	return adding_do(defs, ADD_USDT, definition, strlen(definition), filter, err);
}

int definitions_add_here(struct definitions *defs, const char *definition, const char *filter,
			 struct ubp_err *err)
{
	return add_definition(defs, definition, filter, err);
}

void definitions_set_others(struct definitions *defs, const struct spec_probe *const *others,
			    size_t n)
{
	spec_table_set_others(defs->table, others, n);
}

bool definitions_are_given_up(const struct definitions *defs)
{
	return defs->is_given_up;
}

void definitions_end_adding(struct definitions *defs)
{
	(void)adding_end(defs, definitions_free);
}

int definitions_check_symbols(struct definitions *defs, struct ubp_err *err)
{
	return files_check_symbols(defs, err);
}

void definitions_tell(const struct definitions *defs, bool wants_jumps)
{
	if (wants_jumps)
		stops_tell(defs);
	entry_note_tell(defs);
}

int definitions_settle(struct definitions *defs)
{
	return windows_settle(defs);
}

/* --- what was added ---------------------------------------------------------------- */

size_t definitions_n(const struct definitions *defs)
{
	return defs->n_probes;
}

const struct spec_probe *definitions_spec(const struct definitions *defs, size_t i)
{
	return probes_spec(defs, i);
}

struct uprobe *definitions_uprobe(const struct definitions *defs, size_t i)
{
	return defs->probes[i]->uprobe;
}

struct uprobe *definitions_take_uprobe(struct definitions *defs, size_t i)
{
	struct uprobe *probe = defs->probes[i]->uprobe;

	defs->probes[i]->uprobe = NULL;
	return probe;
}

struct object *definitions_object(const struct definitions *defs, size_t i)
{
	return defs->probes[i]->object;
}

const char *definitions_listing(struct definitions *defs, size_t i)
{
	return describe_listing(defs, i);
}

const char *definitions_format(struct definitions *defs, size_t i)
{
	return describe_format(defs, i);
}

const char *definitions_explain(struct definitions *defs, size_t i)
{
	return describe_explain(defs, i);
}

const char *definitions_stop(struct definitions *defs, size_t i)
{
	return describe_stop(defs, i);
}

const char *definitions_break(struct definitions *defs, size_t i, bool *ret_perhaps)
{
	return describe_break(defs, i, ret_perhaps);
}

void definitions_set_sample(struct definitions *defs, const struct sample_text *sample)
{
	defs->opt.sample = sample;
}

void definitions_set_handler(struct definitions *defs, const struct uprobe_handler *handler)
{
	defs->opt.handler = *handler;
}

int definitions_give_handler(struct definitions *defs, size_t i,
			     const struct uprobe_handler *handler)
{
	struct defined_probe *p = defs->probes[i];

	probes_set_handler(p, handler);
	free(p->explain);
	p->explain = NULL;
	return windows_find(defs, p);
}

char *definitions_function(const struct definitions *defs, size_t i)
{
	return describe_function(defs, i);
}

const char *definitions_for_kernel(struct definitions *defs, size_t i, const char **ret_why)
{
	return describe_for_kernel(defs, i, ret_why);
}

/* --- files ------------------------------------------------------------------------- */

/* The first probe in @file; .n_probes: there is none. */
static size_t first_in(const struct definitions *defs, const struct definition_file *file)
{
	size_t i = 0;

	while (i < defs->n_probes && defs->probes[i]->file != file)
		i++;
	return i;
}

bool definitions_next_file(const struct definitions *defs, const struct definition_file **pos,
			   struct defined_file *ret_file)
{
	const struct definition_file *last = *pos;

	for (const struct definition_file *f = last ? last->next : defs->files; f;
	     f = f->next) {
		size_t i = first_in(defs, f);

		if (i == defs->n_probes)
			continue;
		*ret_file = (struct defined_file){ .path = probes_spec(defs, i)->path,
						   .maps_dev = f->maps_dev,
						   .maps_ino = f->maps_ino,
						   .object = f->object };
		*pos = f;
		return true;
	}
	return false;
}

const struct object *definitions_file_of(const struct definitions *defs, uint64_t maps_dev,
					 uint64_t maps_ino)
{
	const struct definition_file *f = defs->files;

	while (f && (f->maps_dev != maps_dev || f->maps_ino != maps_ino))
		f = f->next;
	return f ? f->object : NULL;
}

/* --- for who plants ---------------------------------------------------------------- */

struct object *definitions_object_of(const struct uprobe *probe)
{
	return probe->origin->object;
}

void definitions_find_exits(struct uprobe *probe)
{
	check_find_exits(probe);
}

void definitions_find_exit_jumps(struct uprobe *probe)
{
	exit_jumps_find(probe);
}

void definitions_find_lead(const struct definitions *defs, struct uprobe *probe)
{
	windows_find_lead(defs, probe);
}
