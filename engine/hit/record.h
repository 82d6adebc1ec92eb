/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Making one event record. */

#ifndef UBP_HIT_RECORD_H
#define UBP_HIT_RECORD_H

#include "engine/event/record.h"
#include "engine/hit/moment.h"
#include "engine/hit/state.h"
#include "engine/space/uprobe.h"

/* More than a record takes. */
#define RECORD_MAX                                                                             \
	(sizeof(struct event_record) + EVENT_DATA_MAX + 8 + EVENT_STACK_MAX * sizeof(uint64_t))

/*
 * @probe fires: @site_vaddr is its address, @ret_ip the caller's for a return
 * probe (0: entry). Counts, filters, queues or counts as lost.
 */
void record_hit(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t site_vaddr,
		uint64_t ret_ip);

/* The function that @probe, which has .at_hit.entry, stands at is entered: what its return wants to know of that. */
void record_entry(struct hit *hit, struct moment *m, const struct uprobe *probe,
		  uint64_t site_vaddr, struct entry_values *ret_values);

/*
 * The moment of a stop: read once for all probes of the place. It must be ended when all of them
 * are recorded.
 */
void moment_begin(struct hit *hit, struct moment *m, struct tracee *t,
		  const struct ubp_regs *regs);
void moment_end(struct hit *hit, const struct moment *m);

/* Of the thread, asked for once. */
const struct ubp_vectors *moment_vectors(struct moment *m);

/* When @m was, in CLOCK_KIND_MONO: durations are measured in a clock that nobody sets. */
uint64_t moment_mono_ns(const struct hit *hit, const struct moment *m);

#endif
