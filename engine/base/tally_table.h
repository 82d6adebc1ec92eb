/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where detours count (base/tally_plan.h): memory behind each ring (base/ring.h), of the thread that has the ring, and so shared
 * between ubp and the target.
 *
 *   area                        struct tally_area
 *   + TALLY_COUNTERS_AT         counters of probes whose plan has no key in tables and no value, by number
 *   + TALLY_TABLES_AT           tables, one behind the other, each twice as large as the one before
 *
 * Pages that nobody has written take no memory. One thread writes, and the signal handlers that interrupt it; ubp reads beside. So
 * a count is one unlocked instruction, and an entry is made in this order: its tag becomes TALLY_TAG_BUSY by an unlocked
 * compare, its key is written, then its real tag. A handler that interrupts this goes past the entry, and makes one of its own, perhaps for
 * the same key: who reads adds up what has the same key. An entry that was left busy for ever stays empty.
 *
 * An entry is looked for from hash & mask on, at most TALLY_STEPS entries, past the table's end if need be: what follows is the next table, or
 * room for that. If there is neither the key nor room, the hit is recorded in the ring like any other, and ubp, who carries the plan out on
 * it, tells the thread to use the next table (.mask). It never goes back, and all tables are read, so that nothing is lost
 * and nobody waits. Entries are never taken out; ubp clears the area when the ring has no thread any more.
 *
 * Nothing here is believed by ubp without a look: the target may write what it likes.
 */

#ifndef UBP_BASE_TALLY_TABLE_H
#define UBP_BASE_TALLY_TABLE_H

#include <stdint.h>

#include "engine/base/tally_plan.h"

struct tally_area {
	uint64_t mask; /* of the table in use: its bytes less those of an entry; ubp's */
	uint64_t n;    /* entries that were made; the target's */
};

/* Bytes of an entry: a power of two; of one session all are alike. */
#define TALLY_SLOT_MIN 32
#define TALLY_SLOT_MAX 512

struct tally_entry {
	uint64_t tag; /* tally_tag() of its key's hash */
	uint64_t hits;
	/* The probe's number, what tables have of its plan's key, the plan's values; with .has_first the ticks of the processor's counter just before the
	 * entry was made. */
	uint64_t words[];
};

/* Bytes of a string in an entry, its NUL included; zeros behind that up to a whole word, then nothing that means something. */
#define TALLY_TABLE_STRING 40

/* Words that it has of a part of a key. */
static inline unsigned tally_key_words(const struct tally_key *key)
{
	return !tally_key_is_in_table(key)   ? 0
	       : key->source == TALLY_STRING ? TALLY_TABLE_STRING / 8
					     : 1;
}

/* Bytes that one of this plan takes. */
static inline uint32_t tally_slot(const struct tally_plan *plan)
{
	uint32_t slot = TALLY_SLOT_MIN, len = (uint32_t)sizeof(struct tally_entry) + 8;

	for (unsigned i = 0; i < plan->n_keys; i++)
		len += 8 * tally_key_words(&plan->keys[i]);
	len += 8 * (plan->n_values + plan->has_first);
	while (slot < len)
		slot *= 2;
	return slot;
}

/* Where a thread's area is, behind its ring's start, and the bytes of an entry there; 0: there is none. */
struct tally_place {
	uint32_t at, slot;
	uint32_t
		samples; /* where its counters for sampling are (base/sample_plan.h); 0: there are none */
	/*
	 * Where nobody traces the process, a hit that cannot be counted, and for whose record there is no room, asks the tracer to come, and waits for
	 * that, in front of its trap: some seconds at most, and only as long as nobody has waited in vain. Then such hits are missed.
	 */
	bool asks_when_full;
};

#define TALLY_TAG_NONE 0
#define TALLY_TAG_BUSY 1

static inline uint64_t tally_tag(uint64_t hash)
{
	return hash | 2;
}

#define TALLY_STEPS 48

#define TALLY_COUNTERS    65536
#define TALLY_COUNTERS_AT 4096ULL
#define TALLY_TABLES_AT   (TALLY_COUNTERS_AT + 8ULL * TALLY_COUNTERS)
#define TALLY_FIRST       0x10000ULL    /* bytes of the first table */
#define TALLY_TABLES_END  0x10000000ULL /* of all of them */
#define TALLY_AREA        (TALLY_TABLES_AT + TALLY_TABLES_END + TALLY_STEPS * TALLY_SLOT_MAX)

_Static_assert(TALLY_AREA % 4096 == 0, "areas are whole pages");

/* The hash of a key: of its words, one after the other; it begins with the probe's number. */
#define TALLY_HASH_MUL 0x9e3779b97f4a7c15ULL

static inline uint64_t tally_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * TALLY_HASH_MUL;
	return hash ^ hash >> 32;
}

#endif
