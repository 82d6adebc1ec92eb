/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is known of the guard in an address space, for those who plant there. It is installed by guard.c. */

#ifndef UBP_PLANT_GUARD_STATE_H
#define UBP_PLANT_GUARD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plant_space;
struct space;

/* Where the guard's data are (struct guard_data); 0: there are none. */
uint64_t guard_data(const struct plant_space *ps);
/* Where the words are that detours look at first (struct guard_gate); 0: there are no data. */
uint64_t guard_gate(const struct plant_space *ps);
/* Its .alone, through thread @tid. Returns 0 or -errno. */
int guard_set_alone(const struct space *space, pid_t tid, uint64_t is_alone);
void guard_set_data(const struct plant_space *ps, uint64_t vaddr);

/* Was it looked for what a killed tracer has left there? */
bool guard_has_looked(const struct plant_space *ps);
void guard_note_look(const struct plant_space *ps);
/* It had left a guard. */
bool guard_is_taken_over(const struct plant_space *ps);
void guard_take_over(const struct plant_space *ps, bool had_guard);
/* Nothing was taken over: there are no data, and the next look is a first one again. */
void guard_forget_look(const struct plant_space *ps);

/* What a killed tracer had left in it, and was put right. */
struct guard_found {
	unsigned n_breakpoints; /* taken out */
	unsigned n_raised;      /* reference counters, decremented */
};
void guard_note_found(const struct plant_space *ps, struct guard_found more);
/* It is told once: none the next time. */
struct guard_found guard_take_found(const struct space *space);

/* Have all processes in the memory the guard, and who is born there, too? */
bool guard_is_settled(const struct plant_space *ps);
void guard_set_settled(const struct plant_space *ps);

/* --force: it has probes that would kill it if ubp were killed. */
bool plant_is_unguarded(const struct space *space);
bool guard_is_missing(const struct plant_space *ps);
void guard_set_missing(const struct plant_space *ps);
/* Why no memory could be had in it for some site, which is why the guard is missing; NULL: that is not why. */
const char *guard_no_room(const struct plant_space *ps);
void guard_set_no_room(const struct plant_space *ps, const char *why);

#endif
