/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What an earlier ubp has left in a process. */

#ifndef UBP_PLANT_LEFTOVER_H
#define UBP_PLANT_LEFTOVER_H

struct held;
struct maps;
struct ubp_err;

/*
 * What an earlier ubp left in the process: its areas are taken over; if it was
 * killed, its breakpoints go, and reference counters are put right. *n_removed grows by the
 * breakpoints taken out, also if it fails: it may be tried again by another thread. The held thread goes on until it is
 * out of the guard, and is held elsewhere then.
 */
int leftover_adopt(const struct held *held, const struct maps *maps, unsigned *n_removed,
		   struct ubp_err *err);

#endif
