/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What an earlier ubp has left in a process, part by part (struct part.take_over). It lies in the target's memory, so
 * nothing in it is believed without a look.
 */

#ifndef UBP_PLANT_LEFTOVER_PARTS_H
#define UBP_PLANT_LEFTOVER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/detour.h"
#include "arch/guard.h"

struct area;
struct map;
struct maps;
struct space;
struct tracer;

/* A hop that stands (leftover_hops.c). */
struct left_hop {
	uint64_t vaddr, to;
	uint64_t site; /* of the jump that led there */
	uint8_t orig[UBP_HOP_LEN], bytes[UBP_HOP_LEN];
	bool in_use; /* somebody may come back to it */
};

/* What is in the middle of being taken over: all threads are held once a jump was found. */
struct adoption {
	struct tracer *tracer;
	struct space *space;
	const struct maps *maps;
	pid_t tid;
	uint64_t vaddr;         /* of the first area */
	struct guard_head head; /* what stands there */
	struct guard_data
		data; /* of the guard; has_data: there is one, and it may be one of ours */
	bool has_data;
	bool holds;
	unsigned n_removed;         /* breakpoints that were taken out */
	struct guard_site *entries; /* of all tables */
	size_t n_entries, cap_entries;
	struct left_hop *hops;
	size_t n_hops, cap_hops;
	size_t n_led;    /* places and rets of copies of functions (led_out.h) */
	uint64_t len;    /* of all areas */
	const char *why; /* it is damaged; NULL: it is not */
};

/* Entries of a table read at once. */
#define LEFTOVER_CHUNK 4096

/* Others in the way of a key in a map of ours: the target may have chosen its keys so. */
#define LEFTOVER_KEY_LOOKS 1024

/* The first area of those that were left, or 0. *ret_other: there is one of another version, of which no more is known. */
uint64_t leftover_find(const struct space *space, const struct maps *maps,
		       struct guard_head *ret_head, bool *ret_other);
/* What map_put_within() has returned, with LEFTOVER_KEY_LOOKS: -ELOOP says that the target has chosen its keys. 0 or
 * -errno. */
int leftover_noted(struct adoption *a, int rc);
/* Enter what the target tells into a map of ours: it may have chosen its keys. 0 or -errno. */
int leftover_note_key(struct adoption *a, struct map *map, uint64_t key, void *value);
/* So many bytes of an area are taken. */
void leftover_keep_room(struct area *area, uint64_t at, uint64_t len);

/* What of its jump is the program's own; and can that be, in a jump of ours? */
struct pun leftover_pun(const struct guard_jump *head);
bool leftover_is_jump(const struct space *space, const struct guard_jump *head);
/* The hop of a block whose copy is at @copy, if it stands: 0 or -errno. */
int leftover_note_hop(struct adoption *a, const struct guard_jump *head, uint64_t copy);
/* Those that were noted are taken out, when no jump leads there any more. */
void leftover_hops(struct adoption *a);

int leftover_areas(struct adoption *a);
int leftover_guard(struct adoption *a);
int leftover_rings(struct adoption *a);
int leftover_hijacks(struct adoption *a);
int leftover_returns(struct adoption *a);
int leftover_watch(struct adoption *a);
int leftover_semaphores(struct adoption *a);

#endif
