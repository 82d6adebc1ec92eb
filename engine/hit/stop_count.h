/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stops are counted by what a jump would have had to do for there to be none (--stats). */

#ifndef UBP_HIT_STOP_COUNT_H
#define UBP_HIT_STOP_COUNT_H

#include <stdbool.h>
#include <stddef.h>

struct held;
struct hit;
struct plant_space;
struct return_instance;
struct site;
struct site_jump;

/* A thread has stopped at @site, which is probed. */
void stop_count_site(const struct site *site);
/* At the return that @ri tells of. */
void stop_count_return(const struct return_instance *ri);
/*
 * In the detour @jump, whose probe @first it is: @held stands there, and what it was to record is recorded.
 * @is_tail: stop_is_tail(), before that.
 */
void stop_count_detour(const struct hit *hit, const struct held *held,
		       const struct site_jump *jump, size_t first, bool is_tail);
/* Has this hit read memory that detours do not know to be there? */
bool stop_saw_new_memory(const struct hit *hit, const struct plant_space *ps);
/* Is the return address of the function that @held enters one of ours already? */
bool stop_is_tail(const struct held *held);

#endif
