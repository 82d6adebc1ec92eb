/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Sampling (engine/base/sample_plan.h) of hits that threads stop at: by the counters of their rings, or, without one, of their own. */

#ifndef UBP_PLANT_SAMPLES_H
#define UBP_PLANT_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

struct ring_space;
struct tracee;
struct uprobe;

/* Is this hit of a stopped thread, which the filter has let through, taken? @rings: of its space, or NULL. @data: the record's. */
bool samples_take(struct tracee *t, struct ring_space *rings, const struct uprobe *probe,
		  const uint8_t *data);
/* It has a ring by now, perhaps: what it has counted by itself goes there. @rings: of its space, or NULL. */
void samples_hand_over(struct tracee *t, struct ring_space *rings);
/* It has ended, or executes another program. */
void samples_forget(struct tracee *t);

#endif
