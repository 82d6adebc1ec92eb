/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions of a unit: one walk over its DIEs. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/proc.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/dwarf_priv.h"
#include "engine/dwarf/functions.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/units.h"
#include "engine/elf/object.h"

/* No unit has so many; a file that is all lies may. */
#define FUNCTIONS_MAX (8u << 20)

#define DISORDER "corrupt debug information: its entries are not in order"

#define FULL_NAME_MAX 1024

/* Between looks at the time of the processor, which take a system call. */
#define LOOK_NS 50000000

struct walk {
	struct dwarf *d;
	struct dw_unit *unit;
	const void *last; /* the last DIE that was looked at: all others are behind it */
	uint64_t begin_ns, looked_ns;
	struct ubp_err *err;
};

/* --- one DIE --------------------------------------------------------------- */

struct look {
	struct dw_function *f;
	bool is_declaration;
};

static int look_at(Dwarf_Attribute *a, void *ctx)
{
	struct look *l = ctx;
	Dwarf_Die origin;

	switch (dwarf_whatattr(a)) {
	case DW_AT_name:
		l->f->name = dw_string(a);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		l->f->linkage = dw_string(a);
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		if (dwarf_formref_die(a, &origin))
			l->f->origin = origin.addr;
		break;
	case DW_AT_low_pc:
	case DW_AT_ranges:
	case DW_AT_entry_pc:
		l->f->has_code = true;
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

struct code_list {
	struct walk *w;
	uint32_t function;
};

static int add_code(void *ctx, Dwarf_Addr start, Dwarf_Addr end)
{
	struct code_list *l = ctx;
	struct dw_unit *u = l->w->unit;
	int rc = dw_grow(&u->code, &u->cap_code, u->n_code, sizeof(*u->code), l->w->err);

	if (rc == 0 && start != 0)
		u->code[u->n_code++] = (struct dw_code){ start, end, l->function };
	return rc;
}

static int add_function(struct walk *w, Dwarf_Die *die, bool is_inlined, uint32_t scope)
{
	struct dw_unit *u = w->unit;
	struct dw_function f = { .addr = die->addr, .scope = scope, .is_inlined = is_inlined };
	struct look look = { .f = &f };
	struct code_list list = { w, (uint32_t)u->n_functions };
	int rc = dw_grow(&u->functions, &u->cap_functions, u->n_functions,
			 sizeof(*u->functions), w->err);

	if (rc < 0)
		return rc;
	if (u->n_functions >= FUNCTIONS_MAX)
		return ubp_fail(w->err, ENOEXEC, "a unit with more than %u functions",
				FUNCTIONS_MAX);
	(void)dwarf_getattrs(die, look_at, &look, 0);
	u->functions[u->n_functions++] = f;
	return f.has_code && !is_inlined ? dw_each_range(die, add_code, &list) : 0;
}

static int add_scope(struct walk *w, const char *name, uint32_t *scope)
{
	struct dw_unit *u = w->unit;
	int rc = dw_grow(&u->scopes, &u->cap_scopes, u->n_scopes, sizeof(*u->scopes), w->err);

	if (rc < 0)
		return rc;
	u->scopes[u->n_scopes] = (struct dw_scope){ name, *scope };
	*scope = (uint32_t)u->n_scopes++;
	return 0;
}

/* --- all of them ------------------------------------------------------------ */

static int walk_children(struct walk *w, Dwarf_Die *parent, uint32_t scope, unsigned depth);

/* Is it worth looking into? */
static bool is_type(const struct walk *w, int tag)
{
	return !w->unit->is_c && (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
				  tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
				  tag == DW_TAG_interface_type || tag == DW_TAG_variant_part);
}

static int walk_named(struct walk *w, Dwarf_Die *die, uint32_t scope, unsigned depth)
{
	Dwarf_Die child;
	int rc;

	if (dwarf_child(die, &child) != 0)
		return 0;
	rc = add_scope(w, dw_name(die), &scope);
	return rc == 0 ? walk_children(w, die, scope, depth) : rc;
}

static int walk_die(struct walk *w, Dwarf_Die *die, uint32_t scope, unsigned depth)
{
	int tag = dwarf_tag(die), rc;

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_entry_point:
		rc = add_function(w, die, false, scope);
		if (rc == 0 && !w->unit->is_c)
			return walk_named(w, die, scope, depth);
		return rc == 0 ? walk_children(w, die, scope, depth) : rc;
	case DW_TAG_inlined_subroutine:
		rc = add_function(w, die, true, scope);
		return rc == 0 ? walk_children(w, die, scope, depth) : rc;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return walk_children(w, die, scope, depth);
	case DW_TAG_namespace:
	case DW_TAG_module:
		return walk_named(w, die, scope, depth);
	default:
		return is_type(w, tag) ? walk_named(w, die, scope, depth) : 0;
	}
}

static int check_clock(const struct walk *w)
{
	uint64_t limit_ns = dw_cpu_limit_ns(w->d);

	if (proc_cpu_ns() - w->begin_ns + w->d->spent_ns < limit_ns)
		return 0;
	return dwarf_fail_late(object_path(w->d->object), limit_ns, w->err);
}

/* libdw goes over all that is in a DIE to find the next one: a step takes long, too. */
static int look_at_clock(struct walk *w)
{
	struct timespec ts = { 0 };
	uint64_t now_ns;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	if (now_ns - w->looked_ns < LOOK_NS)
		return 0;
	w->looked_ns = now_ns;
	return check_clock(w);
}

/* Each DIE stands behind all that were looked at: else those that lead back into each other had no end. */
static int check_order(struct walk *w, const Dwarf_Die *die)
{
	if ((uintptr_t)die->addr <= (uintptr_t)w->last)
		return ubp_fail(w->err, ENOEXEC, DISORDER);
	w->last = die->addr;
	return 0;
}

static int walk_children(struct walk *w, Dwarf_Die *parent, uint32_t scope, unsigned depth)
{
	bool has_one;
	Dwarf_Die die;
	int rc;

	if (depth >= DW_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		rc = check_order(w, &die);
		if (rc == 0)
			rc = walk_die(w, &die, scope, depth + 1);
		if (rc < 0)
			return rc;
		has_one = dwarf_siblingof(&die, &die) == 0;
		rc = look_at_clock(w);
	} while (rc == 0 && has_one);
	return rc;
}

static int compare_code(const void *a, const void *b)
{
	const struct dw_code *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* They are, but where a DIE lies about where its sibling is. */
static int compare_functions(const void *a, const void *b)
{
	const struct dw_function *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int dw_walk_unit(struct dwarf *d, struct dw_unit *unit, struct ubp_err *err)
{
	struct walk w = { .d = d,
			  .unit = unit,
			  .last = unit->die.addr,
			  .begin_ns = proc_cpu_ns(),
			  .err = err };
	int rc;

	if (unit->is_walked)
		return 0;
	rc = check_clock(&w);
	if (rc == 0)
		rc = walk_children(&w, &unit->die, DW_NO_SCOPE, 0);
	d->spent_ns += proc_cpu_ns() - w.begin_ns;
	if (rc < 0)
		return rc;
	for (size_t i = 1; i < unit->n_functions; i++)
		if (unit->functions[i - 1].addr >= unit->functions[i].addr)
			return ubp_fail(err, ENOEXEC, DISORDER);
	if (unit->n_code)
		qsort(unit->code, unit->n_code, sizeof(*unit->code), compare_code);
	unit->is_walked = true;
	return 0;
}

/* --- finding them again ----------------------------------------------------- */

const struct dw_function *dw_function_of(struct dwarf *d, const void *addr,
					 struct dw_unit **ret_unit)
{
	struct dw_function key = { .addr = addr };
	struct ubp_err ignored;
	struct dw_unit *unit;
	Dwarf_Die die;

	ubp_err_reset(&ignored);
	if (dw_read_units(d, &ignored) < 0 || !dwarf_die_addr_die(d->dw, (void *)addr, &die))
		return NULL;
	unit = dw_unit_of(d, &die);
	if (!unit || dw_walk_unit(d, unit, &ignored) < 0 || !unit->n_functions)
		return NULL;
	if (ret_unit)
		*ret_unit = unit;
	return bsearch(&key, unit->functions, unit->n_functions, sizeof(key),
		       compare_functions);
}

/* The scopes' names and its own: outermost first. */
static void put_names(const struct dw_unit *unit, uint32_t scope, const char *name, FILE *out)
{
	const char *names[DW_DEPTH_MAX];
	size_t n = 0;

	for (; scope < unit->n_scopes && n < DW_DEPTH_MAX; scope = unit->scopes[scope].parent)
		names[n++] = unit->scopes[scope].name;
	while (n) {
		const char *part = names[--n];

		fprintf(out, "%s::", part ? part : "(anonymous namespace)");
	}
	fputs(name, out);
}

static char *make_name(struct dwarf *d, const void *addr)
{
	const struct dw_function *f = NULL;
	struct dw_unit *unit = NULL;
	const char *name = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;

	/* The scope is that of the first declaration, and so mostly is the name. */
	for (int i = 0; addr && i < DW_CHAIN_MAX; i++) {
		struct dw_unit *its_unit;
		const struct dw_function *next = dw_function_of(d, addr, &its_unit);

		if (!next)
			break;
		f = next;
		unit = its_unit;
		if (f->name)
			name = f->name;
		addr = f->origin;
	}
	out = f && name ? open_memstream(&text, &size) : NULL;
	if (!out)
		return NULL;
	put_names(unit, f->scope, name, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

const char *dw_full_name(struct dwarf *d, Dwarf_Die *die)
{
	const char *name = map_get(&d->full_names, (uintptr_t)die->addr);
	char *made;

	if (name)
		return name;
	made = make_name(d, die->addr);
	if (made && map_put(&d->full_names, (uintptr_t)die->addr, made) == 0)
		return made;
	free(made);
	name = dw_name(die);
	return name ? name : "?";
}
