/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/usdt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/define/files.h"
#include "engine/define/plain.h"
#include "engine/define/tell.h"
#include "engine/elf/segments.h"
#include "engine/spec/chars.h"

/* Plain definitions for all locations, and what they consist of. */
struct usdt_plan {
	struct definitions *defs;
	const struct usdt_definition *d;
	const char *filter;
	const struct usdt_file *file;
	struct plain_probe *probes;
	struct usdt_place {
		struct usdt_args args;
		char *group, *event;
		const char *note_args;
	} * places;
	size_t n, n_left_out, n_excluded;
	struct ubp_err *err;
};

/* A provider's name as that of a group: what no group may have becomes '_'. Allocated. */
static char *group_name(const char *provider)
{
	char *name;

	if (asprintf(&name, "%s%.*s", char_is_digit(provider[0]) ? "_" : "", SPEC_NAME_MAX - 1,
		     provider) < 0)
		return NULL;
	for (char *c = name; *c; c++)
		if (!char_is_name(*c) && *c != '-')
			*c = '_';
	return name;
}

static char *event_name(const struct usdt_definition *d, const char *name)
{
	char *event;

	if (!d->event || !usdt_is_pattern(d))
		return strdup(d->event ? d->event : name);
	return asprintf(&event, "%s_%s", d->event, name) < 0 ? NULL : event;
}

/* Notes may be there twice. */
static bool is_planned(const struct usdt_plan *plan, uint64_t foffset, const char *note_args)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->probes[i].offset == foffset &&
		    plan->probes[i].path == plan->file->path &&
		    strcmp(plan->places[i].note_args, note_args) == 0)
			return true;
	return false;
}

/* A note that leads nowhere is passed over: there may be others. */
static bool find_place(struct usdt_plan *plan, const struct object_note *note,
		       uint64_t *ret_foffset, uint64_t *ret_ref)
{
	struct object *object = plan->file->object;

	*ret_ref = 0;
	if (object_vaddr_to_foffset(object, note->elf_vaddr, ret_foffset) < 0 ||
	    !object_is_executable(object, *ret_foffset)) {
		definitions_warn(plan->defs,
				 "%s:%s in %s is left out: there is no code at 0x%" PRIx64,
				 note->provider, note->name, plan->file->path, note->elf_vaddr);
		return false;
	}
	if (note->semaphore && object_data_foffset(object, note->semaphore, ret_ref) < 0) {
		definitions_warn(plan->defs,
				 "%s:%s in %s is left out: its semaphore, at 0x%" PRIx64
				 ", is not in the data of the program",
				 note->provider, note->name, plan->file->path, note->semaphore);
		return false;
	}
	return true;
}

static int make_room(struct usdt_plan *plan)
{
	if (VEC_DOUBLE(plan->probes, plan->n) < 0 || VEC_DOUBLE(plan->places, plan->n) < 0)
		return ubp_fail(plan->err, ENOMEM, "out of memory");
	return 0;
}

static int plan_note(void *ctx, const struct object_note *note)
{
	struct usdt_plan *plan = ctx;
	const struct usdt_definition *d = plan->d;
	struct usdt_place *place;
	uint64_t foffset, ref;
	int rc;

	if (!usdt_is_meant(d, note))
		return 0;
	if (usdt_is_pattern(d) && usdt_is_excluded(plan->defs->opt.exclude, note)) {
		plan->n_excluded++;
		return 0;
	}
	if (!find_place(plan, note, &foffset, &ref)) {
		plan->n_left_out++;
		return 0;
	}
	if (is_planned(plan, foffset, note->args))
		return 0;
	rc = make_room(plan);
	if (rc < 0)
		return rc;
	place = &plan->places[plan->n];
	*place = (struct usdt_place){
		.group = d->group ? strdup(d->group) : group_name(note->provider),
		.event = event_name(d, note->name),
		.note_args = note->args,
	};
	plan->probes[plan->n++] = (struct plain_probe){
		.group = place->group,
		.event = place->event,
		.is_name_typed = d->event && !usdt_is_pattern(d),
		.path = plan->file->path,
		.offset = foffset,
		.ref = ref,
		.col = d->at,
	};
	if (!place->group || !place->event)
		return ubp_fail(plan->err, ENOMEM, "out of memory");
	return usdt_args(d, plan->file->object, note, plan->filter, plan->defs->opt.warn,
			 plan->defs->opt.warn_ctx, &place->args, plan->err);
}

static int plan_file(struct usdt_plan *plan, const struct usdt_file *file)
{
	size_t before = plan->n;
	int rc;

	plan->file = file;
	object_set_debug(file->object, &plan->defs->opt.debug);
	rc = object_each_note(file->object, plan_note, plan);
	for (size_t i = before; i < plan->n && rc == 0; i++) {
		plan->probes[i].args = plan->places[i].args.v;
		plan->probes[i].n_args = plan->places[i].args.n;
	}
	return rc;
}

static void plan_free(struct usdt_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		usdt_args_free(&plan->places[i].args);
		free(plan->places[i].group);
		free(plan->places[i].event);
	}
	free(plan->places);
	free(plan->probes);
}

/* Whoever named no file wants to know which it is. */
static void tell_place(const struct definitions *defs, const struct usdt_definition *d,
		       const struct usdt_files *files)
{
	for (size_t i = 0; i < files->n && defs->opt.tell && !d->target; i++) {
		char text[UBP_ERR_TEXT_MAX];

		(void)snprintf(text, sizeof(text), "found %s in %s", d->probe,
			       files->v[i].path);
		defs->opt.tell(defs->opt.warn_ctx, text);
	}
}

static int fail_none(const struct usdt_plan *plan)
{
	if (plan->n_excluded && !plan->n_left_out)
		(void)ubp_fail(plan->err, ENOENT, "all of '%.128s' are left out by --exclude",
			       plan->d->probe);
	else
		(void)ubp_fail(plan->err, ENOEXEC, "no location of '%.128s' makes sense",
			       plan->d->probe);
	return usdt_at(plan->d, plan->d->probe_at, plan->err);
}

static int add_found(struct definitions *defs, const struct usdt_definition *d,
		     const char *filter, const struct usdt_files *files, struct ubp_err *err)
{
	const struct plain_origin origin = { .text = d->text, .filter = filter };
	struct usdt_plan plan = { .defs = defs, .d = d, .filter = filter, .err = err };
	int rc = 0;

	for (size_t i = 0; i < files->n && rc == 0; i++)
		rc = plan_file(&plan, &files->v[i]);
	if (rc == 0 && plan.n == 0)
		rc = fail_none(&plan);
	if (rc == 0)
		rc = plain_add(defs, plan.probes, plan.n, &origin, err);
	plan_free(&plan);
	if (rc == 0)
		tell_place(defs, d, files);
	return rc;
}

int usdt_add(struct definitions *defs, const char *definition, const char *filter,
	     struct ubp_err *err)
{
	struct usdt_definition d;
	struct usdt_files files;
	int rc;

	files_look_again(defs);
	rc = usdt_parse(definition, &d, err);
	if (rc == 0) {
		rc = usdt_find(defs, &d, &files, err);
		if (rc == 0)
			rc = add_found(defs, &d, filter, &files, err);
		usdt_files_free(&files);
	}
	usdt_definition_free(&d);
	return rc;
}
