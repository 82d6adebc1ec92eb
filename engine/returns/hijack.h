/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return addresses that detours have replaced: entries of a table in the target (struct guard_hijack, arch/guard.h). */

#ifndef UBP_RETURNS_HIJACK_H
#define UBP_RETURNS_HIJACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/space/uprobe.h"

struct guard_hijack;
struct part_copied;
struct plant_space;
struct return_instance;
struct site;
struct space;
struct tracee;

/* What stands at a stack word, really: @word is what was read there. */
uint64_t hijack_real(const struct space *space, uint64_t slot_vaddr, uint64_t word);

/* Is @word, which a stack word holds, what a detour has put there? @entry is that stack word's, and may be none. */
bool hijack_is_ours(const struct plant_space *ps, const struct guard_hijack *entry,
		    uint64_t word);
/* May it be? What need not be looked up is none. */
bool hijack_may_be(const struct plant_space *ps, uint64_t word);

/* Is an entry of this stack word in use? *ret_site: whose; NULL: that is not known. */
bool hijack_has(const struct space *space, uint64_t slot_vaddr, const struct site **ret_site);

/* The stack word of the nearest one above @vaddr; 0: there is none. */
uint64_t hijack_nearest(const struct space *space, uint64_t vaddr);

/* A signal comes while it is there: its handler may run on another stack. */
void hijack_note_stack(struct tracee *t, uint64_t sp);

/* Its word was given @address; who has just returned by it finds that, where its entry is over. */
void hijack_set_given_back(const struct space *space, pid_t tid, uint64_t entry,
			   uint64_t address);

/*
 * The entry of this stack word, looked for as far as detours go, and in *ret_vaddr where it is; .word is 0 where there
 * is none, .real where it is not in use.
 */
struct guard_hijack hijack_find(const struct space *space, uint64_t slot_vaddr,
				uint64_t *ret_vaddr);
/* The same in @ps's table, as it is in the memory of @space, a copy. */
struct guard_hijack hijack_find_in(const struct plant_space *ps, const struct space *space,
				   uint64_t slot_vaddr, uint64_t *ret_vaddr);

/* Its frame is over: the next one that uses the word may have the entry. */
void hijack_set_free(const struct space *space, pid_t tid, uint64_t entry);

/* May somebody return by one that is still replaced, or was not found where it had stood? */
bool hijack_waits(const struct space *space);

/* Where detours find them: the table and its mask, and the code that such return addresses are replaced by. .table 0: there
 * is none. */
struct hijack_place {
	uint64_t table, mask, code;
};
struct hijack_place hijack_place(const struct plant_space *ps);
void hijack_set_place(const struct plant_space *ps, struct hijack_place place);
/* Where that code was of a table that is gone; 0: nowhere. */
uint64_t hijack_room(const struct plant_space *ps);
void hijack_set_room(const struct plant_space *ps, uint64_t vaddr);
/* Of the times in the table, for detour_ns(); 0: nobody asked for them. */
uint64_t hijack_ns_factor(const struct plant_space *ps);
void hijack_set_ns_factor(const struct plant_space *ps, uint64_t factor);

/* struct part */
int hijacks_copy(const struct part_copied *c);
void hijacks_forget(struct plant_space *ps);

/* By an entry in use that goes on at @back: that detour is needed still. */
void hijack_note_block(const struct space *space, uint64_t back);
/* The same for all that are in use. False: nobody knows of some. */
bool hijack_note_blocks(const struct space *space);
/* Which old detours wait for a return by an address that they have replaced: each one's .is_awaited. */
void hijack_note_awaited(const struct space *space);

#endif
