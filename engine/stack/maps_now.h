/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is mapped in a process that is traced: looked at when it may have changed. */

#ifndef UBP_STACK_MAPS_NOW_H
#define UBP_STACK_MAPS_NOW_H

#include <stdint.h>

struct stack_maps_set;
struct tracee;

/*
 * The number of what is mapped in the stopped thread's process (kept as plant_space.maps_number). 0:
 * not to be had.
 */
uint32_t stack_maps_now(struct stack_maps_set *set, const struct tracee *t);

#endif
