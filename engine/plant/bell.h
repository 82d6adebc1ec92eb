/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Bells: places at which the process has to be traced, where its loader has mapped libraries, and where it is about to execute a
 * program. A process that was let go of (stand_alone.h) has jumps there, to detours that ring, and wait until the tracer has come back
 * (detour_plan.asks).
 */

#ifndef UBP_PLANT_BELL_H
#define UBP_PLANT_BELL_H

#include <stdbool.h>
#include <stdint.h>

struct plant_space;
struct site;

/* Is @site a jump that rings, or may it become one? */
bool bell_is_one(const struct site *site);
/* Is it probed, too? Then its detour rings, and records. */
bool bell_is_probed(const struct site *site);
/* One at the number of a call of the kernel? */
bool bell_is_call(const struct site *site);

/*
 * Why the tracer would miss something that the process does, words that stay; NULL: it would not. @follows: its children count, too.
 */
const char *bell_why_not(const struct plant_space *ps, bool follows);

/* The word that counts how often somebody rang, in memory of ours; it lasts as long as its rings. NULL: there are no rings. */
const uint64_t *bell_word(const struct plant_space *ps);
/* Does somebody who rang wait still, and has not seen that the tracer is there? */
bool bell_waits(const struct plant_space *ps);
/* How often since the last call somebody rang, and nobody came in time. */
uint64_t bell_take_in_vain(const struct plant_space *ps);
/* What is in it now; 0: there are no rings. */
uint64_t bell_count(const struct plant_space *ps);
/* The word that counts hits which only a tracer could have recorded; as bell_word(). */
const uint64_t *bell_missed(const struct plant_space *ps);

#endif
