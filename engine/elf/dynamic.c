/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the dynamic section says of libraries and of code. */

#include <errno.h>
#include <stdlib.h>

#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"

static int read_entries(struct object *object, Elf_Data *data, size_t n,
			const struct string_table *strings, struct ubp_err *err)
{
	GElf_Dyn dyn;

	for (size_t i = 0; i < n; i++) {
		const char *string;

		if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_INIT)
			object->init = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_FINI)
			object->fini = dyn.d_un.d_ptr;
		if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_SONAME)
			continue;
		string = string_at(strings, dyn.d_un.d_val);
		if (!string)
			return ubp_fail(err, ENOEXEC,
					"%s: corrupt ELF file: name of a library at 0x%llx of "
					"0x%zx bytes",
					object->path, (unsigned long long)dyn.d_un.d_val,
					strings->len);
		if (dyn.d_tag == DT_SONAME)
			object->soname = string;
		else
			object->needed[object->n_needed++] = string;
	}
	return 0;
}

int object_read_dynamic(struct object *object, struct ubp_err *err)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section_of_type(object, SHT_DYNAMIC, &header);
	struct string_table strings = { 0 };
	Elf_Data *data;
	size_t n;
	int rc;

	if (!section)
		return 0;
	data = object_section_data(section, false);
	if (!data)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: dynamic section: %s",
				object->path, elf_errmsg(-1));
	rc = object_string_table(object, header.sh_link, &strings, err);
	if (rc < 0)
		return rc;
	n = data->d_size / gelf_fsize(object->elf, ELF_T_DYN, 1, EV_CURRENT);
	object->needed = calloc(n ? n : 1, sizeof(*object->needed));
	if (!object->needed)
		return ubp_fail(err, ENOMEM, "out of memory");
	return read_entries(object, data, n, &strings, err);
}
