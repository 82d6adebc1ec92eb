/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/operand_symbol.h"

#include <errno.h>
#include <string.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/files/debug.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/symtab.h"

/* The source of the function at @elf_vaddr, without folder; NULL: not known. */
static const char *source_of(struct object *object, uint64_t elf_vaddr)
{
	const struct extent *extent = symtab_extent_at(object, elf_vaddr);

	if (extent && !extent->sym->is_global && extent->sym->file)
		return extent->sym->file;
	return object_source_at(object, elf_vaddr);
}

/* All symbols of a name. */
struct answers {
	const struct sym *sym; /* one of them */
	bool is_ambiguous;
};

static bool is_of(const struct sym *sym, const char *source)
{
	return sym->file && strcmp(sym->file, source) == 0;
}

/* @source: of that alone; "": global ones; NULL: all. */
static struct answers look_up(const struct symtab *symtab, const char *name, size_t len,
			      const char *source)
{
	struct answers answers = { NULL, false };

	for (const struct sym *sym = symtab_first(symtab, name, len); sym;
	     sym = symtab_next(symtab, sym)) {
		if (sym->kind == SYM_IMPORT ||
		    (source && !(*source ? is_of(sym, source) : sym->is_global)))
			continue;
		if (answers.sym && answers.sym->elf_vaddr != sym->elf_vaddr)
			answers.is_ambiguous = true;
		answers.sym = sym;
	}
	return answers;
}

/*
 * Static variables may have the name of others elsewhere, also of global ones. Those of the
 * probe's own source are meant, if it is known, else the global one.
 */
static int find_symbol(struct object *object, const char *name, size_t len, uint64_t probe,
		       uint64_t *ret_elf_vaddr, struct ubp_err *err)
{
	const struct symtab *symtab;
	struct answers answers;
	const char *source;
	int rc = symtab_get(object, &symtab, err);

	if (rc < 0)
		return rc;
	if (len >= 2 && memcmp(name, ".L", 2) == 0)
		return ubp_fail(err, ENOENT, "the label %.*s is in no file", (int)len, name);
	answers = look_up(symtab, name, len, NULL);
	if (!answers.sym && symtab_more(object))
		answers = look_up(symtab, name, len, NULL);
	if (!answers.sym)
		return ubp_fail(err, ENOENT, "no symbol %.*s%s", (int)len, name,
				symtab->has_symtab ? "" : " (the file is stripped)");
	if (answers.is_ambiguous) {
		source = source_of(object, probe);
		if (source)
			answers = look_up(symtab, name, len, source);
		if (source && !answers.sym)
			answers = look_up(symtab, name, len, "");
		if (!source || !answers.sym || answers.is_ambiguous)
			return ubp_fail(err, EEXIST, "several symbols have the name %.*s",
					(int)len, name);
	}
	*ret_elf_vaddr = answers.sym->elf_vaddr;
	return 0;
}

/* How far below the thread pointer the variables of a program begin, where an instruction set has them below it. */
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

static bool got_section(const struct object *object, const char *want, uint64_t *ret_elf_vaddr)
{
	GElf_Shdr header;

	if (!section_named(object->elf, NULL, want, &header))
		return false;
	*ret_elf_vaddr = header.sh_addr;
	return true;
}

int object_got_vaddr(struct object *object, uint64_t *ret_elf_vaddr)
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
	if (object_symbol_value(object, "_GLOBAL_OFFSET_TABLE_", ret_elf_vaddr) == 0)
		return 0;
	return got_section(object, ".got.plt", ret_elf_vaddr) ||
			       got_section(object, ".got", ret_elf_vaddr)
		       ? 0
		       : -ENOENT;
}

int object_operand_symbol(struct object *object, const struct operand *operand, uint64_t probe,
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
		rc = object_got_vaddr(object, &from);
		break;
	}
	if (rc < 0)
		return ubp_fail(err, ENOTSUP, "the file has no %s",
				operand->symbol_kind == OPERAND_SYMBOL_TLS
					? "variables of threads"
					: "global offset table");
	rc = find_symbol(object, operand->symbol, operand->symbol_len, probe, ret_value, err);
	*ret_value -= rc == 0 ? from : 0;
	return rc;
}
