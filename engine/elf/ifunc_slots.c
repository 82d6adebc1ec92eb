/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/ifunc_slots.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/elf/segments.h"

/* What to look for, and where matches go. */
struct slot_search {
	const struct arch_elf *types;
	const char *name;
	uint64_t resolver;
	uint64_t *slots;
	size_t max, n;
};

/* A relocation, of either form. */
struct reloc {
	uint64_t slot; /* elf_vaddr */
	uint64_t info;
	uint64_t addend;
	bool has_addend; /* else it stands in the slot */
};

static bool get_reloc(Elf_Data *data, uint32_t section_type, size_t i, struct reloc *ret_reloc)
{
	GElf_Rela rela;
	GElf_Rel rel;

	if (i > INT32_MAX)
		return false;
	if (section_type == SHT_RELA) {
		if (!gelf_getrela(data, (int)i, &rela))
			return false;
		*ret_reloc = (struct reloc){ .slot = rela.r_offset,
					     .info = rela.r_info,
					     .addend = (uint64_t)rela.r_addend,
					     .has_addend = true };
		return true;
	}
	if (!gelf_getrel(data, (int)i, &rel))
		return false;
	*ret_reloc = (struct reloc){ .slot = rel.r_offset, .info = rel.r_info };
	return true;
}

static bool resolver_matches(const struct object *object, const struct reloc *reloc,
			     uint64_t resolver)
{
	size_t len = object->ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	uint64_t foffset;
	uint8_t word[8];

	if (reloc->has_addend)
		return reloc->addend == resolver;
	return object_vaddr_to_foffset(object, reloc->slot, &foffset) == 0 &&
	       object_read(object, foffset, word, len) == (ssize_t)len &&
	       object_number(object, word, len) == resolver;
}

static bool name_matches(const struct reloc *reloc, Elf_Data *symbols,
			 const struct string_table *strings, const char *name)
{
	uint64_t index = GELF_R_SYM(reloc->info);
	const char *found;
	GElf_Sym sym;

	if (!symbols || index == 0 || index > INT32_MAX ||
	    !gelf_getsym(symbols, (int)index, &sym))
		return false;
	found = string_at(strings, sym.st_name);
	return found && strcmp(found, name) == 0;
}

static void search_section(const struct object *object, Elf_Scn *section,
			   const GElf_Shdr *header, struct slot_search *search)
{
	Elf_Scn *sym_section = elf_getscn(object->elf, header->sh_link);
	Elf_Type type = header->sh_type == SHT_RELA ? ELF_T_RELA : ELF_T_REL;
	Elf_Data *data = object_section_data(section, false), *symbols = NULL;
	struct string_table strings = { 0 };
	GElf_Shdr sym_header;
	struct ubp_err ignored;
	size_t n;

	if (!data)
		return;
	ubp_err_reset(&ignored);
	/* Static programs have none of these: all their slots are IRELATIVE. */
	if (search->name && sym_section && gelf_getshdr(sym_section, &sym_header) &&
	    (sym_header.sh_type == SHT_DYNSYM || sym_header.sh_type == SHT_SYMTAB) &&
	    object_string_table(object, sym_header.sh_link, &strings, &ignored) == 0)
		symbols = object_section_data(sym_section, false);
	n = data->d_size / gelf_fsize(object->elf, type, 1, EV_CURRENT);
	for (size_t i = 0; i < n; i++) {
		struct reloc reloc;
		uint32_t kind;
		bool matches = false;

		if (!get_reloc(data, header->sh_type, i, &reloc))
			return;
		kind = (uint32_t)GELF_R_TYPE(reloc.info);
		if (kind == search->types->irelative)
			matches = search->resolver != 0 &&
				  resolver_matches(object, &reloc, search->resolver);
		else if (kind == search->types->jump_slot || kind == search->types->glob_dat)
			matches = search->name &&
				  name_matches(&reloc, symbols, &strings, search->name);
		if (!matches)
			continue;
		if (search->n < search->max)
			search->slots[search->n] = reloc.slot;
		search->n++;
	}
}

size_t object_ifunc_slots(struct object *object, const char *name, uint64_t resolver_elf_vaddr,
			  uint64_t *slots, size_t max)
{
	struct slot_search search = {
		.name = name, .resolver = resolver_elf_vaddr, .slots = slots, .max = max
	};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (object->arch && object->arch->elf.irelative)
		search.types = &object->arch->elf;
	while (search.types && (section = elf_nextscn(object->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
		    (header.sh_type == SHT_RELA || header.sh_type == SHT_REL))
			search_section(object, section, &header, &search);
	return search.n;
}
