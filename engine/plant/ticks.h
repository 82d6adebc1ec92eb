/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * May threads of a process read the processor's counter, as detours do? A program may have that made a fault (PR_SET_TSC), and
 * seccomp's strict mode does. A tracer makes such a fault good; where nobody traces the process it would end it.
 */

#ifndef UBP_PLANT_TICKS_H
#define UBP_PLANT_TICKS_H

struct held;
struct ubp_err;

/* 0: they may; -ENOTSUP: one may not; -ESRCH: the held thread has ended, and other errors of a call in it. */
int ticks_check(const struct held *held, struct ubp_err *err);

#endif
