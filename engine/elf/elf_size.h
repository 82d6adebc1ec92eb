/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a file would make libelf and libdw allocate. They read sections whole, by the sizes that stand in
 * the file: a sparse file of 4 TB costs whoever made it nothing, and a few packed megabytes become gigabytes.
 */

#ifndef UBP_ELF_ELF_SIZE_H
#define UBP_ELF_ELF_SIZE_H

#include <gelf.h>
#include <stdint.h>

struct ubp_err;

/* What libelf reads to find others: names of sections; and notes and links, all together. */
#define ELF_SMALL_MAX (UINT64_C(64) << 20)

/* More than that of one section is not read into memory. */
#define SECTION_LEN_MAX (UINT64_C(1) << 30)

/* Unpacked is so many times as long as packed at most, and some; what compilers write is under 20. */
#define UNPACKED_FACTOR 64
#define UNPACKED_MIN    (UINT64_C(1) << 20)

/*
 * Returns 0, or -ENOEXEC with a text: those are longer, or all tables together take more than 2 GiB, or a quarter of this machine's
 * memory. Ask before anything else is asked about @elf, a file of @size bytes.
 */
int elf_check_small(Elf *elf, uint64_t size, const char *path, struct ubp_err *err);

/*
 * Before libdw has @elf: all its debug information, packed and unpacked, takes no more than 4 GiB, and no
 * more than a quarter of this machine's memory. Returns 0, or -EFBIG with a text.
 */
int elf_check_debug(Elf *elf, const char *path, struct ubp_err *err);
/* elf_check_debug() with a limit of @max bytes. */
int elf_check_debug_max(Elf *elf, uint64_t max, const char *path, struct ubp_err *err);

#endif
