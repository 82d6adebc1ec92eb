/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From "buf->req.name[2]" at a place to where that is: step by step. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/nearest.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/known_types.h"
#include "engine/dwarf/variables.h"
#include "engine/dwarf/walk.h"

/* Pointers and references in a row that a step goes through. */
#define FOLLOW_MAX 8

int walk_not_that(struct walk *w, const char *what)
{
	return ubp_fail(w->err, ENOTSUP, "%.*s %s", (int)w->done, w->text, what);
}

enum type_kind walk_kind(const struct walk *w)
{
	struct type_facts facts;

	type_facts(&w->part.type, w->lookup.at.addr_size, &facts);
	return facts.kind;
}

int walk_follow(struct walk *w)
{
	struct part *part = &w->part;
	struct type target;
	int rc = part_follow(part, &w->lookup.at, w->err);

	if (rc < 0)
		return rc;
	if (!type_target(&part->type, &target))
		return ubp_fail(w->err, ENOEXEC,
				"corrupt debug information: types in a circle");
	part->type = target;
	return 0;
}

int walk_follow_references(struct walk *w)
{
	int rc = 0;

	for (unsigned i = 0; i < FOLLOW_MAX && rc == 0 && walk_kind(w) == TYPE_REFERENCE; i++)
		rc = walk_follow(w);
	return rc;
}

struct member_list {
	char text[256];
	size_t len;
	unsigned n;
	struct nearest *near; /* NULL: no name is looked for */
};

static void list_member(void *ctx, const char *name)
{
	struct member_list *l = ctx;
	size_t room = sizeof(l->text) - l->len;
	int n;

	if (l->near)
		nearest_offer(l->near, name);
	if (l->n++ >= 16)
		return;
	n = snprintf(l->text + l->len, room, "%s%s", l->n > 1 ? ", " : "",
		     l->n == 16 ? "..." : name);
	if (n > 0 && (size_t)n < room)
		l->len += (size_t)n;
	else
		l->text[l->len] = '\0';
}

static void members_of(struct walk *w, struct nearest *near, struct member_list *list)
{
	*list = (struct member_list){ .near = near };
	if (!known_each_part(w->lookup.d, &w->part.type, list_member, list))
		type_each_member(w->lookup.d, &w->part.type, list_member, list);
}

static int no_member(struct walk *w, const char *name, size_t len)
{
	char near_text[NEAREST_TEXT_MAX];
	struct member_list list;
	struct nearest near;

	nearest_init(&near, name, len, 2);
	members_of(w, &near, &list);
	nearest_text(&near, near_text, sizeof(near_text));
	if (list.n == 0)
		return ubp_fail(w->err, ENOENT,
				"%.*s has no members that the debug information tells",
				(int)w->done, w->text);
	return ubp_fail(w->err, ENOENT, "%.*s has no member '%.*s'%s%s %s", (int)w->done,
			w->text, (int)len, name, near_text, near_text[0] ? " It has" : ", but",
			list.text);
}

int walk_whole_record(struct walk *w)
{
	struct member_list list;

	type_complete(w->lookup.d, &w->part.type);
	members_of(w, NULL, &list);
	return ubp_fail(w->err, ENOTSUP, "%.*s is no single value: choose a member: %s",
			(int)w->done, w->text, list.n ? list.text : "none is known");
}

static int enter_static(struct walk *w, struct type_member *member)
{
	Dwarf_Die die;
	int rc;

	if (!lookup_static(&w->lookup, &member->die, &die))
		return walk_not_that(w, "is a static member that is defined nowhere here");
	rc = location_of(&w->lookup.at, &die, dw_name(&member->die), &w->part.location, w->err);
	w->part.bit_at = 0;
	return rc;
}

int walk_member(struct walk *w, const char *name, size_t len)
{
	struct type_member member;
	int rc;

	type_complete(w->lookup.d, &w->part.type);
	rc = walk_kind(w) != TYPE_RECORD
		     ? -ENOENT
		     : type_find_member(w->lookup.d, &w->part.type, name, len, &member, w->err);
	if (rc == -ENOENT)
		rc = known_member(w->lookup.d, &w->part.type, name, len, &member, w->err);
	if (rc == -ENOENT)
		return no_member(w, name, len);
	if (rc < 0)
		return rc;
	w->part.bit_size = member.bit_size;
	if (member.is_static)
		rc = enter_static(w, &member);
	else
		w->part.bit_at += member.bit_at;
	w->part.type = member.type;
	return rc;
}

static void enter(struct walk *w, const struct type_member *member)
{
	w->part.bit_size = member->bit_size;
	w->part.bit_at += member->bit_at;
	w->part.type = member->type;
}

bool walk_into(struct walk *w,
	       int (*known)(struct dwarf *d, const struct type *type,
			    struct type_member *ret_member, struct ubp_err *err))
{
	struct type_member member;
	struct ubp_err ignored = { 0 };

	if (walk_kind(w) != TYPE_RECORD)
		return false;
	type_complete(w->lookup.d, &w->part.type);
	if (known(w->lookup.d, &w->part.type, &member, &ignored) != 0)
		return false;
	enter(w, &member);
	return true;
}

/* "." goes through pointers, too: as in Rust, and in gdb. */
static int step_member(struct walk *w, const struct var_step *step)
{
	int rc = walk_follow_references(w);

	if (rc == 0 && step->kind == VAR_ARROW)
		(void)walk_into(w, known_pointer);

	if (rc == 0 && step->kind == VAR_ARROW && walk_kind(w) != TYPE_POINTER)
		return walk_not_that(w, "is no pointer: write '.'");
	for (unsigned i = 0; i < FOLLOW_MAX && rc == 0 && walk_kind(w) == TYPE_POINTER; i++) {
		rc = walk_follow(w);
		if (rc == 0)
			rc = walk_follow_references(w);
	}
	if (rc < 0)
		return rc;
	if (walk_kind(w) != TYPE_RECORD && !type_pair(&w->part.type))
		return walk_not_that(w, "has no members");
	return walk_member(w, step->name, step->len);
}

void walk_elements(struct walk *w, struct type *ret_element)
{
	struct type_member member;
	struct ubp_err ignored = { 0 };

	*ret_element = (struct type){ .tag = -1 };
	if (walk_kind(w) != TYPE_RECORD)
		return;
	type_complete(w->lookup.d, &w->part.type);
	if (known_elements(w->lookup.d, &w->part.type, &member, ret_element, &ignored) == 0)
		enter(w, &member);
}

int walk_rust_references(struct walk *w)
{
	const char *name;
	int rc = walk_follow_references(w);

	for (unsigned i = 0; i < FOLLOW_MAX && rc == 0 && walk_kind(w) == TYPE_POINTER; i++) {
		name = dw_name(&w->part.type.die);
		if (!name || name[0] != '&')
			break;
		rc = walk_follow(w);
	}
	return rc;
}

static int index_array(struct walk *w, const struct var_step *step, struct type *ret_element)
{
	uint64_t count = 0;

	if (!type_element(&w->part.type, ret_element))
		return walk_not_that(w,
				     "is an array of what the debug information does not tell");
	/* One element at a record's end may stand for many. */
	if (!type_count(&w->part.type, &count))
		count = 0;
	if (step->index < 0 && count <= 1)
		return walk_not_that(w, "has no elements before the first");
	if (step->index < 0 || (count > 1 && (uint64_t)step->index >= count))
		return ubp_fail(w->err, ENOENT, "%.*s has elements 0 to %" PRIu64, (int)w->done,
				w->text, count ? count - 1 : 0);
	return 0;
}

static int step_index(struct walk *w, const struct var_step *step)
{
	struct type element, known;
	int64_t bytes;
	uint64_t size;
	int rc = walk_rust_references(w);

	if (rc < 0)
		return rc;
	walk_elements(w, &known);
	if (walk_kind(w) == TYPE_ARRAY) {
		rc = index_array(w, step, &element);
	} else if (walk_kind(w) == TYPE_POINTER) {
		rc = walk_follow(w);
		element = known.tag == -1 ? w->part.type : known;
	} else {
		return walk_not_that(w, "is neither an array nor a pointer");
	}
	if (rc < 0)
		return rc;
	w->part.type = element;
	type_complete(w->lookup.d, &w->part.type);
	if (!type_size(&w->part.type, w->lookup.at.addr_size, &size))
		return walk_not_that(w, "has elements of unknown size");
	if (size > INT32_MAX || __builtin_mul_overflow(step->index, (int64_t)size, &bytes) ||
	    bytes != (int32_t)bytes)
		return walk_not_that(w, "has no element that far away");
	return part_move(&w->part, &w->lookup.at, bytes, w->err);
}

/* What a reference refers to may be meant by "*x", too, unless that is a pointer. */
static int step_deref(struct walk *w)
{
	bool is_reference = walk_kind(w) == TYPE_REFERENCE;
	struct type element;
	int rc = walk_follow_references(w);

	if (rc < 0)
		return rc;
	if (w->part.is_address) {
		w->part.is_address = false;
		return 0;
	}
	if (walk_kind(w) == TYPE_ARRAY && type_element(&w->part.type, &element)) {
		w->part.type = element;
		return 0;
	}
	if (walk_into(w, known_pointer) || walk_kind(w) == TYPE_POINTER)
		return walk_follow(w);
	return is_reference ? 0 : walk_not_that(w, "is no pointer");
}

static int step_address(struct walk *w)
{
	int rc = walk_follow_references(w);

	if (rc == 0 && (w->part.is_address || w->part.bit_size))
		return walk_not_that(w, "has no address");
	w->part.is_address = true;
	return rc;
}

/* Where the text of a step ends, for messages. */
static size_t end_of(const struct walk *w, const struct var_step *step)
{
	const char *bracket;

	switch (step->kind) {
	case VAR_MEMBER:
	case VAR_ARROW:
		return step->at + step->len;
	case VAR_INDEX:
		bracket = strchr(w->text + step->at, ']');
		return bracket ? (size_t)(bracket - w->text) + 1 : step->at;
	default:
		return w->done;
	}
}

static int take_step(struct walk *w, const struct var_step *step)
{
	if (w->part.is_address && step->kind != VAR_DEREF)
		return walk_not_that(w, "is an address only: nothing can follow");
	switch (step->kind) {
	case VAR_MEMBER:
	case VAR_ARROW:
		return step_member(w, step);
	case VAR_INDEX:
		return step_index(w, step);
	case VAR_DEREF:
		return step_deref(w);
	default:
		return step_address(w);
	}
}

static int start(struct walk *w)
{
	struct var_expr *e = &w->expr;
	bool is_member;
	Dwarf_Die die;
	char name[128];
	int rc = lookup_variable(&w->lookup, e->name, e->len, &die, &is_member, w->err);

	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "%.*s", (int)e->len, e->name);
	rc = location_of(&w->lookup.at, &die, is_member ? "this" : name, &w->part.location,
			 w->err);
	if (rc < 0)
		return rc;
	if (!type_of(&die, &w->part.type))
		return ubp_fail(w->err, ENOEXEC,
				"corrupt debug information: types in a circle");
	w->done = e->at + e->len;
	if (is_member)
		return step_member(w, &(struct var_step){ .kind = VAR_ARROW,
							  .name = e->name,
							  .len = e->len });
	return 0;
}

static int walk(struct walk *w, size_t *ret_at)
{
	int rc;

	*ret_at = w->expr.at;
	rc = start(w);
	for (size_t i = 0; i < w->expr.n && rc == 0; i++) {
		*ret_at = w->expr.steps[i].at;
		rc = take_step(w, &w->expr.steps[i]);
		w->done = end_of(w, &w->expr.steps[i]);
	}
	return rc;
}

int walk_find(struct walk *w, struct dwarf *d, const struct dwarf_place *place, size_t len,
	      size_t *ret_at)
{
	int rc = var_expr_parse(w->text, len, &w->expr, ret_at, w->err);

	if (rc == 0)
		rc = lookup_init(&w->lookup, d, place, w->err);
	if (rc == 0)
		rc = walk(w, ret_at);
	if (rc == 0)
		*ret_at = w->expr.at;
	return rc;
}

int variables_find(struct dwarf *d, const struct dwarf_place *place, const char *text,
		   size_t len, struct part *ret_part, struct ubp_err *err)
{
	struct walk w = { .text = text, .err = err };
	size_t at;
	int rc = walk_find(&w, d, place, len, &at);

	if (rc == 0 && !w.part.is_address)
		rc = walk_follow_references(&w);
	*ret_part = w.part;
	return rc;
}
