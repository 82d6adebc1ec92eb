/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Is call frame information fit to be carried out? */

#ifndef UBP_ELF_CFI_CHECK_H
#define UBP_ELF_CFI_CHECK_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * libdw makes room for any register that an entry names, and again for each state that is to be
 * remembered: gigabytes for a few bytes. So all entries of a section are looked through once.
 * @ident: the start of the ELF header. False: corrupt, or of a kind that nobody makes.
 */
bool cfi_is_sound(const uint8_t *ident, Elf_Data *data, bool is_eh_frame);

#endif
