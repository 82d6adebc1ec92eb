/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From one frame of a stack to its caller's. */

#ifndef UBP_STACK_CALLER_H
#define UBP_STACK_CALLER_H

#include <stdbool.h>

#include "engine/stack/frame.h"

/* Does @new lie above @old, as the frame of its caller must? */
bool stack_frame_is_upwards(const struct stack_frame *old, const struct stack_frame *new);

/*
 * To the caller's frame. False: there is none, or it can't be found. The frame stays what it
 * was then.
 */
bool stack_frame_by_row(struct stack_frame *frame, const struct cfi_row *row);
bool stack_frame_by_signal(struct stack_frame *frame);
/* At the first instruction of a function, of which nothing is known. */
bool stack_frame_by_entry(struct stack_frame *frame);
bool stack_frame_by_frame_pointer(struct stack_frame *frame);

/* Where what was interrupted is in code of ours: as it would be in the program. */
void stack_frame_leave_ours(struct stack_frame *frame);

#endif
