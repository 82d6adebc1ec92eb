/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a call into this folder may take. Loops over DIEs and rows may be inside each other, and a file
 * may have millions of both: all of them ask dw_is_late(), and end early when it says so. Then
 * nothing that was found is good, the call fails, and the file is left alone from then on.
 */

#ifndef UBP_DWARF_LIMITS_H
#define UBP_DWARF_LIMITS_H

#include "engine/dwarf/dwarf_priv.h"

/*
 * Has the call that this thread is in taken too long, or is the thread to give up? Whoever goes on then, finds
 * nothing that counts.
 */
bool dw_is_late(void);

/* May libdw read the line table of this unit? False: it is too long, or the call is late. */
bool dw_can_read_lines(Dwarf_Die *unit);
/* dwarf_getsrclines() and dwarf_getsrcfiles() where it may; else -1. */
int dw_get_lines(Dwarf_Die *unit, Dwarf_Lines **ret_lines, size_t *ret_n);
int dw_get_files(Dwarf_Die *unit, Dwarf_Files **ret_files, size_t *ret_n);

/*
 * What all walks over the units of one file may take. Sound files take a tenth of it; DIEs inside each other, a hundred
 * deep, of a few packed megabytes would take hours.
 */
uint64_t dw_cpu_limit_ns(const struct dwarf *d);

/* A call of dwarf.h begins, in this thread, and ends. Calls inside of it do not count. */
void dw_enter(struct dwarf *d);
void dw_leave(struct dwarf *d);
/* The end of a call that returns @rc, or -errno: there was not enough time for it. */
int dw_leave_with(struct dwarf *d, int rc, struct ubp_err *err);

#endif
