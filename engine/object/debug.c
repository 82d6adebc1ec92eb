/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/debug.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/object/object_priv.h"

struct object_debug {
	struct object_debug_options options;
	char *dirs;
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	Dwfl_Module *module;
};

static struct object_debug *get(struct object *object)
{
	if (!object->debug)
		object->debug = calloc(1, sizeof(*object->debug));
	return object->debug;
}

void object_set_debug(struct object *object, const struct object_debug_options *options)
{
	struct object_debug *debug = get(object);

	if (debug)
		debug->options = *options;
}

void object_free_debug(struct object *object)
{
	if (!object->debug)
		return;
	if (object->debug->dwfl)
		dwfl_end(object->debug->dwfl);
	free(object->debug);
}

/* libdwfl wants a descriptor of its own, which it closes. */
static int open_module(struct object *object, struct object_debug *debug, struct ubp_err *err)
{
	int fd;

	debug->dirs = (char *)debug->options.dirs;
	debug->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug->dirs,
	};
	debug->dwfl = dwfl_begin(&debug->callbacks);
	if (!debug->dwfl)
		return ubp_fail(err, ENOMEM, "%s: %s", object->path, dwfl_errmsg(-1));
	fd = dup(object->fd);
	if (fd < 0)
		return ubp_fail_sys(err, "%s", object->path);
	dwfl_report_begin(debug->dwfl);
	debug->module = dwfl_report_elf(debug->dwfl, object->path, object->path, fd, 0, false);
	if (!debug->module)
		close(fd);
	dwfl_report_end(debug->dwfl, NULL, NULL);
	if (!debug->module)
		return ubp_fail(err, ENOEXEC, "%s: %s", object->path, dwfl_errmsg(-1));
	return 0;
}

int object_dwarf(struct object *object, Dwarf **ret_dwarf, int64_t *ret_bias,
		 struct ubp_err *err)
{
	struct object_debug *debug = get(object);
	Dwarf_Addr bias = 0;
	int rc = 0;

	if (!debug)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!debug->module)
		rc = open_module(object, debug, err);
	if (rc < 0)
		return rc;
	*ret_dwarf = dwfl_module_getdwarf(debug->module, &bias);
	if (!*ret_dwarf)
		return ubp_fail(err, ENODATA, "%s has no debug information: %s", object->path,
				dwfl_errmsg(-1));
	*ret_bias = (int64_t)bias;
	return 0;
}

Dwarf_CFI *object_eh_cfi(struct object *object, int64_t *ret_bias)
{
	struct object_debug *debug = get(object);
	Dwarf_CFI *cfi = NULL;
	Dwarf_Addr bias = 0;

	if (debug && debug->module)
		cfi = dwfl_module_eh_cfi(debug->module, &bias);
	*ret_bias = (int64_t)bias;
	return cfi;
}
