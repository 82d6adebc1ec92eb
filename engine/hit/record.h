/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Making one event record. */

#ifndef UBP_HIT_RECORD_H
#define UBP_HIT_RECORD_H

#include "engine/hit/state.h"
#include "engine/space/uprobe.h"

/* One stop of a thread, as seen by all probes that fire at it. */
struct moment {
	struct tracee *t;
	const struct ubp_regs *regs; /* as the probes shall see them */
	uint64_t now_ns;             /* in the session's clock */
	int cpu;                     /* -1: not known yet */
	uint64_t duration_ns;        /* of the call that returns, where that is known */
	bool has_vectors;            /* one of the probes has asked for them */
	struct ubp_vectors vectors;
};

/*
 * @probe fires: @site_vaddr is its address, @ret_ip the caller's for a return
 * probe (0: entry). Counts, filters, queues or counts as lost.
 */
void record_hit(struct hit *hit, struct moment *m, struct uprobe *probe, uint64_t site_vaddr,
		uint64_t ret_ip);

/*
 * The moment of a stop: read once for all probes of the place. It must be ended when all of them
 * are recorded.
 */
void moment_begin(struct hit *hit, struct moment *m, struct tracee *t,
		  const struct ubp_regs *regs);
void moment_end(struct hit *hit, const struct moment *m);

/* When @m was, in CLOCK_KIND_MONO: durations are measured in a clock that nobody sets. */
uint64_t moment_mono_ns(const struct hit *hit, const struct moment *m);

#endif
