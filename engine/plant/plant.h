/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Planting: which addresses of which process carry a breakpoint, where their
 * displaced instructions are, and which return addresses are hijacked.
 *
 * A site is one patched address of one address space, shared by all probes
 * there. Its displaced instruction is carried out by code in a slot of an SSOL
 * area, a mapping of ours near the object, readable and executable, written from
 * outside. Nothing of an area is ever taken away while the target lives: a thread
 * may be in it.
 */

#ifndef UBP_PLANT_PLANT_H
#define UBP_PLANT_PLANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "engine/base/map.h"
#include "engine/plant/uprobe.h"
#include "engine/trace/tracer.h"

struct ubp_err;
struct maps;
struct mapping;

enum site_rung {
	SITE_BOOSTED,  /* one stop: the slot does all */
	SITE_STEPPED,  /* two stops: the slot's instruction is single-stepped */
	SITE_IN_PLACE, /* no slot: the others held, the original stepped (--force) */
};

/* Breakpoints of our own (hooks.c). */
enum site_watch {
	WATCH_LOADER = 1, /* libraries were mapped or unmapped */
	WATCH_UNWIND = 2, /* an unwinder is about to read return addresses */
	WATCH_CATCH = 4,  /* an exception was caught */
};

struct site {
	uint64_t vaddr;
	uint64_t dev, ino; /* of the file mapped there */
	uint64_t foffset;
	enum site_rung rung;
	bool planted;     /* the breakpoint is in place */
	unsigned watches; /* enum site_watch: what it tells ubp itself */
	struct displaced_insn insn;
	uint64_t slot; /* 0: none (in place) */
	struct slot_code code;
	struct uprobe **probes; /* in order of definition */
	size_t n_probes;
	struct site *next_dead;
};

/* One mapping of ours in the target. */
struct area {
	uint64_t vaddr, len;
	uint64_t used;        /* bytes from the start */
	struct site **owners; /* of each slot, by number */
	struct area *next;
};

/* A hijacked return address. */
struct return_instance {
	uint64_t slot_vaddr; /* of the word on the stack */
	uint64_t real;       /* what stood there */
	pid_t tid;           /* who entered */
	uint64_t serial;     /* counts up: the newest of a thread is the highest */
	bool disarmed;       /* put back for an unwinder, may be hijacked again */
	uint32_t n_entries, cap;
	struct site **entries; /* functions that return there; a tail call adds one */
};

/* Per address space; space->plant. */
struct plant_space {
	struct map sites; /* vaddr -> struct site */
	struct area *areas;
	struct map returns;  /* slot_vaddr -> struct return_instance */
	uint64_t n_returns;  /* ever hijacked */
	uint64_t trampoline; /* 0: no area yet */
	uint64_t stub;
	bool closing;         /* breakpoints are being taken out: plant no more */
	struct site *dead;    /* no longer mapped; kept, return instances name them */
	uint64_t *semaphores; /* vaddrs of those we incremented */
	size_t n_semaphores;
};

/* Per session. */
struct plant {
	struct uprobe **probes;
	size_t n_probes;
	bool step;                    /* --mode step */
	bool force;                   /* --force */
	struct hook_file *hook_files; /* hooks.c: what is known of files */
};

/*
 * Bring a process up to date: plant what its mappings now call for, forget what
 * is no longer mapped. @t is a held thread of it, @at the registers it goes on with
 * (NULL: those it has). Everything is checked before the first byte is written;
 * on failure nothing of this call stays. *ret_n: sites of probes now planted.
 *
 * Errors: -ESRCH (ended meanwhile), -EBUSY (bytes differ from the file's),
 * -EILSEQ, -EOPNOTSUPP (instruction cannot be displaced), -ENOMEM, -EPERM...
 * (the target could not map memory).
 */
int plant_update(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, size_t *ret_n, struct ubp_err *err);

/* Does a process with these mappings have a place for a probe? */
bool plant_wants(const struct plant *plant, const struct maps *maps);

/*
 * Take all breakpoints out and put hijacked return addresses back, with threads
 * running. Traps that are under way still find their site, so the caller goes on
 * to handle stops until none can come (attach_drain). @tid: a stopped thread or 0.
 */
void plant_remove(struct space *space, pid_t tid);

/*
 * @child is a fresh copy of @parent's memory: the same bytes are in it. Take over
 * what is known about them (-ENOMEM), or take them out of it. @first: the thread
 * that runs in the copy, on its parent's stack.
 */
int plant_copy(const struct space *parent, struct space *child, const struct tracee *first);
void plant_clean_copy(const struct space *parent, struct space *child, pid_t tid);

/* Were its breakpoints taken out, by plant_remove()? */
static inline bool plant_is_closing(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->closing;
}

/* Forget, without touching the target. space->plant may be NULL. */
void plant_forget(struct space *space);

/* The space's plant_space, made if there is none. NULL: out of memory. */
struct plant_space *plant_space_get(struct space *space);

/* --- look-ups of the hit path ------------------------------------------------- */

static inline struct site *plant_site_at(const struct space *space, uint64_t vaddr)
{
	const struct plant_space *ps = space->plant;

	return ps ? map_get(&ps->sites, vaddr) : NULL;
}

/* The site whose slot contains @vaddr, or NULL. */
struct site *plant_site_of_slot(const struct space *space, uint64_t vaddr);

/* --- area.c: used inside this room ----------------------------------------------- */

/*
 * Room for @n slots from which [lo, hi) is within reach (lo == hi: anywhere), by
 * mapping a new area if need be. Sets *ret_area; slots are then taken with
 * area_take().
 */
int area_provide(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		 const struct maps *maps, uint64_t lo, uint64_t hi, size_t n,
		 struct area **ret_area, struct ubp_err *err);
uint64_t area_take(struct area *area, struct site *owner);
void area_free_all(struct area *area);

/* --- site.c ------------------------------------------------------------------------ */

/*
 * The site at @vaddr, made if there is none: the instruction there decoded and
 * compared with @probe's file (NULL: the internal site, whatever is there). Not
 * yet planted. @m is the mapping it lies in.
 */
int site_provide(struct space *space, pid_t tid, uint64_t vaddr, const struct mapping *m,
		 const struct uprobe *probe, struct site **ret_site, struct ubp_err *err);
int site_add_probe(struct site *site, struct uprobe *probe);
bool site_has_probe(const struct site *site, const struct uprobe *probe);
void site_drop_probe(struct site *site, const struct uprobe *probe);
/* Take a site that is not planted out of its space and free it. */
void site_discard(struct plant_space *ps, struct site *site);
/* Give it a slot in @area (NULL: in place) and write its code. */
int site_prepare(const struct plant *plant, struct space *space, pid_t tid, struct site *site,
		 struct area *area, struct ubp_err *err);
/* Write the breakpoint, or the original byte back if the breakpoint is still there. */
int site_plant(struct space *space, pid_t tid, struct site *site, struct ubp_err *err);
void site_unplant(const struct space *space, pid_t tid, const struct site *site);
void site_free(struct site *site);
struct site *site_copy(const struct site *site);

/* --- hooks.c ----------------------------------------------------------------------- */

/*
 * Call @each for the functions of the process on which breakpoints of our own
 * must stand. Stops when it returns non-zero and returns that; or -ENOMEM.
 */
int hooks_each(struct plant *plant, pid_t pid, const struct maps *maps,
	       int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			   enum site_watch watch),
	       void *ctx);
void hooks_free(struct plant *plant);

/* --- returns.c --------------------------------------------------------------------- */

/*
 * Put every hijacked return address of @owner back into the memory of @space
 * (owner's own, or a copy), where our trampoline still stands there.
 */
void returns_put_back(const struct plant_space *owner, const struct space *space, pid_t tid);
int returns_copy(const struct plant_space *from, struct plant_space *to,
		 const struct tracee *first);
void returns_free(struct plant_space *ps);

/* --- semaphore.c -------------------------------------------------------------------- */

/* Semaphores of @plant's probes that @maps now map: increment each once. */
int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps);
/* Decrement them. @space may be a copy (fork): what @owner incremented. */
void semaphore_remove(const struct plant_space *owner, struct space *space, pid_t tid);

#endif
