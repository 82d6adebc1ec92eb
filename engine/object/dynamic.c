/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sections, their strings, and what the dynamic section says. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/elf_size.h"
#include "engine/object/object.h"
#include "engine/object/object_priv.h"

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

static int read_entries(struct object *object, Elf_Data *data, size_t n,
			const struct string_table *strings, struct ubp_err *err)
{
	GElf_Dyn dyn;

	for (size_t i = 0; i < n; i++) {
		const char *string;

		if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
			break;
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

const char *object_soname(const struct object *object)
{
	return object->soname;
}

const char *object_needed(const struct object *object, size_t i)
{
	return i < object->n_needed ? object->needed[i] : NULL;
}

bool object_has_needed(const struct object *object, const char *soname)
{
	for (size_t i = 0; i < object->n_needed; i++)
		if (strcmp(object->needed[i], soname) == 0)
			return true;
	return false;
}
