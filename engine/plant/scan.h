/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps where unwinders begin: their detours look through the stack themselves. */

#ifndef UBP_PLANT_SCAN_H
#define UBP_PLANT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps;
struct process;
struct site;
struct tracee;

/*
 * Is @site a jump to a detour that scans the stack itself, and stops only if something of ours is on it
 * (detour_plan.scans), or may it become one?
 */
bool scan_is_one(const struct site *site);

/* @t, at @sp, has found its way to the tracer though nothing was there: it may need to know its
 * stack; @at_once, or when that has happened some times. */
void scan_note_stack(struct tracee *t, uint64_t sp, bool at_once);

/* The process is about to be let go of: the same of all its threads whose stacks @maps can tell, wherever they are. */
void scan_tell_stacks(const struct process *p, const struct maps *maps);

#endif
