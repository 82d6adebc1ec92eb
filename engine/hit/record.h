/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Making one event record. */

#ifndef UBP_HIT_RECORD_H
#define UBP_HIT_RECORD_H

#include "engine/hit/hit.h"

/* One stop of a thread, as seen by all probes that fire at it. */
struct moment {
	struct tracee *t;
	const struct ubp_regs *regs; /* as the probes shall see them */
	uint64_t now_ns;             /* in the session's clock */
	int cpu;                     /* -1: not known yet */
};

/*
 * @probe fires: @site_vaddr is its address, @ret_ip the caller's for a return
 * probe (0: entry). Counts, filters, queues or counts as lost.
 */
void record_hit(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t site_vaddr,
		uint64_t ret_ip);

/* The moment of a stop: read once for all probes of the place. */
void moment_begin(struct hit *hit, struct moment *m, struct tracee *t,
		  const struct ubp_regs *regs);

#endif
