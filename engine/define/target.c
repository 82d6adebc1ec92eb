/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/define/target.h"

#include <stdlib.h>

#include "engine/dwarf/dwarf.h"
#include "engine/elf/object.h"
#include "engine/files/locate.h"

int target_open(const struct define_target *target, char **ret_path, struct object **ret_object,
		struct ubp_err *err)
{
	char *path = NULL, *open_path = NULL;
	int rc = object_locate(target->name, target->pid, &path, &open_path, err);

	if (rc == 0)
		rc = object_open(open_path, ret_object, err);
	free(open_path);
	if (rc == 0)
		object_set_debug(*ret_object, &target->debug);
	if (rc == 0 && ret_path)
		*ret_path = path;
	else
		free(path);
	return rc;
}

int target_open_dwarf(const struct define_target *target, struct object **ret_object,
		      struct dwarf **ret_dwarf, struct ubp_err *err)
{
	int rc;

	*ret_object = NULL;
	*ret_dwarf = NULL;
	rc = target_open(target, NULL, ret_object, err);
	return rc < 0 ? rc : dwarf_open(*ret_object, ret_dwarf, err);
}
