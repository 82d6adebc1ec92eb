/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/claims.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/page.h"
#include "engine/base/proc.h"
#include "engine/event/ring.h"
#include "engine/plant/area.h"
#include "engine/plant/guard_state.h"
#include "engine/space/ring_part.h"
#include "engine/space/space.h"
#include "engine/space/state.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/tracee_task.h"

/* --- the thread's own word ------------------------------------------------------------- */

/* Ids below that are other things, too: flags, counts, numbers of processors. */
#define ODD_ID 4096

static bool has_word(const struct space *space, const struct tracee *t, uint64_t pointer,
		     int32_t at)
{
	pid_t own = proc_own_tid(t->tid);
	uint32_t word;

	return own &&
	       mem_peek(&space->mem, pointer + (uint64_t)at, &word, sizeof(word)) ==
		       sizeof(word) &&
	       word == (uint32_t)own;
}

/* Do all threads have theirs there whose pointers are known? */
static bool all_have(struct space *space, int32_t at)
{
	for (const struct tracee *t = NULL; (t = space_next(space, t));)
		if (t->probes->thread_pointer &&
		    !has_word(space, t, t->probes->thread_pointer, at))
			return false;
	return true;
}

/* Where C libraries have it that are known. */
static int32_t find_known_self(struct space *space, const struct tracee *t, uint64_t pointer)
{
	const int32_t *known = space->arch->detour.own_ids;

	for (size_t i = 0; i < sizeof(space->arch->detour.own_ids) / sizeof(*known); i++)
		if (known[i] && pointer % PAGE + (uint32_t)known[i] < PAGE &&
		    has_word(space, t, pointer, known[i]) && all_have(space, known[i]))
			return known[i];
	return 0;
}

/* The thread's id in the page of its pointer; what stands first is the C library's own. 0: it is not there. */
static int32_t find_self(struct space *space, const struct tracee *t, uint64_t pointer)
{
	uint32_t words[PAGE / sizeof(uint32_t)];
	size_t n = pointer ? (PAGE - pointer % PAGE) / sizeof(words[0]) : 0;
	int32_t known;
	pid_t own;

	if (pointer % sizeof(uint64_t) || !n)
		return 0;
	known = find_known_self(space, t, pointer);
	own = proc_own_tid(t->tid);
	if (known || own < ODD_ID ||
	    mem_peek(&space->mem, pointer, words, n * sizeof(words[0])) != n * sizeof(words[0]))
		return known;
	for (size_t i = 1; i < n; i++)
		if (words[i] == (uint32_t)own &&
		    all_have(space, (int32_t)(i * sizeof(words[0]))))
			return (int32_t)(i * sizeof(words[0]));
	return 0;
}

void claims_note_self(struct plant_space *ps, const struct tracee *t)
{
	uint64_t at = t->probes->thread_pointer + (uint64_t)ps->ring->self_at;
	uint32_t word;

	if (ps->ring->self_at && t->probes->thread_pointer &&
	    mem_peek(&t->process->space->mem, at, &word, sizeof(word)) == sizeof(word))
		ring_space_set_self(ps->ring->rings, t->tid, word);
}

/* --- the code --------------------------------------------------------------------------- */

/* Somebody may be in what an earlier session had: it stays, and serves if it is the same. */
static bool serves(const struct space *space, uint64_t vaddr, const uint8_t *code, size_t len)
{
	uint8_t there[UBP_CLAIM_CODE_MAX];

	return vaddr && mem_peek(&space->mem, vaddr, there, len) == len &&
	       memcmp(there, code, len) == 0;
}

static uint64_t new_room(struct plant_space *ps)
{
	for (struct area *a = ps->areas; a; a = a->next) {
		uint64_t vaddr = a->vaddr + a->used;

		if (a->keys && area_take_block(a, UBP_CLAIM_CODE_MAX, NULL))
			return vaddr;
	}
	return 0;
}

static uint64_t write_code(const struct space *space, pid_t tid, unsigned code_has)
{
	const uint64_t told =
		guard_data(space->plant) + offsetof(struct guard_data, claim_code);
	struct plant_space *ps = space->plant;
	uint8_t code[UBP_CLAIM_CODE_MAX];
	uint64_t vaddr = ps->ring->claim_room;
	size_t len;

	if (space->arch->detour.build_claim_code(ps->ring->self_at, code_has, code,
						 sizeof(code), &len) < 0)
		return 0;
	if (serves(space, vaddr, code, len))
		return vaddr;
	vaddr = new_room(ps);
	if (!vaddr || mem_write(&space->mem, tid, told, &vaddr, sizeof(vaddr)) < 0 ||
	    mem_write(&space->mem, tid, vaddr, code, len) < 0)
		return 0;
	ps->ring->claim_room = vaddr;
	return vaddr;
}

void claims_provide(const struct held *held, unsigned code_has)
{
	struct space *space = held->t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t pointer = 0, cpu;

	if (ps->ring->claim_code || ps->ring->self_at ||
	    !space->arch->detour.build_claim_code ||
	    ubp_host_get_thread_pointer(space->arch, held->tid, held->at, &pointer) < 0)
		return;
	ps->ring->self_at = find_self(space, held->t, pointer);
	if (ps->ring->self_at)
		ps->ring->claim_code = write_code(space, held->tid, code_has);
	cpu = task_rseq_cpu_vaddr(held->t);
	ps->ring->cpu_off = cpu ? (int64_t)(cpu - pointer) : 0;
	claims_look(held->t);
}

/* Ids of threads of it are others in there than ubp has for them, or may be. */
static bool is_below(const struct process *p)
{
	struct space_rings *ring = p->space->plant->ring;
	int is;

	if (ring->whose == p->pid)
		return ring->is_below;
	is = proc_is_below(p->pid);
	if (is < 0)
		return true;
	ring->whose = p->pid;
	ring->is_below = is;
	return is;
}

/* A detour that is told where its processor's number is reads there, and a fault of that is the tracer's to see to. */
static void offer(const struct process *p)
{
	const struct space_rings *ring = p->space->plant->ring;
	struct ring_offer what = { .pid = p->pid,
				   .mute = p->silent,
				   .looks = ring->is_alone,
				   .is_below = is_below(p),
				   .cpu_off = ring->is_alone ? 0 : ring->cpu_off,
				   .n = RING_CLAIMS };

	if (!proc_read_comm(p->pid, what.comm))
		what.comm[0] = '\0';
	ring_space_offer(ring->rings, &what);
}

/*
 * Who shares the memory may have the thread pointer, and the word, of another one. And who is below waits for a look at the claim, which
 * takes longer than the trap.
 */
static bool may_claim(const struct process *p, bool is_alone)
{
	return p->space->plant->ring->claim_code && p->space->processes == p && !p->next &&
	       (is_alone || !is_below(p));
}

static void look(const struct process *p)
{
	struct space_rings *ring = p->space->plant->ring;
	bool may = may_claim(p, ring->is_alone);

	if (may == ring->offers || !ring->rings)
		return;
	ring->offers = may;
	if (may)
		offer(p);
	else
		ring_space_end_offers(ring->rings);
}

void claims_set_alone(const struct process *p, bool is_alone)
{
	struct space_rings *ring = p->space->plant->ring;
	bool had = ring->offers;

	ring->is_alone = is_alone;
	look(p);
	if (had && ring->offers)
		offer(p);
}

void claims_look(const struct tracee *t)
{
	look(t->process);
}

bool claims_are_for(const struct process *p)
{
	return may_claim(p, true);
}

struct ring_space *claims_that_wait(const struct process *p)
{
	return is_below(p) ? p->space->plant->ring->rings : NULL;
}

void claims_thread_ends(const struct tracee *t)
{
	const struct plant_space *ps = t->process->space->plant;

	if (ps && ps->ring->rings && ps->ring->offers)
		ring_space_look_for_claims(ps->ring->rings);
}

int32_t claims_self_at(const struct plant_space *ps)
{
	return ps->ring->self_at;
}

uint64_t claims_code(const struct plant_space *ps)
{
	return ps->ring->claim_code;
}

void claims_keep_room(struct plant_space *ps, uint64_t vaddr)
{
	ps->ring->claim_room = vaddr;
}

uint64_t claims_room(const struct plant_space *ps)
{
	return ps->ring->claim_room;
}

bool claims_is_in(const struct plant_space *ps, uint64_t pc)
{
	return ps->ring->claim_code && pc - ps->ring->claim_code < UBP_CLAIM_CODE_MAX;
}
