/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Functions that detours saw entered by jumps: each has an entry of its own, by the stack word + its level
 * (struct guard_hijack, arch/guard.h). Whoever deals with a stack word's entry deals with all of its chain.
 */

#ifndef UBP_RETURNS_HIJACK_CHAIN_H
#define UBP_RETURNS_HIJACK_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/guard_hijack.h"

struct plant_space;
struct return_instance;
struct site;
struct space;
struct tracee;

/* All levels of a stack word. */
struct hijack_chain {
	struct {
		struct guard_hijack entry; /* .word 0: there is none; .real 0: it is over */
		uint64_t vaddr;
	} level[UBP_CHAIN_MAX]; /* [0] is level 1 */
	unsigned n;             /* of them have been entered, and not left */
};

/* Is it an entry of a chain: not that of a stack word? */
bool hijack_is_level(const struct space *space, uint64_t word);

/* The chain of @first, the entry of a stack word, in @owner's table, as it is in the memory of @space. */
void hijack_read_chain(const struct plant_space *owner, const struct space *space,
		       const struct guard_hijack *first, struct hijack_chain *ret_chain);

/*
 * Nobody returns by it any more: whoever is about to do so goes by what stands in the word. So the word is written
 * behind this. Those that no return was awaited of count as missed, if @counts.
 */
void hijack_end_chain(const struct space *space, pid_t tid, const struct hijack_chain *chain,
		      bool counts);

/*
 * The one at this stack word becomes the tracer's (struct return_instance), its probes'
 * sites with it. NULL: there is none.
 */
struct return_instance *hijack_take(struct tracee *t, uint64_t slot_vaddr);

/* The stack word holds something else by now: the one that was there will not return. Its site;
 * NULL: there was none. */
const struct site *hijack_drop(const struct space *space, pid_t tid, uint64_t slot_vaddr);

/*
 * How long the call took, of a thread in the return code at @back (guard_hijack.back) that
 * asked for it, ns; @sp: its caller's stack pointer.
 */
uint64_t hijack_duration(const struct space *space, uint64_t sp, uint64_t back);

#endif
