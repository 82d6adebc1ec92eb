/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where in a file's code somebody may land who does not come from the instruction
 * before: targets of branches, of pointers and of jump tables, symbols, starts of functions, handlers of
 * exceptions. Found without decoding, by looking at every byte, so there are more of them here
 * than in truth; but for branches with a displacement of one byte, which would be
 * too many: engine/object/window.c looks for those.
 */

#ifndef UBP_OBJECT_LANDINGS_H
#define UBP_OBJECT_LANDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct landings;
struct object;
struct ubp_err;

/*
 * Those of @object, found on first use: some milliseconds for each megabyte. Owned by the object.
 * Returns 0 or -errno: -ENOMEM, -EIO, -EFBIG, -ENOTSUP (no decoder).
 */
int landings_get(struct object *object, const struct landings **ret_landings,
		 struct ubp_err *err);
void landings_free(struct landings *landings);

/* The first landing in @from <= elf_vaddr < @to, or 0: none. */
uint64_t landings_first(const struct landings *landings, uint64_t from, uint64_t to);

/* Does any code make an address in @from <= elf_vaddr < @to? */
bool landings_is_taken(const struct landings *landings, uint64_t from, uint64_t to);

/*
 * Constants in code that would be addresses of code: where the linker knows addresses
 * (no PIE), any 4 bytes may be one. Too many to count as landings unless they prove to be operands.
 */
struct constant {
	uint64_t target; /* elf_vaddr */
	uint64_t at;     /* elf_vaddr of the 4 bytes */
};

/* Those with @from <= target < @to: the first one, and in *ret_n how many follow, itself included. */
const struct constant *landings_constants(const struct landings *landings, uint64_t from,
					  uint64_t to, size_t *ret_n);

/* For those who find landings. */
void landings_add(struct landings *landings, uint64_t elf_vaddr);
void landings_add_all(struct landings *landings); /* nobody can tell: every byte is one */

#endif
