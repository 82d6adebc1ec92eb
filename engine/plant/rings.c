/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings of a target (base/ring.h): its memory files, made by remote calls and shared with us;
 * which of its threads have one; what detours may read.
 */

#include "engine/plant/rings.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/event/clock.h"
#include "engine/event/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/claims.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/ring_files.h"
#include "engine/plant/samples.h"
#include "engine/space/part.h"
#include "engine/space/ring_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"
#include "engine/trace/tracee_task.h"
#include "engine/trace/tracer.h"

/* Rings lie far from everything, to be in nobody's way. */
#define FAR_AWAY 0x1000000000ULL
#define TRIES    64
#define LOWEST   0x100000000000ULL /* a program at a fixed low address leaves all this free */
/* In 32 bits there is not so much of it, and the program needs some. */
#define REGION_MAX_32 0x4000000ULL
#define SPARE_32      0x1000000ULL
#define LOWEST_32     0x100000ULL

#define DATA(member) offsetof(struct guard_data, member)

static bool is_room(const struct maps *maps, uint64_t at, uint64_t len)
{
	size_t k = 0;

	while (k < maps->n && maps->v[k].end + FAR_AWAY / 16 <= at)
		k++;
	return k == maps->n || maps->v[k].start >= at + len + FAR_AWAY / 16;
}

static bool is_of_rings(const struct mapping *m)
{
	return m->shared && strncmp(m->path, "/memfd:ubp", 10) == 0;
}

/*
 * In 32 bits: in the smallest gap between mappings that has room to spare, since the large one is
 * where the heap and new mappings grow to; else in the middle of that.
 */
static uint64_t find_room_32(const struct maps *maps, uint64_t len)
{
	uint64_t end = LOWEST_32, best = 0, best_size = UINT64_MAX, middle = 0, largest = 0;

	for (size_t i = 0; i < maps->n; end = maps->v[i++].end) {
		uint64_t size = maps->v[i].start > end ? maps->v[i].start - end : 0;

		if (size > largest) {
			largest = size;
			middle = end + size / 2;
		}
	}
	end = LOWEST_32;
	for (size_t i = 0; i < maps->n; end = maps->v[i++].end) {
		uint64_t size = maps->v[i].start > end ? maps->v[i].start - end : 0;
		bool grows = (i && (strcmp(maps->v[i - 1].path, "[heap]") == 0 ||
				    is_of_rings(&maps->v[i - 1]))) ||
			     strcmp(maps->v[i].path, "[stack]") == 0;

		if (size == largest || grows || size < len + 2 * SPARE_32 || size >= best_size)
			continue;
		best_size = size;
		best = end + SPARE_32;
	}
	if (!best && largest / 4 >= len)
		best = middle;
	return best / PAGE * PAGE;
}

uint64_t rings_find_room(const struct ubp_arch *arch, const struct maps *maps, uint64_t from,
			 uint64_t len)
{
	if (arch->addr_size == sizeof(uint32_t))
		return find_room_32(maps, len);

	/* A program at a fixed place, low, has all the room above it. */
	bool up = from / FAR_AWAY < TRIES;

	for (uint64_t i = 1; i <= TRIES; i++) {
		uint64_t at = (up ? from + i * FAR_AWAY : from - i * FAR_AWAY) / PAGE * PAGE;

		if (is_room(maps, at, len))
			return at;
	}
	return 0;
}

uint64_t rings_place(const struct space *space, const struct maps *maps, uint64_t *ret_len)
{
	const struct plant_space *ps = space->plant;
	uint64_t at = 0;
	bool is_told = mem_peek(&space->mem, guard_data(ps) + DATA(rings), &at, sizeof(at)) ==
		       sizeof(at);
	const struct mapping *control = is_told && at ? maps_at(maps, at) : NULL;
	const struct mapping *region = control ? maps_at(maps, control->end) : NULL;

	if (!control || !region || control->start != at ||
	    control->end - control->start != RING_CONTROL_LEN || !is_of_rings(control) ||
	    region->start != control->end || !is_of_rings(region))
		return 0;
	*ret_len = region->end - at;
	return at;
}

/*
 * Where an earlier session had its rings: then ours take just that room, *@part; else somewhere
 * else. @len: all that they may take ever.
 */
static uint64_t choose_place(const struct space *space, const struct maps *maps, uint64_t len,
			     uint64_t *ret_flags, size_t *part)
{
	const struct plant_space *ps = space->plant;
	uint64_t old_len, old = rings_place(space, maps, &old_len);

	if (old && old_len >= RING_CONTROL_LEN + RING_RINGS_AT && old_len <= len) {
		*ret_flags = MAP_SHARED | MAP_FIXED;
		*part = old_len - RING_CONTROL_LEN;
		return old;
	}
	*ret_flags = MAP_SHARED | MAP_FIXED_NOREPLACE;
	return rings_find_room(space->arch, maps, ps->areas->vaddr, len);
}

int rings_note_place(const struct space *space, pid_t tid, uint64_t at, uint64_t len)
{
	const struct plant_space *ps = space->plant;
	uint64_t place[2] = { at, len };

	return mem_write(&space->mem, tid, guard_data(ps) + DATA(rings), place, sizeof(place));
}

/* In the target, @part of them mapped, and here: rings that nobody records into yet. */
static int make_rings(struct plant *plant, struct remote *remote,
		      const struct ring_region *region, uint64_t part, uint64_t flags,
		      struct ring_space **ret_rings, struct ubp_err *err)
{
	uint64_t place = region->base - RING_CONTROL_LEN;
	const struct space *space = remote->t->process->space;
	const struct plant_space *ps = space->plant;
	struct ring_files files;
	int rc = ring_files_make(remote, guard_data(ps) + DATA(name), &files, err);

	if (rc == 0)
		rc = ring_space_new(plant->opt.rings, files.control.taken.fd,
				    files.region.taken.fd, region, ret_rings, err);
	/* Told before it is so: who believes it looks what is mapped there. */
	if (rc == 0)
		rc = rings_note_place(space, remote->t->tid, place, part + RING_CONTROL_LEN);
	if (rc == 0)
		rc = ring_files_map(remote, &files, place, part, flags, err);
	if (rc != -ESRCH && !ring_files_close(remote, &files))
		rc = ubp_fail(err, ESRCH, "it has ended");
	ring_files_put(&files);
	return rc;
}

int rings_provide(struct plant *plant, const struct held *held, const struct maps *maps,
		  struct ubp_err *err)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t most = space->arch->addr_size == sizeof(uint32_t) ? REGION_MAX_32 : UINT64_MAX;
	size_t bytes = rings_bytes(plant, t, most);
	uint64_t len = RING_CONTROL_LEN + ring_region_len(plant->opt.rings, bytes, most),
		 flags = 0;
	size_t part = rings_first_part(plant, t, bytes, len - RING_CONTROL_LEN);
	static const char name[8] = RING_FILES_NAME;
	struct ring_space *rings = NULL;
	struct ring_region region;
	struct remote remote;
	uint64_t place;
	int rc;

	if (ps->ring->rings)
		return 0;
	/* mlockall(MCL_FUTURE) would fetch all of a mapping that is to stay almost empty. */
	if (task_locks_memory(t->tid))
		return ubp_fail(err, EPERM, "the process locks its memory");
	place = choose_place(space, maps, len, &flags, &part);
	if (!place)
		return ubp_fail(err, ENOMEM, "no room for rings");
	if (!part)
		return ubp_fail(err, ENOMEM, "%s", UBP_NO_MEMORY);
	rc = mem_write(&space->mem, t->tid, guard_data(ps) + DATA(name), name, sizeof(name));
	if (rc < 0)
		return ubp_fail(err, -rc, "cannot write to process %d", (int)t->process->pid);
	rc = remote_begin(&remote, held, ps->stub, err);
	if (rc < 0)
		return rc;
	region =
		(struct ring_region){ place + RING_CONTROL_LEN, len - RING_CONTROL_LEN, bytes };
	rc = make_rings(plant, &remote, &region, part, flags, &rings, err);
	if (rc < 0) {
		if (rings)
			ring_space_close(rings);
	} else {
		ps->ring->rings = rings;
		ps->ring->base = region.base;
		ps->ring->ring_bytes = bytes;
		ps->ring->mapped = part;
		ps->ring->most = region.len;
		ring_space_set_mapped(rings, part);
	}
	if (rc != -ESRCH)
		remote_end(&remote);
	return rc;
}

int rings_set_gate(const struct space *owner, const struct space *space, pid_t tid,
		   uint64_t value)
{
	const struct plant_space *ps = owner->plant;

	return guard_data(ps)
		       ? mem_write(&space->mem, tid, guard_gate(ps), &value, sizeof(value))
		       : -ENXIO;
}

/* --- threads ------------------------------------------------------------------------ */

static void *tid_value(pid_t tid)
{
	return (void *)(uintptr_t)tid;
}

static void forget_pointer(struct plant_space *ps, const struct tracee *t)
{
	void *who = map_get(&ps->ring->thread_pointers, t->probes->thread_pointer);

	if (t->probes->thread_pointer && (who == tid_value(t->tid) || who == RINGS_SHARED))
		map_remove(&ps->ring->thread_pointers, t->probes->thread_pointer);
}

static void note_thread(struct plant_space *ps, struct tracee *t, uint64_t thread_pointer)
{
	/* What is known of its stack is gone with its ring. */
	if (!ring_space_has(ps->ring->rings, t->tid))
		t->probes->scans_in_vain = 0;
	if (ring_space_add(ps->ring->rings, t->process->pid, t->tid, thread_pointer,
			   t->process->silent) == 0)
		ring_space_set_cpu(ps->ring->rings, t->tid, task_rseq_cpu_vaddr(t));
	claims_note_self(ps, t);
	samples_hand_over(t, ps->ring->rings);
}

/*
 * A process that shares its memory with others may have the thread pointer of one of them. Those
 * found at attach may sleep, and then have never told theirs.
 */
static bool may_be_anothers(const struct tracee *t)
{
	const struct process *p = t->process;

	/* It is the only one? (Who stops all threads has a share in the memory, too.) */
	if (p->space->processes == p && !p->next)
		return false;
	for (const struct tracee *other = NULL; (other = space_next(p->space, other));)
		if (other->process != p &&
		    (!other->probes->thread_pointer ||
		     other->probes->thread_pointer == t->probes->thread_pointer))
			return true;
	return false;
}

void rings_add_thread(const struct held *held)
{
	struct tracee *t = held->t;
	struct plant_space *ps = t->process->space->plant;
	uint64_t thread_pointer = 0;
	const struct tracee *other;
	void *who;

	if (!ps || ubp_host_get_thread_pointer(t->process->space->arch, t->tid, held->at,
					       &thread_pointer) < 0)
		return;
	if (t->probes->thread_pointer != thread_pointer)
		forget_pointer(ps, t);
	t->probes->thread_pointer = thread_pointer;
	claims_look(t);
	if (!ps->ring->rings || !thread_pointer)
		return;
	who = map_get(&ps->ring->thread_pointers, thread_pointer);
	other = who && who != RINGS_SHARED
			? map_get(&held->tracer->tracees, (uint64_t)(uintptr_t)who)
			: NULL;
	if (who == RINGS_SHARED)
		return;
	if (other && other != t && other->process->space == t->process->space &&
	    other->probes->thread_pointer == thread_pointer) {
		/* Born without one of its own: nobody can tell the two from each other. */
		ring_space_drop(ps->ring->rings, other->tid);
		(void)map_put(&ps->ring->thread_pointers, thread_pointer, RINGS_SHARED);
		return;
	}
	/* One that claimed its ring by itself has never told its pointer. */
	if (may_be_anothers(t))
		ring_space_drop_others(ps->ring->rings, t->tid, thread_pointer);
	else if (map_put(&ps->ring->thread_pointers, thread_pointer, tid_value(t->tid)) == 0)
		note_thread(ps, t, thread_pointer);
}

void rings_set_stack(const struct tracee *t, uint64_t lo, uint64_t end)
{
	const struct plant_space *ps = t->process->space->plant;

	if (!ps->ring->rings || end <= lo)
		return;
	if (end - lo > UBP_SCAN_MAX)
		lo = end - UBP_SCAN_MAX;
	ring_space_set_stack(ps->ring->rings, t->tid, lo, end);
}

void rings_thread_gone(struct tracee *t)
{
	struct plant_space *ps = t->process->space->plant;

	if (!ps)
		return;
	forget_pointer(ps, t);
	t->probes->thread_pointer = 0;
	if (ps->ring->rings)
		ring_space_drop(ps->ring->rings, t->tid);
}

static size_t n_with(const struct process *p, uint64_t pointer)
{
	size_t n = 0;

	for (const struct tracee *t = p->tracees; t; t = t->next)
		n += t->probes->thread_pointer == pointer;
	return n;
}

/* Who had the same thread pointer may have ended. False: two have it still. */
static bool forget_shared(const struct process *p)
{
	struct map *pointers = &p->space->plant->ring->thread_pointers;
	uint64_t pointer;
	size_t pos = 0;
	void *value;

	while (map_next(pointers, &pos, &pointer, &value)) {
		if (value != RINGS_SHARED)
			continue;
		if (n_with(p, pointer) > 1)
			return false;
		map_remove(pointers, pointer);
		pos = 0; /* the table has changed */
	}
	return true;
}

struct ring_space *rings_of(const struct plant_space *ps)
{
	return ps->ring->rings;
}

const char *rings_why_not_alone(const struct process *p)
{
	const struct plant_space *ps = p->space->plant;

	if (!rings_are_made(ps))
		return "it has no rings";
	if (!forget_shared(p))
		return "threads of it cannot be told from each other";
	if (p->tracees)
		claims_look(p->tracees);
	for (const struct tracee *t = p->tracees; t && !claims_are_for(p); t = t->next)
		if (!rings_has_thread(ps, t->tid))
			return "a thread of it has no ring";
	return NULL;
}

void rings_drop_ended(const struct tracer *tracer, const struct plant_space *ps)
{
	struct map *pointers = &ps->ring->thread_pointers;
	uint64_t pointer;
	size_t pos = 0;
	void *value;

	while (map_next(pointers, &pos, &pointer, &value)) {
		pid_t tid = (pid_t)(uintptr_t)value;

		if (value == RINGS_SHARED || map_get(&tracer->tracees, (uint64_t)tid))
			continue;
		ring_space_drop(ps->ring->rings, tid);
		map_remove(pointers, pointer);
		pos = 0; /* the table may have changed */
	}
}

int rings_open_gate(const struct space *space, pid_t tid)
{
	return rings_set_gate(space, space, tid, space->plant->ring->base);
}

bool rings_are_made(const struct plant_space *ps)
{
	return ps->ring->rings;
}

bool rings_has_thread(const struct plant_space *ps, pid_t tid)
{
	return ring_space_has(ps->ring->rings, tid);
}

bool rings_wants_more(const struct plant_space *ps)
{
	return ring_space_wants_more(ps->ring->rings) && !ps->ring->is_full;
}

void rings_note_cpu(const struct plant_space *ps, struct tracee *t)
{
	if (!ring_space_has_cpu(ps->ring->rings, t->tid))
		ring_space_set_cpu(ps->ring->rings, t->tid, task_rseq_cpu_vaddr(t));
	claims_note_self(t->process->space->plant, t);
}

void rings_note_full(const struct plant_space *ps)
{
	ps->ring->is_full = true;
}

void rings_given_back(const struct plant_space *ps)
{
	ps->ring->base = 0;
}

void rings_set_maps(const struct plant_space *ps, uint32_t number)
{
	ring_space_set_maps(ps->ring->rings, number);
}

void rings_forget(struct plant_space *ps)
{
	if (ps->ring->rings)
		ring_space_close(ps->ring->rings);
	ps->ring->rings = NULL;
	map_free(&ps->ring->thread_pointers);
	free(ps->ring->ranges);
	ps->ring->ranges = NULL;
	ps->ring->n_ranges = 0;
}

int rings_copy(const struct part_copied *c)
{
	/* Its detours are its parent's. */
	c->child->plant->ring->self_at = c->parent->plant->ring->self_at;
	c->child->plant->ring->claim_code = c->parent->plant->ring->claim_code;
	c->child->plant->ring->claim_room = c->parent->plant->ring->claim_room;
	(void)rings_set_gate(c->parent, c->child, c->first->tid, RING_GATE_TRAP);
	return 0;
}

void rings_leave(struct part_left *l)
{
	if (l->owner != l->undo.space)
		(void)rings_set_gate(l->owner, l->undo.space, l->tid, RING_GATE_OFF);
}
