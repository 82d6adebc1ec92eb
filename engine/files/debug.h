/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a file itself does not hold: symbols and DWARF in separate files, found by build-id,
 * .gnu_debuglink, .gnu_debugaltlink, or debuginfod where it is installed and asked for
 * (DEBUGINFOD_URLS): in the given folders, in the root of the process that the file was found
 * in, and in ours. A file whose build-id (or checksum) is another's is passed over.
 */

#ifndef UBP_FILES_DEBUG_H
#define UBP_FILES_DEBUG_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/files/debug_options.h"

struct object;
struct ubp_err;

/*
 * Is .symbols, if there is one, a file of this object? It has the same build-id or, where
 * neither has one, the same .text. -ESTALE: no, the text says why.
 */
int object_check_symbols(struct object *object, struct ubp_err *err);

/*
 * The DWARF that belongs to @object; *ret_bias is what must be added to its addresses to
 * get elf_vaddrs. Owned by the object. -ENODATA: there is none, the text says what was
 * looked for and what to install; -ENOEXEC: corrupt.
 */
int object_dwarf(struct object *object, Dwarf **ret_dwarf, int64_t *ret_bias,
		 struct ubp_err *err);

/*
 * The source that the code at @elf_vaddr was compiled from, without folder, by DWARF; the
 * object's. NULL: not known.
 */
const char *object_source_at(struct object *object, uint64_t elf_vaddr);

/* -EFBIG: what it said may be for want of time, which is limited for each file. Else 0. */
int object_check_sources(struct object *object, struct ubp_err *err);

/*
 * The call frame information of .eh_frame, at elf_vaddrs, and that of .debug_frame, at the addresses of the
 * DWARF. The object's; NULL: there is none, or it is corrupt, or has more than 64 MiB. *ret_left_out is set for
 * the last.
 */
Dwarf_CFI *object_eh_cfi(struct object *object, bool *ret_left_out);
Dwarf_CFI *object_debug_cfi(struct object *object, Dwarf *dwarf, bool *ret_left_out);

#endif
