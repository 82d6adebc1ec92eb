/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What an earlier ubp has left: areas, their tables, and what stands at the places that these name. */

#include "engine/base/vec.h"
#include "engine/plant/led_out.h"
#include "engine/plant/leftover_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/base/page.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/areas.h"
#include "engine/plant/site.h"
#include "engine/returns/returns.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/tracer.h"

#define HOLD_MS 20
/* So many entries of a site table without a gap: a look-up may go past all of them. The smallest
 * tables may be full. */
#define RUN_MAX 8192
static bool read_head(const struct space *space, const struct maps *maps, uint64_t vaddr,
		      struct guard_head *ret_head)
{
	const struct mapping *m = maps_at(maps, vaddr);
	const struct guard_head *h = ret_head;
	uint64_t table_end;

	ret_head->magic = 0;
	if (!m || !m->exec || m->write || m->shared || m->ino || vaddr % PAGE ||
	    mem_peek(&space->mem, vaddr, ret_head, sizeof(*ret_head)) != sizeof(*ret_head))
		return false;
	if (h->magic != UBP_GUARD_MAGIC || h->version != UBP_GUARD_VERSION || h->len % PAGE ||
	    h->len > UBP_AREAS_LEN_MAX || h->len > m->end - vaddr ||
	    h->table_mask >= h->len / sizeof(struct guard_site) ||
	    (h->table_mask & (h->table_mask + 1)))
		return false;
	table_end = UBP_AREA_TABLE + (h->table_mask + 1) * sizeof(struct guard_site);
	return h->used >= table_end && h->used <= h->len && h->used % UBP_SLOT_SIZE == 0;
}

/* Neighbours look like one mapping. */
uint64_t leftover_find(const struct space *space, const struct maps *maps,
		       struct guard_head *ret_head, bool *ret_other)
{
	*ret_other = false;
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t at = maps->v[i].start;

		while (at < maps->v[i].end && read_head(space, maps, at, ret_head)) {
			if (ret_head->data)
				return at;
			at += ret_head->len;
		}
		*ret_other |= ret_head->magic == UBP_GUARD_MAGIC &&
			      ret_head->version != UBP_GUARD_VERSION;
	}
	return 0;
}

/* -EBADMSG. */
static int is_damaged(struct adoption *a, const char *why)
{
	a->why = why;
	return -EBADMSG;
}

int leftover_noted(struct adoption *a, int rc)
{
	return rc == -ELOOP ? is_damaged(a, "no honest addresses") : rc;
}

int leftover_note_key(struct adoption *a, struct map *map, uint64_t key, void *value)
{
	return leftover_noted(a, map_put_within(map, key, value, LEFTOVER_KEY_LOOKS));
}

/* An entry of the table: its slot is known from now on. */
static int adopt_slot(struct adoption *a, struct area *area, const struct guard_site *entry)
{
	uint32_t slot = entry->slot & ~UBP_SLOT_FLAGS;

	if (!area_holds(area, area->vaddr + slot, UBP_SLOT_SIZE))
		return 0;
	if (slot >= area->used)
		area->used = slot + UBP_SLOT_SIZE;
	return leftover_note_key(a, &a->space->plant->slots, entry->vaddr,
				 (void *)(uintptr_t)(area->vaddr + slot));
}

/*
 * The jump of a tracer that was killed, whole or with a breakpoint over its first byte (jump_steps.c). Of one that
 * crosses a page a breakpoint stays, and is taken out with the others. Threads that run are held.
 */
static int take_out_jump(struct adoption *a, const struct guard_jump *head, uint64_t copy)
{
	const struct space *space = a->space;
	const struct mapping *m = maps_at(a->maps, head->vaddr);
	struct window window = { .jump_len = head->jump_len, .pun = leftover_pun(head) };
	uint8_t now[UBP_INSN_MAX], jump[UBP_INSN_MAX] = { 0 };
	const uint8_t *swbp = space->arch->swbp.code;
	size_t n = space->arch->swbp.len;
	struct ubp_err err;
	int rc;

	if (!m || !m->exec || !m->ino || !space->arch->jump.build || head->jump_len < n ||
	    head->jump_len > sizeof(now) || !leftover_is_jump(space, head) ||
	    head->n_orig < head->jump_len || head->n_orig > sizeof(head->orig) ||
	    space->arch->jump.build(&window, head->vaddr,
				    head->hop ? head->hop : copy + head->entry, jump, &err) < 0)
		return 0;
	if (mem_peek(&space->mem, head->vaddr, now, head->jump_len) != head->jump_len)
		return -EFAULT;
	/* Its tail may be the original's already. */
	if (!site_is_ours(space->arch, jump, head->orig, head->jump_len, now) ||
	    (memcmp(now, swbp, n) == 0 &&
	     memcmp(now + n, head->orig + n, head->jump_len - n) == 0))
		return 0;
	if (!a->holds)
		(void)hold_running(a->tracer, space, HOLD_MS);
	a->holds = true;
	/* No breakpoint where children of posix_spawn() come by, and who wakes up meanwhile. */
	if (mem_is_whole(&space->mem, head->vaddr, head->jump_len)) {
		rc = mem_write(&space->mem, a->tid, head->vaddr, head->orig, head->jump_len);
		a->n_removed += rc == 0;
		return rc;
	}
	/* In steps, as one who may be killed. Without the tail the breakpoint has to stay. */
	rc = mem_write(&space->mem, a->tid, head->vaddr, swbp, n);
	return rc == 0 ? mem_write(&space->mem, a->tid, head->vaddr + n, head->orig + n,
				   head->jump_len - n)
		       : rc;
}

_Static_assert(sizeof(struct guard_jump) <= MEM_VIEW_MORE, "peeked at as a whole");

/* So many bytes of an area are taken. */
void leftover_keep_room(struct area *area, uint64_t at, uint64_t len)
{
	uint64_t end = at + (len + UBP_SLOT_SIZE - 1) / UBP_SLOT_SIZE * UBP_SLOT_SIZE;

	if (end > area->len)
		end = area->len;
	if (end > area->used)
		area->used = end;
}

/* A block: its room is known from now on. */
static int adopt_block(struct adoption *a, struct area *area, struct mem_view *view,
		       const struct guard_site *entry)
{
	uint64_t copy = area->vaddr + (entry->slot & ~UBP_SLOT_FLAGS);
	uint64_t block = copy - UBP_SLOT_SIZE;
	struct guard_jump head;
	int rc;

	if (entry->vaddr != copy || !area_holds(area, block, sizeof(head)) ||
	    mem_view_peek(view, block, &head, sizeof(head)) != sizeof(head) ||
	    (head.magic != UBP_JUMP_MAGIC && head.magic != UBP_JUMP_LEAF &&
	     head.magic != UBP_JUMP_FREE) ||
	    head.len <= UBP_SLOT_SIZE || !area_holds(area, block, head.len))
		return 0;
	leftover_keep_room(area, block - area->vaddr, head.len);
	/* Of one that is said to be free, too: its tracer may have been wrong. */
	rc = take_out_jump(a, &head, copy);
	if (rc == 0)
		rc = leftover_note_hop(a, &head, copy);
	if (rc == 0 && head.entry < head.len - UBP_SLOT_SIZE)
		rc = led_out_adopt(a, view, &head, copy);
	if (rc < 0 || head.magic != UBP_JUMP_FREE)
		return rc;
	return leftover_noted(
		a, jump_keep_block(a->space->plant, head.vaddr, block, LEFTOVER_KEY_LOOKS));
}

/*
 * A jump to the guard that crosses a page is a breakpoint for a moment, with bytes of either kind behind it. What stood there is one of the calls
 * that such jumps are for.
 */
static bool put_call_back(const struct space *space, pid_t tid, struct mem_view *view,
			  const struct guard_site *entry)
{
	const struct ubp_arch *arch = space->arch;
	size_t n = arch->swbp.len, len = arch->hook.patch_len;
	uint8_t now[UBP_SIGACTION_CALL_MAX];

	for (size_t i = 0; len > n && i < arch->hook.n_calls; i++) {
		const uint8_t *call = arch->hook.calls[i];

		if (memcmp(call, entry->orig, sizeof(entry->orig)) == 0 &&
		    mem_view_peek(view, entry->vaddr, now, len) == len &&
		    memcmp(now + n, call + n, len - n) != 0 &&
		    mem_write(&space->mem, tid, entry->vaddr + n, call + n, len - n) < 0)
			return false;
	}
	return true;
}

/* The breakpoint of a tracer that was killed. */
static bool take_out(const struct space *space, const struct maps *maps, pid_t tid,
		     struct mem_view *view, const struct guard_site *entry)
{
	const struct ubp_arch *arch = space->arch;
	const struct mapping *m = maps_at(maps, entry->vaddr);
	uint8_t now[sizeof(arch->swbp.code)];

	return m && m->exec && m->ino && entry->slot &&
	       mem_view_peek(view, entry->vaddr, now, arch->swbp.len) == arch->swbp.len &&
	       memcmp(now, arch->swbp.code, arch->swbp.len) == 0 &&
	       memcmp(entry->orig, arch->swbp.code, arch->swbp.len) != 0 &&
	       put_call_back(space, tid, view, entry) &&
	       mem_write(&space->mem, tid, entry->vaddr, entry->orig, arch->swbp.len) == 0;
}

static int compare_vaddrs(const void *pa, const void *pb)
{
	const struct guard_site *a = pa, *b = pb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int keep_entry(struct adoption *a, const struct guard_site *entry)
{
	if (a->n_entries == UBP_SITES_MAX)
		return is_damaged(a, "more places than there can be");
	if (VEC_ROOM(a->entries, &a->cap_entries, a->n_entries) < 0)
		return -ENOMEM;
	a->entries[a->n_entries++] = *entry;
	return 0;
}

/*
 * Read the table of @area once: what stands in it comes to the end of @a's entries. Most of a table
 * may never have been written, and takes no memory of ours either.
 */
static int read_table(struct adoption *a, struct area *area)
{
	size_t n = area->table_mask + 1, run = 0, first_run = 0;
	struct guard_site *some = malloc(LEFTOVER_CHUNK * sizeof(*some));
	int rc = some ? 0 : -ENOMEM;

	for (size_t at = 0, k; at < n && rc == 0; at += k) {
		k = n - at < LEFTOVER_CHUNK ? n - at : LEFTOVER_CHUNK;
		if (mem_peek(&a->space->mem, area->vaddr + UBP_AREA_TABLE + at * sizeof(*some),
			     some, k * sizeof(*some)) != k * sizeof(*some))
			rc = is_damaged(a, "a table that cannot be read");
		for (size_t i = 0; i < k && rc == 0; i++) {
			if (!some[i].vaddr) {
				first_run = first_run ? first_run : run + 1;
				run = 0;
				continue;
			}
			area->keys[at + i] = some[i].vaddr;
			area->n_entries++;
			rc = ++run > RUN_MAX ? is_damaged(a, "a table without gaps")
					     : keep_entry(a, &some[i]);
		}
	}
	free(some);
	/* It goes around. */
	if (rc == 0 && (!first_run || run + first_run > RUN_MAX))
		rc = is_damaged(a, "a table without gaps");
	return rc;
}

/* By ascending addresses, so that memory is read a page at a time. */
static int adopt_table(struct adoption *a, struct area *area)
{
	struct mem_view blocks = { .mem = &a->space->mem };
	size_t first = a->n_entries;
	int rc = read_table(a, area);

	if (a->n_entries > first)
		qsort(a->entries + first, a->n_entries - first, sizeof(*a->entries),
		      compare_vaddrs);
	for (size_t i = first; i < a->n_entries && rc == 0; i++) {
		const struct guard_site *entry = &a->entries[i];

		rc = entry->slot & UBP_SLOT_JUMP ? adopt_block(a, area, &blocks, entry)
						 : adopt_slot(a, area, entry);
	}
	return rc;
}

/* All breakpoints, behind which no jump's bytes are left. */
static void clear_tables(struct adoption *a)
{
	struct mem_view code = { .mem = &a->space->mem };

	for (size_t i = 0; i < a->n_entries; i++)
		if (!(a->entries[i].slot & UBP_SLOT_JUMP))
			a->n_removed +=
				take_out(a->space, a->maps, a->tid, &code, &a->entries[i]);
}

/* Each byte is in one of them at most: so a chain has an end. */
static int check_area(struct adoption *a, uint64_t vaddr, const struct guard_head *head,
		      unsigned n)
{
	const struct plant_space *ps = a->space->plant;

	for (const struct area *other = ps->areas; other; other = other->next)
		if (vaddr < other->vaddr + other->len && other->vaddr < vaddr + head->len)
			return is_damaged(a, "areas that overlap");
	a->len += head->len;
	if (a->len > UBP_AREAS_LEN_MAX || n == UBP_AREAS_MAX)
		return is_damaged(a, "more areas than there can be");
	return 0;
}

static int adopt_areas(struct adoption *a, uint64_t vaddr, struct guard_head head)
{
	struct plant_space *ps = a->space->plant;
	struct area **tail = &ps->areas;
	int rc = 0;

	for (unsigned n = 0; vaddr && rc == 0; n++) {
		struct area *area;

		/* One is all right, and the next is not: then it was never joined. */
		if (n && !read_head(a->space, a->maps, vaddr, &head))
			break;
		rc = check_area(a, vaddr, &head, n);
		if (rc < 0)
			break;
		area = area_new(vaddr, &head);
		if (!area)
			return -ENOMEM;
		*tail = area;
		tail = &area->next;
		rc = adopt_table(a, area);
		vaddr = head.next;
	}
	return rc;
}

int leftover_areas(struct adoption *a)
{
	struct plant_space *ps = a->space->plant;
	int rc = adopt_areas(a, a->vaddr, a->head);

	if (rc < 0)
		return rc;
	clear_tables(a);
	leftover_hops(a);
	returns_set_trampoline(ps, a->vaddr + UBP_AREA_TRAMPOLINE);
	ps->stub = a->vaddr + UBP_AREA_STUB;
	return 0;
}
