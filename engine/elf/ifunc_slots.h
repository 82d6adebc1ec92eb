/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where processes keep which of its functions an IFUNC chose. */

#ifndef UBP_ELF_IFUNC_SLOTS_H
#define UBP_ELF_IFUNC_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct object;

/*
 * Where a process keeps the choice of an IFUNC: elf_vaddrs of GOT words of this
 * object. Two kinds: IRELATIVE slots whose resolver is at @resolver_elf_vaddr
 * (of this object; 0: none wanted), and slots of the symbol @name (JUMP_SLOT or
 * GLOB_DAT; NULL: none wanted). A JUMP_SLOT that was not yet bound holds the
 * address of its PLT entry, in this object. Fills up to @max and returns how many
 * there are.
 */
size_t object_ifunc_slots(struct object *object, const char *name, uint64_t resolver_elf_vaddr,
			  uint64_t *slots, size_t max);

#endif
