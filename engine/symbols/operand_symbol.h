/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the operands of static probes (arch/operand.h) need to know of their file. */

#ifndef UBP_SYMBOLS_OPERAND_SYMBOL_H
#define UBP_SYMBOLS_OPERAND_SYMBOL_H

#include <stdint.h>

struct object;
struct operand;
struct ubp_err;

/*
 * What the symbol of @operand, of the probe at elf_vaddr @probe, stands for, as its
 * .symbol_kind says: elf_vaddr, offset from the thread's pointer, or from the GOT; without
 * .disp. Returns 0; -ENOENT: no such symbol is defined here; -EEXIST: several have that name,
 * and it is not known that one of them alone is of the probe's source; -ENOTSUP: the file does
 * not have what it counts from.
 */
int object_operand_symbol(struct object *object, const struct operand *operand, uint64_t probe,
			  uint64_t *ret_value, struct ubp_err *err);

/* elf_vaddr of the GOT, where code counts offsets from. Negative: it is not known. */
int object_got_vaddr(struct object *object, uint64_t *ret_elf_vaddr);

#endif
