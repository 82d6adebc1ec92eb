/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/function_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/base/search.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/entry.h"
#include "engine/dwarf/functions.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/units.h"
#include "engine/elf/object.h"
#include "engine/symbols/functions.h"

#define NO_NODE UINT32_MAX

/* Which of all functions of all units. */
struct which {
	uint32_t unit, function;
};

struct node {
	struct which which;
	uint32_t next;
};

struct ref {
	uint64_t origin; /* where the DIE stands in memory */
	struct which which;
};

struct names {
	uint32_t *heads; /* by hash; n_heads is a power of two */
	size_t n_heads;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct ref *refs; /* sorted by origin */
	size_t n_refs, cap_refs;
};

static void free_names(void *names_ptr)
{
	struct names *names = names_ptr;

	free(names->heads);
	free(names->nodes);
	free(names->refs);
	free(names);
}

static const struct annex_kind names_kind = { .free = free_names };

/* NULL: they were not read. */
static struct names *names_of(const struct dwarf *d)
{
	return annex_get(&d->annexes, &names_kind);
}

static const struct dw_function *function_of(const struct dwarf *d, struct which which)
{
	return &d->units[which.unit].functions[which.function];
}

/* --- names as they are written ------------------------------------------------ */

/* Bytes of @name in front of its template arguments. */
static size_t base_len(const char *name, size_t len)
{
	const char *open;

	if (len >= 8 && memcmp(name, "operator", 8) == 0)
		return len;
	open = memchr(name, '<', len);
	return open && open > name ? (size_t)(open - name) : len;
}

/* The last part of "a::b<c::d>::e", and where it starts. */
static const char *last_part(const char *name, size_t len)
{
	unsigned depth = 0;

	for (size_t i = len; i > 1; i--) {
		char c = name[i - 1];

		if (c == '>' && !(i > 1 && name[i - 2] == '-'))
			depth++;
		else if (c == '<' && depth)
			depth--;
		else if (c == ':' && name[i - 2] == ':' && !depth)
			return name + i;
	}
	return name;
}

/* Is @part, as the user wrote it, a name of the DWARF's? Template arguments may be left out. */
static bool part_is(const char *part, size_t len, const char *name)
{
	if (!name)
		return len == strlen("(anonymous namespace)") &&
		       memcmp(part, "(anonymous namespace)", len) == 0;
	if (strncmp(part, name, len) == 0 && name[len] == '\0')
		return true;
	return base_len(part, len) == len && base_len(name, strlen(name)) == len &&
	       memcmp(part, name, len) == 0;
}

/* What nobody writes: anonymous namespaces, Rust's impl blocks. */
static bool may_be_left_out(const char *name)
{
	return !name || strncmp(name, "{impl#", 6) == 0;
}

/* Do the scopes end with what is in front of the last part, "a::b" of "a::b::f"? */
static bool scopes_are(const struct dw_unit *unit, uint32_t scope, const char *path, size_t len)
{
	for (unsigned i = 0; len && i < DW_DEPTH_MAX; i++) {
		const char *part = last_part(path, len);
		size_t part_len = (size_t)(path + len - part);

		if (scope >= unit->n_scopes)
			return false;
		if (part_is(part, part_len, unit->scopes[scope].name))
			len = part == path ? 0 : (size_t)(part - path) - 2;
		else if (!may_be_left_out(unit->scopes[scope].name))
			return false;
		scope = unit->scopes[scope].parent;
	}
	return len == 0;
}

/* Where it is declared: there are its scopes. */
static const struct dw_function *declaration(struct dwarf *d, const struct dw_function *f,
					     struct dw_unit **unit)
{
	for (int i = 0; f->origin && i < DW_CHAIN_MAX; i++) {
		struct dw_unit *its_unit;
		const struct dw_function *next = dw_function_of(d, f->origin, &its_unit);

		if (!next)
			break;
		f = next;
		*unit = its_unit;
	}
	return f;
}

static bool is_named(struct dwarf *d, struct which which, const char *name)
{
	const struct dw_function *f = function_of(d, which);
	struct dw_unit *unit = &d->units[which.unit];
	size_t len = strlen(name);
	const char *last = last_part(name, len);

	if (f->linkage && strcmp(f->linkage, name) == 0)
		return true;
	if (!f->name || !part_is(last, (size_t)(name + len - last), f->name))
		return false;
	if (last == name)
		return true;
	f = declaration(d, f, &unit);
	return scopes_are(unit, f->scope, name, (size_t)(last - name) - 2);
}

/* --- the index ------------------------------------------------------------------ */

static uint32_t hash(const char *name, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

static int add_node(struct names *names, struct which which, struct ubp_err *err)
{
	int rc = dw_grow(&names->nodes, &names->cap_nodes, names->n_nodes,
			 sizeof(*names->nodes), err);

	if (rc == 0)
		names->nodes[names->n_nodes++] = (struct node){ .which = which };
	return rc;
}

static int add_ref(struct names *names, const struct dw_function *f, struct which which,
		   struct ubp_err *err)
{
	int rc = dw_grow(&names->refs, &names->cap_refs, names->n_refs, sizeof(*names->refs),
			 err);

	if (rc == 0)
		names->refs[names->n_refs++] = (struct ref){ (uintptr_t)f->origin, which };
	return rc;
}

static int add_unit(struct dwarf *d, struct names *names, uint32_t unit, struct ubp_err *err)
{
	int rc = dw_walk_unit(d, &d->units[unit], err);

	for (uint32_t i = 0; rc == 0 && i < d->units[unit].n_functions; i++) {
		const struct dw_function *f = &d->units[unit].functions[i];
		struct which which = { unit, i };

		/* Twice where it has two names: the first is its linkage name's. */
		if (f->linkage)
			rc = add_node(names, which, err);
		if (rc == 0 && f->name)
			rc = add_node(names, which, err);
		if (rc == 0 && f->origin)
			rc = add_ref(names, f, which, err);
	}
	return rc;
}

static int compare_refs(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	return x->origin < y->origin ? -1 : x->origin > y->origin;
}

static void hash_nodes(struct dwarf *d, struct names *names)
{
	const struct node *before = NULL;

	for (size_t i = 0; i < names->n_heads; i++)
		names->heads[i] = NO_NODE;
	for (uint32_t i = 0; i < names->n_nodes; i++) {
		struct node *node = &names->nodes[i];
		const struct dw_function *f = function_of(d, node->which);
		bool is_second = before && before->which.unit == node->which.unit &&
				 before->which.function == node->which.function;
		const char *name = f->linkage && !is_second ? f->linkage : f->name;
		size_t len = strlen(name);
		uint32_t *head =
			&names->heads[hash(name, base_len(name, len)) & (names->n_heads - 1)];

		node->next = *head;
		*head = i;
		before = node;
	}
}

static int build(struct dwarf *d, struct names *names, struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < d->n_units; i++)
		rc = add_unit(d, names, (uint32_t)i, err);
	if (rc < 0)
		return rc;
	names->n_heads = 64;
	while (names->n_heads < names->n_nodes)
		names->n_heads *= 2;
	names->heads = calloc(names->n_heads, sizeof(*names->heads));
	if (!names->heads || names->n_nodes >= NO_NODE)
		return ubp_fail(err, ENOMEM, "out of memory");
	hash_nodes(d, names);
	if (names->n_refs)
		qsort(names->refs, names->n_refs, sizeof(*names->refs), compare_refs);
	return 0;
}

static int need_names(struct dwarf *d, struct ubp_err *err)
{
	struct names *names;
	int rc;

	if (names_of(d))
		return 0;
	rc = dw_read_units(d, err);
	if (rc < 0)
		return rc;
	names = calloc(1, sizeof(*names));
	if (!names)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = build(d, names, err);
	if (rc == 0 && annex_put(&d->annexes, &names_kind, names) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	if (rc != 0)
		free_names(names);
	return rc;
}

/* --- look-up -------------------------------------------------------------------- */

struct search {
	struct dwarf *d;
	struct map seen; /* DIEs */
	struct dw_instances *found;
	struct ubp_err *err;
};

/* The DIE, and all that are more of it. */
static int take(struct search *s, struct which which, unsigned depth)
{
	const struct names *names = names_of(s->d);
	const struct dw_function *f = function_of(s->d, which);
	struct dw_instances *found = s->found;
	uint64_t addr = (uintptr_t)f->addr;
	int rc;

	if (map_get(&s->seen, addr) || depth > DW_CHAIN_MAX)
		return 0;
	if (map_put(&s->seen, addr, s->d) < 0)
		return ubp_fail(s->err, ENOMEM, "out of memory");
	rc = dw_grow(&found->v, &found->cap, found->n, sizeof(*found->v), s->err);
	if (rc == 0 && dwarf_die_addr_die(s->d->dw, (void *)f->addr, &found->v[found->n].die)) {
		found->v[found->n].is_inlined = f->is_inlined;
		found->v[found->n++].has_code = f->has_code;
	}
	for (size_t i = search_at_least(names->refs, names->n_refs, origin, addr);
	     rc == 0 && i < names->n_refs && names->refs[i].origin == addr; i++)
		rc = take(s, names->refs[i].which, depth + 1);
	return rc;
}

static void offer_names(struct dwarf *d, const char *name, struct nearest *near)
{
	const struct names *names = names_of(d);
	size_t len = strlen(name);
	const char *last = last_part(name, len);

	nearest_init(near, last, (size_t)(name + len - last), NEAREST_EDITS);
	for (size_t i = 0; i < names->n_nodes; i++) {
		const char *other = function_of(d, names->nodes[i].which)->name;

		if (other)
			nearest_offer(near, other);
	}
}

static int fail_no_function(struct dwarf *d, const char *name, struct ubp_err *err)
{
	struct nearest *near = malloc(sizeof(*near));
	char text[NEAREST_TEXT_MAX] = "";

	if (near) {
		offer_names(d, name, near);
		nearest_text(near, text, sizeof(text));
	}
	free(near);
	if (d->missing)
		return ubp_fail(err, ENOENT,
				"no function '%s' in the debug information of %s, a part of "
				"which is in %s, which is not there",
				name, object_path(d->object), d->missing);
	return ubp_fail(err, ENOENT, "no function '%s' in the debug information of %s%s", name,
			object_path(d->object), text);
}

static bool has_code(const struct dw_instances *found)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->v[i].has_code)
			return true;
	return false;
}

/* "malloc" of glibc is another name for what the source calls __libc_malloc: symbols tell. */
static int take_alias(struct search *s, const char *name)
{
	struct dw_instances *found = s->found;
	struct object_symbol symbol;
	struct ubp_err ignored;
	struct dw_unit *unit;
	Dwarf_Addr addr, entry;
	Dwarf_Die die;
	int rc;

	ubp_err_reset(&ignored);
	if (object_find_symbol(s->d->object, name, &symbol, &ignored) < 0 || symbol.is_ifunc)
		return 0;
	unit = dw_unit_at(s->d, symbol.elf_vaddr);
	addr = dw_addr(s->d, symbol.elf_vaddr);
	if (!unit || !dw_function_at(s->d, unit, addr, &die) || !dw_entry(s->d, &die, &entry) ||
	    entry != addr)
		return 0;
	rc = dw_grow(&found->v, &found->cap, found->n, sizeof(*found->v), s->err);
	if (rc == 0)
		found->v[found->n++] = (struct dw_instance){ .die = die, .has_code = true };
	return rc;
}

int dw_find(struct dwarf *d, const char *name, struct dw_instances *ret_found,
	    struct ubp_err *err)
{
	struct search s = { .d = d, .found = ret_found, .err = err };
	size_t len = strlen(name);
	const char *last = last_part(name, len);
	const struct names *names;
	uint32_t at;
	int rc = need_names(d, err);

	*ret_found = (struct dw_instances){ 0 };
	if (rc < 0)
		return rc;
	names = names_of(d);
	at = names->heads[hash(last, base_len(last, (size_t)(name + len - last))) &
			  (names->n_heads - 1)];
	for (; rc == 0 && at != NO_NODE; at = names->nodes[at].next)
		if (is_named(d, names->nodes[at].which, name))
			rc = take(&s, names->nodes[at].which, 0);
	map_free(&s.seen);
	if (rc == 0 && !has_code(ret_found))
		rc = take_alias(&s, name);
	if (rc == 0 && ret_found->n == 0)
		rc = fail_no_function(d, name, err);
	if (rc < 0)
		dw_instances_free(ret_found);
	return rc;
}

void dw_instances_free(struct dw_instances *found)
{
	free(found->v);
	*found = (struct dw_instances){ 0 };
}
