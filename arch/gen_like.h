/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours that are alike. Of ten thousand functions with one definition they differ in where they stand, which place they are of and in the
 * probe's number: the code of one serves for the next, with these put in anew (struct emit_mark).
 */

#ifndef UBP_ARCH_GEN_LIKE_H
#define UBP_ARCH_GEN_LIKE_H

#include <stdbool.h>

#include "arch/gen.h"

/*
 * One like those that were made with @plan->like, byte for byte what gen_detour() would make. False: there is none, or something is not as it was there;
 * nothing is made then.
 */
bool gen_like(const struct gen_isa *isa, const struct detour_plan *plan,
	      struct detour *ret_detour);
/* Of the window's copy all but its code, which is a part of the detour's. */
void gen_note_copy(struct detour *detour, const struct window_copy *copy);
/* @g has made @detour: the next one may be like it. */
void gen_like_keep(const struct gen *g, const struct detour *detour);

#endif
