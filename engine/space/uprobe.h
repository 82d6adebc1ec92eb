/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A probe as the planter and the hit path see it: a byte in a file, and what to
 * record there. It is an object of its own, whoever made it: everybody who keeps it has a reference
 * (the session, each version of the list of probes, each site and each detour that names it), and it is
 * freed with the last one. But for .stats it does not change once it is in a list (probe_list.h); what is found out
 * later (.exits_due, .window.lead_due, .is_taken) is the tracing thread's.
 */

#ifndef UBP_SPACE_UPROBE_H
#define UBP_SPACE_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/fetch_op.h"
#include "engine/base/probe_kind.h"
#include "engine/space/return_way.h"
#include "engine/space/stop_why.h"

struct defined_probe;
struct filter;
struct leaf;

/* Why a return can't come, or can't be seen. */
enum missed_why {
	MISSED_SKIPPED,   /* its frame was left some other way, or thrown away */
	MISSED_THREAD,    /* the thread ended */
	MISSED_EXITED,    /* the process ended, or has another image */
	MISSED_NO_ROOM,   /* its return address could not be replaced */
	MISSED_TAIL_JUMP, /* left by a jump to another function (at ret instructions only) */
	MISSED_KERNEL, /* its return address is the kernel's, and must stay so (returns/kernel.h) */
	MISSED_N,
};

/* Why it was taken out while tracing went on. */
enum taken_out {
	TAKEN_OUT_NOT,
	TAKEN_OUT_RATE,     /* too many hits */
	TAKEN_OUT_OVERHEAD, /* it cost too much */
	TAKEN_OUT_ONCE,     /* it was hit, and was to be hit once */
};

/* What handlers did; ns of their time. */
struct uprobe_handled {
	uint64_t n, dropped, changed, skipped, refused, total_ns, longest_ns;
};

/* Counters: written by the tracing thread alone, read by anybody, relaxed. */
struct uprobe_stats {
	uint64_t hits, passed, lost, too_big;
	uint64_t missed[MISSED_N];
	uint64_t stops[STOP_N]; /* of threads, for this probe first */
	uint64_t unanswered;    /* hits with memory that was not read: it might not answer */
	const char *why_silent; /* why, of the last such hit; or NULL */
	uint64_t left_out;      /* passed the filter at a stop, but not sampling */
	struct uprobe_handled handled;
	uint64_t ring_left_out; /* the same of records of detours; the delivering thread's */
	/* By detours; the delivering thread writes them. ring_missed: MISSED_TAIL_JUMP. */
	uint64_t ring_hits, ring_passed, ring_missed;
	const char *no_jump; /* why one of the sites is none, or NULL */
	uint32_t sites, jumped, boosted, stepped, in_place;
	/* Of the sites: behind the first instruction; jumps that begin at it; breakpoints where such
	 * a jump is not wanted; those that a uprobe of the kernel's has taken over (returns/kernel.h). */
	uint32_t behind, at_first, beside_kernel, hidden;
	uint32_t
		by_short; /* of the jumps: short ones, each to another in a hop (arch/detour.h) */
	uint32_t by_punned; /* punned ones */
	uint32_t
		by_copy; /* functions whose returns are caught where detours at their entries carry out copies of them */
	enum taken_out taken_out;
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
	bool can_jump; /* .is_jump: a jump to a detour can stand in its place, which tells that it is left */
	/* Of a ret, bytes behind it that a jump takes, too, which stands on it: fill, and what is read as a part of a punned one; 0: none can. */
	uint8_t padding;
	/* Where none can: bytes of the run-up to it (arch/detour.h), and what they are; 0: it has none, or no jump can stand there. */
	uint8_t run_up;
	uint8_t several; /* bytes of one that begins with several instructions, until .jump_due is not */
	bool jump_due; /* nobody has looked where a jump can stand: plant_options.find_exit_jumps */
	bool may_fault; /* the run-up has instructions that may */
	uint8_t run_up_code[UBP_RUN_UP_MAX];
	struct pun pun; /* .n_fixed: the jump, on either, is a punned one */
	/* A short one may stand on the ret, or in place of the jump, and lead to one of these, if that is to be had; 0: none may. */
	uint8_t n_hops;
	uint8_t short_padding; /* bytes behind the ret that it takes */
	struct hop hops[UBP_HOPS];
	bool asks_room; /* struct window */
};

/* Can a jump stand there, as far as the file tells? */
struct uprobe_window {
	uint8_t len;     /* bytes of the instructions; 0: no */
	uint8_t padding; /* bytes of fill behind them that the jump may take, too */
	/* Where a short jump may lead to; 0: it is a jump to the detour itself. */
	uint8_t n_hops;
	struct hop hops[UBP_HOPS];
	struct pun pun;  /* .n_fixed: it is a punned jump. Its bytes count as padding */
	const char *why; /* why there can be none; or NULL */
	/* What the first instruction does, if a hit can be told behind it; .len 0: it can't. */
	struct lead lead;
	bool asks_room; /* struct window */
	bool has_ret;   /* one of its instructions, but not the first, is a ret */
	bool is_behind; /* the window begins behind .lead, and the probe's sites stand there */
	bool lead_due;  /* nobody has looked for it: plant_options.find_lead */
	bool is_unwanted;    /* it could be a jump at the first instruction (--beside-kernel) */
	const char *no_lead; /* why it begins behind nothing; or NULL */
	/* Of the place behind the lead: its bytes in the file, and its instruction. */
	struct file_code code;
	struct displaced_insn insn;
};

/* When it came and went, by versions of the list; the tracing thread's, once it is in one, but for .is_off. */
struct uprobe_life {
	unsigned since;  /* the number of the first whose place it has, or its own */
	bool is_retired; /* it is in no list any more */
	struct uprobe *
		successor; /* .is_retired: the probe that has its place, a reference; or NULL */
	bool is_off; /* switched off: nothing is recorded; the caller's thread writes it, relaxed */
};

/* What the session has a handler for (engine/ubp_handler.h). */
struct uprobe_handler {
	bool is_there;
	bool may_change; /* registers and memory */
	bool is_entry; /* the probe stands at the first instruction of a function that its file names */
	bool is_go; /* of a program of Go's, whose functions do not have C's calling convention */
};

/* Beside its program and its filter. */
struct uprobe_at_hit {
	struct uprobe_handler handler;
	struct tally_plan *tally;   /* it is counted so; NULL: it is recorded */
	struct sample_plan *sample; /* which hits are; NULL: all */
	/* Of a return probe at rets, of which one may have no jump: what a detour at the entry carries out in a copy (arch/leaf.h); NULL: nothing. */
	struct leaf *leaf;
	struct fetch_program
		*entry; /* what its returns keep of it (fetch_run_entry()); NULL: nothing */
	bool no_stack;  /* of its hits none is recorded, where others have one */
	bool asks_name; /* program or filter ask for the thread's name: detour_stops() */
};

struct uprobe {
	unsigned refs;   /* atomic */
	unsigned number; /* in the session; no other probe of it ever has this */
	enum probe_kind kind;
	uint64_t dev, ino;           /* the file, as /proc/PID/maps has it */
	uint64_t stat_dev, stat_ino; /* the file, as stat() has it */
	const struct ubp_arch *arch; /* what it is for */
	uint64_t foffset;
	uint64_t ref;          /* REF_CTR: offset of a 16-bit semaphore, 0: none */
	bool ref_in_bss;       /* the semaphore is behind the segment's bytes in the file */
	struct file_code code; /* at foffset */
	struct displaced_insn insn; /* .code, decoded; .vaddr is as linked */
	/* Of a return probe: what its file says about the way; the function's exits,
	 * or why they are not known. */
	struct return_facts facts;
	bool exits_due; /* nobody has looked for them yet: plant_options.find_exits */
	bool jumps_out; /* the function may be left by a jump to another one */
	struct uprobe_exit *exits;
	size_t n_exits;
	char *no_exits;
	char *what;      /* "bash:readline" or so, for messages */
	char *no_window; /* what .window.why is, or NULL */
	char *no_lead;   /* what .window.no_lead is, or NULL */
	struct uprobe_life life;
	/* Its definition, which knows its file; it is there as long as this is. */
	struct defined_probe *origin;
	bool is_taken; /* a uprobe of the kernel's was seen there, at the end */
	struct uprobe_window window;
	struct fetch_program *program;
	struct filter *filter; /* NULL: none */
	struct uprobe_at_hit at_hit;
	struct uprobe_stats stats;
};

/* Zeroed, with one reference. NULL: out of memory. */
struct uprobe *uprobe_new(void);
/*
 * @probe, which has its program and filter, takes the place of @old: all that is known of that is copied. Returns 0 or
 * -ENOMEM. On the tracing thread, if @old is in a list.
 */
int uprobe_take_place(struct uprobe *probe, const struct uprobe *old);
/* From any thread: one reference more, and one less. NULL is fine. */
struct uprobe *uprobe_get(struct uprobe *probe);
void uprobe_put(struct uprobe *probe);
/* Has somebody beside the caller, who has one reference, another? Once nobody has, nobody comes by it. */
bool uprobe_is_shared(const struct uprobe *probe);

/* Itself, or who has its place by now; NULL: it is retired, and nobody has. */
static inline struct uprobe *uprobe_latest(struct uprobe *probe)
{
	while (probe && probe->life.is_retired)
		probe = probe->life.successor;
	return probe;
}

/* Has it, or one whose place it has, come when there had been @n_numbers numbers already? */
static inline bool uprobe_is_since(const struct uprobe *probe, unsigned n_numbers)
{
	return probe->life.since >= n_numbers;
}

/* So far behind it its sites are, but where somebody else has come first (site_behind()). */
static inline unsigned uprobe_behind(const struct uprobe *probe)
{
	return probe->window.is_behind ? probe->window.lead.len : 0;
}

/* What is counted of it is about to be looked at: of many, each is fetched while others are at it. */
static inline void uprobe_fetch_ahead(const struct uprobe *probe)
{
	__builtin_prefetch(probe);
	__builtin_prefetch(&probe->life);
	__builtin_prefetch(&probe->window.is_behind);
	__builtin_prefetch(&probe->stats.jumped);
}

/* Does it record? Detours look by themselves (ring_head.off). */
static inline bool uprobe_is_on(const struct uprobe *probe)
{
	return !__atomic_load_n(&probe->life.is_off, __ATOMIC_RELAXED);
}

static inline void uprobe_switch(struct uprobe *probe, bool on)
{
	__atomic_store_n(&probe->life.is_off, !on, __ATOMIC_RELAXED);
}

static inline void uprobe_count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline void uprobe_count_by(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline void uprobe_uncount(uint64_t *counter)
{
	__atomic_store_n(counter, *counter - 1, __ATOMIC_RELAXED);
}

#endif
