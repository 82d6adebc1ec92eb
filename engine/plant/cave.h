/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The stub's first place in a process, before there is an area: in code that is there, for the length of a call. */

#ifndef UBP_PLANT_CAVE_H
#define UBP_PLANT_CAVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct maps;
struct plant;
struct space;
struct tracee;
struct ubp_err;
struct ubp_regs;

struct cave {
	uint64_t vaddr;
	uint8_t saved[256];
	size_t len;
};

/* What is looked for in files for cave_open(), while the process still runs. */
void cave_look_ahead(struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps);

/*
 * Go's stacks have no room for frames, and its functions keep data below their stack pointers: then
 * frames go to the far end of the first thread's stack, which Go never comes near. @at: the
 * registers of @t. Before the first remote call. Returns 0 or -ENOTSUP: there is no room.
 */
int cave_provide_frames(struct plant *plant, struct tracee *t, const struct maps *maps,
			const struct ubp_regs *at, struct ubp_err *err);

/* Write the stub somewhere executable; remember what was there. */
int cave_open(struct plant *plant, struct tracee *t, const struct maps *maps, struct cave *cave,
	      struct ubp_err *err);

/*
 * The call is made. The thread still has the end of the stub before it: move it
 * to the copy in the new area, or (the call failed) do what the end of the stub
 * would do; then give the cave back.
 */
void cave_close(const struct held *held, const struct cave *cave);

#endif
