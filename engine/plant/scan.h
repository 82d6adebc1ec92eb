/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps where unwinders begin: their detours look through the stack themselves. */

#ifndef UBP_PLANT_SCAN_H
#define UBP_PLANT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct plant;
struct site;
struct space;
struct tracee;

/*
 * A site where an unwinder begins may become a jump to a detour that scans the stack itself, and
 * stops only if something of ours is on it (detour_plan.scans). Finds .scan of those that stand; @pid: a
 * thread of @space. False: of some a file could not be read, and may be later.
 */
bool scan_look(struct plant *plant, const struct space *space, pid_t pid);

/* Is @site a jump that scans the stack, or may it become one? */
bool scan_is_one(const struct site *site);

/* @t, at @sp, has found its way to the tracer though nothing was there: it may need to know its
 * stack. */
void scan_note_stack(struct tracee *t, uint64_t sp);
void scan_free(struct plant *plant);

#endif
