/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A probe as the planter and the hit path see it: a byte in a file, and what to
 * record there. Made by the session; lives as long as it.
 */

#ifndef UBP_PLANT_UPROBE_H
#define UBP_PLANT_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/fetch_op.h"
#include "engine/plant/return_way.h"

struct filter;

/* Why a return can't come, or can't be seen. */
enum missed_why {
	MISSED_SKIPPED,   /* its frame was left some other way, or thrown away */
	MISSED_THREAD,    /* the thread ended */
	MISSED_EXITED,    /* the process ended, or has another image */
	MISSED_NO_ROOM,   /* its return address could not be replaced */
	MISSED_TAIL_JUMP, /* left by a jump to another function (at ret instructions only) */
	MISSED_KERNEL,    /* its return address is the kernel's, and must stay so (kernel.h) */
	MISSED_N,
};

/* Counters: written by the tracing thread alone, read by anybody, relaxed. */
struct uprobe_stats {
	uint64_t hits, passed, lost, too_big;
	uint64_t missed[MISSED_N];
	uint64_t unanswered;    /* hits with memory that was not read: it might not answer */
	const char *why_silent; /* why, of the last such hit; or NULL */
	uint64_t ring_hits, ring_passed; /* by detours; the delivering thread writes them */
	const char *no_jump;             /* why one of the sites is none, or NULL */
	uint32_t sites, jumped, boosted, stepped, in_place;
	/* Of the sites: behind the first instruction; jumps that begin at it; breakpoints where such
	 * a jump is not wanted; those that a uprobe of the kernel's has taken over (kernel.h). */
	uint32_t behind, at_first, beside_kernel, hidden;
	uint32_t hijacked, at_rets; /* of the sites, which way a return is caught */
};

/* Bytes of a file where a breakpoint is to stand. */
struct file_code {
	uint8_t bytes[UBP_INSN_MAX];
	uint8_t len;
};

/* Where the probed function is left. */
struct uprobe_exit {
	uint64_t foffset;
	bool is_jump; /* to another function: a return that is not seen */
	struct file_code code;
};

/* Can a jump stand there, as far as the file tells? */
struct uprobe_window {
	uint8_t len;     /* bytes of the instructions; 0: no */
	uint8_t padding; /* bytes of fill behind them that the jump may take, too */
	const char *why; /* not; or NULL */
	/* What the first instruction does, if a hit can be told behind it; .len 0: it can't. */
	struct lead lead;
	bool is_behind;      /* so the window begins there, and the probe's sites stand there */
	bool lead_due;       /* nobody has looked for it: plant.find_lead */
	bool is_unwanted;    /* it could be a jump at the first instruction (--beside-kernel) */
	const char *no_lead; /* why it begins behind nothing; or NULL */
	struct file_code code; /* as of the probe, behind the lead: what is there ... */
	struct displaced_insn insn;
};

struct uprobe {
	unsigned number; /* in the session */
	bool is_return;
	uint64_t dev, ino;           /* the file */
	const struct ubp_arch *arch; /* what it is for */
	uint64_t foffset;
	uint64_t ref;               /* REF_CTR: offset of a 16-bit semaphore, 0: none */
	bool ref_in_bss;            /* that is behind the segment's bytes in the file */
	struct file_code code;      /* at foffset */
	struct displaced_insn insn; /* the same decoded; .vaddr is as linked */
	/* Of a return probe: what its file says about the way; the function's exits,
	 * or why they are not known. */
	struct return_facts facts;
	bool exits_due; /* nobody has looked for them yet: plant.find_exits */
	bool jumps_out; /* the function may be left by a jump to another one */
	struct uprobe_exit *exits;
	size_t n_exits;
	const char *no_exits;
	const char *what; /* "bash:readline" or so, for messages */
	bool is_taken;    /* a uprobe of the kernel's was seen there, at the end */
	struct uprobe_window window;
	struct fetch_program *program;
	struct filter *filter; /* NULL: none */
	bool asks_name;        /* ... of the thread, one of the two does: detour_stops() */
	struct uprobe_stats stats;
};

/* So far behind it its sites are, but where somebody else has come first (site_behind()). */
static inline unsigned uprobe_behind(const struct uprobe *probe)
{
	return probe->window.is_behind ? probe->window.lead.len : 0;
}

static inline void uprobe_count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline void uprobe_uncount(uint64_t *counter)
{
	__atomic_store_n(counter, *counter - 1, __ATOMIC_RELAXED);
}

#endif
