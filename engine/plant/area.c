/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * SSOL areas, as arch/guard.h lays them out. An area is r-x from the start and
 * written from outside: no mapping of ours is ever writable and executable at
 * once. Behind the first one of a space lies a page of data.
 */

#include "engine/plant/area.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/event/clock.h"
#include "engine/os/maps.h"
#include "engine/plant/areas.h"
#include "engine/plant/cave.h"
#include "engine/plant/guard_state.h"
#include "engine/returns/returns.h"
#include "engine/space/part.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"

#define AREA_GOAL   0x10000ULL
#define TABLE_LEAST 512
#define RUN_SLOTS   4096 /* written at once */
#define FEW_SITES   8    /* each by itself */
#define FEW_PART    256  /* so many times as many would fill the table: each by itself, too */
#define GAP_ENTRIES 64   /* of a table between new ones, written with them */

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

bool area_holds(const struct area *area, uint64_t vaddr, uint64_t len)
{
	uint64_t at = vaddr - area->vaddr;

	return vaddr % UBP_SLOT_SIZE == 0 && at < area->len && len <= area->len - at &&
	       at >= UBP_AREA_TABLE + (area->table_mask + 1) * sizeof(struct guard_site);
}

struct site **area_owner(const struct area *area, uint64_t slot)
{
	return &area->owners[(slot - area->vaddr) / UBP_SLOT_SIZE];
}

bool area_is_full(const struct area *area)
{
	/* One entry of the table must stay empty: it ends a search. */
	return area->used + UBP_SLOT_SIZE > area->len ||
	       (area->keys && area->n_entries >= area->table_mask);
}

uint64_t area_take(struct area *area, struct site *owner)
{
	uint64_t at = area->used;

	if (area_is_full(area))
		return 0;
	area->used += UBP_SLOT_SIZE;
	area->n_entries++;
	*area_owner(area, area->vaddr + at) = owner;
	return area->vaddr + at;
}

void area_own_block(const struct area *area, uint64_t block, size_t len, struct site *owner)
{
	for (uint64_t at = block; at < block + len; at += UBP_SLOT_SIZE)
		*area_owner(area, at) = owner;
}

bool area_take_block(struct area *area, size_t len, struct site *owner)
{
	size_t n = (len + UBP_SLOT_SIZE - 1) / UBP_SLOT_SIZE;

	if (area->used + n * UBP_SLOT_SIZE > area->len ||
	    (area->keys && area->n_entries >= area->table_mask))
		return false;
	area_own_block(area, area->vaddr + area->used, len, owner);
	area->used += n * UBP_SLOT_SIZE;
	area->n_entries++;
	return true;
}

/* Code of slots that follow one another, @n of them, by one write. */
static int write_slots(struct mem_writes *writes, const struct area *area,
		       struct site *const *sites, size_t n, uint8_t *buf)
{
	size_t len = (n - 1) * UBP_SLOT_SIZE + sites[n - 1]->code.len;

	/* A slot that was used before may hold more than its code is now. */
	if (sites[0]->slot - area->vaddr >= area->fresh)
		memset(buf, 0, len);
	else if (mem_peek(writes->mem, sites[0]->slot, buf, len) != len)
		return -EFAULT;
	for (size_t i = 0; i < n; i++)
		memcpy(buf + i * UBP_SLOT_SIZE, sites[i]->code.code, sites[i]->code.len);
	mem_writes_add(writes, sites[0]->slot, buf, len);
	return writes->rc;
}

static int write_all_slots(struct mem_writes *writes, const struct area *area,
			   struct site *const *sites, size_t n)
{
	uint8_t *buf = malloc(RUN_SLOTS * UBP_SLOT_SIZE);
	int rc = buf ? 0 : -ENOMEM;

	for (size_t i = 0, run; i < n && rc == 0; i += run) {
		for (run = 1; i + run < n && run < RUN_SLOTS; run++)
			if (sites[i + run]->slot != sites[i]->slot + run * UBP_SLOT_SIZE)
				break;
		rc = write_slots(writes, area, sites + i, run, buf);
	}
	free(buf);
	return rc;
}

/* The index in the table where an entry for @vaddr is, or would be. */
static uint64_t find_entry(const struct area *area, uint64_t vaddr)
{
	uint64_t i = guard_hash(vaddr) & area->table_mask;

	while (area->keys[i] && area->keys[i] != vaddr)
		i = (i + 1) & area->table_mask;
	return i;
}

bool area_has_entry(const struct plant_space *ps, uint64_t vaddr)
{
	const struct area *area = ps->areas;

	while (area && !(area->keys && area->keys[find_entry(area, vaddr)]))
		area = area->next;
	return area != NULL;
}

static struct guard_site entry_of(const struct area *area, const struct site *site,
				  size_t swbp_len)
{
	struct guard_site entry = { .vaddr = site->vaddr,
				    .slot = (uint32_t)(site->slot - area->vaddr) };

	memcpy(entry.orig, site->insn.bytes, sizeof(entry.orig));
	if (site->watches & (WATCH_UNWIND | WATCH_RESUME | WATCH_LANDS))
		entry.slot |= UBP_SLOT_UNWIND;
	if (site->insn.len != swbp_len && site->insn.kind != INSN_SKIP)
		entry.slot |= UBP_SLOT_PART;
	return entry;
}

static void write_entry(struct mem_writes *writes, const struct area *area, uint64_t i,
			const struct guard_site *entry)
{
	uint64_t at = area->vaddr + UBP_AREA_TABLE + i * sizeof(*entry);

	/* What it says before what it is found by: threads may be looking. */
	mem_writes_add(writes, at + sizeof(entry->vaddr), &entry->slot,
		       sizeof(*entry) - sizeof(entry->vaddr));
	mem_writes_add(writes, at, &entry->vaddr, sizeof(entry->vaddr));
}

static void write_used(struct mem_writes *writes, const struct area *area)
{
	mem_writes_add(writes, area->vaddr + offsetof(struct guard_head, used), &area->used,
		       sizeof(area->used));
}

static void enter_one(struct mem_writes *writes, struct area *area,
		      const struct guard_site *entry)
{
	uint64_t i = find_entry(area, entry->vaddr);

	/* Nobody looks for a new one yet: it comes whole, as those of enter_many() do. */
	if (!area->keys[i])
		mem_writes_add(writes, area->vaddr + UBP_AREA_TABLE + i * sizeof(*entry), entry,
			       sizeof(*entry));
	else
		write_entry(writes, area, i, entry);
	area->keys[i] = entry->vaddr;
}

int area_enter_trap(struct mem_writes *writes, struct area *area, uint64_t vaddr, uint64_t copy)
{
	struct guard_site entry = { .vaddr = vaddr,
				    .slot = (uint32_t)(copy - area->vaddr) | UBP_SLOT_UNWIND };

	if (area->n_entries >= area->table_mask)
		return -ENOSPC;
	area->n_entries++;
	enter_one(writes, area, &entry);
	return 0;
}

/*
 * New entries, by few writes: nobody looks for them yet, and a page is written as a
 * whole even if we are killed. @is_new[]: which of the table's are.
 */
static void write_table(struct mem_writes *writes, const struct area *area,
			const struct guard_site *table, const bool *is_new)
{
	uint64_t at = area->vaddr + UBP_AREA_TABLE, n = area->table_mask + 1;

	for (uint64_t i = 0, end; i < n; i = end) {
		end = i + 1;
		if (!is_new[i])
			continue;
		/* What lies between is written as it is, for a system call less. */
		for (uint64_t k = end; k < n && k < end + GAP_ENTRIES; k++)
			if (is_new[k])
				end = k + 1;
		mem_writes_add(writes, at + i * sizeof(*table), table + i,
			       (end - i) * sizeof(*table));
	}
}

/* By way of a copy of the table. */
static int enter_many(struct mem_writes *writes, struct area *area,
		      const struct guard_site *entries, size_t n)
{
	size_t n_entries = area->table_mask + 1, len = n_entries * sizeof(struct guard_site);
	struct guard_site *table = malloc(len);
	bool *is_new = calloc(n_entries, sizeof(*is_new));
	int rc = table && is_new ? 0 : -ENOMEM;

	if (rc == 0 && mem_peek(writes->mem, area->vaddr + UBP_AREA_TABLE, table, len) != len)
		rc = -EFAULT;
	for (size_t k = 0; k < n && rc == 0; k++) {
		uint64_t i = find_entry(area, entries[k].vaddr);

		/* Of an earlier session: threads may look for it. */
		if (area->keys[i] && !is_new[i] &&
		    memcmp(&table[i], &entries[k], sizeof(entries[k])) != 0)
			write_entry(writes, area, i, &entries[k]);
		is_new[i] |= !area->keys[i];
		area->keys[i] = entries[k].vaddr;
		table[i] = entries[k];
	}
	if (rc == 0)
		write_table(writes, area, table, is_new);
	free(table);
	free(is_new);
	return rc;
}

static int enter_all(struct mem_writes *writes, struct area *area,
		     const struct guard_site *entries, size_t n)
{
	bool many = n > FEW_SITES && n > area->table_mask / FEW_PART;
	/* The table is read. */
	int rc = many ? mem_writes_end(writes) : 0;

	if (rc == 0 && many)
		rc = enter_many(writes, area, entries, n);
	for (size_t k = 0; k < n && !many; k++)
		enter_one(writes, area, &entries[k]);
	if (rc == 0)
		write_used(writes, area);
	return rc;
}

int area_enter_copies(struct mem_writes *writes, struct area *area, const uint64_t *copies,
		      size_t n)
{
	struct guard_site *entries = malloc((n + 1) * sizeof(*entries));
	int rc;

	if (!entries)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		entries[k] = (struct guard_site){
			.vaddr = copies[k],
			.slot = (uint32_t)(copies[k] - area->vaddr) | UBP_SLOT_JUMP,
		};
	rc = enter_all(writes, area, entries, n);
	free(entries);
	return rc;
}

static int enter_sites(struct mem_writes *writes, const struct space *space, struct area *area,
		       struct site *const *sites, size_t n)
{
	struct guard_site *entries = malloc((n + 1) * sizeof(*entries));
	int rc;

	if (!entries)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		entries[k] = entry_of(area, sites[k], space->arch->swbp.len);
	rc = enter_all(writes, area, entries, n);
	free(entries);
	return rc;
}

int area_enter(const struct space *space, pid_t tid, struct area *area,
	       struct site *const *sites, size_t n)
{
	struct mem_writes writes = { .mem = &space->mem, .tid = tid };
	int rc = write_all_slots(&writes, area, sites, n);

	if (area->fresh < area->used)
		area->fresh = area->used;
	if (rc < 0)
		return rc;
	if (!area->keys)
		return mem_writes_end(&writes); /* slack: nothing guards it */
	rc = enter_sites(&writes, space, area, sites, n);
	return rc < 0 ? rc : mem_writes_end(&writes);
}

bool area_reaches(const struct area *a, uint64_t lo, uint64_t hi, uint64_t reach)
{
	uint64_t from = a->vaddr < lo ? a->vaddr : lo;
	uint64_t to = a->vaddr + a->len > hi ? a->vaddr + a->len : hi;

	return lo == hi || to - from < reach;
}

bool area_is_too_much(const struct plant_space *ps, const struct guard_head *head)
{
	uint64_t len = head->len, sites = 0, n = 1;

	for (const struct area *a = ps->areas; a; a = a->next, n++) {
		len += a->len;
		sites += a->n_entries;
	}
	return len > UBP_AREAS_LEN_MAX || n > UBP_AREAS_MAX || sites > UBP_SITES_MAX / 2;
}

struct guard_head area_lay_out(struct area_room room)
{
	struct guard_head head = { .magic = UBP_GUARD_MAGIC, .version = UBP_GUARD_VERSION };
	uint64_t entries = TABLE_LEAST;

	while (entries * 3 / 4 < room.entries)
		entries *= 2;
	head.table_mask = entries - 1;
	head.used = UBP_AREA_TABLE + entries * sizeof(struct guard_site);
	head.len = round_up(head.used + (room.slots + 8) * UBP_SLOT_SIZE, AREA_GOAL);
	return head;
}

int area_call(const struct held *held, uint64_t stub, int nr, const uint64_t args[6],
	      int64_t *ret_result, struct ubp_err *err)
{
	struct remote remote;
	int rc = remote_begin(&remote, held, stub, err);

	if (rc < 0)
		return rc;
	rc = remote_call(&remote, nr, args, ret_result, err);
	remote_end(&remote);
	return rc;
}

int area_map(const struct held *held, uint64_t stub, uint64_t hint, uint64_t len, int prot,
	     uint64_t *ret_vaddr, struct ubp_err *err)
{
	struct tracee *t = held->t;
	uint64_t flags =
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (hint ? MAP_FIXED_NOREPLACE : 0);
	uint64_t args[6] = { hint, len, (uint64_t)prot, flags, (uint64_t)-1, 0 };
	int pid = (int)t->process->pid;
	int64_t result;
	int rc = area_call(held, stub, t->process->space->arch->call.nr_mmap, args, &result,
			   err);

	if (rc < 0)
		return rc;
	if (result < 0 && result > -4096)
		return ubp_fail(err, (int)-result, "process %d cannot map memory: %s", pid,
				strerror((int)-result));
	*ret_vaddr = (uint64_t)result;
	if (!hint || *ret_vaddr == hint)
		return 0;
	/* Before Linux 4.17 the place was a wish. */
	args[0] = *ret_vaddr;
	rc = area_call(held, stub, t->process->space->arch->call.nr_munmap, args, &result, err);
	if (rc < 0)
		return rc;
	return ubp_fail(err, EEXIST, "process %d cannot map memory at 0x%lx", pid,
			(unsigned long)hint);
}

/* The action that leads to the guard of the area at @head, as the kernel takes it. */
static void guard_action(const struct ubp_arch *arch, uint64_t head, uint64_t action[4])
{
	uint64_t guard = head + UBP_AREA_GUARD;

	action[0] = guard + arch->guard.handler;
	action[1] = arch->guard.flags;
	action[2] = guard + arch->guard.restorer;
	action[3] = 0;
	if (arch->guard.pack_action)
		arch->guard.pack_action(guard + arch->guard.handler, arch->guard.flags,
					guard + arch->guard.restorer, action);
}

/* @goes_home: no guard stands, so a thread that comes by the trampoline is to find its way by itself. */
static void furnish(struct mem_writes *writes, const struct ubp_arch *arch, uint64_t head,
		    bool goes_home)
{
	uint64_t action[4];
	struct slot_code code;

	arch->trampoline.build(&code);
	if (goes_home)
		memcpy(code.code, arch->trampoline.way_home, arch->swbp.len);
	mem_writes_add(writes, head + UBP_AREA_TRAMPOLINE, code.code, code.len);
	mem_writes_add(writes, head + UBP_AREA_STUB, arch->stub.code, arch->stub.len);
	if (arch->stub.batch.code)
		mem_writes_add(writes, head + UBP_AREA_BATCH, arch->stub.batch.code,
			       arch->stub.batch.len);
	if (arch->guard.code)
		mem_writes_add(writes, head + UBP_AREA_GUARD, arch->guard.code,
			       arch->guard.len);
	guard_action(arch, head, action);
	mem_writes_add(writes, head + offsetof(struct guard_head, action), action,
		       sizeof(action));
}

/* What stands once in a space: trampoline, stub, guard, and the action that leads to that. */
int area_furnish(const struct space *space, uint64_t head, pid_t tid)
{
	struct mem_writes writes = { .mem = &space->mem, .tid = tid };

	furnish(&writes, space->arch, head,
		space->arch->guard.code && !guard_is_taken_over(space->plant));
	return mem_writes_end(&writes);
}

void area_allow_batch(struct space *space)
{
	const struct plant_space *ps = space->plant;

	space->batch = ps && ps->stub ? ps->areas->vaddr + UBP_AREA_BATCH : 0;
}

/* The area that a space's own words stand in. NULL: there is none (area_in_file.c). */
static const struct area *head_of(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->areas && ps->areas->keys ? ps->areas : NULL;
}

void area_note_change(const struct space *space, pid_t tid)
{
	struct plant_space *ps = space->plant;
	const struct area *head = head_of(space);

	ps->changed_ns = event_clock_now(CLOCK_KIND_MONO);
	if (head)
		(void)mem_write(&space->mem, tid,
				head->vaddr + offsetof(struct guard_head, changed_ns),
				&ps->changed_ns, sizeof(ps->changed_ns));
}

bool area_is_whole_copy(const struct space *parent, const struct space *child)
{
	const struct area *head = head_of(parent);
	struct guard_head here = { 0 }, there = { 0 };

	/* What can't be read is not the same. */
	return !head ||
	       (mem_peek(&parent->mem, head->vaddr, &here, sizeof(here)) == sizeof(here) &&
		mem_peek(&child->mem, head->vaddr, &there, sizeof(there)) == sizeof(there) &&
		here.magic == there.magic && here.changed_ns == there.changed_ns);
}

int area_join(struct space *space, struct area *area, struct guard_head *head, pid_t tid,
	      struct ubp_err *err)
{
	struct plant_space *ps = space->plant;
	struct mem_writes writes = { .mem = &space->mem, .tid = tid };
	struct area *last = ps->areas;
	int rc;

	while (last && last->next)
		last = last->next;
	if (!last) {
		furnish(&writes, space->arch, area->vaddr, false);
		head->data = area->vaddr + area->len;
		guard_action(space->arch, area->vaddr, head->action);
	}
	/* All else before the head: an area with a magic is whole. */
	mem_writes_add(&writes, area->vaddr, head, sizeof(*head));
	if (last)
		mem_writes_add(&writes, last->vaddr + offsetof(struct guard_head, next),
			       &area->vaddr, sizeof(area->vaddr));
	rc = mem_writes_end(&writes);
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to the SSOL area: %s", strerror(-rc));
	if (last) {
		last->next = area;
		return 0;
	}
	ps->areas = area;
	returns_set_trampoline(ps, area->vaddr + UBP_AREA_TRAMPOLINE);
	ps->stub = area->vaddr + UBP_AREA_STUB;
	area_allow_batch(space);
	return 0;
}

/* For the first one of a space the stub has to be put up first. */
int area_make(struct plant *plant, const struct held *held, const struct maps *maps,
	      uint64_t hint, struct guard_head *head, struct area **ret_area,
	      struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	bool is_first = !ps->areas;
	struct cave cave = { 0 };
	struct area *area = NULL;
	uint64_t vaddr = 0;
	int rc = 0;

	if (is_first)
		rc = cave_open(plant, t, maps, &cave, err);
	if (rc == 0)
		rc = area_map(held, is_first ? cave.vaddr : ps->stub, hint,
			      head->len + (is_first ? UBP_GUARD_DATA_LEN : 0),
			      PROT_READ | PROT_EXEC, &vaddr, err);
	if (rc == 0) {
		area = area_new(vaddr, head);
		if (area)
			area->fresh = area->used;
		rc = area ? area_join(space, area, head, t->tid, err)
			  : ubp_fail(err, ENOMEM, "out of memory");
	}
	if (cave.vaddr && rc != -ESRCH)
		cave_close(held, &cave);
	if (rc < 0) {
		area_free_all(area);
		return rc;
	}
	*ret_area = area;
	return 0;
}

/* What is promised to others is theirs, though they have not taken it yet. */
static bool has_room(const struct area *area, struct area_room room)
{
	return area->keys &&
	       area->len - area->used >= (area->promised.slots + room.slots) * UBP_SLOT_SIZE &&
	       area->table_mask - area->n_entries >= area->promised.entries + room.entries;
}

int area_provide(struct plant *plant, const struct held *held, const struct maps *maps,
		 uint64_t lo, uint64_t hi, struct area_room room, struct area **ret_area,
		 struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct guard_head head;
	uint64_t hint;
	struct area *area;
	int rc;

	for (area = ps->areas; area; area = area->next)
		if (has_room(area, room) && area_reaches(area, lo, hi, space->arch->near_max)) {
			*ret_area = area;
			return 0;
		}
	if (ps->areas && !ps->stub)
		return ubp_fail(err, EACCES, "process %d may not be made to map memory",
				(int)t->process->pid);
	head = area_lay_out(room);
	if (area_is_too_much(ps, &head))
		return ubp_fail(err, ENOSPC, "process %d has too many probes",
				(int)t->process->pid);
	hint = lo == hi ? 0
			: maps_find_gap(maps, lo, hi, head.len + UBP_GUARD_DATA_LEN,
					space->arch->near_max);
	if (!hint && lo != hi)
		return ubp_fail(err, ERANGE, "no free memory near 0x%lx in process %d",
				(unsigned long)lo, (int)t->process->pid);
	rc = area_make(plant, held, maps, hint, &head, &area, err);
	if (rc < 0)
		return rc;
	assert(area);
	*ret_area = area;
	return 0;
}
