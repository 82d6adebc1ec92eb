/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/die.h"

#include <gelf.h>
#include <string.h>

bool dw_covers(Dwarf_Die *die, Dwarf_Addr addr)
{
	return dwarf_haspc(die, addr) == 1;
}

bool dw_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die)
{
	Dwarf_Attribute a;

	return dwarf_attr(die, attr, &a) && dwarf_formref_die(&a, ret_die);
}

/* Its abstract origin, or its specification. */
static bool dw_origin(Dwarf_Die *die, Dwarf_Die *ret_die)
{
	return dw_ref(die, DW_AT_abstract_origin, ret_die) ||
	       dw_ref(die, DW_AT_specification, ret_die);
}

Dwarf_Attribute *dw_attr(Dwarf_Die *die, unsigned attr, Dwarf_Attribute *ret_attr)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < DW_CHAIN_MAX; i++) {
		Dwarf_Die next;

		if (dwarf_attr(&at, attr, ret_attr))
			return ret_attr;
		if (!dw_origin(&at, &next))
			return NULL;
		at = next;
	}
	return NULL;
}

bool dw_inherited_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die)
{
	Dwarf_Attribute a;

	return dw_attr(die, attr, &a) && dwarf_formref_die(&a, ret_die);
}

/* DIEs are in .debug_info and .debug_types; other sections may be long, and were not read yet. */
static bool has_dies(Elf *elf, size_t names, Elf_Scn *section)
{
	GElf_Shdr header;
	const char *name =
		gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

	return name && (strstr(name, "debug_info") || strstr(name, "debug_types"));
}

/* Does a string of a DIE end in the section that it begins in? */
static bool ends(Elf *elf, const char *string)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const Elf_Data *data =
			has_dies(elf, names, section) ? elf_rawdata(section, NULL) : NULL;
		const char *start = data ? data->d_buf : NULL;

		if (start && string >= start && string < start + data->d_size)
			return memchr(string, '\0', (size_t)(start + data->d_size - string));
	}
	return false;
}

const char *dw_string(Dwarf_Attribute *attr)
{
	const char *string = dwarf_formstring(attr);

	/* Sections of strings were looked at by check_sections(). */
	if (!string || dwarf_whatform(attr) != DW_FORM_string)
		return string;
	return ends(dwarf_getelf(dwarf_cu_getdwarf(attr->cu)), string) ? string : NULL;
}

const char *dw_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;

	return dw_attr(die, DW_AT_name, &a) ? dw_string(&a) : NULL;
}

bool dw_flag(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute a;
	bool flag = false;

	return dw_attr(die, attr, &a) && dwarf_formflag(&a, &flag) == 0 && flag;
}

bool dw_number(Dwarf_Die *die, unsigned attr, Dwarf_Word *ret_value)
{
	Dwarf_Attribute a;

	return dw_attr(die, attr, &a) && dwarf_formudata(&a, ret_value) == 0;
}

bool dw_is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_entry_point;
}

bool dw_is_scope(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return dw_is_function(die) || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}
