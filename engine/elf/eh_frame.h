/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where functions start, by their unwinding tables: what a stripped program still
 * knows. Reads the sorted table of .eh_frame_hdr, found by PT_GNU_EH_FRAME, or else
 * the section .eh_frame.
 */

#ifndef UBP_ELF_EH_FRAME_H
#define UBP_ELF_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct object;

/* Does any CIE name a personality: code that exceptions stop by on their way? */
bool eh_frame_has_personality(const struct object *object);

/*
 * The FDE that covers @elf_vaddr: *ret_start and *ret_end are elf_vaddrs. Returns
 * 0, or -ENOENT (none, or no table that can be read).
 */
int fde_at(struct object *object, uint64_t elf_vaddr, uint64_t *ret_start, uint64_t *ret_end);

/* All FDEs: the first elf_vaddr that each covers, and where it stands itself. */
void fde_each(struct object *object,
	      void (*each)(void *ctx, uint64_t start, uint64_t fde_vaddr), void *ctx);

/* How a CIE says that its FDEs write pointers: DW_EH_PE_*; omit: none, or can't tell. */
struct cie_forms {
	uint8_t pointer, lsda;
};

struct cie_forms cie_read(const struct object *object, uint64_t cie_vaddr);

#endif
