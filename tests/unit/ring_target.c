/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/ring_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/trace/process.h"

static int make_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	return fd;
}

/* As the target: the control page read-only, right in front of the region. */
static void map_files(struct ring_target *t, uint8_t *at)
{
	t->control =
		mmap(at, RING_CONTROL_LEN, PROT_READ, MAP_SHARED | MAP_FIXED, t->control_fd, 0);
	assert_ptr_equal(t->control, at);
	t->region = mmap(at + RING_CONTROL_LEN, t->region_len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_NORESERVE, t->region_fd, 0);
	assert_ptr_equal(t->region, at + RING_CONTROL_LEN);
}

void target_open_in(struct ring_target *t, struct ring_set *set)
{
	struct ring_region region;
	struct ubp_err err;
	uint8_t *at;

	memset(t, 0, sizeof(*t));
	t->set = set;
	t->ring_bytes = ring_region_bytes(set, 1, UINT64_MAX);
	t->region_len = ring_region_len(set, t->ring_bytes, UINT64_MAX);
	t->control_fd = make_file("control");
	t->region_fd = make_file("region");
	at = mmap(NULL, RING_CONTROL_LEN + t->region_len, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(at != MAP_FAILED);
	ubp_err_reset(&err);
	region = (struct ring_region){ (uintptr_t)at + RING_CONTROL_LEN, t->region_len,
				       t->ring_bytes };
	if (ring_space_new(set, t->control_fd, t->region_fd, &region, &t->space, &err) < 0)
		fail_msg("%s", err.text);
	map_files(t, at);
}

void target_open(struct ring_target *t, size_t ring_bytes)
{
	struct ring_options options = { .ring_bytes = ring_bytes, .ticks = ubp_host_ticks };
	struct ring_set *set;
	struct ubp_err err;

	ubp_err_reset(&err);
	assert_int_equal(ring_set_new(&options, &set, &err), 0);
	ring_set_n_probes(set, TARGET_PROBES);
	target_open_in(t, set);
}

void target_unmap(struct ring_target *t)
{
	munmap((void *)t->control, RING_CONTROL_LEN + t->region_len);
	close(t->control_fd);
	close(t->region_fd);
}

void target_close(struct ring_target *t)
{
	target_unmap(t);
	if (t->space)
		ring_space_close(t->space);
	ring_set_free(t->set);
}

struct ring_head *target_head(const struct ring_target *t)
{
	return (struct ring_head *)t->region;
}

struct ring_thread *target_table(const struct ring_target *t)
{
	return (struct ring_thread *)(t->region + RING_TABLE_AT);
}

struct ring_thread *target_find(const struct ring_target *t, uint64_t thread_pointer)
{
	struct ring_thread *table = target_table(t);
	uint64_t key = ring_key(thread_pointer);

	for (uint64_t i = ring_hash(key);; i++) {
		struct ring_thread *thread = &table[i % RING_THREADS];
		uint64_t there = __atomic_load_n(&thread->key, __ATOMIC_ACQUIRE);

		if (there == key)
			return thread;
		if (there == RING_KEY_NONE)
			return NULL;
	}
}

/* --- claims -------------------------------------------------------------------------- */

struct ring_claim *target_claim_at(const struct ring_target *t, uint64_t offer)
{
	return (struct ring_claim *)(t->region + RING_CLAIMS_AT) + offer % RING_CLAIMS;
}

static bool swap_key(struct ring_thread *thread, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&thread->key, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* The first place that is nobody's, after a look at all that may be this thread's. NULL: none, or that
 * there is an entry, which is *ret_own then. */
static struct ring_thread *look(struct ring_target *t, uint64_t key, uint32_t tid,
				struct ring_thread **ret_own)
{
	struct ring_thread *free = NULL;
	uint64_t at = ring_hash(key);

	*ret_own = NULL;
	for (unsigned n = 0; n < RING_THREADS; n++) {
		struct ring_thread *thread = &target_table(t)[at++ % RING_THREADS];
		uint64_t there = __atomic_load_n(&thread->key, __ATOMIC_ACQUIRE);

		if (there == ring_key_busy(key))
			return NULL;
		if (there == key && thread->self == tid) {
			*ret_own = thread;
			return NULL;
		}
		if (there == key)
			(void)swap_key(thread, key, RING_KEY_GONE);
		if (!free && (there == RING_KEY_FREE || there == RING_KEY_NONE))
			free = thread;
		if (there == RING_KEY_NONE)
			break;
	}
	return free;
}

struct ring_thread *target_take_place(struct ring_target *t, uint64_t thread_pointer,
				      uint32_t tid)
{
	uint64_t key = ring_key(thread_pointer), there;
	struct ring_thread *thread, *own;

	do {
		thread = look(t, key, tid, &own);
		there = thread ? __atomic_load_n(&thread->key, __ATOMIC_RELAXED) : 0;
	} while (thread && ((there & ~(uint64_t)RING_KEY_FREE) ||
			    !swap_key(thread, there, ring_key_busy(key))));
	return thread;
}

uint64_t target_take_offer(struct ring_target *t)
{
	struct ring_head *head = target_head(t);
	uint64_t next = __atomic_load_n(&head->claims_next, __ATOMIC_RELAXED);

	do
		if (next >= __atomic_load_n(&head->claims_end, __ATOMIC_ACQUIRE))
			return UINT64_MAX;
	while (!__atomic_compare_exchange_n(&head->claims_next, &next, next + 1, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return next;
}

void target_fill_claim(struct ring_target *t, struct ring_thread *thread, uint64_t offer,
		       uint32_t tid)
{
	struct ring_claim *claim = target_claim_at(t, offer);
	uint64_t key = thread->key - RING_KEY_IS_BUSY;

	thread->head = claim->head;
	thread->limit = claim->limit;
	thread->ring = claim->ring;
	thread->mask = claim->mask;
	thread->lost = 0;
	thread->tid = thread->self = tid;
	thread->cpu_vaddr = 0;
	claim->slot = (uint32_t)(thread - target_table(t));
	claim->tid = tid;
	claim->key = key;
	__atomic_store_n(&claim->done, (uint32_t)(offer + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&thread->key, key, __ATOMIC_RELEASE);
}

struct ring_thread *target_claim(struct ring_target *t, uint64_t thread_pointer, uint32_t tid)
{
	struct ring_thread *thread, *own;
	uint64_t offer;

	(void)look(t, ring_key(thread_pointer), tid, &own);
	thread = own ? NULL : target_take_place(t, thread_pointer, tid);
	if (!thread)
		return own;
	offer = target_take_offer(t);
	if (offer == UINT64_MAX) {
		__atomic_store_n(&thread->key, RING_KEY_FREE, __ATOMIC_RELEASE);
		return NULL;
	}
	target_fill_claim(t, thread, offer, tid);
	return thread;
}

/* --- records -------------------------------------------------------------------------- */

static uint64_t size_for(size_t len)
{
	return (sizeof(struct ring_record) + len + 7) & ~7ULL;
}

bool target_reserve(struct ring_target *t, struct ring_thread *thread, size_t len,
		    struct target_record *ret_record)
{
	uint64_t size = size_for(len);
	uint64_t at = __atomic_fetch_add(&thread->head, size, __ATOMIC_RELAXED);
	uint64_t end = at + size;
	uint64_t ring = thread->ring - (uintptr_t)t->region;

	bool fits = end <= __atomic_load_n(&thread->limit, __ATOMIC_ACQUIRE);

	if (!fits) {
		__atomic_fetch_add(&thread->lost, 1, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&thread->head, &end, at, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return false;
	}
	ret_record->thread = thread;
	ret_record->at = at;
	ret_record->record = (struct ring_record *)(t->region + ring + (at & thread->mask));
	ret_record->record->size = (uint32_t)size;
	if (!fits) { /* a handler has reserved behind it: there was room for that */
		target_fill(ret_record, RING_VOID, 0, 0);
		target_commit(ret_record);
	}
	return fits;
}

static uint8_t pattern(uint64_t serial, size_t i)
{
	return (uint8_t)(serial * 31 + i * 7 + (serial >> 8));
}

void target_fill(struct target_record *r, uint32_t probe, uint64_t serial, size_t len)
{
	r->record->time = ubp_host_ticks();
	r->record->probe = probe;
	r->record->cpu = 1;
	r->record->data_len = (uint16_t)len;
	r->record->vaddr = serial;
	r->record->ret = 0;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)(r->record + 1))[i] = pattern(serial, i);
}

bool target_shorten(struct target_record *r, size_t len)
{
	uint64_t end = r->at + r->record->size;

	if (!__atomic_compare_exchange_n(&r->thread->head, &end, r->at + size_for(len), false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	r->record->size = (uint32_t)size_for(len);
	r->record->data_len = (uint16_t)len;
	return true;
}

void target_commit(struct target_record *r)
{
	__atomic_store_n(&r->record->commit, ring_commit(r->at), __ATOMIC_RELEASE);
}

bool target_write(struct ring_target *t, uint64_t thread_pointer, uint32_t probe,
		  uint64_t serial, size_t len)
{
	struct ring_thread *thread = target_find(t, thread_pointer);
	struct target_record r;

	if (!thread || !target_reserve(t, thread, len, &r))
		return false;
	target_fill(&r, probe, serial, len);
	target_commit(&r);
	return true;
}

bool target_is_intact(const struct event_record *record)
{
	for (size_t i = 0; i < record->data_len; i++)
		if (record->data[i] != pattern(record->ip, i))
			return false;
	return record->kind == EVENT_HIT && record->cpu == 1 && record->func == 0;
}

uint64_t target_pointer(uint64_t i)
{
	return 0x7f0000001000ULL + i * 0x801000;
}

void target_add(struct ring_target *t, pid_t tid, uint64_t thread_pointer)
{
	assert_int_equal(ring_space_add(t->space, getpid(), tid, thread_pointer, false), 0);
}

const struct event_record *target_next(struct ring_target *t)
{
	return ring_set_next(t->set, UINT64_MAX);
}

void target_take(struct ring_target *t, uint64_t serial)
{
	const struct event_record *r = target_next(t);

	assert_non_null(r);
	assert_true(target_is_intact(r));
	assert_int_equal(r->ip, serial);
}

void target_take_nothing(struct ring_target *t)
{
	assert_null(target_next(t));
}
