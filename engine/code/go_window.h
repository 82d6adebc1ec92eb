/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Windows in Go programs: who may be parked among their instructions, and whether there is a stack for a detour. */

#ifndef UBP_CODE_GO_WINDOW_H
#define UBP_CODE_GO_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct window;

/* Where a window is to be. */
struct go_place {
	struct object *object;
	uint64_t start, end; /* of its function */
	uint64_t vaddr;      /* elf_vaddr of the window */
	bool is_run_up;      /* returns are caught there */
	bool is_behind;      /* a lead is in front of it */
};

/* Returns a reason, or NULL: there it may be. Sets its .asks_room. */
const char *go_why_no_window(const struct go_place *place, struct window *window);

/* May what is at @elf_vaddr, where a function jumps to, ask for the flags that it finds? A detour that looks for room (window.asks_room) costs them. */
bool go_may_ask_flags(struct object *object, uint64_t elf_vaddr);

#endif
