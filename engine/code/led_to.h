/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What leads to a place of a file's code, where only a look at the instructions tells: branches with a displacement of one
 * byte and constants, which are in no set of landings (landing_set.h), and landings that code must lead to.
 */

#ifndef UBP_CODE_LED_TO_H
#define UBP_CODE_LED_TO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/code/landing_set.h"

struct object;

/* Up to @len bytes of one segment. Returns the number read, or -errno. */
ssize_t code_read(struct object *object, uint64_t elf_vaddr, uint8_t *code, size_t len);

/*
 * Does the landing of @kind at @elf_vaddr count? No, if instructions would have to lead there and, as decoded,
 * none does.
 */
bool led_by_landing(struct object *object, const struct landings *landings,
		    enum landing_kind kind, uint64_t elf_vaddr);
/* Does a branch near by lead to @from..@to, exclusive, at most 100 bytes? */
bool led_by_branch(struct object *object, uint64_t from, uint64_t to);
/* Is an address in @from..@to, exclusive, made by any code? */
bool led_by_address(struct object *object, const struct landings *landings, uint64_t from,
		    uint64_t to);
/* Is one made by code that may count from there? */
bool led_by_base(struct object *object, const struct landings *landings, uint64_t from,
		 uint64_t to);
/* Is an address in @from..@to, exclusive, a constant of code in @at_from..@at_to? */
bool led_by_constant(struct object *object, const struct landings *landings, uint64_t from,
		     uint64_t to, uint64_t at_from, uint64_t at_to);

#endif
