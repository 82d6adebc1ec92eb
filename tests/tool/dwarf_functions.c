/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * dwarf_functions FILE [DEBUG_DIRS [SYMBOLS]]: the functions that have an address in the DWARF
 * of FILE, wherever that is, a line each: "ADDRESS NAME", the address in hex as in FILE.
 */

#include <inttypes.h>
#include <stdio.h>

#include "engine/base/err.h"
#include "engine/elf/object.h"
#include "engine/files/debug.h"

static int print_function(Dwarf_Die *die, void *ctx)
{
	const int64_t *bias = ctx;
	const char *name = dwarf_diename(die);
	Dwarf_Addr low;

	if (name && dwarf_lowpc(die, &low) == 0)
		printf("%016" PRIx64 " %s\n", low + (uint64_t)*bias, name);
	return DWARF_CB_OK;
}

static int run(struct object *object, struct ubp_err *err)
{
	Dwarf *dwarf = NULL;
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;
	int64_t bias = 0;
	int rc = object_check_symbols(object, err);

	if (rc == 0)
		rc = object_dwarf(object, &dwarf, &bias, err);
	if (rc < 0)
		return rc;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
		(void)dwarf_getfuncs(&unit, print_function, &bias, 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct object_debug_options options = { argc > 2 && argv[2][0] ? argv[2] : NULL,
						argc > 3 ? argv[3] : NULL };
	struct object *object = NULL;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = argc > 1 ? object_open(argv[1], &object, &err) : ubp_fail(&err, 1, "no FILE");
	if (rc == 0) {
		object_set_debug(object, &options);
		rc = run(object, &err);
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	object_free(object);
	return rc < 0;
}
