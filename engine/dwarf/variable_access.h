/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A variable, or a part of one: where it is, and how a fetch arg gets it. */

#ifndef UBP_DWARF_VARIABLE_ACCESS_H
#define UBP_DWARF_VARIABLE_ACCESS_H

#include "engine/dwarf/lookup.h"
#include "engine/dwarf/type.h"

struct part {
	struct location location;
	uint64_t bit_at;   /* from the start of .location */
	unsigned bit_size; /* of a bit-field; else 0 */
	bool is_address;   /* not it, but where it is */
	struct type type;
};

/*
 * All: -ENODATA: this part is optimised out; -ENOTSUP: there is no fetch arg for it.
 */

/* What the pointer @part points to; .type stays to be set. */
int part_follow(struct part *part, const struct location_at *at, struct ubp_err *err);
/* Make of @part what lies @bytes further on. */
int part_move(struct part *part, const struct location_at *at, int64_t bytes,
	      struct ubp_err *err);

/* A number or pointer, as @facts of its type say. */
int part_scalar(const struct part *part, const struct type_facts *facts,
		struct dwarf_value *ret_value, struct ubp_err *err);
/* A number of @size bytes (0: nobody knows) with a type that was given: "x32"; -EINVAL: the type has more. */
int part_typed(const struct part *part, unsigned size, const char *type,
	       struct dwarf_value *ret_value, struct ubp_err *err);
/* What must stand in memory: "string", "u8[4]". */
int part_memory(const struct part *part, const char *type, struct dwarf_value *ret_value,
		struct ubp_err *err);
/* Its address. */
int part_address(const struct part *part, struct dwarf_value *ret_value, struct ubp_err *err);
/* Its address, less *ret_addend. */
int part_base(const struct part *part, struct dwarf_value *ret_value, int64_t *ret_addend,
	      struct ubp_err *err);

#endif
