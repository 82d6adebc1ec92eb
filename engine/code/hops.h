/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where the jumps of short windows may lead: hops (arch/detour.h). */

#ifndef UBP_CODE_HOPS_H
#define UBP_CODE_HOPS_H

#include <stdint.h>

struct object;
struct ubp_err;
struct window;

/*
 * Hops that a jump at @elf_vaddr reaches, into window->hops. Each lies in bytes between two functions that are nops
 * or breakpoints to the last one, that the instruction in front of them does not go on to, and that nobody is known
 * to lead to: so whatever stands there is never run. Returns 0, also when there are none; or -errno, when the file
 * cannot be looked through (landings_get()).
 */
int hops_find(struct object *object, uint64_t elf_vaddr, struct window *window,
	      struct ubp_err *err);

#endif
