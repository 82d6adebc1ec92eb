/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the tracing thread does with rings: makes spaces, gives rings to threads. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/event/ring_alone.h"
#include "engine/event/ring_claims.h"

/* Of <linux/memfd.h> and <linux/magic.h>, which not all systems have whole. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define TMPFS_TYPE 0x01021994

_Static_assert(RING_BYTES_MIN >= RING_SLACK + RING_RECORD_MAX,
	       "the smallest ring takes a record");
_Static_assert(RING_SLACK >= RING_RECORD_MAX, "a record's end fits behind its ring");
_Static_assert(RING_CONTROL_LEN == 4096, "one page");

size_t ring_region_bytes(const struct ring_set *set, size_t n, uint64_t most)
{
	size_t bytes = set->opt.ring_bytes;

	while (!ring_has_areas(set) && bytes > RING_BYTES_DEFAULT &&
	       ring_region_part(set, bytes, n) > most)
		bytes /= 2;
	return bytes;
}

size_t ring_region_len(const struct ring_set *set, size_t ring_bytes, uint64_t most)
{
	uint64_t stride = ring_stride_in(set, ring_bytes, most);
	uint64_t n = most > RING_RINGS_AT ? (most - RING_RINGS_AT) / stride : 0;

	return RING_RINGS_AT + (n < set->n_rings ? n : set->n_rings) * stride;
}

size_t ring_region_part(const struct ring_set *set, size_t ring_bytes, size_t n_rings)
{
	uint64_t len = RING_RINGS_AT + n_rings * ring_stride_in(set, ring_bytes, UINT64_MAX);

	return (len + RING_CONTROL_LEN - 1) / RING_CONTROL_LEN * RING_CONTROL_LEN;
}

/* --- making a space -------------------------------------------------------------- */

/*
 * Give the file its size for good: from now on the target can't take memory away
 * from under our mapping. Looked at afterwards, since it may be quick.
 */
static int size_file(int fd, size_t len, struct ubp_err *err)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || (unsigned long)fs.f_type != TMPFS_TYPE)
		return ubp_fail(err, EINVAL, "rings: not a memory file");
	if (ftruncate(fd, (off_t)len) < 0)
		return ubp_fail_sys(err, "rings: cannot size a memory file");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return ubp_fail_sys(err, "rings: cannot seal a memory file");
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)len)
		return ubp_fail(err, EINVAL, "rings: a memory file has changed");
	return 0;
}

static int map_region(struct ring_space *space, int fd, struct ubp_err *err)
{
	int rc = size_file(fd, space->region_len, err);
	void *at;

	if (rc < 0)
		return rc;
	at = mmap(NULL, space->region_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		  fd, 0);
	if (at == MAP_FAILED)
		return ubp_fail_sys(err, "rings: cannot map %zu bytes", space->region_len);
	/* No child of the host's has it: it could not tell a reader's words from its own. */
	(void)madvise(at, space->region_len, MADV_DONTFORK);
	space->region = at;
	return 0;
}

static int map_control(struct ring_space *space, int fd, struct ubp_err *err)
{
	int rc = size_file(fd, RING_CONTROL_LEN, err);

	if (rc == 0)
		rc = ring_owner_take(&space->set->owners, fd, &space->owner, err);
	if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0)
		rc = ubp_fail_sys(err, "rings: cannot seal their control page");
	return rc;
}

static size_t rings_len(const struct ring_space *space)
{
	return (space->n_rings + 1) * sizeof(*space->rings);
}

static struct ring_space *alloc_space(struct ring_set *set, const struct ring_region *region)
{
	struct ring_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->set = set;
	space->base = region->base;
	space->ring_bytes = region->ring_bytes;
	space->stride = ring_stride_in(set, region->ring_bytes, region->len);
	space->n_rings = (uint32_t)((region->len - RING_RINGS_AT) / space->stride);
	space->n_mapped = space->n_rings;
	space->region_len = region->len;
	/* For a thousand threads; most processes have a few, and pages nobody writes cost nothing. */
	space->rings = mmap(NULL, rings_len(space), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_mutex_init(&space->lock, NULL);
	if (space->rings != MAP_FAILED)
		return space;
	free(space);
	return NULL;
}

int ring_space_new(struct ring_set *set, int control_fd, int region_fd,
		   const struct ring_region *region, struct ring_space **ret_space,
		   struct ubp_err *err)
{
	struct ring_space *space = alloc_space(set, region);
	int rc;

	if (!space)
		return ubp_fail(err, ENOMEM, "rings: out of memory");
	rc = map_region(space, region_fd, err);
	if (rc == 0)
		rc = map_control(space, control_fd, err);
	if (rc < 0) {
		if (space->owner)
			ring_owner_give(&set->owners, space->owner);
		ring_space_free(space);
		return rc;
	}
	pthread_mutex_lock(&set->lock);
	ring_switches_begin(space);
	ring_quick_begin(space);
	space->next = set->spaces;
	set->spaces = space;
	pthread_mutex_unlock(&set->lock);
	atomic_fetch_add(&set->n_spaces, 1);
	if (set->opt.used)
		set->opt.used(set->opt.ctx);
	*ret_space = space;
	return 0;
}

void ring_space_close(struct ring_space *space)
{
	uint32_t n_used = atomic_load(&space->n_used);

	ring_owner_give(&space->set->owners, space->owner);
	space->owner = NULL;
	pthread_mutex_lock(&space->lock);
	ring_claims_close(space);
	for (uint32_t i = 0; i < n_used; i++) {
		uint32_t live = RING_LIVE;

		atomic_compare_exchange_strong(&space->rings[i].state, &live, RING_GONE);
	}
	map_free(&space->by_tid);
	map_free(&space->by_key);
	pthread_mutex_unlock(&space->lock);
	atomic_store(&space->closed, true);
}

_Static_assert(RING_RINGS_AT % 4096 == 0, "what madvise() wants");

void ring_space_free(struct ring_space *space)
{
	if (space->region) {
		/*
		 * The target keeps its mapping, but what was in the rings is needed no more. The table of threads is: one that was stopped on
		 * its way into its ring takes from it where that is, whenever it goes on.
		 */
		(void)madvise(space->region + RING_RINGS_AT, space->region_len - RING_RINGS_AT,
			      MADV_REMOVE);
		munmap(space->region, space->region_len);
	}
	map_free(&space->by_tid);
	map_free(&space->by_key);
	map_free(&space->slots);
	free(space->claims);
	pthread_mutex_destroy(&space->lock);
	munmap(space->rings, rings_len(space));
	free(space);
}

/* --- threads --------------------------------------------------------------------------- */

/* One that was used before, so that its memory is used again; its entry is free then, too. */
struct ring *ring_find_free(struct ring_space *space)
{
	uint32_t n_used = atomic_load_explicit(&space->n_used, memory_order_relaxed);
	struct ring *ring;

	for (uint32_t i = 0; i < n_used; i++) {
		ring = &space->rings[i];
		if (atomic_load_explicit(&ring->state, memory_order_acquire) != RING_FREE)
			continue;
		if (ring->slot != RING_NO_SLOT && map_get(&space->slots, ring->slot) == ring)
			ring_table_release(space, ring->slot);
		ring->slot = RING_NO_SLOT;
		return ring;
	}
	if (n_used >= space->n_mapped)
		return NULL;
	ring = &space->rings[n_used];
	ring->space = space;
	ring->slot = RING_NO_SLOT;
	ring->bytes = space->region + RING_RINGS_AT + n_used * space->stride;
	return ring;
}

static struct ring *find_ring(struct ring_space *space)
{
	struct ring *ring = ring_find_free(space);

	if (!ring)
		ring = ring_claims_take_back(space);
	if (!ring)
		space->wants_more = atomic_load_explicit(&space->n_used, memory_order_relaxed) <
				    space->n_rings;
	return ring;
}

/*
 * Where the next thread's positions begin: no record that was left in the ring by an earlier
 * one looks complete at the positions to come.
 */
static uint64_t next_start(const struct ring *ring)
{
	return (ring->tail + 2 * ring->space->ring_bytes) & ~7ULL;
}

/* The entry; its key last. */
static void fill_entry(struct ring *ring, uint32_t slot)
{
	struct ring_space *space = ring->space;
	struct ring_thread *entry = &ring_threads(space)[slot];

	__atomic_store_n(&entry->head, ring->tail, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->limit, ring->limit, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->ring, ring_vaddr(ring), __ATOMIC_RELAXED);
	__atomic_store_n(&entry->mask, space->ring_bytes - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->lost, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->tid, (uint32_t)ring->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->self, (uint32_t)ring->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->key, ring->key, __ATOMIC_RELEASE);
	ring_quick_put(ring, (uint32_t)ring->tid);
}

static void tell_stack(const struct ring_space *space, uint32_t slot, uint64_t lo, uint64_t end)
{
	struct ring_stack *stack = &ring_stacks(space)[slot];

	/* The thread itself is stopped, or cannot find the entry yet. */
	__atomic_store_n(&stack->lo, lo, __ATOMIC_RELAXED);
	__atomic_store_n(&stack->end, end, __ATOMIC_RELAXED);
}

void ring_unnamed(struct ring *ring)
{
	memcpy(ring->comm, "<...>", sizeof("<...>"));
}

void ring_prepare(struct ring *ring)
{
	ring->end = ring->tail = next_start(ring);
	ring->limit = ring_limit(ring->space, ring->tail);
	ring->lost = ring->last_ticks = ring->last_ns = ring->seen_ns = 0;
	ring->comm_ns = ring->stuck_ns = ring->since_ns = ring->grown = 0;
	ring->trim = (struct ring_trim){ .end = ring->tail };
	ring->is_gone = ring->is_ready = false;
	memset(ring->comm, 0, sizeof(ring->comm));
	ring_tally_begin(ring);
}

void ring_publish(struct ring *ring, uint32_t state)
{
	struct ring_space *space = ring->space;

	atomic_store_explicit(&ring->state, state, memory_order_release);
	if (ring == &space->rings[atomic_load_explicit(&space->n_used, memory_order_relaxed)])
		atomic_fetch_add_explicit(&space->n_used, 1, memory_order_release);
}

static void start_ring(struct ring *ring, uint32_t slot, bool mute)
{
	ring_prepare(ring);
	if (!proc_read_comm(ring->tid, ring->comm))
		ring_unnamed(ring);
	tell_stack(ring->space, slot, 0, 0);
	atomic_store_explicit(&ring->mute, mute, memory_order_relaxed);
	/* Before anybody looks at it. */
	fill_entry(ring, slot);
	ring_publish(ring, RING_LIVE);
}

/* The entry goes at once; the ring is another's when it was read to its end. */
void ring_drop(struct ring *ring)
{
	struct ring_space *space = ring->space;

	ring_quick_end(ring);
	__atomic_store_n(&ring_threads(space)[ring->slot].key, RING_KEY_GONE, __ATOMIC_RELEASE);
	(void)map_remove(&space->by_tid, (uint64_t)ring->tid);
	(void)map_remove(&space->by_key, ring->key);
	atomic_store_explicit(&ring->state, RING_GONE, memory_order_release);
}

int ring_enter(struct ring *ring, uint32_t slot)
{
	struct ring_space *space = ring->space;

	ring->slot = slot;
	if (map_put(&space->by_tid, (uint64_t)ring->tid, ring) < 0)
		return -ENOSPC;
	if (map_put(&space->by_key, ring->key, ring) == 0 &&
	    map_put(&space->slots, slot, ring) == 0)
		return 0;
	(void)map_remove(&space->by_tid, (uint64_t)ring->tid);
	(void)map_remove(&space->by_key, ring->key);
	ring->slot = RING_NO_SLOT;
	return -ENOSPC;
}

static int add(struct ring_space *space, pid_t pid, pid_t tid, uint64_t key, bool mute)
{
	struct ring *ring = map_get(&space->by_tid, (uint64_t)tid);
	uint32_t slot;

	if (ring && ring->key == key) {
		atomic_store_explicit(&ring->mute, mute, memory_order_relaxed);
		return 0;
	}
	if (key == RING_KEY_NONE || key == RING_KEY_GONE)
		return -ENOSPC;
	if (ring)
		ring_drop(ring);
	ring = map_get(&space->by_key, key);
	if (ring)
		ring_drop(ring);
	ring = find_ring(space);
	if (!ring || ring_table_place(space, key, &slot) < 0)
		return -ENOSPC;
	ring->key = key;
	ring->pid = pid;
	ring->tid = tid;
	if (ring_enter(ring, slot) < 0) {
		ring_table_release(space, slot);
		return -ENOSPC;
	}
	start_ring(ring, slot, mute);
	return 0;
}

int ring_space_add(struct ring_space *space, pid_t pid, pid_t tid, uint64_t thread_pointer,
		   bool mute)
{
	pid_t only = space->set->opt.only_tid;
	int rc;

	pthread_mutex_lock(&space->lock);
	(void)ring_claims_look(space);
	rc = add(space, pid, tid, ring_key(thread_pointer), mute || (only && tid != only));
	pthread_mutex_unlock(&space->lock);
	return rc;
}

struct ring *ring_of_thread(struct ring_space *space, pid_t tid)
{
	struct ring *ring;

	pthread_mutex_lock(&space->lock);
	(void)ring_claims_look(space);
	ring = map_get(&space->by_tid, (uint64_t)tid);
	pthread_mutex_unlock(&space->lock);
	return ring;
}

void ring_space_set_mapped(struct ring_space *space, size_t len)
{
	uint64_t n = len > RING_RINGS_AT ? (len - RING_RINGS_AT) / space->stride : 0;

	space->n_mapped = n < space->n_rings ? (uint32_t)n : space->n_rings;
	space->wants_more = false;
}

bool ring_space_wants_more(const struct ring_space *space)
{
	return space->wants_more;
}

void ring_space_set_self(struct ring_space *space, pid_t tid, uint32_t self)
{
	struct ring *ring;

	pthread_mutex_lock(&space->lock);
	(void)ring_claims_look(space);
	ring = map_get(&space->by_tid, (uint64_t)tid);
	if (ring) {
		__atomic_store_n(&ring_threads(space)[ring->slot].self, self, __ATOMIC_RELAXED);
		ring_quick_put(ring, self);
	}
	pthread_mutex_unlock(&space->lock);
}

void ring_space_set_cpu(struct ring_space *space, pid_t tid, uint64_t vaddr)
{
	const struct ring *ring = ring_of_thread(space, tid);

	if (ring)
		__atomic_store_n(&ring_threads(space)[ring->slot].cpu_vaddr, vaddr,
				 __ATOMIC_RELAXED);
}

void ring_space_set_stack(struct ring_space *space, pid_t tid, uint64_t lo, uint64_t end)
{
	const struct ring *ring = ring_of_thread(space, tid);

	if (ring)
		tell_stack(space, ring->slot, lo, end);
}

bool ring_space_has_cpu(struct ring_space *space, pid_t tid)
{
	const struct ring *ring = ring_of_thread(space, tid);

	return ring && __atomic_load_n(&ring_threads(space)[ring->slot].cpu_vaddr,
				       __ATOMIC_RELAXED) != 0;
}

void ring_space_set_maps(struct ring_space *space, uint32_t number)
{
	atomic_store_explicit(&space->maps, number, memory_order_release);
}

bool ring_space_has(struct ring_space *space, pid_t tid)
{
	return ring_of_thread(space, tid) != NULL;
}

int ring_space_room(struct ring_space *space, pid_t tid)
{
	const struct ring *ring = ring_of_thread(space, tid);
	uint64_t bytes = space->ring_bytes, room;
	const struct ring_thread *thread;

	if (!ring)
		return -1;
	thread = &ring_threads(space)[ring->slot];
	room = __atomic_load_n(&thread->limit, __ATOMIC_RELAXED) -
	       __atomic_load_n(&thread->head, __ATOMIC_RELAXED);
	return room > bytes ? 0 : (int)(room * 100 / bytes);
}

void ring_space_drop_others(struct ring_space *space, pid_t tid, uint64_t thread_pointer)
{
	struct ring *ring;

	pthread_mutex_lock(&space->lock);
	ring_claims_look(space);
	ring = map_get(&space->by_key, ring_key(thread_pointer));
	if (ring && ring->tid != tid)
		ring_drop(ring);
	pthread_mutex_unlock(&space->lock);
}

void ring_space_drop(struct ring_space *space, pid_t tid)
{
	struct ring *ring;

	pthread_mutex_lock(&space->lock);
	(void)ring_claims_look(space);
	ring = map_get(&space->by_tid, (uint64_t)tid);
	if (ring)
		ring_drop(ring);
	pthread_mutex_unlock(&space->lock);
}

/* --- readable memory ---------------------------------------------------------------------- */

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void ring_space_set_ranges(struct ring_space *space, const uint64_t *ranges, size_t n)
{
	struct ring_head *head = ring_head_of(space);
	uint64_t sorted[RING_RANGES];

	if (n > RING_RANGES)
		n = RING_RANGES;
	memcpy(sorted, ranges, n * sizeof(*ranges));
	qsort(sorted, n, sizeof(*sorted), compare_words);
	/* Each word is whole by itself, whenever a detour reads it. */
	for (size_t i = 0; i < RING_RANGES; i++)
		__atomic_store_n(&head->ranges[i], i < n ? ranges[i] : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&head->n_ranges, n, __ATOMIC_RELEASE);
	/* Those behind were never written: a look would give their pages memory. */
	for (size_t i = 0; i < space->set->n_cells; i++) {
		uint64_t cell = __atomic_load_n(&head->cells[i], __ATOMIC_RELAXED);

		if (cell && !bsearch(&cell, sorted, n, sizeof(cell), compare_words))
			__atomic_store_n(&head->cells[i], 0, __ATOMIC_RELAXED);
	}
}

void ring_space_set_reads(struct ring_space *space, bool reads)
{
	__atomic_store_n(&ring_head_of(space)->reads, reads, __ATOMIC_SEQ_CST);
}

bool ring_space_filters(const struct ring_space *space)
{
	return __atomic_load_n(&ring_head_of(space)->filters, __ATOMIC_SEQ_CST);
}
