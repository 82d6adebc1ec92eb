/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where instructions start. */

#ifndef UBP_CODE_BOUNDARY_H
#define UBP_CODE_BOUNDARY_H

#include <stdint.h>

struct object;

enum object_boundary {
	BOUNDARY_OK,      /* an instruction starts here */
	BOUNDARY_INSIDE,  /* falls into an instruction; *ret_start is where that starts */
	BOUNDARY_UNKNOWN, /* nothing to decode from, or no decoder for this ISA */
};

/*
 * Does an instruction start at @foffset? Decodes from the start of the function (a
 * symbol or FDE, whichever is nearer); where the file itself says that it is called or entered, one does. Returns an enum object_boundary, -EILSEQ
 * when undecodable bytes lie between, -EINTR (cancel_is_asked()), or another -errno when reading fails.
 * *ret_start is written for BOUNDARY_INSIDE only.
 */
int object_check_boundary(struct object *object, uint64_t foffset, uint64_t *ret_start);

#endif
