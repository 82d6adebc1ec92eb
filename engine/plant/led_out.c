/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/led_out.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/guard.h"
#include "arch/leaf.h"
#include "engine/base/map.h"
#include "engine/plant/leftover_parts.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/mem.h"

static void *const there = (void *)1;

int led_out_note_old(const struct plant_space *ps, const struct site *site,
		     const struct site_jump *jump)
{
	/* Where the jump takes fill nothing comes out behind. */
	if (jump->jump_len > jump->from[jump->n])
		return 0;
	return map_put(&ps->jump->led_to, site->vaddr + jump->from[jump->n], there);
}

int led_out_note(const struct plant_space *ps, const struct site *site,
		 const struct site_jump *jump)
{
	int rc = 0;

	for (size_t i = 0; i < jump->detour.n_exits && rc == 0; i++)
		rc = map_put(&ps->jump->led_to,
			     site->vaddr + (uint64_t)(int64_t)jump->detour.exits[i], there);
	return rc;
}

const char *led_out_into(const struct plant_space *ps, uint64_t vaddr, size_t len)
{
	for (size_t i = 1; ps->jump->led_to.n && i < len; i++)
		if (map_get(&ps->jump->led_to, vaddr + i))
			return "a copy of code in front of it leads to under the jump";
	return NULL;
}

/* --- of an earlier session ------------------------------------------------------------------- */

/* Of all blocks together: each may cost a system call. */
#define LED_MAX (1u << 22)

/* As the target has it: what is wrong there harms nobody else. */
struct table {
	struct guard_leaf head;
	uint16_t rets[UBP_LEAF_INSNS];
	int16_t exits[UBP_LEAF_EXITS];
};

static bool read_at(const struct space *space, uint64_t vaddr, void *buf, size_t len)
{
	return mem_peek(&space->mem, vaddr, buf, len) == len;
}

static bool read_table(const struct space *space, uint64_t entry, uint32_t room,
		       struct table *ret_table)
{
	struct table *t = ret_table;
	size_t rets_len, exits_len;

	if (room < sizeof(t->head) ||
	    !read_at(space, entry - sizeof(t->head), &t->head, sizeof(t->head)) ||
	    t->head.n_rets > UBP_LEAF_INSNS || t->head.n_exits > UBP_LEAF_EXITS)
		return false;
	rets_len = t->head.n_rets * sizeof(t->rets[0]);
	exits_len = t->head.n_exits * sizeof(t->exits[0]);
	entry -= sizeof(t->head) + exits_len;
	return rets_len + exits_len + sizeof(t->head) <= room &&
	       read_at(space, entry, t->exits, exits_len) &&
	       read_at(space, entry - rets_len, t->rets, rets_len);
}

static int make_ret(const struct adoption *a, struct mem_view *view, uint64_t vaddr)
{
	const struct space *space = a->space;
	const struct arch_jump *arch = &space->arch->jump;
	uint8_t now[UBP_INSN_MAX];
	size_t n = arch->leaf_ret.len;

	if (mem_view_peek(view, vaddr, now, n) != n || memcmp(now, arch->leaf_ret.jump, n) != 0)
		return 0;
	return mem_write(&space->mem, a->tid, vaddr, arch->leaf_ret.code, n);
}

int led_out_adopt(struct adoption *a, struct mem_view *view, const struct guard_jump *head,
		  uint64_t copy)
{
	struct map *led_to = &a->space->plant->jump->led_to;
	struct table table;
	int rc = 0;

	if (head->magic != UBP_JUMP_LEAF || !a->space->arch->jump.leaf_ret.len ||
	    !read_table(a->space, copy + head->entry, head->entry, &table))
		return 0;
	a->n_led += (size_t)table.head.n_exits + table.head.n_rets;
	if (a->n_led > LED_MAX) {
		a->why = "copies of more functions than there can be";
		return -EBADMSG;
	}
	for (size_t i = 0; i < table.head.n_exits && rc == 0; i++)
		rc = leftover_note_key(a, led_to,
				       head->vaddr + (uint64_t)(int64_t)table.exits[i], there);
	for (size_t i = 0; i < table.head.n_rets && rc == 0; i++)
		if (table.rets[i] < head->entry)
			rc = make_ret(a, view, copy + table.rets[i]);
	return rc;
}
