/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours: probes without a trap. A jump over the first bytes of a window, whole
 * instructions of at least that length, leads to a detour: code that records into a
 * ring (engine/base/ring.h), then runs the copy of the window and jumps back behind it.
 *
 * Like all of arch.h this is pure: bytes and numbers in, bytes and numbers out.
 *
 * A block of an area holds, each part at a multiple of UBP_SLOT_SIZE:
 *
 *     struct guard_jump   (arch/guard.h) what a later session needs to know
 *     copy                the window's instructions, then a jump behind the window;
 *                         where breakpoint traps at the window's start go, too;
 *                         behind it the function's, if there is one (detour_plan.code)
 *     entry               where the jump leads
 *     ...                 the return code, traps
 *
 * The detour never calls the program's code, skips the red zone, uses general
 * registers only, keeps every register and the flags.
 */

#ifndef UBP_ARCH_DETOUR_H
#define UBP_ARCH_DETOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "engine/base/fetch_op.h"
#include "engine/base/filter_program.h"
#include "engine/base/probe_kind.h"
#include "engine/base/sample_plan.h"
#include "engine/base/tally_table.h"

#define UBP_WINDOW_INSNS 8
#define UBP_WINDOW_MAX   24 /* bytes */
#define UBP_COPY_MAX     512

/* Why there is no window. */
enum window_refusal {
	WINDOW_OK,
	WINDOW_SHORT,   /* the code ends too early */
	WINDOW_INSN,    /* an instruction that can't be moved, or is none */
	WINDOW_KERNEL,  /* a system call among several instructions */
	WINDOW_CALL,    /* a call would return to under the jump */
	WINDOW_SELF,    /* its own code refers to what is under the jump */
	WINDOW_UNKNOWN, /* no function is known there, or no instruction starts there */
	WINDOW_LANDING, /* others may know what is under the jump: by a name, as a landing pad */
	WINDOW_GO,      /* what Go's runtime does */
	WINDOW_LEAD,    /* there is no lead */
	WINDOW_FILL,    /* there is no fill near by for a hop */
	WINDOW_BRANCH,  /* a branch may lead to what is under the jump */
	WINDOW_ADDRESS, /* code makes an address under the jump */
	WINDOW_TABLE,   /* a jump table may lead there */
	WINDOW_POINTER, /* a pointer may lead there */
	WINDOW_OWN, /* its function makes addresses of its own code: it may count from there */
	WINDOW_N,
};

/*
 * A hop: fill near by that nobody comes to, where a jump to the detour stands. A jump of few bytes
 * leads there, from where one that reaches the detour has no room.
 */
#define UBP_HOP_LEN 5
/* A jump to anywhere. */
#define UBP_FAR_JUMP_MAX 16
#define UBP_HOPS         4

struct hop {
	int16_t at; /* from the window's start */
	uint8_t orig[UBP_HOP_LEN];
};

/*
 * A punned jump, where there is neither room for a whole one nor a hop: its first bytes are written, and what stands behind
 * them, which stays, is the high part of its distance. So it leads to one of few addresses, where a hop stands in memory
 * that is mapped for that.
 */
#define UBP_PUN_FIXED 4
/* So many more places it may lead to, with breakpoints of others in these bytes. */
#define UBP_PUN_ALSO 7

struct pun {
	uint8_t n_fixed; /* bytes behind those of the window's jump that are read as a part of it; 0: it is none */
	uint8_t n_prefix;             /* bytes in front of its opcode, that do nothing */
	uint8_t fixed[UBP_PUN_FIXED]; /* these, and what follows */
	uint8_t starts; /* those at which an instruction may begin: bit by number */
	uint32_t n;     /* addresses that it may lead to, one behind the other ... */
	int64_t low;    /* ... the first, from the window's start */
};

/* Whole instructions under a jump. */
struct window {
	struct displaced_insn insns[UBP_WINDOW_INSNS];
	uint8_t n;
	uint8_t len; /* bytes of the instructions; less than the jump's where padding follows */
	uint8_t jump_len; /* bytes that the jump takes */
	uint8_t why;      /* enum window_refusal, when there is none */
	uint8_t n_hops;   /* where its jump may lead to; 0: it leads to the detour itself */
	struct hop hops[UBP_HOPS];
	struct pun pun;
	/*
	 * Whether the stack has room for a detour is not known: the detour looks, and takes its trap if there is none. For functions of Go that do not look
	 * themselves, by what the runtime notes of the goroutine. Flags are lost: not where somebody wants them.
	 */
	bool asks_room;
};

/*
 * The lead: one instruction, or several that do nothing, that a window begins behind. Its bytes
 * stay those of the file, so that a kernel's uprobe may come and go there. A hit is told with the registers
 * in front of the lead, so the effect of the lead must be known.
 */
struct lead {
	uint8_t len; /* bytes; 0: there is none */
	uint8_t bytes[UBP_INSN_MAX];
	uint32_t sp_down; /* bytes by which it moves the stack pointer down */
	bool is_push;     /* it moves the stack pointer by pushing a word */
	bool stores;      /* it stores something that is not such a word */
	bool sets_kept;   /* it sets a register that callees keep */
	bool sets_arg;    /* it sets a register that functions get an argument in */
	/* It reads or sets the link register. A return address must be replaced in front of it. */
	bool uses_link;
	uint64_t
		sets; /* registers that it sets, but the stack pointer: bit by index into ubp_regs */
	uint32_t sets_vectors; /* vector registers that it sets: bit by number */
};

/*
 * A run-up: the instructions that a function carries out right before a ret at which its return is caught, from one on that is as long as a
 * jump. Where the ret is too short for one, the jump stands on that instruction. Its detour carries out the run-up, records the return, and
 * returns. The ret itself stays a breakpoint, for those who come to it some other way. Where fill that nobody comes to follows the ret, the jump stands on
 * the ret, and its run-up is empty.
 */
#define UBP_RUN_UP_MAX UBP_WINDOW_MAX /* bytes */

/* A window's copy, made for one address. */
struct window_copy {
	uint8_t code[UBP_COPY_MAX];
	uint16_t len;
	/* at[i]: offset of the code for instruction i; at[n]: of the jump behind the window.
	 * A thread there stands at that instruction, with all registers as they would be. */
	uint16_t at[UBP_WINDOW_INSNS + 1];
};

/* The same without the code, where that stands elsewhere. */
struct copy_places {
	uint16_t len;
	uint16_t at[UBP_WINDOW_INSNS + 1];
};

/* One probe of a site, as the detour sees it. */
struct detour_probe {
	uint32_t number;
	enum probe_kind kind;
	const struct fetch_program *program;
	const struct filter *filter; /* NULL: none */
	/* NULL: hits are recorded. Else they are counted, and those are recorded that the code can't count. */
	const struct tally_plan *tally;
	/* NULL: all hits are. Else those that are taken; where the code can't tell, they are recorded without RING_SAMPLED. */
	const struct sample_plan *sample;
	/* With .sample: hits that are taken go to the trap, and are not recorded (their stacks are unwound there). */
	bool stops;
	bool once; /* a hit that is recorded switches it off in this process (ring_head.off), if the code can do that */
	uint32_t cell; /* of its loads, the first one's number; detour_cells() of them */
};

#define UBP_DETOUR_PROBES 8

#define UBP_RETURN_CODE_MAX 1024
#define UBP_CLAIM_CODE_MAX  768
#define UBP_TICKS_SHIFT     32

/* Where uretprobes return to is the start of a page. */
#define UBP_KERNEL_RETURN_MASK 0xfff

/*
 * A detour without probes, at the start of an unwinder: it scans the stack, from the stack pointer to where the
 * thread's stack ends, for replaced return addresses: .return_vaddr and .trampoline. Its trap is for a
 * stack that has one, and for all cases of doubt:
 *
 * - the thread has no ring, or its stack is not known (struct ring_stack);
 * - it is on another stack, from which an unwinder may come to this one: a signal handler's, say;
 * - a signal's frame is on the stack, beyond which the unwinder may be on another one;
 * - its tracer is dead: then the guard puts back what there is.
 *
 * Nothing but stack words hold replaced return addresses: so not where a call leaves them in a register.
 */
#define UBP_SCAN_MAX 0x20000 /* bytes; more would take as long as a trap */

/* The last detours that were made with it: one that is like one of them takes less time. */
struct detour_like;

struct detour_like *detour_like_new(void); /* NULL: out of memory */
void detour_like_free(struct detour_like *like);

struct detour_plan {
	uint64_t site; /* vaddr of what is probed: of the window, or of its lead */
	/* NULL: none. The window is behind it, and it has been carried out. */
	const struct lead *lead;
	uint64_t vaddr; /* where the block's copy will stand: a multiple of UBP_SLOT_SIZE */
	uint64_t gate;  /* vaddr of struct guard_gate (arch/guard.h) */
	const struct window *window;
	struct {
		const uint8_t *bytes; /* from the window on */
		size_t len;           /* may be 0 */
		/*
		 * Not NULL: the detour goes on in a copy of the function at .site (arch/leaf.h), whose rets are where .then is hit; but not where there is nobody to record for: then
		 * in the window's copy, and from there on in the function itself.
		 */
		const struct leaf *leaf;
	} code; /* the function's */
	/*
	 * Not NULL: a detour of return probes that are hit here, at the ret that is .window; this, which may be empty, is carried out before. .lead tells what
	 * the ret takes off the stack, so that registers are those that the caller finds. .site: the function's start.
	 */
	const struct window *run_up;
	/*
	 * Not NULL: the window ends with a ret at which returns are caught; the same for these, with .run_up. Its probes are hit behind those of this plan, whose
	 * numbers in struct detour they go on with. A window of one instruction is just the ret: then the copy is, too, and who is there has been recorded. In
	 * the copy of a longer one what records stands in place of the ret.
	 */
	const struct detour_plan *then;
	const struct detour_probe *probes; /* in order of definition */
	size_t n_probes;
	bool lossless;      /* a full ring: the trap, instead of a count */
	bool count_dropped; /* count hits that a filter drops early (ring_head.dropped) */
	/*
	 * Entries of the user's stack, by frame pointers, at most (RING_STACK_MAX); 0: no
	 * stacks. What .hijacks has is told as it was. A frame that is not known to be
	 * readable, or an address that the tracer replaced: the trap. A probe needs one more
	 * cell, the last.
	 */
	uint8_t frames;
	/* For return probes: vaddr of the table of hijacked return addresses (struct guard_hijack), its
	 * entries - 1, and of the code that return addresses are replaced by. */
	uint64_t hijacks, hijacks_mask, return_vaddr;
	uint64_t ns_factor;  /* for FETCH_DURATION: detour_ns(); 0: not known */
	uint64_t trampoline; /* vaddr of the breakpoint that the tracer puts there */
	/* A return address that may be the kernel's is not to be replaced: the trap. */
	bool leaves_kernel_return;
	bool scans; /* the detour scans the stack, and does nothing else; .n_probes is 0 */
	/*
	 * Where nobody traces the process, the detour asks the tracer to come (ring_head.bell), and waits for it some time; then come its
	 * probes, if it has some. .stops: where somebody does, it takes its trap; .n_probes is 0. With .scans, the same before the trap; and a child of
	 * a process that was let go of, whose gate is shut, takes that trap: its guard puts back what its mother's detours replaced.
	 * .asks_sharing: a call of the kernel that makes a process asks only if that shares the memory, and so the rings.
	 */
	bool asks, asks_sharing, stops;
	/* With .asks: in front of a call of the kernel that may set a filter for such calls (enum ubp_call_kind). If it does, .reads ends. */
	bool filters;
	/*
	 * From the thread pointer on so far is a word of 32 bits that tells threads apart whose pointers are the same, one after
	 * the other: the thread's id, which the C library keeps. 0: not known.
	 */
	int32_t self_at;
	uint64_t
		claim; /* vaddr of the code by which threads claim rings; 0: they take the trap */
	unsigned has; /* instructions that not every machine has: ubp_host_code_has() */
	/*
	 * Where nobody traces the process, memory that is not known to be there is read by a call of the kernel
	 * (ring_head.reads). Only where .alone of the instruction set's table says that nobody may.
	 */
	bool reads;
	/* Where threads count (base/tally_table.h), and sample. None: all is recorded. */
	struct tally_place tally;
	struct detour_like
		*like; /* of those that are made one after the other; NULL: of none */
};

/* Nanoseconds that so many ticks are, as detours tell. */
static inline uint64_t detour_ns(uint64_t ticks, uint64_t ns_factor)
{
	/* The product has 128 bits, of which not every compiler knows a type. */
	uint64_t low = (uint32_t)ticks * (ns_factor & UINT32_MAX);
	uint64_t mid = (ticks >> 32) * (ns_factor & UINT32_MAX) + (low >> 32);
	uint64_t mid2 = (uint32_t)ticks * (ns_factor >> 32) + (uint32_t)mid;
	uint64_t high = (ticks >> 32) * (ns_factor >> 32) + (mid >> 32) + (mid2 >> 32);

	return high << (64 - UBP_TICKS_SHIFT) | (mid2 << 32 | (uint32_t)low) >> UBP_TICKS_SHIFT;
}

struct detour {
	uint8_t *code; /* free with free(); code[0] is the window's copy's */
	size_t len;
	struct copy_places copy; /* .len: with the function's copy, if there is one */
	/* Of the function's copy: whoever is at offset .at of the code is .from behind the window's start. */
	struct detour_place {
		uint16_t at, from;
		bool is_ret; /* what is there leads to what records; with arch_jump.leaf_ret written over it, it is a ret */
	} * places; /* by .at; free with free() */
	size_t n_places;
	/* Where that copy leads out to, from the window's start on: nothing of ours may have these in its middle. free() it. */
	int16_t *exits;
	size_t n_exits;
	/* Bytes of the function, from the window's start on, up to the end of what is copied, and to the last of .exits; 0: it is not copied. */
	uint32_t leaf_len;
	uint32_t entry_at;
	uint32_t return_at; /* where the common return code goes on; 0: no return probe */
	/*
	 * trap_at[i]: a breakpoint, met with all registers but the pc as at the site, by a hit
	 * that the code cannot record from probe i on: its tracer does. What follows it is a
	 * jump to the copy: no register needs to be written. ret_trap_at[i]: such a breakpoint on
	 * return, met with the registers as the caller will find them but for the pc; what follows
	 * is a jump to the return address.
	 */
	uint32_t trap_at[UBP_DETOUR_PROBES];
	uint32_t ret_trap_at[UBP_DETOUR_PROBES];
	/* But for the stack pointer, where that must not be above the return address before it
	 * is used: so many bytes less than the caller's. */
	uint8_t ret_below;
	/*
	 * A thread in [hijack_at, hijack_end) is about to replace its return address. Put to
	 * hijack_off it does not, and all else is as if it had not come this far. In front of
	 * hijack_at it looks at the gate again.
	 */
	uint32_t hijack_at, hijack_end, hijack_off;
	/*
	 * Of one that calls its function, so does a thread in [call_from, call_at); there the stack word of the return address is .call_word
	 * above the stack pointer. At .call_at, the call, the stack pointer is one word above that one; without the call it is
	 * at it, and the thread goes on at .called_at. 0: it calls nothing.
	 */
	uint32_t call_from, call_at, called_at, call_word;
	/*
	 * loads[]: a fault at code offset .at (memory was unmapped since the tracer
	 * looked) is not the program's: the thread goes on at offset .fixup, with its registers
	 * as they are, and comes to the trap.
	 */
	struct detour_load {
		uint32_t at, fixup;
	} * loads; /* by .at; free with free() */
	size_t n_loads;
	/* Bit i: the code applies all of probe i's filter. If not: what it lets through is still
	 * to be looked at. */
	uint32_t filters_done;
};

/* How many cells (engine/base/ring.h) the code for @program needs. */
uint32_t detour_cells(const struct fetch_program *program);

/* NULL, or why hits of @program are recorded, and counted from their records, though there are tables: a constant text. */
const char *detour_why_no_tally(const struct tally_plan *tally,
				const struct fetch_program *program);

/*
 * Does a probe ask for what only a stop tells? That is the name of the thread, which it may have
 * changed just now: asking the kernel for it would be a system call of the program's, which a
 * seccomp filter may answer by killing it. Its detour takes the trap where the rest of the filter
 * has not said no.
 */
bool detour_stops(const struct fetch_program *program, const struct filter *filter);
/* Of a probe that stops (detour_stops()): can what a detour looks at of the filter say no? */
bool detour_may_drop(const struct fetch_program *program, const struct filter *filter,
		     enum probe_kind kind);

/* Is all of the filter carried out by a detour that has the data? NULL is fine. */
bool detour_does_filter(const struct fetch_program *program, const struct filter *filter,
			enum probe_kind kind);

/* --- leads (lead.c) -------------------------------------------------------------------- */

/*
 * Can a hit of @program be told behind @lead? @kind: what a return probe does at entry is to replace the
 * return address. @stacks: the stack is taken, too.
 */
bool lead_suits(const struct lead *lead, const struct fetch_program *program,
		enum probe_kind kind, bool stacks);
/* Make of registers behind @lead those in front of it, which stands at @vaddr. */
void lead_undo(const struct ubp_arch *arch, const struct lead *lead, uint64_t vaddr,
	       struct ubp_regs *regs);

#endif
