/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where bytes of the file are in memory, by its PT_LOAD segments; and reading them. */

#ifndef UBP_ELF_SEGMENTS_H
#define UBP_ELF_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct object;

/*
 * PT_LOAD arithmetic. Return 0 or -ENOENT: no segment (with file bytes) there.
 * Where two segments hold one file byte, the executable one counts.
 */
int object_foffset_to_vaddr(const struct object *object, uint64_t foffset,
			    uint64_t *ret_elf_vaddr);
int object_vaddr_to_foffset(const struct object *object, uint64_t elf_vaddr,
			    uint64_t *ret_foffset);
/*
 * The file offset of data that need not be in the file (.bss): where it would be if all of the
 * segment were there. That is how the kernel finds a REF_CTR in mappings.
 */
int object_data_foffset(const struct object *object, uint64_t elf_vaddr, uint64_t *ret_foffset);
/* Is @foffset, of object_data_foffset(), one of data that is in no file? */
bool object_is_bss(const struct object *object, uint64_t foffset);
/* Is this file byte in an executable segment? */
bool object_is_executable(const struct object *object, uint64_t foffset);
/* Bytes of the file. Returns the number read (short at the end), or -errno. */
ssize_t object_read(const struct object *object, uint64_t foffset, void *buf, size_t len);

/*
 * A code cave: the zero bytes between the end of an executable segment and the
 * end of its last 4 KiB page (the longest such, if it has several executable
 * segments). *ret_elf_vaddr is a multiple of 16. Only segments with p_filesz ==
 * p_memsz count. -ENOSPC: less than @need bytes.
 */
int object_find_bytes_slack(const struct object *object, uint64_t need, uint64_t *ret_elf_vaddr,
			    uint64_t *ret_len);

#endif
