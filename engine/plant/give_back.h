/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Giving mappings back to a target that was left. */

#ifndef UBP_PLANT_GIVE_BACK_H
#define UBP_PLANT_GIVE_BACK_H

struct held;
struct process;
struct tracer;

/* Nothing leads to our mappings any more: those are unmapped that no thread is in. @own: the only
 * thread of @p, held, or NULL; it may be gone afterwards, and @p, too. */
void give_back(struct tracer *tracer, struct process *p, const struct held *own);

#endif
