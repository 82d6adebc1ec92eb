/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread has stopped, as its probes see it. */

#ifndef UBP_HIT_MOMENT_H
#define UBP_HIT_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

struct entry_values;
struct site;
struct tracee;

/* What handlers of probes make of a thread that has stopped (handle.h). */
struct hit_change {
	struct ubp_regs *regs; /* as the probes see them; to be written, if .is_set */
	bool is_set;
	const struct site *site; /* that it has hit; NULL: at a return */
	bool skips; /* the function at .site does not run: the thread goes on at .to, with this stack pointer */
	uint64_t to, sp;
	/* Of the same stop: what the handlers at the instruction make of it, before those of returns run on registers as the caller will find them; NULL: there are no others. */
	struct hit_change *earlier;
};

/* One stop of a thread, as seen by all probes that fire at it. */
struct moment {
	struct tracee *t;
	const struct ubp_regs *regs; /* as the probes shall see them */
	uint64_t now_ns;             /* in the session's clock */
	int cpu;                     /* -1: not known yet */
	uint64_t duration_ns;        /* of the call that returns, where that is known */
	const struct entry_values
		*entry; /* what the probe has kept of the call that returns; NULL: nothing */
	struct hit_change *change; /* NULL: handlers may change nothing */
	bool has_vectors;          /* one of the probes has asked for them */
	struct ubp_vectors vectors;
};

#endif
