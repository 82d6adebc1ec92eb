/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/operand.h"

#include <errno.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/object/object_priv.h"
#include "engine/object/symtab.h"

/*
 * Static variables may have the name of others elsewhere, also of global ones; which of
 * them is meant, a note does not say.
 */
static int find_symbol(struct object *object, const char *name, size_t len,
		       uint64_t *ret_elf_vaddr, struct ubp_err *err)
{
	const struct symtab *symtab;
	const struct sym *found = NULL;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	for (const struct sym *sym = symtab_first(symtab, name, len); sym;
	     sym = symtab_next(symtab, sym)) {
		if (sym->kind == SYM_IMPORT)
			continue;
		if (found && found->elf_vaddr != sym->elf_vaddr)
			return ubp_fail(err, EEXIST, "several symbols have the name %.*s",
					(int)len, name);
		found = sym;
	}
	if (!found)
		return ubp_fail(err, ENOENT, "no symbol %.*s%s", (int)len, name,
				symtab->has_symtab ? "" : " (the file is stripped)");
	*ret_elf_vaddr = found->elf_vaddr;
	return 0;
}

/* How far before the thread's pointer the variables of a program begin, on x86. */
static int tls_size(const struct object *object, uint64_t *ret_size)
{
	for (size_t i = 0; i < object->ehdr.e_phnum; i++) {
		GElf_Phdr header;
		uint64_t align;

		if (!gelf_getphdr(object->elf, (int)i, &header) || header.p_type != PT_TLS)
			continue;
		align = header.p_align ? header.p_align : 1;
		if (align & (align - 1) || header.p_memsz > UINT64_MAX - align)
			return -ENOTSUP;
		*ret_size = (header.p_memsz + align - 1) & ~(align - 1);
		return 0;
	}
	return -ENOTSUP;
}

/* Where the GOT is, from which offsets are counted. */
static int got_vaddr(struct object *object, uint64_t *ret_elf_vaddr)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section_of_type(object, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? object_section_data(section, false) : NULL;
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag != DT_PLTGOT)
			continue;
		*ret_elf_vaddr = dyn.d_un.d_ptr;
		return 0;
	}
	return object_symbol_value(object, "_GLOBAL_OFFSET_TABLE_", ret_elf_vaddr);
}

int object_operand_symbol(struct object *object, const struct operand *operand,
			  uint64_t *ret_value, struct ubp_err *err)
{
	uint64_t from = 0;
	int rc = 0;

	switch (operand->symbol_kind) {
	case OPERAND_SYMBOL_ADDRESS:
		break;
	case OPERAND_SYMBOL_TLS:
		rc = tls_size(object, &from);
		break;
	case OPERAND_SYMBOL_GOT:
		rc = got_vaddr(object, &from);
		break;
	}
	if (rc < 0)
		return ubp_fail(err, ENOTSUP, "the file has no %s",
				operand->symbol_kind == OPERAND_SYMBOL_TLS
					? "variables of threads"
					: "global offset table");
	rc = find_symbol(object, operand->symbol, operand->symbol_len, ret_value, err);
	*ret_value -= rc == 0 ? from : 0;
	return rc;
}
