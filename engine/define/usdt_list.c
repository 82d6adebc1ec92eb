/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Lists of static probes, of a target or of what a process maps. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/define/explain.h"
#include "engine/define/list.h"
#include "engine/define/target.h"
#include "engine/define/usdt.h"
#include "engine/elf/object.h"
#include "engine/elf/segments.h"

struct listing {
	const struct define_target *target;
	int (*each)(void *ctx, const struct listed_usdt *usdt);
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
	struct listed_usdt usdt = { .path = l->path, .object = l->object, .note = note };

	if ((l->target->pattern && !usdt_name_matches(l->target->pattern, note)) ||
	    usdt_is_excluded(l->target->exclude, note))
		return 0;
	if (object_vaddr_to_foffset(l->object, note->elf_vaddr, &usdt.foffset) < 0)
		usdt.foffset = UINT64_MAX;
	if (l->explaining)
		usdt.how = explaining_text(l->explaining, usdt.foffset, NULL);
	usdt_operands(l->object, note, l->operands);
	usdt.n_args = l->operands->n;
	return l->each(l->ctx, &usdt);
}

static int list_explained(struct listing *l)
{
	struct explaining x = { .defs = NULL };
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
	int rc;

	object_set_debug(object, &l->target->debug);
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

int define_list_usdt(const struct define_target *target,
		     int (*each)(void *ctx, const struct listed_usdt *usdt), void *ctx,
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

bool define_usdt_arg(struct object *object, const struct object_note *note, size_t i,
		     char *text, size_t size)
{
	struct usdt_operands *operands = malloc(sizeof(*operands));
	bool can = false;

	(void)snprintf(text, size, "%s", operands ? "there is none" : "out of memory");
	if (operands)
		usdt_operands(object, note, operands);
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
