/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Units of a file's DWARF, and small things about DIEs. */

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/search.h"
#include "engine/base/vec.h"
#include "engine/dwarf/dwarf_priv.h"
#include "engine/dwarf/limits.h"
#include "engine/object/debug.h"

/* Hostile files: code ranges that are taken in, in all. */
#define RANGES_MAX (8u << 20)

/* What all walks over DIEs of a file may take: a second for so many bytes, and some. */
#define LIMIT_NS    UINT64_C(5000000000)
#define LIMIT_BYTES (16u << 20)

/*
 * libdw takes what is in the sections of strings for strings: do they end in a NUL? And how long are those of
 * DIEs, which libdw has unpacked?
 */
static int check_sections(struct dwarf *d, Dwarf *dw, struct ubp_err *err)
{
	Elf *elf = dw ? dwarf_getelf(dw) : NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		const Elf_Data *data;

		if (name && strstr(name, "debug_info") && header.sh_type != SHT_NOBITS)
			d->info_len += header.sh_size;
		if (!name || !strstr(name, "debug_") || !strstr(name, "str"))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && data->d_size && !strstr(name, "str_offsets") &&
		    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
			return ubp_fail(err, ENOEXEC,
					"%s: corrupt debug information: %s does not end",
					object_path(d->object), name);
	}
	return 0;
}

int dwarf_open(struct object *object, struct dwarf **ret_dwarf, struct ubp_err *err)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return ubp_fail(err, ENOMEM, "out of memory");
	d->object = object;
	rc = object_dwarf(object, &d->dw, &d->bias, err);
	if (rc == 0)
		rc = check_sections(d, d->dw, err);
	if (rc == 0)
		rc = check_sections(d, dwarf_getalt(d->dw), err);
	if (rc < 0)
		dwarf_free(d);
	else
		*ret_dwarf = d;
	return rc;
}

uint64_t dw_cpu_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t dw_cpu_limit_ns(const struct dwarf *d)
{
	return LIMIT_NS + d->info_len / LIMIT_BYTES * 1000000000;
}

static void free_texts(struct map *map)
{
	size_t at = 0;
	void *text;

	while (map_next(map, &at, NULL, &text))
		free(text);
	map_free(map);
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	if (d->free_values)
		d->free_values(d->values);
	dw_free_names(d);
	for (size_t i = 0; i < d->n_units; i++)
		dw_free_unit(&d->units[i]);
	free_texts(&d->full_names);
	free_texts(&d->paths);
	map_free(&d->unit_of);
	free(d->units);
	free(d->ranges);
	free(d);
}

int dw_grow(void *list, size_t *cap, size_t n, size_t size_of_one, struct ubp_err *err)
{
	return vec_room(list, cap, n, size_of_one) < 0 ? ubp_fail(err, ENOMEM, "out of memory")
						       : 0;
}

/* --- units ----------------------------------------------------------------- */

int dw_each_range(Dwarf_Die *die, int (*each)(void *ctx, Dwarf_Addr start, Dwarf_Addr end),
		  void *ctx)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (!dw_is_late() && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		int rc = start < end ? each(ctx, start, end) : 0;

		if (rc != 0)
			return rc;
	}
	return 0;
}

struct unit_ranges {
	struct dwarf *d;
	struct ubp_err *err;
};

static int add_range(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct unit_ranges *u = ctx;
	struct dwarf *d = u->d;
	int rc;

	if (d->n_ranges >= RANGES_MAX)
		return ubp_fail(u->err, ENOEXEC, "more than %u code ranges of units",
				RANGES_MAX);
	rc = dw_grow(&d->ranges, &d->cap_ranges, d->n_ranges, sizeof(*d->ranges), u->err);
	/* What was thrown away by the linker starts at 0, or at the end of everything. */
	if (rc == 0 && start != 0)
		d->ranges[d->n_ranges++] =
			(struct dw_range){ start, end, (uint32_t)(d->n_units - 1) };
	return rc;
}

static bool is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static int add_unit(struct dwarf *d, Dwarf_Die *skeleton, Dwarf_Die *split, struct ubp_err *err)
{
	struct unit_ranges u = { d, err };
	int rc = dw_grow(&d->units, &d->cap_units, d->n_units, sizeof(*d->units), err);
	Dwarf_Die *die = split->addr ? split : skeleton;

	if (rc < 0)
		return rc;
	d->units[d->n_units++] = (struct dw_unit){ .die = *die, .is_c = is_c(die) };
	return dw_each_range(skeleton, add_range, &u);
}

static int read_units_of(struct dwarf *d, Dwarf *dw, struct ubp_err *err)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	int rc = 0;

	while (rc == 0 && dwarf_get_units(dw, cu, &cu, NULL, &type, &die, &split) == 0)
		if (type != DW_UT_type && type != DW_UT_split_type)
			rc = add_unit(d, &die, &split, err);
	return rc;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct dw_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int dw_read_units(struct dwarf *d, struct ubp_err *err)
{
	Dwarf *alt;
	int rc;

	if (d->has_units)
		return 0;
	rc = read_units_of(d, d->dw, err);
	/* What several files have in common, moved into one of its own (dwz). */
	alt = dwarf_getalt(d->dw);
	if (rc == 0 && alt)
		rc = read_units_of(d, alt, err);
	if (rc < 0)
		return rc;
	/* They do not move any more. */
	for (size_t i = 0; i < d->n_units; i++)
		if (map_put(&d->unit_of, (uintptr_t)d->units[i].die.cu, &d->units[i]) < 0)
			return ubp_fail(err, ENOMEM, "out of memory");
	if (d->n_ranges)
		qsort(d->ranges, d->n_ranges, sizeof(*d->ranges), compare_ranges);
	d->has_units = true;
	return 0;
}

struct dw_unit *dw_unit_at(struct dwarf *d, uint64_t elf_vaddr)
{
	Dwarf_Addr addr = dw_addr(d, elf_vaddr);
	struct ubp_err ignored;
	size_t n;

	ubp_err_reset(&ignored);
	if (dw_read_units(d, &ignored) < 0)
		return NULL;
	n = search_above(d->ranges, d->n_ranges, start, addr);
	/* Ranges do not overlap; nearly. */
	for (size_t i = n; i > 0 && n - i < 16; i--)
		if (addr < d->ranges[i - 1].end)
			return &d->units[d->ranges[i - 1].unit];
	return NULL;
}

/* --- DIEs ------------------------------------------------------------------ */

bool dw_covers(Dwarf_Die *die, Dwarf_Addr addr)
{
	return dwarf_haspc(die, addr) == 1;
}

bool dw_ref(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret_die)
{
	Dwarf_Attribute a;

	return dwarf_attr(die, attr, &a) && dwarf_formref_die(&a, ret_die);
}

bool dw_origin(Dwarf_Die *die, Dwarf_Die *ret_die)
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

const char *dw_path(struct dwarf *d, Dwarf_Die *die, const char *file)
{
	const char *dir = NULL, *known;
	char *path = NULL;
	Dwarf_Attribute a;
	Dwarf_Die unit;

	if (!file || file[0] == '/')
		return file;
	known = map_get(&d->paths, (uintptr_t)file);
	if (known)
		return known;
	if (dwarf_diecu(die, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_comp_dir, &a))
		dir = dw_string(&a);
	if (!dir || asprintf(&path, "%s/%s", dir, file) < 0)
		return file;
	if (map_put(&d->paths, (uintptr_t)file, path) == 0)
		return path;
	free(path);
	return file;
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
