/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is mapped in a process that is traced: looked at when it may have changed. */

#ifndef UBP_STACK_MAPS_NOW_H
#define UBP_STACK_MAPS_NOW_H

#include <stdint.h>

struct space;
struct stack_maps_set;
struct tracee;

/*
 * The number of what is mapped in the stopped thread's process (kept in the space's part "mapped"). 0:
 * not to be had.
 */
uint32_t stack_maps_now(struct stack_maps_set *set, const struct tracee *t);
/* Its mappings have changed, or may have: the next stack_maps_now() looks. */
void stack_maps_changed(struct space *space);
/* It has ended: what was mapped in it last will not be in use for long. */
void stack_maps_gone(struct stack_maps_set *set, const struct space *space);

#endif
