/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is known of an address space: its sites, its areas, and a structure for each part. */

#ifndef UBP_SPACE_SPACE_H
#define UBP_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "engine/base/map.h"
#include "engine/space/left.h"
#include "engine/space/thread.h"
#include "engine/space/uprobe.h"
#include "engine/trace/process.h"

struct guard_hijack;
struct guard_semaphore;
struct ring_space;
struct site_jump;

enum site_rung {
	SITE_JUMPED,   /* no stop: a jump to a detour (jump.h) */
	SITE_BOOSTED,  /* one stop: the slot does all */
	SITE_STEPPED,  /* two stops: the slot's instruction is single-stepped */
	SITE_IN_PLACE, /* no slot: the others held, the original stepped (--force) */
};

/* Breakpoints of our own (hooks.c). */
enum site_watch {
	WATCH_LOADER = 1,      /* libraries were mapped or unmapped */
	WATCH_UNWIND = 2,      /* an unwinder is about to read return addresses */
	WATCH_RESUME = 4,      /* an unwinder that has begun before goes on */
	WATCH_LANDS = 8,       /* an unwinder begins whose end WATCH_UNWOUND tells */
	WATCH_UNWOUND = 16,    /* an unwinder returns, or lands in another frame, perhaps */
	WATCH_CATCH = 32,      /* an exception was caught */
	WATCH_SIGACTION = 64,  /* the program changes a signal action: the guard looks at it */
	WATCH_PTRACE = 128,    /* the program calls ptrace() */
	WATCH_PTRACER = 256,   /* the program is about to allow another to trace it */
	WATCH_OWN_STACK = 512, /* of an unwinder: it begins on the stack of who comes here */
	WATCH_EXEC = 1024,     /* the program is about to execute another */
};
/* Those at calls of the kernel, which are left out where they cannot be. */
#define WATCH_CALLS (WATCH_PTRACE | WATCH_PTRACER | WATCH_EXEC)

/* A probed function that is left at a site. */
struct site_exit {
	struct uprobe *probe;
	uint64_t func_vaddr;
	bool is_jump;
};

/* Where a short jump of a site leads to, and one from there to its detour (plant/hop.h). */
struct site_hop {
	uint64_t vaddr; /* 0: it has none */
	uint64_t to;    /* the entry of the detour, once .stands */
	uint8_t orig[UBP_HOP_LEN], bytes[UBP_HOP_LEN];
	bool stands; /* some of .bytes may be there, or all of them */
	bool in_use; /* somebody may come back to it, from a signal handler */
};

struct site {
	uint64_t vaddr;
	uint64_t dev, ino; /* of the file mapped there */
	uint64_t foffset;
	enum site_rung rung;
	bool planted;     /* the breakpoint is in place */
	bool rests;       /* it is not, for now (watch.c) */
	unsigned watches; /* enum site_watch: what it tells ubp itself */
	struct displaced_insn insn;
	uint64_t slot; /* 0: none (in place) */
	struct slot_code code;
	uint8_t patch[UBP_INSN_MAX]; /* a jump that stands here instead of a breakpoint ... */
	uint8_t patch_len;           /* ... (WATCH_SIGACTION); 0: none */
	bool is_patched;
	bool is_spared; /* neither can stand here */
	bool is_first;  /* its probes are here, though they have leads (first.c) ... */
	bool is_moved;  /* ... that were in front of this one: nothing stands here */
	/* In a copy of a memory: probes since then have come here, the others with the copy. */
	unsigned n_copied;
	struct site_jump *jump; /* NULL: none was made */
	/* For other probes, the newest first: no jump leads there, but somebody may be in them. */
	struct site_jump *old_jumps;
	/* For a jump that scans the stack (scan.c); NULL: not yet. */
	const struct uprobe_window *scan;
	struct site_hop hop;
	const char *no_jump;    /* why not, for good; NULL: it is one, or may be */
	struct uprobe **probes; /* in order of definition, with a reference to each */
	size_t n_probes;
	struct site_exit *exits; /* in order of their probes' definition, with a reference */
	size_t n_exits;
	struct site *next_dead;
};

/* One mapping of ours in the target, laid out as arch/guard.h says. */
struct area {
	uint64_t vaddr, len;
	uint64_t used;  /* bytes from the start */
	uint64_t fresh; /* bytes from the start: what follows was never written */
	uint64_t table_mask, n_entries; /* of the site table */
	uint64_t *keys;                 /* what stands in the table; NULL: there is none */
	struct site **owners;           /* of each slot, by number; NULL: none now */
	bool in_use;                    /* give_back.c: somebody is in it */
	struct area *next;
};

/* A function that was entered and has not returned. */
struct return_entry {
	struct site *site;
	uint64_t entered_ns; /* in CLOCK_KIND_MONO */
	unsigned
		n_numbers; /* probes that came later (uprobe_is_since()) do not tell its return */
};

/* How far @site stands behind the place of @probe, one of its own: the probe's lead is in between (arch/detour.h). */
static inline unsigned site_behind(const struct site *site, const struct uprobe *probe)
{
	return (unsigned)(site->foffset - probe->foffset);
}

static inline uint64_t site_probed(const struct site *site, const struct uprobe *probe)
{
	return site->vaddr - site_behind(site, probe);
}

/* A hijacked return address. */
struct return_instance {
	uint64_t slot_vaddr;    /* its stack word (arch/guard.h) */
	uint64_t real;          /* what stood there */
	pid_t tid;              /* who entered; 0: a thread that is gone */
	uint64_t serial;        /* counts up: the newest of a thread is the highest */
	uint64_t disarm_sp;     /* put back for an unwinder that was entered with this
			      * stack pointer; 0: hijacked */
	uint64_t outer;         /* stack word put back further out on its stack; 0: none */
	bool far;               /* put back, and on another stack than the unwinder's */
	enum missed_why missed; /* counted as missed for that; MISSED_N: not counted */
	bool uncounted;         /* the parent process entered: counted there */
	uint64_t index;         /* of its entry in the target's return table, + 1; 0: none */
	/* In a register at entry (RETURN_IN_REGISTER), and put back: the word where it was found, what
	 * stood there, what was put there. 0: it was in the register still. */
	uint64_t word_vaddr, word_was, word_is;
	bool is_sure; /* the frame record says that it is that word */
	/* An instance of the same stack pointer that was entered before, and is not left yet; in no list. */
	struct return_instance *under;
	struct return_list *list;
	struct return_instance *newer, *older;
	uint32_t n_entries, cap;
	struct return_entry *entries; /* functions that return there; a tail call adds one */
};

/* What keeps the process alive if ubp is killed, and what an earlier one left. */
struct space_guard {
	uint64_t stub;
	uint64_t data;          /* of the guard (struct guard_data); 0: none */
	bool looked;            /* for what a killed tracer has left */
	bool is_taken_over;     /* it had left a guard */
	bool is_settled;        /* all in the memory have the guard: who is born, too */
	unsigned n_leftovers;   /* breakpoints that a killed tracer had left, taken out */
	unsigned n_left_raised; /* reference counters, decremented */
	bool unguarded;         /* --force: nothing could be mapped for some site ... */
	const char *no_room;    /* ... for this reason; NULL: that is not why */
	bool is_kept;           /* some process in it, which may call it then */
	bool is_unhooked;       /* plant_unhook() was called */
};

/* Hijacked return addresses. */
struct space_returns {
	struct map by_slot;      /* slot_vaddr -> struct return_instance */
	struct return_list lost; /* those of no thread's list: left behind, it seems */
	size_t sweep_at;         /* so many of them: look which are still there */
	struct map indexes;      /* of the return table, + 1 -> struct return_instance */
	uint64_t kernel_return;  /* kernel.h: where uretprobes return to; 0: not known */
	struct map pages;        /* return addresses that look like it, and are none */
	uint64_t table, mask;    /* vaddr, entries - 1; 0: none */
	uint64_t over;           /* entry, + 1, of the last that is over; 0: none */
	uint64_t n_ever;         /* ever hijacked */
	uint64_t trampoline;     /* 0: no area yet */
	bool has_told;           /* plant_lost_returns() has told */
	bool wait; /* a return address may come back with its stack: the table stays */
};

/* Those that detours replace. */
struct space_hijacks {
	uint64_t table, mask; /* table of struct guard_hijack: vaddr; 0: none */
	bool is_copy;         /* made by fork(): there are its parent's, too */
	struct map inherited; /* those, where there are link registers: hijack_open.c */
	struct guard_hijack *open_at_exec; /* what is to be counted if the exec succeeds */
	size_t n_open_at_exec;
	bool is_returning;   /* jump_undo.c: somebody is in that code */
	uint64_t code_vaddr; /* what such return addresses are replaced by */
	uint64_t room;       /* where an earlier session had that; 0: nowhere */
	uint64_t ns_factor;  /* of their times, detour_ns(); 0: nobody asked */
};

/* watch.c: breakpoints that stand where unwinders begin, and end. */
struct space_watch {
	bool begins_awake, ends_awake;
	unsigned begins_in_vain, ends_in_vain; /* how often met lately, with nothing to do */
};

/* Jumps. */
struct space_jumps {
	bool at_returns;      /* return probes may be made jumps from now on */
	struct map blocks;    /* site's vaddr -> a block that nobody is in any more */
	struct map traps;     /* vaddr of a breakpoint in a detour -> its site */
	struct map hops;      /* vaddr -> the site that has it */
	unsigned n_written;   /* written, ever */
	bool due;             /* sites may be made jumps */
	unsigned n_lent;      /* plant_lend() */
	uint64_t lent_gate;   /* what the gate was then */
	unsigned hits_before; /* at breakpoints, until that is worth a stop */
	/* plant/renew.c: */
	bool renew_due;    /* jumps are to be taken back whose sites have other probes now */
	bool sweep_due;    /* there are old ones that somebody may be in */
	uint64_t renew_ns; /* not again before ... */
	uint64_t renew_wait_ns;  /* ... how long it was waited last */
	bool failed;             /* it can't have rings */
	uint64_t tried_ns;       /* when that was tried last ... */
	uint64_t wait_ns;        /* ... and how long not to try again */
	unsigned n_detour_traps; /* without rings, so far */
};

/* Rings, and what detours may read. */
struct space_rings {
	struct ring_space *rings;   /* NULL: none */
	uint64_t base;              /* vaddr; 0: none mapped */
	size_t mapped;              /* bytes from there on that the target has mapped ... */
	size_t most;                /* ... and how many that may become */
	bool is_full;               /* no more of them can be mapped */
	struct map thread_pointers; /* -> tid that has a ring by it, RINGS_SHARED: several */
	uint64_t *ranges;           /* what detours may read (base/ring.h) */
	size_t n_ranges;
	uint32_t maps_last;   /* the last .maps_number that was not 0 */
	uint32_t maps_number; /* of its mappings (stack/maps_set.h); 0: they may have changed */
	uint64_t ranges_ns;   /* when that was looked at last */
};

/* Semaphores that are incremented. */
struct space_semaphores {
	struct guard_semaphore *v; /* those we incremented */
	uint16_t *lowered;         /* what they were without us; NULL: not yet decremented */
	size_t n;
};

/* Per address space; space->plant. */
struct plant_space {
	struct map sites;      /* vaddr -> struct site */
	struct map slots;      /* vaddr -> its slot's vaddr, for ever: a thread may be in it */
	struct area *areas;    /* the first is the guard's */
	unsigned list_version; /* of the list of probes that was planted last */
	/* When breakpoints or jumps were written or taken out last; 0: none yet. */
	uint64_t changed_ns;
	bool forgot;            /* plant_forgot() */
	bool closing;           /* breakpoints are being taken out: plant no more */
	struct site *dead;      /* no longer mapped; kept, return instances name them */
	struct plant_left left; /* what could not be taken out */
	struct space_guard guard;
	struct space_returns ret;
	struct space_hijacks hijack;
	struct space_watch watch;
	struct space_jumps jump;
	struct space_rings ring;
	struct space_semaphores semaphore;
};

/*
 * Were there breakpoints in it that are no sites any more? A child that was born before may
 * have them, and be reported after: what the guard's own table tells is to be taken out.
 */
static inline bool plant_forgot(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->forgot;
}

/* Were its breakpoints taken out, by plant_remove()? */
static inline bool plant_is_closing(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->closing;
}

/* What could not be taken out of it, by all of these; NULL: nothing stays. */
static inline const struct plant_left *plant_left(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->left.n ? &ps->left : NULL;
}

/* Has it probes that would kill it if ubp were killed? Only with --force. */
static inline bool plant_is_unguarded(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->guard.unguarded;
}

/* The space's plant_space, made if there is none. NULL: out of memory. */
struct plant_space *plant_space_get(struct space *space);

static inline struct site *plant_site_at(const struct space *space, uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;

	return ps ? map_get(&ps->sites, vaddr) : NULL;
}

/* The area that @vaddr lies in, or NULL. */
struct area *area_of(const struct plant_space *ps, uint64_t vaddr);

/* The site whose slot contains @vaddr, or NULL. */
struct site *plant_site_of_slot(const struct space *space, uint64_t vaddr);

#endif
