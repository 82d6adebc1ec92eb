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
#include "engine/space/left_behind.h"
#include "engine/space/thread.h"
#include "engine/space/uprobe.h"
#include "engine/trace/process.h"

struct site_jump;
struct site_leaf;
struct space_guard;
struct space_hijacks;
struct space_jumps;
struct space_mapped;
struct space_returns;
struct space_rings;
struct space_semaphores;
struct space_watch;

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
	WATCH_FORKS = 4096,    /* with WATCH_ASKS: the program is about to make a process */
	WATCH_ASKS =
		2048, /* if nobody traces the process by then, the tracer is asked to come (plant/bell.h) */
	WATCH_FILTERS =
		8192, /* with WATCH_ASKS: the program may be about to set a filter for system calls */
	WATCH_PAIR =
		16384, /* with WATCH_ASKS: at two instructions that are known by all their bytes, six of them */
};
/* What asks for the tracer to come. */
#define WATCH_BELLS (WATCH_ASKS | WATCH_FORKS | WATCH_FILTERS | WATCH_PAIR)
/* Watches at calls of the kernel. A site with one of these alone is left out where it cannot be planted. */
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
	bool is_own; /* it stands in memory of ours: nothing has to be put back there (plant/mirror.h) */
	struct pun pun; /* of the punned jump that leads there */
	/* Where it leads with breakpoints of others behind it: jumps to .vaddr stand there, which stay. */
	uint64_t also[UBP_PUN_ALSO];
	uint8_t n_also;
	bool has_all; /* whatever breakpoints */
};

/* What is looked at in all of them comes first: there may be very many. */
struct site {
	uint64_t vaddr;
	enum site_rung rung;
	unsigned watches;  /* enum site_watch: what it tells ubp itself */
	bool planted;      /* the breakpoint is in place */
	bool rests;        /* it is out for now: nobody needs it (watch.c) */
	uint8_t patch_len; /* of .patch; 0: there is none */
	bool is_patched;   /* that jump is in place */
	bool is_spared;    /* neither that jump nor a breakpoint can stand here */
	bool is_first; /* its probes have leads, and yet a breakpoint stands at the lead (first.c) */
	bool is_moved; /* its probes went to the site at their lead: nothing stands here */
	/*
	 * Bytes from here to a ret at which the returns of its probes are caught: it is a run-up (plant/run_up.h), whose probes' places are the starts of
	 * their functions. 0: it is none.
	 */
	uint8_t run_up;
	/* In a copy of a memory: probes from this number on were planted here, the others came with the copy. */
	unsigned n_copied;
	struct site_jump *jump; /* NULL: none was made */
	struct uprobe **
		probes; /* in order of definition, those of returns last, with a reference to each */
	size_t n_probes;
	size_t n_exits;
	struct site_exit *exits; /* in order of their probes' definition, with a reference */
	/* Why it is no jump, for good; NULL: it is one, or may become one. */
	const char *no_jump;
	/* Of a place that is watched alone, the window of a jump (plant/watched_windows.h); NULL: none was looked for. */
	const struct uprobe_window *window;
	struct site_leaf *leaf; /* site_leaf.h; NULL: nothing is known of one */
	/* Detours for the probes of before, the newest first: no jump leads there, but threads may be in them. */
	struct site_jump *old_jumps;
	uint64_t dev, ino; /* of the file mapped there */
	uint64_t foffset;
	uint64_t slot; /* 0: none (in place) */
	struct displaced_insn insn;
	struct slot_code code;
	/* WATCH_SIGACTION: the jump to the guard's code that is to stand here instead of a breakpoint. */
	uint8_t patch[UBP_INSN_MAX];
	struct site_hop hop;
	struct site *next_dead;
};

/* In an area: slots, and entries of its table. A block takes many of the one and one of the other. */
struct area_room {
	size_t slots, entries;
};

/* One mapping of ours in the target, laid out as arch/guard.h says. */
struct area {
	uint64_t vaddr, len;
	uint64_t used;  /* bytes from the start */
	uint64_t fresh; /* bytes from the start: what follows was never written */
	uint64_t table_mask, n_entries; /* of the site table */
	uint64_t *keys;                 /* what stands in the table; NULL: there is none */
	struct site **owners;           /* of each slot, by number; NULL: none now */
	struct area_room promised;      /* to the detours that are being made */
	struct spares *spares;          /* spare.c; NULL: none */
	bool in_use;                    /* give_back.c: somebody is in it */
	struct area *next;
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

/* Per address space; space->plant. Each part is for its owner alone, whom the part's header names. */
struct plant_space {
	struct map sites;      /* vaddr -> struct site */
	struct map slots;      /* vaddr -> its slot's vaddr, for ever: a thread may be in it */
	struct area *areas;    /* the first is the guard's */
	uint64_t stub;         /* there: what remote calls run; 0: none */
	unsigned list_version; /* of the list of probes that was planted last */
	/* When breakpoints or jumps were written or taken out last; 0: none yet. */
	uint64_t changed_ns;
	uint64_t
		alone_seen_ns; /* stand_alone.c: .changed_ns when all sites were seen to need no tracer */
	bool forgot;           /* plant_forgot() */
	bool closing;      /* breakpoints are being taken out: nothing is planted any more */
	struct site *dead; /* sites that are no longer mapped: return instances name them */
	unsigned n_buried; /* of them, ever */
	struct plant_left left; /* what could not be taken out */
	bool keeps_guard; /* some process in it could not give it back, and may call it (leave.c) */
	bool is_unhooked;                   /* plant_unhook() was called (leave.c) */
	unsigned n_lent;                    /* plant_lend() */
	uint64_t lent_gate;                 /* what the gate was then */
	struct space_guard *guard;          /* guard_part.h */
	struct space_returns *ret;          /* return_part.h */
	struct space_hijacks *hijack;       /* hijack_part.h */
	struct space_watch *watch;          /* watch_part.h */
	struct space_jumps *jump;           /* jump_part.h */
	struct space_rings *ring;           /* ring_part.h */
	struct space_semaphores *semaphore; /* semaphore_part.h */
	struct space_mapped *mapped;        /* mapped_part.h */
};

/*
 * Were there breakpoints in @space that are no sites any more? A child may have been born before they were taken out,
 * and be reported afterwards: then what the guard's own table tells is to be taken out of the child.
 */
static inline bool plant_forgot(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->forgot;
}

/* Were the breakpoints of @space taken out, by plant_remove()? */
static inline bool plant_is_closing(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->closing;
}

/* What could not be taken out of @space so far; NULL: nothing stays. */
static inline const struct plant_left *plant_left(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->left.n ? &ps->left : NULL;
}

/* The space's plant_space, made with all its parts if there is none. NULL: out of memory. */
struct plant_space *plant_space_get(struct space *space);
/* The parts are forgotten already. */
void plant_space_free(struct space *space);

/* Is one of the sites so? */
static inline bool plant_any_site(const struct plant_space *ps,
				  bool (*is)(const struct site *site))
{
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value))
		if (is(value))
			return true;
	return false;
}

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
