/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What planting keeps with each thread and process that is traced: tracee.probes, process.probes. */

#ifndef UBP_SPACE_THREAD_H
#define UBP_SPACE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "engine/base/map.h"

struct return_instance;

#define UNWINDERS_MAX 4
#define STACKS_MAX    4

/* Hijacked return addresses, newest first. */
struct return_list {
	struct return_instance *newest;
	size_t n;
};

/* One that was entered and not yet left. */
struct unwinder {
	uint64_t sp;         /* at its entry */
	uint64_t head;       /* innermost stack word put back for it; 0: none */
	uint64_t top;        /* outermost on its stack */
	unsigned interrupts; /* the thread's, at that time */
	bool lands;          /* its end will be seen */
	bool has_far;        /* words on other stacks were put back, too */
};

struct thread_probes {
	bool lends;                  /* while it waits for its vfork() child */
	struct return_list returns;  /* that stand in its stacks */
	struct return_list disarmed; /* put back for unwinders; innermost first */
	/* The unwinders it is in: a destructor or a signal handler may throw, too. */
	struct unwinder unwinders[UNWINDERS_MAX];
	unsigned n_unwinders;
	unsigned interrupts;    /* signals that came meanwhile */
	unsigned scans_in_vain; /* plant/scan.c */
	/* Where on its stacks it was when signals came, the last time on each; 0: none. */
	uint64_t interrupted_sp[STACKS_MAX];
	unsigned last_interrupted;
	struct map samples; /* plant/samples.c: by a probe's number; while it has no ring */
	uint64_t good_mask; /* the signal mask at a hit behind which the guard was in place */
	bool has_good_mask; /* .good_mask is known */
	uint64_t
		blocked_faults; /* of SIGSEGV and SIGBUS, what it had blocked when that was looked at last ... */
	bool has_blocked_faults; /* ... if ever (plant/ring_ranges.c) */
	uint64_t open_mask;      /* .trap_opened: the other signals that it had blocked */
	bool is_outside; /* of all detours, at some time since that was asked (plant/outside.h) */
	bool trap_opened;        /* it had SIGTRAP blocked, and we have unblocked it */
	uint64_t thread_pointer; /* when it was looked at last; 0: never */
	/* Registers it had at its last trap, if it was let go on from there; pc 0: it was not. */
	struct ubp_regs let_go;
};

/* A thread whose mask was opened (thread_probes.trap_opened), while nobody traces it. */
struct opened_mask {
	pid_t tid;
	uint64_t mask;
};

struct process_probes {
	struct opened_mask *opened; /* stand_alone.c; NULL: none */
	size_t n_opened;
	/* Whether it may be let go of is looked at next then, that long after the last time; when it asked to be traced last.
	 * session/letting_go.c. */
	uint64_t look_ns, wait_ns, rang_ns;
	bool rang_in_vain; /* and that was told */
	uint64_t
		missed; /* hits that nobody could record, when it was let go of last (ring_head.missed) ... */
	unsigned n_missed;  /* ... and how often there were more when it was traced again */
	bool is_wanted;     /* it was named, and is one of those that the session lasts for */
	uint64_t n_refused; /* so often it asked to be traced, and could not be */
	bool is_wiped;      /* children find the gate's page wiped (gate_page.c) */
	/* Since when it would be let go of but for returns that only the tracer sees, of which there had been so many; 0: it would not. */
	uint64_t awaits_ns, awaits_n_ever;
	bool reads; /* it is to be let go of, and follows pointers by itself (plant/self_read.h) */
	bool is_guarded;   /* our SIGTRAP handler is installed */
	bool loses_guard;  /* it has lost our handler before: it is looked for at each hit */
	bool ends_by_trap; /* a SIGTRAP came whose default action it dies of */
	uint64_t guard_seen_ns; /* when our handler was last seen to be there */
};

#endif
