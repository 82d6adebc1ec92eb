/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The remote-call stub's variant for many calls, and what it is given (engine/trace/remote_batch.c). */

#ifndef UBP_ARCH_BATCH_H
#define UBP_ARCH_BATCH_H

#include <stdint.h>

/* One of several calls, as it stands below the stub's frame, the first one lowest. */
struct ubp_stub_step {
	uint64_t nr, args[6];
	uint64_t to;     /* where its result is written to */
	uint64_t frame;  /* where the frame stands, with the call that is made last of all */
	uint64_t result; /* a place for that */
};

/*
 * The stub's variant that makes one call after the other, up to one that fails; then that of the frame, and from there
 * on all is as the stub has it. It begins with the stack pointer at the first step. No code: there is none.
 */
struct arch_batch {
	const uint8_t *code;
	uint8_t len;
	/* Offsets behind the instruction that makes the call of a step, that writes its result to its place,
	 * and that makes the frame's. */
	uint8_t made, written, end;
	/* The thread is sent a signal by its own call. */
	uint16_t nr_tgkill;
};

#endif
