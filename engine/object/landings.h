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

/* A place in code that may name another place in code. Only a look at the instruction tells. */
struct mention {
	uint64_t target; /* elf_vaddr */
	uint64_t at;     /* elf_vaddr */
};

/*
 * Constants that would be addresses of code: where the linker knows addresses (no PIE), any 4 bytes,
 * at .at, may be one. Too many to count as landings unless they prove to be operands.
 * Returns the first with @from <= target < @to, and in *ret_n how many follow, itself included.
 */
const struct mention *landings_constants(const struct landings *landings, uint64_t from,
					 uint64_t to, size_t *ret_n);

/* Code that may make such an address, relative to the pc: .at is where its opcode would be. */
const struct mention *landings_addresses(const struct landings *landings, uint64_t from,
					 uint64_t to, size_t *ret_n);

/* For those who find landings. */
void landings_add(struct landings *landings, uint64_t elf_vaddr);
void landings_add_all(struct landings *landings); /* nobody can tell: every byte is one */

#endif
