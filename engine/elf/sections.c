/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/sections.h"

#include <errno.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/object_priv.h"

Elf_Scn *section_of_type(Elf *elf, uint32_t type, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type)
			return section;
	return NULL;
}

Elf_Scn *object_section_of_type(const struct object *object, uint32_t type,
				GElf_Shdr *ret_header)
{
	return section_of_type(object->elf, type, ret_header);
}

Elf_Scn *section_named(Elf *elf, Elf_Scn *behind, const char *name, GElf_Shdr *ret_header)
{
	Elf_Scn *section = behind;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *its = gelf_getshdr(section, ret_header)
					  ? elf_strptr(elf, names, ret_header->sh_name)
					  : NULL;

		if (its && strcmp(its, name) == 0)
			return section;
	}
	return NULL;
}

Elf_Scn *section_with_bytes(Elf *elf, const char *name, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	do {
		section = section_named(elf, section, name, ret_header);
	} while (section && ret_header->sh_type == SHT_NOBITS);
	return section;
}

Elf_Data *object_section_data(Elf_Scn *section, bool raw)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(section, &header) || header.sh_size > SECTION_LEN_MAX)
		return NULL;
	data = raw ? elf_rawdata(section, NULL) : elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

int section_strings(Elf *elf, const char *path, size_t index, struct string_table *ret_table,
		    struct ubp_err *err)
{
	Elf_Scn *section = elf_getscn(elf, index);
	Elf_Data *data = section ? object_section_data(section, false) : NULL;
	const char *bytes = data ? data->d_buf : NULL;

	if (!bytes || data->d_size == 0 || bytes[data->d_size - 1] != '\0')
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: strings of section %zu",
				path, index);
	*ret_table = (struct string_table){ .bytes = bytes, .len = data->d_size };
	return 0;
}

int object_string_table(const struct object *object, size_t index,
			struct string_table *ret_table, struct ubp_err *err)
{
	return section_strings(object->elf, object->path, index, ret_table, err);
}
