/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of static probes, of a target or of what a process maps. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/elf/object.h"
#include "engine/elf/segments.h"
#include "engine/session/explain.h"
#include "engine/session/target_file.h"
#include "engine/session/usdt.h"
#include "engine/ubp_files.h"

struct listing {
	const struct ubp_target *target;
	int (*each)(void *ctx, const struct ubp_usdt *usdt);
	void *ctx;
	const char *path;
	struct object *object;
	struct explaining *explaining; /* NULL: not asked for */
	struct usdt_operands *operands;
	struct ubp_err *err;
};

static int list_note(void *ctx, const struct object_note *note)
{
	const struct listing *l = ctx;
	struct ubp_usdt usdt = {
		.path = l->path,
		.provider = note->provider,
		.name = note->name,
		.args = note->args,
		.location = note->elf_vaddr,
		.semaphore = note->semaphore,
		.base = note->base,
		.inside = l->object,
	};

	if ((l->target->pattern && !usdt_name_matches(l->target->pattern, note)) ||
	    usdt_is_excluded(l->target->exclude, note))
		return 0;
	if (object_vaddr_to_foffset(l->object, note->elf_vaddr, &usdt.offset) < 0)
		usdt.offset = UINT64_MAX;
	if (l->explaining)
		usdt.explain = explaining_text(l->explaining, usdt.offset, NULL);
	usdt_operands(l->object, note, l->operands);
	usdt.n_args = l->operands->n;
	return l->each(l->ctx, &usdt);
}

static int list_explained(struct listing *l)
{
	struct explaining x = { .session = NULL };
	int rc = explaining_begin(l->target, l->path, &x, l->err);

	l->explaining = &x;
	if (rc == 0)
		rc = object_each_note(l->object, list_note, l);
	l->explaining = NULL;
	explaining_end(&x);
	return rc;
}

static int list_object(struct listing *l, const char *path, struct object *object)
{
	l->path = path;
	l->object = object;
	return l->target->explain ? list_explained(l) : object_each_note(object, list_note, l);
}

/* One of those that a process maps. */
static int list_mapped(void *ctx, const char *path, struct object *object)
{
	struct listing *l = ctx;
	const struct object_debug_options debug = target_debug(&l->target->debug);
	int rc;

	object_set_debug(object, &debug);
	rc = list_object(l, path, object);
	object_free(object);
	return rc;
}

static int list_target(struct listing *l)
{
	struct object *object = NULL;
	char *path = NULL;
	int rc = target_open(l->target, &path, &object, l->err);

	if (rc == 0)
		rc = list_object(l, path, object);
	free(path);
	object_free(object);
	return rc;
}

int ubp_list_usdt(const struct ubp_target *target,
		  int (*each)(void *ctx, const struct ubp_usdt *usdt), void *ctx,
		  struct ubp_err *err)
{
	struct usdt_operands *operands = malloc(sizeof(*operands));
	struct listing l = {
		.target = target,
		.each = each,
		.ctx = ctx,
		.operands = operands,
		.err = err,
	};
	int rc;

	ubp_err_reset(err);
	if (!operands)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	else if (target->name)
		rc = list_target(&l);
	else if (target->pid)
		rc = usdt_each_mapped(target->pid, list_mapped, &l, err);
	else
		rc = ubp_fail(err, EINVAL, "neither a target nor a process is given");
	free(operands);
	return rc;
}

bool ubp_usdt_arg(const struct ubp_usdt *usdt, size_t i, char *text, size_t size)
{
	const struct object_note note = {
		.elf_vaddr = usdt->location,
		.provider = usdt->provider,
		.name = usdt->name,
		.args = usdt->args,
	};
	struct usdt_operands *operands = malloc(sizeof(*operands));
	bool can = false;

	(void)snprintf(text, size, "%s", operands ? "there is none" : "out of memory");
	if (operands)
		usdt_operands(usdt->inside, &note, operands);
	if (operands && i < operands->n) {
		const struct usdt_operand *o = &operands->v[i];

		can = !o->why;
		if (can)
			(void)snprintf(text, size, "%s %s", o->fetch.type, o->fetch.value);
		else
			(void)snprintf(text, size, "%.*s: %s", (int)o->len, o->text, o->why);
	}
	free(operands);
	return can;
}
