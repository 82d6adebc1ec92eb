/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include <stdlib.h>

#include "engine/object/locate.h"
#include "engine/object/object.h"
#include "engine/session/ubp.h"

struct listing {
	int (*each)(void *ctx, const char *name, uint64_t offset, const char *explain);
	void *ctx;
};

static int list_one(void *ctx, const struct object_symbol *symbol)
{
	const struct listing *l = ctx;

	return l->each(l->ctx, symbol->name, symbol->foffset, NULL);
}

int ubp_list_functions(const struct ubp_target *target,
		       int (*each)(void *ctx, const char *name, uint64_t offset,
				   const char *explain),
		       void *ctx, struct ubp_err *err)
{
	struct listing l = { each, ctx };
	char *path = NULL, *open_path = NULL;
	struct object *object = NULL;
	int rc;

	ubp_err_reset(err);
	rc = object_locate(target->name, target->pid, &path, &open_path, err);
	if (rc == 0)
		rc = object_open(open_path, &object, err);
	if (rc == 0)
		rc = object_each_function(object, list_one, &l, err);
	object_free(object);
	free(path);
	free(open_path);
	return rc;
}
