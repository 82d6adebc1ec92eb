/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include <string.h>

#include "engine/object/object_priv.h"

bool object_is_go(const struct object *object)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(object->elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(object->elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(object->elf, names, header.sh_name);
		/* Also there when the program is stripped: the runtime needs them. */
		if (name &&
		    (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".go.buildinfo") == 0))
			return true;
	}
	return false;
}
