/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/jump_tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/code/decoded.h"
#include "engine/code/landing_set.h"
#include "engine/code/led_to.h"
#include "engine/elf/image.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

/* Entries of one table, and of all together: a file may claim any number. */
#define TABLE_MAX   65536
#define ENTRIES_MAX (UINT64_C(1) << 26)

/* Functions that use one table; of more any may. */
#define USERS_MAX 16

struct function {
	uint64_t start, end;
	const char *name; /* NULL: not known */
};

struct users {
	struct function some[USERS_MAX];
	size_t n;
	bool any; /* not all are known */
};

struct marking {
	struct object *object;
	const struct image *image;
	struct landings *landings;
	const struct jump_tables *tables; /* in the order of their addresses */
	uint64_t budget;                  /* entries */
	size_t other;                     /* the table whose users .others are; 0: none */
	struct users others;
};

int jump_tables_note(struct jump_tables *tables, uint64_t elf_vaddr, uint64_t at)
{
	if (VEC_ROOM(tables->all, &tables->room, tables->n) < 0)
		return -ENOMEM;
	tables->all[tables->n++] = (struct jump_table){ elf_vaddr, at };
	return 0;
}

void jump_tables_free(struct jump_tables *tables)
{
	free(tables->all);
	*tables = (struct jump_tables){ 0 };
}

static int compare_tables(const void *pa, const void *pb)
{
	const struct jump_table *a = pa, *b = pb;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

/* The first behind @i that starts elsewhere. */
static size_t next_table(const struct jump_tables *tables, size_t i)
{
	size_t next = i + 1;

	while (next < tables->n && tables->all[next].vaddr == tables->all[i].vaddr)
		next++;
	return next;
}

static uint64_t target_of(const struct object *object, uint64_t start, const uint8_t *entry)
{
	int32_t distance = (int32_t)object_number(object, entry, 4);

	return start + (uint64_t)(int64_t)distance;
}

/* --- whose an entry is ------------------------------------------------------------------ */

static bool find_function(struct object *object, uint64_t elf_vaddr, struct function *ret)
{
	struct object_symbol symbol;
	uint64_t foffset;

	if (object_vaddr_to_foffset(object, elf_vaddr, &foffset) < 0 ||
	    object_extent(object, foffset, &ret->start, &ret->end) < 0)
		return false;
	ret->name = object_function_at(object, foffset, &symbol) == 0 ? symbol.name : NULL;
	return true;
}

static void find_users(struct marking *m, size_t table, struct users *ret_users)
{
	struct users *u = ret_users;
	size_t end = next_table(m->tables, table);

	*u = (struct users){ 0 };
	for (size_t i = table; i < end && !u->any; i++) {
		struct function *next = &u->some[u->n];

		u->any = u->n == USERS_MAX ||
			 !find_function(m->object, m->tables->all[i].at, next);
		if (!u->any && (u->n == 0 || next->start != u->some[u->n - 1].start))
			u->n++;
	}
}

/* Bytes of the name in front of what compilers add to that of a part which they put elsewhere (NAME.cold). */
static size_t whole_len(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold ? (size_t)(cold - name) : strlen(name);
}

static bool is_same_name(const char *a, const char *b)
{
	size_t len = whole_len(a);

	return len == whole_len(b) && memcmp(a, b, len) == 0;
}

static bool is_user(const struct users *users, const struct function *f)
{
	for (size_t i = 0; i < users->n; i++)
		if (users->some[i].start == f->start)
			return true;
	return false;
}

/* One of them, or a part of one, as far as names tell. */
static bool may_be_user(const struct users *users, const struct function *f, bool *ret_named)
{
	*ret_named = f->name != NULL;
	for (size_t i = 0; i < users->n; i++) {
		const char *name = users->some[i].name;

		if (name && f->name && is_same_name(name, f->name))
			return true;
		*ret_named &= name != NULL;
	}
	return false;
}

/*
 * Does the entry at @vaddr, counted from the last table that starts in front of it, lead to a function that uses this
 * one? *@table is at first one that starts in front of it.
 */
static bool is_others(struct marking *m, size_t *table, uint64_t vaddr, const uint8_t *entry)
{
	struct function f;
	size_t next;

	while ((next = next_table(m->tables, *table)) < m->tables->n &&
	       m->tables->all[next].vaddr <= vaddr)
		*table = next;
	if (m->other != *table) {
		find_users(m, *table, &m->others);
		m->other = *table;
	}
	return !m->others.any &&
	       find_function(m->object,
			     target_of(m->object, m->tables->all[*table].vaddr, entry), &f) &&
	       is_user(&m->others, &f);
}

/* --- how long a table is ------------------------------------------------------------------ */

/* Its entries, by the code at @at that makes its address; UINT64_MAX: that does not tell. */
static uint64_t len_told_at(const struct marking *m, uint64_t at)
{
	const struct arch_insn *arch = &m->object->arch->insn;
	unsigned kinds = LANDINGS_ALL & ~(1u << LANDING_ADDRESS);
	struct decoded_insn insn;
	uint64_t address, n;
	const uint8_t *code;
	size_t len = 0, load;

	if (!arch->table_len || decoded_at(m->object, at, &insn) < 0)
		return UINT64_MAX;
	address = insn.start;
	/* The branch in front of it, and the comparison. */
	for (int i = 0; i < 2; i++)
		if (decoded_at(m->object, insn.start - 1, &insn) < 0)
			return UINT64_MAX;
	code = image_at(m->image, insn.start, &len);
	n = code ? arch->table_len(code, len, (size_t)(address - insn.start), &load) : 0;
	/* Nobody else comes in between, who may have compared with another number. */
	if (!n || landings_first(m->landings, kinds, insn.start + 1, insn.start + load + 1) ||
	    led_by_branch(m->object, insn.start + 1, insn.start + load + 1))
		return UINT64_MAX;
	return n;
}

/* The most that the table may have. */
static uint64_t len_told(const struct marking *m, size_t table)
{
	size_t end = next_table(m->tables, table);
	uint64_t most = 0;

	for (size_t i = table; i < end && most != UINT64_MAX; i++) {
		uint64_t n = i - table < USERS_MAX ? len_told_at(m, m->tables->all[i].at)
						   : UINT64_MAX;

		most = n > most ? n : most;
	}
	return most;
}

/* --- tables ----------------------------------------------------------------------------- */

struct overrun {
	uint64_t start; /* of the table */
	struct users users;
	size_t other; /* the table that its entries have come to */
};

/* Another table has started. Does the table go on, or is that entry the other one's? */
static bool may_be_own(struct marking *m, struct overrun *o, uint64_t vaddr,
		       const uint8_t *entry)
{
	struct function f;
	bool named;

	if (o->users.any ||
	    !find_function(m->object, target_of(m->object, o->start, entry), &f))
		return true;
	if (is_user(&o->users, &f) || may_be_user(&o->users, &f, &named))
		return true;
	return !named && !is_others(m, &o->other, vaddr, entry);
}

static size_t mark_table(struct marking *m, size_t table)
{
	size_t next = next_table(m->tables, table), len = 0, n = 0;
	struct overrun o = { .start = m->tables->all[table].vaddr, .other = next };
	uint64_t end = next < m->tables->n ? m->tables->all[next].vaddr : UINT64_MAX;
	const uint8_t *bytes = image_at(m->image, o.start, &len);
	bool is_over = false;
	uint64_t most = UINT64_MAX;

	for (; bytes && n < TABLE_MAX && len - 4 * n >= 4; n++) {
		const uint8_t *entry = bytes + 4 * n;
		uint64_t vaddr = o.start + 4 * n, target = target_of(m->object, o.start, entry);

		if (!landings_has_code(m->landings, target))
			break;
		if (vaddr >= end && !is_over) {
			is_over = true;
			most = len_told(m, table);
			find_users(m, table, &o.users);
		}
		if (n >= most)
			break;
		if (!is_over || may_be_own(m, &o, vaddr, entry))
			landings_add(m->landings, LANDING_TABLE, target);
	}
	return n;
}

int jump_tables_mark(struct jump_tables *tables, struct object *object,
		     const struct image *image, struct landings *landings, struct ubp_err *err)
{
	struct marking m = { .object = object,
			     .image = image,
			     .landings = landings,
			     .tables = tables,
			     .budget = ENTRIES_MAX };

	if (tables->n)
		qsort(tables->all, tables->n, sizeof(*tables->all), compare_tables);
	for (size_t i = 0; i < tables->n; i = next_table(tables, i)) {
		size_t n = mark_table(&m, i);

		if (n >= m.budget)
			return ubp_fail(err, EFBIG, "%s: too many jump tables", object->path);
		m.budget -= n;
	}
	return 0;
}
