/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/rows.h"

#include <limits.h>
#include <string.h>

#include "engine/dwarf/die.h"
#include "engine/dwarf/entry.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/units.h"

/* What units have in common, moved into one of its own (dwz), has no code. */
static bool has_rows(struct dw_unit *unit)
{
	return dwarf_tag(&unit->die) != DW_TAG_partial_unit;
}

int dw_each_row(struct dw_unit *unit, int (*each)(void *ctx, const struct dw_row *row),
		void *ctx)
{
	Dwarf_Lines *lines;
	size_t n;
	int rc = 0;

	if (!has_rows(unit) || dw_get_lines(&unit->die, &lines, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && rc == 0 && !dw_is_late(); i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		struct dw_row row = { .line = line };
		bool is_end = true, is_stmt = false;
		int lineno = 0;

		if (dwarf_lineendsequence(line, &is_end) != 0 || is_end ||
		    dwarf_linebeginstatement(line, &is_stmt) != 0 || !is_stmt ||
		    dwarf_lineno(line, &lineno) != 0 || lineno <= 0 ||
		    dwarf_lineaddr(line, &row.addr) != 0 || row.addr == 0)
			continue;
		row.lineno = (unsigned)lineno;
		rc = each(ctx, &row);
	}
	return rc;
}

const char *dw_row_file(const struct dw_row *row)
{
	return dwarf_linesrc(row->line, NULL, NULL);
}

unsigned dw_decl_line(Dwarf_Die *die)
{
	int line = 0;

	return dwarf_decl_line(die, &line) == 0 && line > 0 ? (unsigned)line : 0;
}

unsigned dw_call_line(Dwarf_Die *call)
{
	Dwarf_Attribute a;
	Dwarf_Word line = 0;

	if (!dwarf_attr(call, DW_AT_call_line, &a) || dwarf_formudata(&a, &line) != 0 ||
	    line > INT_MAX)
		return 0;
	return (unsigned)line;
}

/* A number of the unit's files. libdw's own dwarf_decl_file() takes 0 for none; so it was before
 * DWARF 5. */
static const char *file_of(Dwarf_Attribute *a)
{
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Half version;
	size_t n;

	if (dwarf_formudata(a, &number) != 0 ||
	    !dwarf_cu_die(a->cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    dw_get_files(&unit, &files, &n) != 0 || number >= n || (number == 0 && version < 5))
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

const char *dw_call_file(Dwarf_Die *call)
{
	Dwarf_Attribute a;

	return dwarf_attr(call, DW_AT_call_file, &a) ? file_of(&a) : NULL;
}

const char *dw_decl_file(Dwarf_Die *die)
{
	Dwarf_Attribute a;

	return dw_attr(die, DW_AT_decl_file, &a) ? file_of(&a) : NULL;
}

bool dw_same_file(const char *a, const char *b)
{
	return a && b && (a == b || strcmp(a, b) == 0);
}

/* Scopes inside of a scope where an owner is sought. */
#define STRAY_DEPTH 4

/* The best owner of a row so far. */
struct owner {
	const char *file;
	const struct dw_row *row;
	Dwarf_Die *die;
	unsigned line;       /* where it is declared */
	Dwarf_Addr distance; /* from its code */
	bool has_any;
};

static void offer_owner(struct owner *owner, Dwarf_Die *die, Dwarf_Addr distance)
{
	unsigned line = dw_decl_line(die);

	if (line > owner->row->lineno || line < owner->line || line == 0 ||
	    (line == owner->line && distance >= owner->distance) ||
	    !dw_same_file(dw_decl_file(die), owner->file))
		return;
	*owner->die = *die;
	owner->line = line;
	owner->distance = distance;
	owner->has_any = true;
}

struct distance {
	Dwarf_Addr addr, least;
};

static int measure(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct distance *d = ctx;
	Dwarf_Addr to = d->addr < start ? start - d->addr : d->addr - end;

	if (to < d->least)
		d->least = to;
	return 0;
}

/*
 * What was inlined into @scope and ends at the address (its last lines may have no code left),
 * or, @is_stray, is anywhere near: what is left of a line may have been moved away.
 */
static void offer_inner(struct owner *owner, Dwarf_Die *scope, bool is_stray, unsigned depth)
{
	Dwarf_Die die;

	if (depth == 0 || dwarf_child(scope, &die) != 0)
		return;
	do {
		struct distance to = { owner->row->addr, UINT64_MAX };

		if (!dw_is_scope(&die) || dw_covers(&die, to.addr))
			continue;
		if (!dw_is_function(&die)) {
			if (is_stray)
				offer_inner(owner, &die, is_stray, depth - 1);
			continue;
		}
		(void)dw_each_range(&die, measure, &to);
		if (!is_stray && to.least != 0)
			continue;
		offer_owner(owner, &die, to.least);
		offer_inner(owner, &die, is_stray, depth - 1);
	} while (!dw_is_late() && dwarf_siblingof(&die, &die) == 0);
}

/*
 * Where functions are inlined into each other, rows of several share addresses. A row is of
 * the function that begins last before its line.
 */
bool dw_row_owner(struct dwarf *d, const struct dw_row *row, const char *file,
		  Dwarf_Die *ret_die)
{
	struct dwarf_place place = { .elf_vaddr = dw_elf_vaddr(d, row->addr) };
	struct owner owner = { file, row, ret_die, 0, UINT64_MAX, false };
	Dwarf_Die scopes[DW_DEPTH_MAX];
	size_t n = dw_scopes_at(d, &place, scopes, DW_DEPTH_MAX);

	/* The last is the unit. */
	for (size_t i = 0; i + 1 < n; i++) {
		if (dw_is_function(&scopes[i]))
			offer_owner(&owner, &scopes[i], 0);
		offer_inner(&owner, &scopes[i], false, STRAY_DEPTH);
	}
	for (size_t i = 0; i + 1 < n && !owner.has_any; i++)
		offer_inner(&owner, &scopes[i], true, STRAY_DEPTH);
	/* A body that was included from elsewhere. */
	for (size_t i = 0; i + 1 < n && !owner.has_any; i++)
		if (dw_is_function(&scopes[i])) {
			*ret_die = scopes[i];
			owner.has_any = true;
		}
	return owner.has_any;
}

/* The rows are sorted by address: the first that is not below @addr. */
static size_t first_row(Dwarf_Lines *lines, size_t n, Dwarf_Addr addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		Dwarf_Addr at = 0;

		(void)dwarf_lineaddr(dwarf_onesrcline(lines, mid), &at);
		if (at < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The line that begins at @addr, or 0. */
static unsigned line_at(struct dw_unit *unit, Dwarf_Addr addr, const char **ret_file)
{
	Dwarf_Lines *lines;
	size_t n;

	if (dw_get_lines(&unit->die, &lines, &n) != 0)
		return 0;
	for (size_t i = first_row(lines, n, addr); i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		bool is_stmt = false, is_end = false;
		Dwarf_Addr at;
		int lineno;

		if (dwarf_lineaddr(line, &at) != 0 || at != addr)
			break;
		if (dwarf_lineendsequence(line, &is_end) != 0 || is_end ||
		    dwarf_linebeginstatement(line, &is_stmt) != 0 || !is_stmt)
			continue;
		*ret_file = dwarf_linesrc(line, NULL, NULL);
		return dwarf_lineno(line, &lineno) == 0 && lineno > 0 ? (unsigned)lineno : 0;
	}
	return 0;
}

bool dw_is_line_of(struct dwarf *d, Dwarf_Addr addr, const char *file, unsigned line)
{
	struct dwarf_place place = { .elf_vaddr = dw_elf_vaddr(d, addr) };
	struct dw_unit *unit = dw_unit_at(d, place.elf_vaddr);
	Dwarf_Die scopes[DW_DEPTH_MAX];
	size_t n = unit ? dw_scopes_at(d, &place, scopes, DW_DEPTH_MAX) : 0;
	const char *its_file = NULL;
	Dwarf_Addr entry;

	/* Outside of the function is but the unit. */
	if (n >= 2 && dw_entry(d, &scopes[n - 2], &entry) && entry == addr)
		return dw_decl_line(&scopes[n - 2]) == line &&
		       dw_same_file(dw_decl_file(&scopes[n - 2]), file);
	return unit && line_at(unit, addr, &its_file) == line && dw_same_file(its_file, file);
}

/* The end of the code that @addr is in, of one piece. */
struct piece {
	Dwarf_Addr addr, end;
};

static int find_piece(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct piece *p = ctx;

	if (p->addr < start || p->addr >= end)
		return 0;
	p->end = end;
	return 1;
}

bool dw_behind_prologue(struct dwarf *d, Dwarf_Die *function, Dwarf_Addr entry,
			Dwarf_Addr *ret_addr)
{
	struct piece piece = { entry, 0 };
	struct dw_unit *unit = dw_unit_at(d, dw_elf_vaddr(d, entry));
	Dwarf_Lines *lines;
	Dwarf_Addr second = 0;
	size_t n;

	if (!unit || dw_get_lines(&unit->die, &lines, &n) != 0 ||
	    dw_each_range(function, find_piece, &piece) != 1)
		return false;
	for (size_t i = first_row(lines, n, entry + 1); i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		bool is_end = false, is_body = false;

		if (dwarf_lineaddr(line, &addr) != 0 || addr >= piece.end ||
		    dwarf_lineendsequence(line, &is_end) != 0 || is_end)
			break;
		if (!second)
			second = addr;
		/* Told by clang; gcc has a row there, but no more. */
		if (dwarf_lineprologueend(line, &is_body) == 0 && is_body) {
			second = addr;
			break;
		}
	}
	*ret_addr = second;
	return second != 0;
}
