/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the loader writes into a file's memory: by its relocations. */

#ifndef UBP_ELF_RELOCS_H
#define UBP_ELF_RELOCS_H

#include <stdbool.h>
#include <stdint.h>

struct image;
struct object;

/*
 * Calls @each for the elf_vaddr of each place of the file that a relocation makes an address of, and for some more.
 *
 * True: these are all; nothing else in memory is an address of code as the program starts, since
 * the linker did not know any (a PIE, a library). False: that is not known, whatever was told: the linker knew
 * addresses, there are no relocations, or some are of a form that is not read here.
 */
bool relocs_each_target(const struct object *object, const struct image *image,
			void (*each)(void *ctx, uint64_t elf_vaddr), void *ctx);

#endif
