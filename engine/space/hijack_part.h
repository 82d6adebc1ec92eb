/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The part "hijack" of what is known of an address space: return addresses that detours replace by themselves, in a table in
 * the target.
 *
 * Owner: engine/returns, which alone looks inside. It is made with the other parts (plant_space_get()) and has no table
 * then: that comes with the first jump that needs it (hijack_provide()), or from an earlier ubp. A copy that fork() makes has
 * its parent's table. It is freed when the space is forgotten. Who maps or finds the table tells it by functions
 * (returns/hijack.h).
 */

#ifndef UBP_SPACE_HIJACK_PART_H
#define UBP_SPACE_HIJACK_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

struct guard_hijack;

struct space_hijacks {
	uint64_t table, mask; /* table of struct guard_hijack: vaddr; 0: none */
	bool is_copy;         /* made by fork(): there are its parent's, too */
	struct map inherited; /* those, where there are link registers: hijack_open.c */
	struct guard_hijack *open_at_exec; /* what is to be counted if the exec succeeds */
	size_t n_open_at_exec;
	uint64_t code_vaddr; /* what such return addresses are replaced by */
	uint64_t room;       /* where an earlier session had that; 0: nowhere */
	uint64_t ns_factor;  /* of their times, detour_ns(); 0: nobody asked */
};

#endif
