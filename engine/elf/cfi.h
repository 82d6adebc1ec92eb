/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Call frame information of a file (.eh_frame, else .debug_frame), by libdw: how to get from the
 * registers at an instruction to the caller's. Registers have DWARF's numbers.
 */

#ifndef UBP_ELF_CFI_H
#define UBP_ELF_CFI_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

struct object;

enum cfi_how {
	CFI_SAME,       /* what it is */
	CFI_SAVED,      /* in memory, at the CFA + .offset */
	CFI_VALUE,      /* the CFA + .offset; of the CFA itself: register .other + .offset */
	CFI_REGISTER,   /* what register .other is */
	CFI_SAVED_EXPR, /* in memory, at the address that .ops make */
	CFI_EXPR,       /* what .ops make */
};

struct cfi_rule {
	uint8_t reg;
	uint8_t how; /* enum cfi_how */
	uint8_t other;
	int64_t offset;
	const Dwarf_Op *ops; /* owned by the struct cfi */
	size_t n_ops;
};

/* How the caller's registers are found. Those without a rule are not known. */
struct cfi_row {
	bool is_signal;  /* the caller was interrupted by a signal: it did not call */
	uint8_t ret_reg; /* the column of the return address: no rule for it: nobody called */
	uint8_t n_rules;
	struct cfi_rule cfa;
	struct cfi_rule rules[];
};

/* Opaque. */
struct cfi;

/*
 * @object stays the caller's, and open. Nothing is read yet. Registers from @n_regs on are left out. NULL:
 * out of memory.
 */
struct cfi *cfi_new(struct object *object, unsigned n_regs);
void cfi_free(struct cfi *cfi);

/*
 * Why some of it is left alone: it is too long to be read while a thread is stopped and others wait. NULL:
 * nothing is, or that was told already. Until the cfi is freed.
 */
const char *cfi_left_out(struct cfi *cfi);

/*
 * For who reads definitions: that of .debug_frame of @dwarf, the DWARF of @elf, or, NULL, of .eh_frame. NULL: there is
 * none, or it is corrupt, or, *ret_left_out, longer than 64 MiB.
 */
Dwarf_CFI *cfi_open(Elf *elf, Dwarf *dwarf, bool *ret_left_out);

/*
 * What holds at @elf_vaddr, allocated: free with free(), before the @cfi. NULL: nothing is known,
 * or it is corrupt.
 */
struct cfi_row *cfi_row_at(struct cfi *cfi, uint64_t elf_vaddr);

#endif
