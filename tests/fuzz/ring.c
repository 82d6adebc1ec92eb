/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: rings. What the target wrote is the input: its words of the table, its records,
 * and it writes on between looks. The reader must end, and hand out records that are
 * sound.
 */

#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/event/ring.h"

#define N_PROBES 50
#define POINTERS 4
#define RING     RING_BYTES_MIN
#define STRIDE   (RING + RING_SLACK)

static struct ring_set *set;
static struct ring_space *space;
static uint8_t *region;
static uint64_t ticks_now;

static uint64_t made_up_ticks(void)
{
	return ticks_now += 1000;
}

static void open_space(void)
{
	struct ring_options options = { .ring_bytes = RING, .ticks = made_up_ticks };
	int control_fd = memfd_create("control", MFD_ALLOW_SEALING);
	int region_fd = memfd_create("region", MFD_ALLOW_SEALING);
	struct ring_region room;
	struct ubp_err err;

	ubp_err_reset(&err);
	CLAIM(ring_set_new(&options, &set, &err) == 0);
	ring_set_n_probes(set, N_PROBES);
	room = (struct ring_region){ 4096, ring_region_len(set, RING, UINT64_MAX), RING };
	CLAIM(ring_space_new(set, control_fd, region_fd, &room, &space, &err) == 0);
	region = mmap(NULL, RING_RINGS_AT + 2 * POINTERS * STRIDE, PROT_READ | PROT_WRITE,
		      MAP_SHARED, region_fd, 0);
	CLAIM(region != MAP_FAILED);
	ring_space_set_mapped(space, RING_RINGS_AT + 2 * POINTERS * STRIDE);
	close(control_fd);
	close(region_fd);
}

static void close_space(void)
{
	munmap(region, RING_RINGS_AT + 2 * POINTERS * STRIDE);
	ring_space_close(space);
	for (int i = 0; i < 4 && ring_set_is_used(set); i++) {
		(void)ring_set_drain(set);
		while (ring_set_next(set, UINT64_MAX))
			;
	}
	CLAIM(!ring_set_is_used(set));
	ring_set_free(set);
}

static struct ring_thread *entry_of(uint64_t pointer)
{
	struct ring_thread *table = (struct ring_thread *)(region + RING_TABLE_AT);

	return &table[ring_hash(ring_key(pointer)) % RING_THREADS];
}

static void put_record(struct fuzz_input *in, uint64_t pointer)
{
	struct ring_thread *entry = entry_of(pointer);
	uint64_t ring = entry->ring - 4096, at = entry->head + fuzz_number(in, 2);
	struct ring_record r = { 0 };

	if (ring < RING_RINGS_AT || ring > RING_RINGS_AT + (2 * POINTERS - 1) * STRIDE)
		return;
	at &= ~7ULL;
	r.size = (uint32_t)fuzz_number(in, 2) & ~(uint32_t)(fuzz_number(in, 1) & 7);
	r.commit = ring_commit(at) + (uint32_t)(fuzz_number(in, 1) == 1);
	r.time = ticks_now + fuzz_number(in, 8);
	r.probe = fuzz_number(in, 1) ? (uint32_t)fuzz_number(in, 1) % N_PROBES
				     : (uint32_t)fuzz_number(in, 4);
	r.cpu = (uint16_t)fuzz_number(in, 2);
	r.data_len = (uint16_t)fuzz_number(in, 2);
	r.vaddr = at;
	r.ret = fuzz_number(in, 1);
	memcpy(region + ring + (at & (RING - 1)), &r, sizeof(r));
	entry->head = at + (fuzz_number(in, 1) ? r.size : fuzz_number(in, 2));
}

/* A thread takes the next offer, and says something of itself. */
static void put_claim(struct fuzz_input *in, uint64_t pointer)
{
	struct ring_head *head = (struct ring_head *)region;
	uint64_t n = fuzz_number(in, 1) % 8 ? head->claims_next++ : fuzz_number(in, 2);
	struct ring_claim *claim =
		(struct ring_claim *)(region + RING_CLAIMS_AT) + n % RING_CLAIMS;
	struct ring_thread *entry = entry_of(pointer);

	entry->head = claim->head;
	entry->ring = claim->ring;
	claim->slot = fuzz_number(in, 1) % 8
			      ? (uint32_t)(ring_hash(ring_key(pointer)) % RING_THREADS)
			      : (uint32_t)fuzz_number(in, 4);
	claim->tid = 100000000 + (uint32_t)fuzz_number(in, 1);
	claim->key = ring_key(pointer) + fuzz_number(in, 1) / 32;
	claim->done = (uint32_t)(n + 1);
	entry->key = claim->key;
}

static void scribble(struct fuzz_input *in)
{
	uint64_t at = fuzz_number(in, 3) % (RING_RINGS_AT + 2 * POINTERS * STRIDE - 256);
	size_t len = fuzz_number(in, 1);

	for (size_t i = 0; i < len; i++)
		region[at + i] = (uint8_t)fuzz_number(in, 1);
}

static void look(uint64_t until)
{
	const struct event_record *e;
	size_t n = 0;

	CLAIM(ring_set_drain(set) <= 100);
	while ((e = ring_set_next(set, until))) {
		CLAIM(e->kind == EVENT_HIT && e->probe < N_PROBES && e->cpu < 8192);
		CLAIM(e->data_len <= EVENT_DATA_MAX && e->n_stack == 0);
		CLAIM(e->size % 8 == 0 && e->size >= sizeof(*e) + e->data_len);
		CLAIM(++n <= 2 * POINTERS * (RING + RING_SLACK) / sizeof(struct ring_record));
	}
	(void)ring_set_take_lost(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	open_space();
	while (in.left) {
		uint64_t what = fuzz_number(&in, 1);
		uint64_t pointer = 0x7000 + 8 * (what >> 4 & (POINTERS - 1));
		int tid = 100000000 + (int)(what >> 6);

		switch (what & 15) {
		case 0:
			(void)ring_space_add(space, 1, tid, pointer, what >> 7);
			break;
		case 1:
			ring_space_drop(space, tid);
			break;
		case 2:
			look(UINT64_MAX);
			break;
		case 3:
			look(UINT64_MAX - 1);
			break;
		case 4:
			entry_of(pointer)->head = fuzz_number(&in, 8);
			break;
		case 5:
			entry_of(pointer)->lost = fuzz_number(&in, 8);
			break;
		case 6:
			scribble(&in);
			break;
		case 7:
			put_claim(&in, pointer);
			break;
		case 8:
			ring_space_offer(space,
					 &(struct ring_offer){ .pid = 100000000,
							       .looks = what & 64,
							       .n = (uint32_t)what >> 7 });
			break;
		case 9:
			if (what & 64)
				ring_space_end_offers(space);
			else
				((struct ring_head *)region)->claims_next = fuzz_number(&in, 8);
			break;
		default:
			put_record(&in, pointer);
		}
	}
	close_space();
	return 0;
}
