/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Which code was mapped where (executable mappings alone), at the time of a hit: stacks are given names after the
 * process may have ended. The tracing thread adds, the caller's thread looks up; a set that
 * was added never changes. Records carry its number (event_record.maps).
 */

#ifndef UBP_STACK_MAPS_SET_H
#define UBP_STACK_MAPS_SET_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/os/maps.h"

/* Opaque. */
struct stack_maps_set;

/* NULL: memory is short. */
struct stack_maps_set *stack_maps_set_new(void);
void stack_maps_set_free(struct stack_maps_set *set);

/*
 * Add the mappings of @pid as they are now; *maps is taken over. Those equal to the last of that
 * process, or any other's, are not kept twice. Returns the number, from 1; 0: memory is short.
 */
uint32_t stack_maps_set_add(struct stack_maps_set *set, pid_t pid, struct maps *maps);

/* Any thread. NULL: there is no such number. *ret_pid: whose. */
const struct maps *stack_maps_set_get(struct stack_maps_set *set, uint32_t number,
				      pid_t *ret_pid);

/*
 * No more records will carry this number, nor those of the same process before it; they stay until they
 * are swept.
 */
void stack_maps_set_gone(struct stack_maps_set *set, uint32_t number);
/* How many are gone, and not swept yet. */
size_t stack_maps_set_n_gone(struct stack_maps_set *set);
/*
 * Free those that went before @ns of CLOCK_KIND_MONO. Nobody may have a pointer to one of them any
 * more: stack_maps_set_get() knows them no longer.
 */
void stack_maps_set_sweep(struct stack_maps_set *set, uint64_t ns);

#endif
