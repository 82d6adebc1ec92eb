/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a frame's return address is, by where calls leave it: a table for each (ubp_arch.return_in), as engine/returns/ops.h. */

#ifndef UBP_STACK_FRAME_RETURN_H
#define UBP_STACK_FRAME_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/stack/frame.h"

struct frame_return {
	/* May a caller's stack pointer be @sp, if its callee's is @was? @is_call: the callee has made a call itself. */
	bool (*is_upwards)(uint64_t was, uint64_t sp, bool is_call);
	/* At the first instruction of a function: its return address, and its caller's stack pointer. */
	bool (*find_at_entry)(const struct stack_frame *frame, uint64_t *ret_address,
			      uint64_t *ret_sp);
	/* Is @frame in the trampoline at @trampoline? */
	bool (*is_in_trampoline)(const struct stack_frame *frame, uint64_t trampoline);
	/* Where the trampoline's jump goes: the word that it takes the address from. False: it can't be read. */
	bool (*find_in_trampoline)(const struct stack_frame *frame, uint64_t *ret_address);
	/* What @value, in register @reg of @frame, stands for. */
	uint64_t (*real)(const struct stack_frame *frame, unsigned reg, uint64_t value);
};

const struct frame_return *frame_return_of(const struct stack_frame *frame);

#endif
