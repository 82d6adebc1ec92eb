/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What an earlier ubp has left in a process: always its areas, since a thread may
 * be in one; if it was killed, also breakpoints, hijacked return addresses and
 * incremented reference counters. All of it is described by the areas themselves
 * (arch/guard.h). They lie in the target's memory, so nothing in them is believed
 * without a look.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/ring.h"
#include "engine/object/maps.h"
#include "engine/plant/guard_wait.h"
#include "engine/plant/jump.h"
#include "engine/plant/plant.h"
#include "engine/trace/attach.h"
#include "engine/trace/hold.h"
#include "engine/trace/task.h"

#define HOLD_MS 20
#define CHUNK   4096 /* entries of a table read at once */
/* So many entries of a site table without a gap: a look-up may go past all of them. The smallest
 * tables may be full. */
#define RUN_MAX 8192
/* Others in the way of a key in a map of ours: the target may have chosen its keys so. */
#define KEY_LOOKS 1024

static bool read_head(const struct space *space, const struct maps *maps, uint64_t vaddr,
		      struct guard_head *ret_head)
{
	const struct mapping *m = maps_at(maps, vaddr);
	const struct guard_head *h = ret_head;
	uint64_t table_end;

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

/* The first area of those that were left, or 0. Neighbours look like one mapping. */
static uint64_t find_first(const struct space *space, const struct maps *maps,
			   struct guard_head *ret_head)
{
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t at = maps->v[i].start;

		while (at < maps->v[i].end && read_head(space, maps, at, ret_head)) {
			if (ret_head->data)
				return at;
			at += ret_head->len;
		}
	}
	return 0;
}

/* What is in the middle of adopting: all threads are held once a jump was found. */
struct adoption {
	struct tracer *tracer;
	struct space *space;
	const struct maps *maps;
	pid_t tid;
	bool holds;
	unsigned n_removed;
	struct guard_site *entries; /* of all tables */
	size_t n_entries, cap_entries;
	uint64_t len;    /* of all areas */
	const char *why; /* it is damaged; NULL: it is not */
};

static int damaged(struct adoption *a, const char *why)
{
	a->why = why;
	return -EBADMSG;
}

static int note_key(struct adoption *a, struct map *map, uint64_t key, void *value)
{
	int rc = map_put_within(map, key, value, KEY_LOOKS);

	return rc == -ELOOP ? damaged(a, "no honest addresses") : rc;
}

/* An entry of the table: its slot is known from now on. */
static int adopt_slot(struct adoption *a, struct area *area, const struct guard_site *entry)
{
	uint32_t slot = entry->slot & ~UBP_SLOT_FLAGS;

	if (!area_holds(area, area->vaddr + slot, UBP_SLOT_SIZE))
		return 0;
	if (slot >= area->used)
		area->used = slot + UBP_SLOT_SIZE;
	return note_key(a, &((struct plant_space *)a->space->plant)->slots, entry->vaddr,
			(void *)(uintptr_t)(area->vaddr + slot));
}

/*
 * The jump of a tracer that was killed, whole or with a breakpoint over its first byte (jump_write.c):
 * a breakpoint stays, and is taken out with the others. Threads that run are held.
 */
static int take_out_jump(struct adoption *a, const struct guard_jump *head, uint64_t copy)
{
	const struct space *space = a->space;
	const struct mapping *m = maps_at(a->maps, head->vaddr);
	struct window window = { .jump_len = head->jump_len };
	uint8_t now[UBP_INSN_MAX], jump[UBP_INSN_MAX] = { 0 };
	const uint8_t *swbp = space->arch->swbp.code;
	size_t n = space->arch->swbp.len;
	struct ubp_err err;
	int rc;

	if (!m || !m->exec || !m->ino || !space->arch->jump.build || head->jump_len < n ||
	    head->jump_len > sizeof(now) || head->n_orig < head->jump_len ||
	    head->n_orig > sizeof(head->orig) ||
	    space->arch->jump.build(&window, head->vaddr, copy + head->entry, jump, &err) < 0)
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
	/* In steps, as one who may be killed. Without the tail the breakpoint has to stay. */
	rc = mem_write(&space->mem, a->tid, head->vaddr, swbp, n);
	return rc == 0 ? mem_write(&space->mem, a->tid, head->vaddr + n, head->orig + n,
				   head->jump_len - n)
		       : rc;
}

_Static_assert(sizeof(struct guard_jump) <= MEM_VIEW_MORE, "peeked at as a whole");

/* So many bytes of an area are taken. */
static void keep_room(struct area *area, uint64_t at, uint64_t len)
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
	struct plant_space *ps = a->space->plant;
	uint64_t copy = area->vaddr + (entry->slot & ~UBP_SLOT_FLAGS);
	uint64_t block = copy - UBP_SLOT_SIZE;
	struct guard_jump head;
	int rc;

	if (entry->vaddr != copy || !area_holds(area, block, sizeof(head)) ||
	    mem_view_peek(view, block, &head, sizeof(head)) != sizeof(head) ||
	    (head.magic != UBP_JUMP_MAGIC && head.magic != UBP_JUMP_FREE) ||
	    head.len <= UBP_SLOT_SIZE || !area_holds(area, block, head.len))
		return 0;
	keep_room(area, block - area->vaddr, head.len);
	/* Of one that is said to be free, too: its tracer may have been wrong. */
	rc = take_out_jump(a, &head, copy);
	if (rc < 0 || head.magic == UBP_JUMP_MAGIC)
		return rc;
	return note_key(a, &ps->jump.blocks, head.vaddr, (void *)(uintptr_t)block);
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
	       mem_write(&space->mem, tid, entry->vaddr, entry->orig, arch->swbp.len) == 0;
}

static int compare_vaddrs(const void *pa, const void *pb)
{
	const struct guard_site *a = pa, *b = pb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int keep_entry(struct adoption *a, const struct guard_site *entry)
{
	struct guard_site *bigger;
	size_t cap = a->cap_entries ? 2 * a->cap_entries : CHUNK;

	if (a->n_entries == UBP_SITES_MAX)
		return damaged(a, "more places than there can be");
	if (a->n_entries == a->cap_entries) {
		bigger = realloc(a->entries, cap * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		a->entries = bigger;
		a->cap_entries = cap;
	}
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
	struct guard_site *some = malloc(CHUNK * sizeof(*some));
	int rc = some ? 0 : -ENOMEM;

	for (size_t at = 0, k; at < n && rc == 0; at += k) {
		k = n - at < CHUNK ? n - at : CHUNK;
		if (mem_peek(&a->space->mem, area->vaddr + UBP_AREA_TABLE + at * sizeof(*some),
			     some, k * sizeof(*some)) != k * sizeof(*some))
			rc = damaged(a, "a table that cannot be read");
		for (size_t i = 0; i < k && rc == 0; i++) {
			if (!some[i].vaddr) {
				first_run = first_run ? first_run : run + 1;
				run = 0;
				continue;
			}
			area->keys[at + i] = some[i].vaddr;
			area->n_entries++;
			rc = ++run > RUN_MAX ? damaged(a, "a table without gaps")
					     : keep_entry(a, &some[i]);
		}
	}
	free(some);
	/* It goes around. */
	if (rc == 0 && (!first_run || run + first_run > RUN_MAX))
		rc = damaged(a, "a table without gaps");
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
			return damaged(a, "areas that overlap");
	a->len += head->len;
	if (a->len > UBP_AREAS_LEN_MAX || n == UBP_AREAS_MAX)
		return damaged(a, "more areas than there can be");
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

/*
 * Frames whose return address is still hijacked: they will come by our trampoline,
 * and are nobody's probe any more. So may those whose stack word holds something else: the stack was
 * copied away, and comes back.
 */
static int adopt_return(struct adoption *a, const struct guard_return *entry, uint64_t index)
{
	const struct space *space = a->space;
	struct plant_space *ps = space->plant;
	size_t size = space->arch->addr_size;
	struct return_instance *ri;
	int rc;
	uint64_t now = 0;

	if (entry->word < PAGE || !entry->real ||
	    mem_peek(&space->mem, entry->word, &now, size) != size ||
	    map_get(&ps->ret.by_slot, entry->word))
		return 0;
	ri = calloc(1, sizeof(*ri));
	if (!ri)
		return -ENOMEM;
	ri->slot_vaddr = entry->word;
	ri->real = entry->real;
	ri->index = index + 1;
	ri->missed = MISSED_N;
	returns_link(&ps->ret.lost, ri);
	rc = note_key(a, &ps->ret.by_slot, ri->slot_vaddr, ri);
	if (rc == 0 && map_put(&ps->ret.indexes, ri->index, ri) == 0)
		return 0;
	map_remove(&ps->ret.by_slot, ri->slot_vaddr);
	returns_unlink(ri);
	free(ri);
	return rc < 0 ? rc : -ENOMEM;
}

/* A table of return addresses: whole, in memory that the target has to itself, of a size that we make. */
static bool is_table(const struct maps *maps, uint64_t vaddr, uint64_t mask, size_t entry_len,
		     uint64_t most)
{
	const struct mapping *m = vaddr ? maps_at(maps, vaddr) : NULL;
	uint64_t n = mask + 1;

	return m && m->write && !m->exec && !m->shared && !m->ino && vaddr % PAGE == 0 &&
	       n >= UBP_RETURNS_LEAST && n <= most && (n & mask) == 0 &&
	       n * entry_len <= m->end - vaddr;
}

static int adopt_returns(struct adoption *a, const struct guard_head *head)
{
	const struct space *space = a->space;
	struct plant_space *ps = space->plant;
	uint64_t n = head->returns_mask + 1;
	struct guard_return *some;
	int rc = 0;

	if (!is_table(a->maps, head->returns, head->returns_mask, sizeof(*some),
		      UBP_RETURNS_MOST))
		return 0;
	some = malloc(CHUNK * sizeof(*some));
	if (!some)
		return -ENOMEM;
	for (uint64_t at = 0; at < n && rc == 0; at += CHUNK) {
		size_t k = n - at < CHUNK ? n - at : CHUNK, len = k * sizeof(*some);

		if (mem_peek(&space->mem, head->returns + at * sizeof(*some), some, len) != len)
			break;
		for (size_t i = 0; i < k && rc == 0; i++)
			rc = adopt_return(a, &some[i], at + i);
	}
	free(some);
	returns_sweep_later(ps);
	ps->ret.table = head->returns;
	ps->ret.mask = head->returns_mask;
	return rc;
}

/* The table of return addresses that detours replaced, and the code for them. */
static void adopt_hijacks(struct plant_space *ps, const struct maps *maps,
			  const struct guard_data *data)
{
	struct area *area = area_of(ps, data->return_vaddr);

	if (!area || !area_holds(area, data->return_vaddr, UBP_RETURN_CODE_MAX))
		return;
	/* The code is in no table of the area, and its tracer may have been killed before it told that
	 * the room is taken. */
	keep_room(area, data->return_vaddr - area->vaddr, UBP_RETURN_CODE_MAX);
	if (!data->hijacks)
		ps->hijack.room = data->return_vaddr;
	if (!is_table(maps, data->hijacks, data->hijacks_mask, sizeof(struct guard_hijack),
		      UBP_HIJACKS_MOST))
		return;
	ps->hijack.table = data->hijacks;
	ps->hijack.mask = data->hijacks_mask;
	ps->hijack.code_vaddr = data->return_vaddr;
}

static void adopt_data(const struct space *space, const struct maps *maps, pid_t tid,
		       uint64_t vaddr)
{
	struct plant_space *ps = space->plant;
	const struct mapping *m = maps_at(maps, vaddr);
	struct guard_data data;

	if (!m || !m->write || m->exec || m->shared || m->ino ||
	    vaddr != ps->areas->vaddr + ps->areas->len ||
	    mem_peek(&space->mem, vaddr, &data, sizeof(data)) != sizeof(data))
		return;
	ps->guard.data = vaddr;
	ps->guard.is_taken_over = !data.retired;
	(void)rings_set_gate(space, space, tid, RING_GATE_OFF);
	adopt_hijacks(ps, maps, &data);
	for (uint64_t i = 0; i < data.n_semaphores && i < UBP_GUARD_SEMAPHORES; i++)
		ps->guard.n_left_raised +=
			semaphore_drop(space, maps, tid, &data.semaphores[i]);
	semaphore_note_none(ps, space, tid);
}

/* No leftover: another process, which we trace, lives in this memory too. */
static bool is_in_use(const struct tracer *tracer, const struct process *p, uint64_t first)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct process *other = value;
		const struct plant_space *ps = other->space->plant;

		if (other->space != p->space && ps && ps->areas && ps->areas->vaddr == first &&
		    task_shares_memory(other->pid, p->pid) == 1)
			return true;
	}
	return false;
}

static void forget_noted(const struct space *space, pid_t tid)
{
	const struct plant_space *ps = space->plant;
	const uint64_t no_live[2] = { 0 };

	if (ps->guard.data)
		(void)mem_write(&space->mem, tid,
				ps->guard.data + offsetof(struct guard_data, live_lo), no_live,
				sizeof(no_live));
}

/* What was taken over so far is not to be used: the next look is a first one again. */
static void forget(struct plant_space *ps)
{
	area_free_all(ps->areas);
	ps->areas = NULL;
	map_free(&ps->slots);
	map_free(&ps->jump.blocks);
	ps->ret.trampoline = ps->guard.stub = ps->guard.data = 0;
	ps->ret.table = ps->ret.mask = 0;
	ps->hijack.table = ps->hijack.mask = ps->hijack.code_vaddr = ps->hijack.room = 0;
	ps->guard.is_taken_over = ps->guard.looked = false;
}

static int adopt(struct tracer *tracer, struct tracee *t, const struct maps *maps,
		 unsigned *n_removed, struct ubp_err *err)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct guard_head head;
	uint64_t vaddr = find_first(space, maps, &head);
	struct adoption a = { .tracer = tracer, .space = space, .maps = maps, .tid = t->tid };
	struct plant_left left = { 0 };
	int pid = (int)t->process->pid;
	int rc;

	if (!vaddr)
		return 0;
	if (is_in_use(tracer, t->process, vaddr))
		return ubp_fail(err, EBUSY,
				"process %d shares its memory with another that is traced",
				pid);
	rc = adopt_areas(&a, vaddr, head);
	if (rc == 0) {
		clear_tables(&a);
		ps->ret.trampoline = vaddr + UBP_AREA_TRAMPOLINE;
		ps->guard.stub = vaddr + UBP_AREA_STUB;
		adopt_data(space, maps, t->tid, head.data);
		rc = adopt_returns(&a, &head);
		ps->watch.begins_awake = ps->watch.ends_awake =
			ps->ret.by_slot.n || ps->hijack.table;
	}
	/* A detour's code says whose the hit was: nobody may come back by that. */
	if (rc == 0 && ps->hijack.table && ps->guard.is_taken_over) {
		if (!a.holds)
			(void)hold_all(tracer, space, HOLD_MS);
		a.holds = true;
		hijack_save_returning(space);
		hijack_put_back(ps, space, a.tid, &left);
		rc = -left.code;
	}
	if (a.holds)
		hold_end(tracer, space, t);
	*n_removed += a.n_removed;
	free(a.entries);

	if (!tracer_has(tracer, t, a.tid) || t->process->space != space) {
		forget(ps); /* others may live on in this memory */
		return -ESRCH;
	}
	if (rc == 0) {
		rc = guard_wait(tracer, t, err);
		if (rc < 0) {
			forget(ps);
			return rc;
		}
		forget_noted(space, a.tid);
		rc = area_furnish(space, vaddr, a.tid);
	}
	if (rc < 0)
		forget(ps);
	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "process %d: out of memory", pid);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc,
				  "process %d: what an earlier ubp left is damaged%s%s", pid,
				  a.why ? ": " : "", a.why ? a.why : "");
}

int leftover_adopt(struct tracer *tracer, struct tracee *t, const struct maps *maps,
		   unsigned *n_removed, struct ubp_err *err)
{
	struct space *space = t->process->space;
	unsigned n_execs = t->n_execs;
	pid_t tid = t->tid;
	int rc;

	/* Threads are stopped for that: one of them may have ended @t, and its memory, by an exec. */
	space->refs++;
	rc = adopt(tracer, t, maps, n_removed, err);
	if (!tracer_has_same(tracer, t, tid, n_execs))
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)tid);
	space_put(tracer, space);
	return rc;
}
