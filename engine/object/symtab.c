/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/object/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/object/object_priv.h"
#include "engine/object/versions.h"

/* The largest programs there are have a few millions. */
#define SYMS_MAX (16u << 20)

/* A symbol table section, opened. */
struct source {
	const char *what; /* ".symtab" */
	Elf_Data *data;
	struct string_table strings;
	struct versions *versions;
	size_t n;
};

/* Is @elf_vaddr in a section of code? Single-segment programs hold data beside it. */
static bool is_in_code_section(const struct object *object, const GElf_Sym *raw)
{
	Elf_Scn *section;
	GElf_Shdr header;

	if (raw->st_shndx >= SHN_LORESERVE)
		return raw->st_shndx == SHN_XINDEX;
	section = elf_getscn(object->elf, raw->st_shndx);
	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Compilers' and assemblers' marks: ".L12", and ARM's "$x", "$d.1". */
static bool is_mark(const char *name)
{
	return (name[0] == '.' && name[1] == 'L') ||
	       (name[0] == '$' && name[1] != '\0' && strchr("xadt", name[1]) &&
		(name[2] == '\0' || name[2] == '.'));
}

static enum sym_kind kind_of(const struct object *object, const GElf_Sym *raw)
{
	int type = GELF_ST_TYPE(raw->st_info);
	const struct segment *s;

	if (raw->st_shndx == SHN_UNDEF)
		return SYM_IMPORT;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return SYM_DATA;
	s = object_segment_of(object, raw->st_value);
	if (!s || !s->is_exec)
		return SYM_DATA;
	if (type != STT_NOTYPE)
		return SYM_FUNCTION;
	return is_in_code_section(object, raw) ? SYM_LABEL : SYM_DATA;
}

/*
 * Linkers write versions into the names of .symtab: "f@@V2", "f@V1". The array
 * owned[] has room for every symbol.
 */
static int split_name(struct symtab *symtab, struct sym *sym)
{
	/* No name is that long, but in a corrupt file all of them may be. */
	size_t len = strnlen(sym->name, SYM_NAME_MAX + 1);
	const char *at = len <= SYM_NAME_MAX ? memchr(sym->name + 1, '@', len - 1) : NULL;
	char *name;

	if (!at)
		return 0;
	name = strndup(sym->name, (size_t)(at - sym->name));
	if (!name)
		return -ENOMEM;
	symtab->owned[symtab->n_owned++] = name;
	sym->name = name;
	sym->is_default = at[1] == '@';
	sym->version = at + 1 + sym->is_default;
	return 0;
}

static int add_symbol(const struct object *object, struct symtab *symtab,
		      const struct source *source, size_t i, struct ubp_err *err)
{
	struct sym *sym = &symtab->syms[symtab->n_syms];
	GElf_Sym raw;
	int type, bind;

	if (i > INT32_MAX || !gelf_getsym(source->data, (int)i, &raw))
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: symbol %zu of %s",
				object->path, i, source->what);
	type = GELF_ST_TYPE(raw.st_info);
	bind = GELF_ST_BIND(raw.st_info);
	if (raw.st_name == 0 || type == STT_SECTION || type == STT_FILE)
		return 0;
	memset(sym, 0, sizeof(*sym));
	sym->name = string_at(&source->strings, raw.st_name);
	if (!sym->name)
		return ubp_fail(err, ENOEXEC,
				"%s: corrupt ELF file: name of symbol %zu of %s at 0x%x of "
				"0x%zx bytes",
				object->path, i, source->what, raw.st_name,
				source->strings.len);
	if (sym->name[0] == '\0' || is_mark(sym->name))
		return 0;
	sym->elf_vaddr = raw.st_value;
	sym->size = raw.st_size;
	sym->kind = kind_of(object, &raw);
	sym->is_ifunc = type == STT_GNU_IFUNC;
	sym->is_global = bind != STB_LOCAL;
	sym->is_weak = bind == STB_WEAK;
	sym->is_default = versions_of(source->versions, i, &sym->version, &sym->library);
	if (!source->versions && split_name(symtab, sym) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	symtab->n_functions += sym->kind == SYM_FUNCTION;
	symtab->n_syms++;
	return 0;
}

static int open_source(const struct object *object, uint32_t type, struct source *ret_source,
		       struct ubp_err *err)
{
	GElf_Shdr header;
	Elf_Scn *section = object_section_of_type(object, type, &header);
	int rc;

	ret_source->what = type == SHT_SYMTAB ? ".symtab" : ".dynsym";
	if (!section || header.sh_size == 0)
		return 0;
	ret_source->data = object_section_data(section, false);
	if (!ret_source->data)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s: %s", object->path,
				ret_source->what, elf_errmsg(-1));
	ret_source->n =
		ret_source->data->d_size / gelf_fsize(object->elf, ELF_T_SYM, 1, EV_CURRENT);
	rc = object_string_table(object, header.sh_link, &ret_source->strings, err);
	if (rc == 0 && type == SHT_DYNSYM)
		rc = versions_read(object, &ret_source->versions, err);
	return rc;
}

static uint32_t hash_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

/* Filled from the end, so that a chain has its symbols in the order of the file. */
static int build_hash(struct symtab *symtab)
{
	size_t n = 16;

	while (n < symtab->n_syms)
		n *= 2;
	symtab->buckets = calloc(n, sizeof(*symtab->buckets));
	if (!symtab->buckets)
		return -ENOMEM;
	symtab->n_buckets = n;
	for (size_t i = symtab->n_syms; i-- > 0;) {
		struct sym *sym = &symtab->syms[i];
		size_t len = strnlen(sym->name, SYM_NAME_MAX + 1);
		uint32_t *bucket;

		if (len > SYM_NAME_MAX)
			continue;
		bucket = &symtab->buckets[hash_of(sym->name, len) & (n - 1)];
		sym->next = *bucket;
		*bucket = (uint32_t)i + 1;
	}
	return 0;
}

static int fill(const struct object *object, struct symtab *symtab,
		const struct source *sources, size_t n_sources, struct ubp_err *err)
{
	size_t n_max = 1;
	int rc = 0;

	for (size_t i = 0; i < n_sources; i++)
		n_max += sources[i].n;
	if (n_max > SYMS_MAX)
		return ubp_fail(err, ENOEXEC, "%s: too many symbols", object->path);
	symtab->syms = calloc(n_max, sizeof(*symtab->syms));
	symtab->owned = calloc(n_max, sizeof(*symtab->owned));
	if (!symtab->syms || !symtab->owned)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t k = 0; k < n_sources; k++)
		for (size_t i = 1; i < sources[k].n && rc == 0; i++)
			rc = add_symbol(object, symtab, &sources[k], i, err);
	if (rc == 0 && build_hash(symtab) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	return rc;
}

int symtab_get(struct object *object, const struct symtab **ret_symtab, struct ubp_err *err)
{
	struct source sources[2] = { 0 };
	struct symtab *symtab;
	int rc;

	if (object->symtab) {
		*ret_symtab = object->symtab;
		return 0;
	}
	symtab = calloc(1, sizeof(*symtab));
	if (!symtab)
		return ubp_fail(err, ENOMEM, "out of memory");
	/* .dynsym first: its symbols know their versions. */
	rc = open_source(object, SHT_DYNSYM, &sources[0], err);
	if (rc == 0)
		rc = open_source(object, SHT_SYMTAB, &sources[1], err);
	symtab->has_symtab = sources[1].n != 0;
	if (rc == 0)
		rc = fill(object, symtab, sources, 2, err);
	versions_free(sources[0].versions);
	if (rc < 0) {
		symtab_free(symtab);
		return rc;
	}
	*ret_symtab = object->symtab = symtab;
	return 0;
}

void symtab_free(struct symtab *symtab)
{
	if (!symtab)
		return;
	for (size_t i = 0; i < symtab->n_owned; i++)
		free(symtab->owned[i]);
	free(symtab->owned);
	free(symtab->extents);
	free(symtab->buckets);
	free(symtab->syms);
	free(symtab);
}

static const struct sym *match_in_chain(const struct symtab *symtab, uint32_t at,
					const char *name, size_t len)
{
	for (; at != 0; at = symtab->syms[at - 1].next) {
		const struct sym *sym = &symtab->syms[at - 1];

		if (strncmp(sym->name, name, len) == 0 && sym->name[len] == '\0')
			return sym;
	}
	return NULL;
}

const struct sym *symtab_first(const struct symtab *symtab, const char *name, size_t len)
{
	uint32_t hash = hash_of(name, len);

	return match_in_chain(symtab, symtab->buckets[hash & (symtab->n_buckets - 1)], name,
			      len);
}

const struct sym *symtab_next(const struct symtab *symtab, const struct sym *sym)
{
	return match_in_chain(symtab, sym->next, sym->name, strlen(sym->name));
}

unsigned sym_rank(const struct sym *sym)
{
	return (sym->kind == SYM_FUNCTION ? 4u : 0u) + (sym->is_global ? 2u : 0u) +
	       (sym->is_default ? 1u : 0u);
}

int sym_describe(const struct object *object, const struct sym *sym,
		 struct object_symbol *ret_symbol)
{
	uint64_t foffset;
	int rc = object_vaddr_to_foffset(object, sym->elf_vaddr, &foffset);

	if (rc < 0)
		return rc;
	*ret_symbol = (struct object_symbol){
		.name = sym->name,
		.version = sym->version,
		.elf_vaddr = sym->elf_vaddr,
		.size = sym->size,
		.foffset = foffset,
		.is_ifunc = sym->is_ifunc,
		.is_function = sym->kind == SYM_FUNCTION,
		.is_global = sym->is_global,
	};
	return 0;
}
