/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/type.h"
#include "engine/dwarf/units.h"

/* Namespaces in each other. */
#define NAMESPACES_MAX 32

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter;
}

static bool is_called(Dwarf_Die *die, const char *name, size_t len)
{
	const char *its = dw_name(die);

	return its && strlen(its) == len && memcmp(its, name, len) == 0;
}

static bool is_inlined(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_inlined_subroutine;
}

static bool is_namespace(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

int lookup_init(struct lookup *l, struct dwarf *d, const struct dwarf_place *place,
		struct ubp_err *err)
{
	*l = (struct lookup){ .d = d, .place = place };
	l->n_scopes = dw_scopes_at(d, place, l->scopes, SCOPES_MAX);
	if (l->n_scopes == 0)
		return ubp_fail(err, ENOENT, "nothing is known of the code at 0x%" PRIx64,
				place->elf_vaddr);
	return location_at_init(&l->at, d, place->elf_vaddr, l->scopes, l->n_scopes, err);
}

/* Has it a value here, or a place at all? Of two with one name the one that has is meant. */
static bool has_location(const struct lookup *l, Dwarf_Die *variable)
{
	struct location location = { 0 };
	struct ubp_err err = { 0 };

	return location_of(&l->at, variable, "it", &location, &err) == 0;
}

/*
 * The variables of one scope. What a copy leaves out because it is gone, or because it has one
 * place for all copies (static), stands in the origin only.
 */
static int each_of(Dwarf_Die *scope, int (*each)(void *ctx, Dwarf_Die *variable), void *ctx)
{
	Dwarf_Die origin = *scope;
	int rc = 0;

	for (unsigned i = 0; i < DW_CHAIN_MAX && rc == 0; i++) {
		for (struct children c = children_of(&origin); c.has_one && rc == 0;
		     children_next(&c))
			if (is_variable(&c.die))
				rc = each(ctx, &c.die);
		if (!dw_ref(&origin, DW_AT_abstract_origin, &origin))
			break;
	}
	return rc;
}

struct named {
	const struct lookup *l;
	const char *name;
	size_t len;
	bool has_one, has_place;
	Dwarf_Die die;
};

static int take_named(void *ctx, Dwarf_Die *variable)
{
	struct named *n = ctx;

	if (!is_called(variable, n->name, n->len))
		return 0;
	if (!n->has_one)
		n->die = *variable;
	n->has_one = true;
	if (!has_location(n->l, variable))
		return 0;
	n->die = *variable;
	n->has_place = true;
	return 1;
}

static bool in_scope(const struct lookup *l, Dwarf_Die *scope, const char *name, size_t len,
		     Dwarf_Die *ret_die)
{
	struct named n = { .l = l, .name = name, .len = len };

	each_of(scope, take_named, &n);
	if (n.has_one)
		*ret_die = n.die;
	return n.has_one;
}

/* In scopes from @first on, up to a function; *ret_next is the scope behind it. */
static bool in_function(const struct lookup *l, size_t first, const char *name, size_t len,
			Dwarf_Die *ret_die, size_t *ret_next)
{
	size_t i;

	for (i = first; i < l->n_scopes; i++) {
		Dwarf_Die scope = l->scopes[i];

		if (in_scope(l, &scope, name, len, ret_die))
			return true;
		if (dw_is_function(&scope) || is_inlined(&scope))
			break;
	}
	*ret_next = i + 1;
	return false;
}

/* Has the function an object, and that a member of this name? */
static bool in_this(const struct lookup *l, const char *name, size_t len, Dwarf_Die *ret_this)
{
	struct ubp_err err = { 0 };
	struct type_member member;
	struct type type;
	size_t next;

	if (!in_function(l, 0, "this", 4, ret_this, &next) || !type_of(ret_this, &type) ||
	    type.tag != DW_TAG_pointer_type || !type_target(&type, &type) || !type.tag)
		return false;
	type_complete(l->d, &type);
	return type_find_member(l->d, &type, name, len, &member, &err) != -ENOENT;
}

/* --- what is not in a function --------------------------------------------------- */

static bool is_same(Dwarf_Die *a, Dwarf_Die *b)
{
	return a->addr == b->addr;
}

/* Namespaces and classes that @die is in: into @chain, outermost first. */
static bool find_namespaces(Dwarf_Die *in, Dwarf_Die *die, Dwarf_Die *chain, size_t *n)
{
	for (struct children c = children_of(in); c.has_one; children_next(&c)) {
		if (is_same(&c.die, die))
			return true;
		if (!is_namespace(&c.die) || *n == NAMESPACES_MAX)
			continue;
		chain[(*n)++] = c.die;
		if (find_namespaces(&c.die, die, chain, n))
			return true;
		--*n;
	}
	return false;
}

/* The declaration that a function, or its copy, goes back to. */
static Dwarf_Die declaration_of(Dwarf_Die die)
{
	for (unsigned i = 0; i < DW_CHAIN_MAX; i++)
		if (!dw_ref(&die, DW_AT_abstract_origin, &die) &&
		    !dw_ref(&die, DW_AT_specification, &die))
			break;
	return die;
}

/* A variable, or a static member, of this name that stands in @scope itself. */
static bool declared_in(Dwarf_Die *scope, const char *name, size_t len, Dwarf_Die *ret_die)
{
	bool has_one = false;

	for (struct children c = children_of(scope); c.has_one; children_next(&c)) {
		int tag = dwarf_tag(&c.die);

		if ((tag != DW_TAG_variable &&
		     (tag != DW_TAG_member || !dw_flag(&c.die, DW_AT_external))) ||
		    !is_called(&c.die, name, len))
			continue;
		*ret_die = c.die;
		has_one = true;
		/* What has a place is better than its declaration. */
		if (!dw_flag(&c.die, DW_AT_declaration))
			break;
	}
	return has_one;
}

static bool is_defined(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, DW_AT_location, &attr) || dw_attr(die, DW_AT_const_value, &attr);
}

/* The definition in @scope of what @declaration says. */
static bool defined_in(Dwarf_Die *scope, Dwarf_Die *declaration, Dwarf_Die *ret_die,
		       unsigned depth)
{
	for (struct children c = children_of(scope); c.has_one; children_next(&c)) {
		Dwarf_Die of;

		if (dwarf_tag(&c.die) == DW_TAG_variable &&
		    dw_ref(&c.die, DW_AT_specification, &of) && is_same(&of, declaration)) {
			*ret_die = c.die;
			return true;
		}
		if (dwarf_tag(&c.die) == DW_TAG_namespace && depth < NAMESPACES_MAX &&
		    defined_in(&c.die, declaration, ret_die, depth + 1))
			return true;
	}
	return false;
}

static bool define(Dwarf_Die *declaration, Dwarf_Die *ret_die)
{
	Dwarf_Die unit;

	if (is_defined(declaration)) {
		*ret_die = *declaration;
		return true;
	}
	return dwarf_diecu(declaration, &unit, NULL, NULL) &&
	       defined_in(&unit, declaration, ret_die, 0);
}

/* "a::b::x" in @scope: first the part before "::". */
static bool qualified_in(Dwarf_Die *scope, const char *name, size_t len, unsigned depth,
			 Dwarf_Die *ret_die)
{
	const char *colon = memmem(name, len, "::", 2);
	size_t part = colon ? (size_t)(colon - name) : len;

	if (!colon)
		return declared_in(scope, name, len, ret_die) &&
		       (define(ret_die, ret_die) || !dw_flag(ret_die, DW_AT_declaration));
	for (struct children c = children_of(scope); c.has_one; children_next(&c))
		if (is_namespace(&c.die) && depth < NAMESPACES_MAX &&
		    is_called(&c.die, name, part) &&
		    qualified_in(&c.die, colon + 2, len - part - 2, depth + 1, ret_die))
			return true;
	return false;
}

/* The namespaces and classes of the function, from the inside, then the unit. */
static bool in_unit(struct lookup *l, const char *name, size_t len, Dwarf_Die *ret_die)
{
	Dwarf_Die *unit = &l->scopes[l->n_scopes - 1], chain[NAMESPACES_MAX];
	size_t i, n = 0;

	for (i = 0; i < l->n_scopes; i++)
		if (dw_is_function(&l->scopes[i]) || is_inlined(&l->scopes[i]))
			break;
	if (i < l->n_scopes) {
		Dwarf_Die function = declaration_of(l->scopes[i]);

		if (!find_namespaces(unit, &function, chain, &n))
			n = 0;
	}
	while (n > 0)
		if (qualified_in(&chain[--n], name, len, 0, ret_die))
			return true;
	return qualified_in(unit, name, len, 0, ret_die);
}

static bool in_other_units(struct lookup *l, const char *name, size_t len, Dwarf_Die *ret_die)
{
	struct ubp_err err = { 0 };

	if (dw_read_units(l->d, &err) < 0)
		return false;
	for (size_t i = 0; i < l->d->n_units; i++)
		if (qualified_in(&l->d->units[i].die, name, len, 0, ret_die) &&
		    dw_flag(ret_die, DW_AT_external))
			return true;
	return false;
}

bool lookup_static(struct lookup *l, Dwarf_Die *member, Dwarf_Die *ret_die)
{
	const char *name = dw_name(member);

	return define(member, ret_die) ||
	       (name && in_other_units(l, name, strlen(name), ret_die));
}

/* --- all together -------------------------------------------------------------- */

static int offer(void *ctx, Dwarf_Die *variable)
{
	struct nearest *near = ctx;
	const char *name = dw_name(variable);

	if (name)
		nearest_offer(near, name);
	return 0;
}

/* Is there one in a block of @scope, but not where the place is? */
static bool in_blocks(Dwarf_Die *scope, const char *name, size_t len, unsigned depth)
{
	for (struct children c = children_of(scope); c.has_one; children_next(&c)) {
		if (is_variable(&c.die) && is_called(&c.die, name, len))
			return true;
		if (dwarf_tag(&c.die) == DW_TAG_lexical_block && depth < NAMESPACES_MAX &&
		    in_blocks(&c.die, name, len, depth + 1))
			return true;
	}
	return false;
}

static int not_found(struct lookup *l, const char *name, size_t len, struct ubp_err *err)
{
	struct nearest near;
	char text[NEAREST_TEXT_MAX];

	for (size_t i = 0; i < l->n_scopes; i++)
		if (dw_is_function(&l->scopes[i]) && in_blocks(&l->scopes[i], name, len, 0))
			return ubp_fail(
				err, ENOENT,
				"'%.*s' is a variable of a block that this place is not in",
				(int)len, name);
	nearest_init(&near, name, len, 2);
	for (size_t i = 0; i < l->n_scopes; i++)
		each_of(&l->scopes[i], offer, &near);
	nearest_text(&near, text, sizeof(text));
	return ubp_fail(err, ENOENT, "There is no variable '%.*s' here%s", (int)len, name,
			text);
}

/* An "extern int x" in a function stands for the one that is defined elsewhere. */
static void resolve(struct lookup *l, Dwarf_Die *die, const char *name, size_t len)
{
	Dwarf_Die defined;

	if (dw_flag(die, DW_AT_declaration) && !is_defined(die) &&
	    (in_unit(l, name, len, &defined) || in_other_units(l, name, len, &defined)))
		*die = defined;
}

int lookup_variable(struct lookup *l, const char *name, size_t len, Dwarf_Die *ret_die,
		    bool *ret_is_member, struct ubp_err *err)
{
	bool is_qualified = memmem(name, len, "::", 2) != NULL;
	size_t next = l->n_scopes;

	*ret_is_member = false;
	if (len > 2 && memcmp(name, "::", 2) == 0) {
		name += 2;
		len -= 2;
	} else if (!is_qualified) {
		if (in_function(l, 0, name, len, ret_die, &next)) {
			resolve(l, ret_die, name, len);
			return 0;
		}
		if (in_this(l, name, len, ret_die)) {
			*ret_is_member = true;
			return 0;
		}
	}
	if (in_unit(l, name, len, ret_die))
		return 0;
	while (!is_qualified && next < l->n_scopes)
		if (in_function(l, next, name, len, ret_die, &next))
			return 0;
	if (in_other_units(l, name, len, ret_die))
		return 0;
	return not_found(l, name, len, err);
}

int lookup_each(struct lookup *l, int (*each)(void *ctx, Dwarf_Die *variable), void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < l->n_scopes && rc == 0; i++) {
		bool is_last = dw_is_function(&l->scopes[i]) || is_inlined(&l->scopes[i]);

		rc = each_of(&l->scopes[i], each, ctx);
		if (is_last)
			break;
	}
	return rc;
}
