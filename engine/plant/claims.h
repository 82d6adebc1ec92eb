/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Threads that claim rings by themselves (base/ring.h): the code for it, how they know who they are, who may. */

#ifndef UBP_PLANT_CLAIMS_H
#define UBP_PLANT_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

struct held;
struct plant_space;
struct process;
struct ring_space;
struct tracee;

/* With rings and areas there, before detours are made, with what detours may have (detour_plan.has). Where nothing tells a thread who it is, none makes claims. */
void claims_provide(const struct held *held, unsigned code_has);
/* May threads of @t's process make claims, as things are? From now on they may, or may not. */
void claims_look(const struct tracee *t);
/* Could threads of @p make some if nobody traced it? */
bool claims_are_for(const struct process *p);
/* The rings in which claims wait for a look while nobody traces it (ring_space_look_for_claims()). NULL: they do not wait. */
struct ring_space *claims_that_wait(const struct process *p);
/* Nobody traces it, so nobody tells of threads that end; or somebody does again. */
void claims_set_alone(const struct process *p, bool is_alone);
/* A stopped thread has a ring: its entry is known by what its own word is. */
void claims_note_self(struct plant_space *ps, const struct tracee *t);

/* It is at its end: if it has claimed a ring, that is known while its name is. */
void claims_thread_ends(const struct tracee *t);

/* For struct detour_plan. */
int32_t claims_self_at(const struct plant_space *ps);
uint64_t claims_code(const struct plant_space *ps);
/* Is a thread there in the middle of a claim? It comes back to its detour. */
bool claims_is_in(const struct plant_space *ps, uint64_t pc);
/* Where the code stands, that of an earlier session too; 0: nowhere. */
uint64_t claims_room(const struct plant_space *ps);
void claims_keep_room(struct plant_space *ps, uint64_t vaddr);

#endif
