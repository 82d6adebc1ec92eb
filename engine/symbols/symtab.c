/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/symbols/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/cancel.h"
#include "engine/base/err.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/elf/segments.h"
#include "engine/files/debug_file.h"
#include "engine/files/debug_sources.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/versions.h"

/* The largest programs there are have a few millions. */
#define SYMS_MAX (16u << 20)

/*
 * Symbols may share their names, or parts of them, so a few megabytes may have names of gigabytes: sound
 * files say each about once.
 */
#define NAMES_LEN_MAX (UINT64_C(1) << 30)
#define NAMES_LEN_MIN (UINT64_C(64) << 20)
#define NAMES_FACTOR  16

/* A symbol table section, opened. */
struct source {
	const char *what; /* ".symtab" */
	const char *path; /* of the file */
	Elf *elf;
	int64_t bias;     /* to be added to its values */
	const char *file; /* of the local symbols that are being read; or NULL */
	Elf_Data *data;
	struct string_table strings;
	uint64_t names_max; /* bytes of names that are made of them */
	struct versions *versions;
	size_t n;
};

/* Is @elf_vaddr in a section of code? Single-segment programs hold data beside it. */
static bool is_in_code_section(Elf *elf, const GElf_Sym *raw)
{
	Elf_Scn *section;
	GElf_Shdr header;

	if (raw->st_shndx >= SHN_LORESERVE)
		return raw->st_shndx == SHN_XINDEX;
	section = elf_getscn(elf, raw->st_shndx);
	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Compilers' and assemblers' marks: ".L12", and ARM's "$x", "$d.1". */
static bool is_mark(const char *name)
{
	return (name[0] == '.' && name[1] == 'L') ||
	       (name[0] == '$' && name[1] != '\0' && strchr("xadt", name[1]) &&
		(name[2] == '\0' || name[2] == '.'));
}

static enum sym_kind kind_of(const struct object *object, Elf *elf, const GElf_Sym *raw)
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
	return is_in_code_section(elf, raw) ? SYM_LABEL : SYM_DATA;
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

/* The source that the local symbols behind this one are of. */
static void note_file(struct source *source, const GElf_Sym *raw)
{
	const char *file = string_at(&source->strings, raw->st_name);

	source->file = file && file[0] != '\0' ? file : NULL;
}

static int fail_cancelled(const char *path, struct ubp_err *err)
{
	return ubp_fail(err, EINTR, "ended while the symbols of %s were read", path);
}

static int add_symbol(const struct object *object, struct symtab *symtab, struct source *source,
		      size_t i, struct ubp_err *err)
{
	struct sym *sym = &symtab->syms[symtab->n_syms];
	GElf_Sym raw;
	int type, bind;

	if (i > INT32_MAX || !gelf_getsym(source->data, (int)i, &raw))
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: symbol %zu of %s",
				source->path, i, source->what);
	type = GELF_ST_TYPE(raw.st_info);
	bind = GELF_ST_BIND(raw.st_info);
	if (type == STT_FILE)
		note_file(source, &raw);
	if (raw.st_name == 0 || type == STT_SECTION || type == STT_FILE)
		return 0;
	memset(sym, 0, sizeof(*sym));
	sym->name = string_at(&source->strings, raw.st_name);
	if (!sym->name)
		return ubp_fail(err, ENOEXEC,
				"%s: corrupt ELF file: name of symbol %zu of %s at 0x%x of "
				"0x%zx bytes",
				source->path, i, source->what, raw.st_name,
				source->strings.len);
	if (sym->name[0] == '\0' || is_mark(sym->name))
		return 0;
	symtab->names_len += strnlen(sym->name, SYM_NAME_MAX);
	if (symtab->names_len > source->names_max)
		return ubp_fail(err, ENOEXEC,
				"%s: the names of its symbols take more than %llu MiB",
				source->path, (unsigned long long)(source->names_max >> 20));
	raw.st_value += (uint64_t)source->bias;
	sym->elf_vaddr = raw.st_value;
	sym->size = raw.st_size;
	sym->kind = kind_of(object, source->elf, &raw);
	sym->is_ifunc = type == STT_GNU_IFUNC;
	if (type == STT_FUNC && object->arch && object->arch->entry_off)
		sym->entry_off = (uint8_t)object->arch->entry_off(raw.st_other);
	sym->is_global = bind != STB_LOCAL;
	sym->file = sym->is_global ? NULL : source->file;
	sym->is_weak = bind == STB_WEAK;
	sym->is_default = versions_of(source->versions, i, &sym->version, &sym->library);
	if (!source->versions && split_name(symtab, sym) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	symtab->n_functions += sym->kind == SYM_FUNCTION;
	symtab->n_syms++;
	return 0;
}

/* Of the object, or of a file that belongs to it. */
static int open_source(const struct object *object, const struct debug_file *file,
		       uint32_t type, struct source *ret_source, struct ubp_err *err)
{
	struct source *source = ret_source;
	GElf_Shdr header;
	Elf_Scn *section;
	int rc;

	source->what = type == SHT_SYMTAB ? ".symtab" : ".dynsym";
	source->path = file ? file->path : object->path;
	source->elf = file ? file->elf : object->elf;
	source->bias = file ? file->bias : 0;
	section = section_of_type(source->elf, type, &header);
	if (!section || header.sh_size == 0)
		return 0;
	source->data = object_section_data(section, false);
	if (!source->data)
		return ubp_fail(err, ENOEXEC, "%s: corrupt ELF file: %s: %s", source->path,
				source->what, elf_errmsg(-1));
	source->n = source->data->d_size / gelf_fsize(source->elf, ELF_T_SYM, 1, EV_CURRENT);
	rc = section_strings(source->elf, source->path, header.sh_link, &source->strings, err);
	source->names_max = NAMES_LEN_MIN + NAMES_FACTOR * source->strings.len;
	if (source->names_max > NAMES_LEN_MAX)
		source->names_max = NAMES_LEN_MAX;
	if (rc == 0 && type == SHT_DYNSYM)
		rc = versions_read(object, &source->versions, err);
	return rc;
}

static uint32_t hash_of(const char *name, size_t len)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

/* Filled from the end, so that a chain has its symbols in the order of the file. -ENOMEM, -EINTR */
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

		if (cancel_in_loop(i))
			return -EINTR;
		if (len > SYM_NAME_MAX)
			continue;
		bucket = &symtab->buckets[hash_of(sym->name, len) & (n - 1)];
		sym->next = *bucket;
		*bucket = (uint32_t)i + 1;
	}
	return 0;
}

static int make_room(struct symtab *symtab, size_t n)
{
	struct sym *syms = reallocarray(symtab->syms, n, sizeof(*syms));
	char **owned;

	if (syms)
		symtab->syms = syms;
	owned = reallocarray(symtab->owned, n, sizeof(*owned));
	if (owned)
		symtab->owned = owned;
	return syms && owned ? 0 : -ENOMEM;
}

/* What was made of the symbols, and points to them; names.c goes by their numbers. */
static void forget_made(struct symtab *symtab)
{
	free(symtab->extents);
	free(symtab->buckets);
	symtab->extents = NULL;
	symtab->buckets = NULL;
	symtab->n_extents = 0;
}

/* Add them, or, if some are corrupt, none. */
static int add_source(const struct object *object, struct symtab *symtab, struct source *source,
		      struct ubp_err *err)
{
	struct symtab old = *symtab;
	int rc = 0;

	if (source->n > SYMS_MAX - symtab->n_syms)
		return ubp_fail(err, ENOEXEC, "%s: too many symbols", source->path);
	if (make_room(symtab, symtab->n_syms + source->n + 1) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 1; i < source->n && rc == 0; i++)
		rc = cancel_in_loop(i) ? fail_cancelled(source->path, err)
				       : add_symbol(object, symtab, source, i, err);
	if (rc == 0)
		return 0;
	while (symtab->n_owned > old.n_owned)
		free(symtab->owned[--symtab->n_owned]);
	symtab->n_syms = old.n_syms;
	symtab->n_functions = old.n_functions;
	symtab->names_len = old.names_len;
	return rc;
}

static int read_own(const struct object *object, struct symtab *symtab, struct ubp_err *err)
{
	struct source exported = { 0 }, all = { 0 };
	/* .dynsym first: its symbols know their versions. */
	int rc = open_source(object, NULL, SHT_DYNSYM, &exported, err);

	if (rc == 0)
		rc = open_source(object, NULL, SHT_SYMTAB, &all, err);
	if (rc == 0)
		rc = add_source(object, symtab, &exported, err);
	if (rc == 0)
		rc = add_source(object, symtab, &all, err);
	versions_free(exported.versions);
	symtab->n_own = symtab->n_syms;
	symtab->has_symtab = symtab->is_whole = all.n != 0;
	return rc;
}

/* From a file that belongs to the object; what is corrupt there is no fault of the object. */
static bool read_more(struct object *object, struct symtab *symtab,
		      const struct debug_file *file)
{
	struct source source = { 0 };
	struct ubp_err err;

	if (!file)
		return false;
	ubp_err_reset(&err);
	if (open_source(object, file, SHT_SYMTAB, &source, &err) < 0 ||
	    add_source(object, symtab, &source, &err) < 0) {
		debug_note_misfit(object, "%.250s", err.text);
		return false;
	}
	symtab->has_symtab |= source.n != 0;
	return source.n != 0;
}

static void symtab_free(void *symtab_ptr)
{
	struct symtab *symtab = symtab_ptr;

	for (size_t i = 0; i < symtab->n_owned; i++)
		free(symtab->owned[i]);
	forget_made(symtab);
	free(symtab->owned);
	free(symtab->syms);
	free(symtab);
}

static const struct annex_kind symtab_kind = { .free = symtab_free };

struct symtab *symtab_of(const struct object *object)
{
	return annex_get(&object->annexes, &symtab_kind);
}

int symtab_get(struct object *object, const struct symtab **ret_symtab, struct ubp_err *err)
{
	struct symtab *symtab;
	int rc;

	symtab = symtab_of(object);
	if (symtab) {
		*ret_symtab = symtab;
		return 0;
	}
	symtab = calloc(1, sizeof(*symtab));
	if (!symtab)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = read_own(object, symtab, err);
	if (rc == 0 && !symtab->is_whole)
		symtab->is_whole = read_more(object, symtab, debug_given(object));
	if (rc == 0)
		rc = build_hash(symtab);
	if (rc == 0)
		rc = annex_put(&object->annexes, &symtab_kind, symtab);
	if (rc == -ENOMEM)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	else if (rc == -EINTR)
		rc = fail_cancelled(object->path, err);
	if (rc < 0) {
		symtab_free(symtab);
		return rc;
	}
	*ret_symtab = symtab;
	return 0;
}

bool symtab_more(struct object *object)
{
	struct symtab *symtab = symtab_of(object);
	bool found = false;

	if (!symtab || symtab->is_whole)
		return false;
	if (!symtab->has_symtab)
		found = read_more(object, symtab, debug_embedded(object));
	if (!found) {
		symtab->is_whole = true;
		found = read_more(object, symtab, debug_separate(object));
	}
	if (!found)
		return false;
	forget_made(symtab);
	/* Without memory there is no hash, and nothing is found by name. */
	return build_hash(symtab) == 0;
}

int symtab_get_all(struct object *object, const struct symtab **ret_symtab, struct ubp_err *err)
{
	int rc = symtab_get(object, ret_symtab, err);

	if (rc == 0 && !(*ret_symtab)->has_symtab)
		(void)symtab_more(object);
	return rc;
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

	if (!symtab->buckets)
		return NULL;
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
		.entry_off = sym->entry_off,
		.is_global = sym->is_global,
		.file = sym->file,
	};
	return 0;
}
