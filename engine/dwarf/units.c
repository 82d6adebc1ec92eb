/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/base/search.h"
#include "engine/dwarf/limits.h"

/* Hostile files: code ranges that are taken in, in all. */
#define RANGES_MAX (8u << 20)

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

/* The file that a unit was split off to, which was not found; NULL: it was not split. */
static const char *missing_file(Dwarf_Die *skeleton, const Dwarf_Die *split)
{
	Dwarf_Attribute attr;

	if (split->addr || (!dwarf_attr(skeleton, DW_AT_dwo_name, &attr) &&
			    !dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attr)))
		return NULL;
	return dwarf_formstring(&attr);
}

static int add_unit(struct dwarf *d, Dwarf_Die *skeleton, Dwarf_Die *split, struct ubp_err *err)
{
	struct unit_ranges u = { d, err };
	int rc = dw_grow(&d->units, &d->cap_units, d->n_units, sizeof(*d->units), err);
	Dwarf_Die *die = split->addr ? split : skeleton;

	if (rc < 0)
		return rc;
	if (!d->missing)
		d->missing = missing_file(skeleton, split);
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

struct dw_unit *dw_unit_of(struct dwarf *d, const Dwarf_Die *die)
{
	return map_get(&d->unit_of, (uintptr_t)die->cu);
}
