/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings that threads of the target claim by themselves (base/ring.h): who offers them, and who hears that one was
 * taken. Both threads of a session do, under the space's lock. What a claim says is the target's word: it is
 * copied, and checked.
 */

#include "engine/event/ring_claims.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/credit.h"
#include "engine/base/proc.h"
#include "engine/event/clock.h"

/* How often those who have ended are looked for, where nobody tells. */
#define LOOK_AGAIN_NS 10000000

struct ring_claims {
	pid_t pid;
	bool mute;
	bool is_over;       /* what the target wrote makes no sense: no more offers */
	bool looks;         /* nobody tells of threads that end */
	bool is_below;      /* of ring_offer ... */
	struct credit cost; /* ... what it took then to see who they are */
	char comm[16];
	int64_t cpu_off;
	uint64_t wanted; /* so many are to be there for whoever comes */
	uint64_t end;    /* that were made */
	uint64_t seen; /* up to here all are known: who has them, or that ubp took them back */
	uint64_t look_ns; /* when it was last looked for those who have ended */
	struct ring *offered[RING_CLAIMS]; /* by number; NULL: it is known who has it */
};

static struct ring **offer_of(struct ring_claims *c, uint64_t number)
{
	return &c->offered[number % RING_CLAIMS];
}

static struct ring_claim *claim_at(const struct ring_space *space, uint64_t number)
{
	return (struct ring_claim *)(space->region + RING_CLAIMS_AT) + number % RING_CLAIMS;
}

/* How many were taken; all of them, if that makes no sense. */
static uint64_t taken(struct ring_space *space)
{
	uint64_t next = __atomic_load_n(&ring_head_of(space)->claims_next, __ATOMIC_ACQUIRE);
	struct ring_claims *c = space->claims;

	if (next - c->seen <= c->end - c->seen)
		return next;
	c->is_over = true;
	return c->end;
}

/* --- offers ------------------------------------------------------------------------ */

static void offer(struct ring_space *space, struct ring *ring)
{
	struct ring_claims *c = space->claims;
	struct ring_claim *claim = claim_at(space, c->end);

	ring_prepare(ring);
	ring->slot = RING_NO_SLOT;
	*claim = (struct ring_claim){
		.head = ring->tail,
		.limit = ring->limit,
		.ring = ring_vaddr(ring),
		.mask = space->ring_bytes - 1,
	};
	*offer_of(c, c->end++) = ring;
	ring_publish(ring, RING_OFFERED);
	__atomic_store_n(&ring_head_of(space)->claims_end, c->end, __ATOMIC_RELEASE);
}

static void offer_more(struct ring_space *space)
{
	struct ring_claims *c = space->claims;
	struct ring *ring = NULL;

	while (!c->is_over && c->end - taken(space) < c->wanted &&
	       c->end - c->seen < RING_CLAIMS && (ring = ring_find_free(space)))
		offer(space, ring);
}

struct ring *ring_claims_take_back(struct ring_space *space)
{
	struct ring_claims *c = space->claims;
	struct ring *ring = NULL;
	uint64_t next;

	if (!c)
		return NULL;
	next = taken(space);
	while (!ring && !c->is_over && next != c->end) {
		if (__atomic_compare_exchange_n(&ring_head_of(space)->claims_next, &next,
						next + 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			ring = *offer_of(c, next);
			*offer_of(c, next) = NULL;
		}
		next = taken(space);
	}
	if (ring)
		atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
	return ring;
}

/* --- what was taken ------------------------------------------------------------------ */

static bool is_sane(const struct ring_space *space, const struct ring_claim *claim)
{
	return claim->slot < RING_THREADS && !map_get(&space->slots, claim->slot) &&
	       (claim->key & 7) == ring_key(0) && claim->key != ring_key(0) &&
	       (int32_t)claim->tid > 0;
}

/* 0: it has ended. */
static pid_t who_is(struct ring_claims *c, pid_t own)
{
	uint64_t begun;
	pid_t tid;

	if (!c->is_below)
		return own;
	begun = proc_cpu_ns();
	tid = proc_find_thread(c->pid, own);
	credit_charge(&c->cost, proc_cpu_ns() - begun);
	return tid;
}

/* A process may make claims all the time: what it costs to see who has made them is bounded. */
static bool may_look(struct ring_claims *c)
{
	return !c->is_below || !credit_wait(&c->cost, event_clock_now(CLOCK_KIND_MONO));
}

/* Its thread may have ended already, and its process, too: then it has the name of that, as most do. */
static void find_comm(struct ring *ring)
{
	const struct ring_claims *c = ring->space->claims;

	if (proc_read_thread_comm(ring->pid, ring->tid, ring->comm) ||
	    proc_read_comm(ring->pid, ring->comm))
		return;
	if (c->comm[0])
		memcpy(ring->comm, c->comm, sizeof(c->comm));
	else
		ring_unnamed(ring);
}

static void drop_other(const struct map *map, uint64_t key)
{
	struct ring *other = map_get(map, key);

	if (other)
		ring_drop(other);
}

static void adopt(struct ring_space *space, struct ring *ring, const struct ring_claim *claim)
{
	pid_t only = space->set->opt.only_tid;

	if (!is_sane(space, claim)) {
		atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
		return;
	}
	ring->tid = who_is(space->claims, (pid_t)claim->tid);
	drop_other(&space->by_tid, (uint64_t)ring->tid);
	drop_other(&space->by_key, claim->key);
	ring->key = claim->key;
	ring->pid = space->claims->pid;
	if (ring_enter(ring, claim->slot) < 0) {
		/* No memory for it: what it records is lost. */
		atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
		return;
	}
	atomic_store_explicit(&ring->mute, space->claims->mute || (only && ring->tid != only),
			      memory_order_relaxed);
	if (!ring->tid) {
		/* Whose lines they would be cannot be told: they are counted. */
		ring_drop(ring);
		return;
	}
	find_comm(ring);
	/* It had to ask the processor until now, which takes longer than all else. */
	if (space->claims->cpu_off)
		__atomic_store_n(&ring_threads(space)[ring->slot].cpu_vaddr,
				 ring->key - ring_key(0) + (uint64_t)space->claims->cpu_off,
				 __ATOMIC_RELAXED);
	ring_quick_put(ring, claim->tid);
	atomic_store_explicit(&ring->state, RING_LIVE, memory_order_release);
}

static bool is_made(const struct ring_space *space, uint64_t number)
{
	return __atomic_load_n(&claim_at(space, number)->done, __ATOMIC_ACQUIRE) ==
	       (uint32_t)(number + 1);
}

bool ring_claims_look(struct ring_space *space)
{
	struct ring_claims *c = space->claims;
	uint64_t next = c ? taken(space) : 0;
	bool any = false;

	for (uint64_t i = c ? c->seen : 0; c && i != next && may_look(c); i++) {
		struct ring_claim *there = claim_at(space, i);
		struct ring *ring = *offer_of(c, i);
		struct ring_claim claim;

		if (!ring || !is_made(space, i))
			continue;
		memcpy(&claim, there, sizeof(claim));
		*offer_of(c, i) = NULL;
		adopt(space, ring, &claim);
		__atomic_store_n(&there->known, (uint32_t)(i + 1), __ATOMIC_RELEASE);
		any = true;
	}
	/* Who took one and left it, for ever perhaps, must not keep all others from being made. */
	while (c && c->seen != next &&
	       (!*offer_of(c, c->seen) ||
		(next - c->seen > RING_CLAIMS / 2 && !is_made(space, c->seen))))
		*offer_of(c, c->seen++) = NULL;
	/* Who has waited in vain has made it 0. */
	if (c && c->is_below)
		__atomic_store_n(&ring_head_of(space)->claims_wait, may_look(c),
				 __ATOMIC_RELAXED);
	return any;
}

/* --- those who have ended -------------------------------------------------------------- */

static bool has_ended(const struct ring *ring)
{
	return syscall(SYS_tgkill, ring->pid, ring->tid, 0) < 0 && errno == ESRCH;
}

/* Where that is needed: for others, and where an id that comes again in a namespace below is that of another one here. */
static bool is_worth(struct ring_space *space)
{
	const struct ring_claims *c = space->claims;

	return c->looks && (c->is_below || c->end - taken(space) < c->wanted);
}

/* A thread with the same id may be there since: then it has claimed a ring of its own, or will. */
static void drop_ended(struct ring_space *space)
{
	uint32_t n_used = atomic_load_explicit(&space->n_used, memory_order_relaxed);
	uint64_t now = event_clock_now(CLOCK_KIND_MONO);

	if (!is_worth(space) || now - space->claims->look_ns < LOOK_AGAIN_NS)
		return;
	space->claims->look_ns = now;
	for (uint32_t i = 0; i < n_used; i++) {
		struct ring *ring = &space->rings[i];

		if (atomic_load_explicit(&ring->state, memory_order_relaxed) == RING_LIVE &&
		    has_ended(ring))
			ring_drop(ring);
	}
}

/* --- for others ------------------------------------------------------------------------ */

void ring_claims_tend(struct ring_space *space)
{
	struct ring_claims *c;

	if (!atomic_load_explicit(&space->has_claims, memory_order_acquire))
		return;
	pthread_mutex_lock(&space->lock);
	c = space->claims;
	if (c && !atomic_load_explicit(&space->closed, memory_order_relaxed)) {
		(void)ring_claims_look(space);
		offer_more(space);
		drop_ended(space);
	}
	pthread_mutex_unlock(&space->lock);
}

void ring_claims_close(struct ring_space *space)
{
	uint32_t n_used = atomic_load_explicit(&space->n_used, memory_order_relaxed);

	(void)ring_claims_look(space);
	for (uint32_t i = 0; i < n_used; i++) {
		uint32_t offered = RING_OFFERED;

		atomic_compare_exchange_strong(&space->rings[i].state, &offered, RING_FREE);
	}
	free(space->claims);
	space->claims = NULL;
}

void ring_space_offer(struct ring_space *space, const struct ring_offer *o)
{
	pthread_mutex_lock(&space->lock);
	if (!space->claims)
		space->claims = calloc(1, sizeof(*space->claims));
	if (space->claims) {
		space->claims->pid = o->pid;
		space->claims->mute = o->mute;
		space->claims->cpu_off = o->cpu_off;
		space->claims->looks = o->looks;
		space->claims->is_below = o->is_below;
		memcpy(space->claims->comm, o->comm, sizeof(o->comm));
		space->claims->wanted = o->n < RING_CLAIMS / 2 ? o->n : RING_CLAIMS / 2;
		atomic_store_explicit(&space->has_claims, true, memory_order_release);
		(void)ring_claims_look(space);
		offer_more(space);
	}
	pthread_mutex_unlock(&space->lock);
}

void ring_space_end_offers(struct ring_space *space)
{
	pthread_mutex_lock(&space->lock);
	if (space->claims)
		space->claims->wanted = 0;
	while (ring_claims_take_back(space))
		;
	pthread_mutex_unlock(&space->lock);
}

bool ring_space_look_for_claims(struct ring_space *space)
{
	bool any;

	pthread_mutex_lock(&space->lock);
	any = ring_claims_look(space);
	if (space->claims)
		drop_ended(space);
	pthread_mutex_unlock(&space->lock);
	return any;
}
