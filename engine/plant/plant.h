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
#include "engine/plant/space.h"
#include "engine/plant/undo.h"
#include "engine/plant/uprobe.h"
#include "engine/trace/tracer.h"

struct ubp_err;
struct maps;
struct mapping;
struct object;
struct ring_set;
struct ring_space;
struct site_jump;

/* Why something cannot be in a process, or some better thing not be done there. */
#define UBP_NO_MEMORY "no memory can be had in it"

/* Per session. */
struct plant {
	struct uprobe **probes;
	size_t n_probes;
	struct uprobe **by_place;  /* the same by file and offset: plant_sort() */
	struct plant_ahead *ahead; /* of plant_look_ahead() */
	/* Look for the exits of a return probe: sets .exits or .no_exits. */
	void (*find_exits)(void *ctx, struct uprobe *probe);
	/* Look for the lead of a probe whose sites stand at it: sets .window.lead, or not. */
	void (*find_lead)(void *ctx, struct uprobe *probe);
	void *ctx;              /* of both */
	bool step;              /* --mode step */
	struct ring_set *rings; /* NULL: no jumps */
	bool counts_open;       /* functions that detours have entered, and that never return */
	unsigned code_has;      /* ubp_host_code_has(), which takes long in a virtual machine */
	bool lossless, force;   /* the options */
	bool count_dropped;     /* hits that filters drop are counted, too */
	unsigned frames;        /* of stacks that jumps take; 0: none */
	char *reasons[64];      /* why there is no jump */
	bool is_attaching;      /* a thread of each process in the memory is held */
	struct hook_file *hook_files; /* hooks.c: what is known of files */
	struct call_file *call_files; /* sigaction.c: what is known of files */
	struct scan_place *scans;     /* scan.c: of its own that jump */
	bool beside_kernel;           /* no jump begins at a first instruction */
	char unread[256];             /* the file whose reading was given up; "": none */
	enum { CPU_NOT_ASKED, CPU_PLAIN, CPU_SHADOW_STACK } cpu; /* hooks.c */
};

/* The reading of this file was given up, as the thread was told to (engine/base/cancel.h): for the user. */
void plant_note_unread(struct plant *plant, const char *path);

/* Once .probes are all there; free with plant_sort_free(). Returns 0 or -ENOMEM. */
int plant_sort(struct plant *plant);
void plant_sort_free(struct plant *plant);
/* The first of .by_place in this file that is not below @foffset: an index. */
size_t plant_first_in(const struct plant *plant, uint64_t dev, uint64_t ino, uint64_t foffset);
/* Is something in this file probed? */
bool plant_probes_file(const struct plant *plant, uint64_t dev, uint64_t ino);

/*
 * Bring a process up to date: plant what its mappings now call for, forget what
 * is no longer mapped. @t is a held thread of it, @at the registers it goes on with
 * (NULL: those it has). Everything is checked before the first byte is written;
 * on failure nothing of this call stays. *ret_n: sites of probes now planted.
 *
 * Errors: -ESRCH (ended meanwhile), -EBUSY (bytes differ from the file's),
 * -EILSEQ, -EOPNOTSUPP (instruction cannot be displaced), -ENOMEM, -EPERM...
 * (the target could not map memory), -EINPROGRESS (plant_settle() is next, then this again).
 */
int plant_update(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, size_t *ret_n, struct ubp_err *err);

/*
 * Do of plant_update() what can be done while all threads of @space run: learn of the
 * files that are mapped, and decode what will be probed. It takes milliseconds. @tid:
 * one of the threads. What was found is good for the next plant_update() there.
 */
void plant_look_ahead(struct plant *plant, const struct space *space, pid_t tid);
void plant_forget_ahead(struct plant *plant);

/* Does a process with these mappings have a place for a probe? */
bool plant_wants(const struct plant *plant, const struct maps *maps);

/*
 * Take all breakpoints out and put hijacked return addresses back, with threads
 * running. Traps that are under way still find their site, so the caller goes on
 * to handle stops until none can come (drain.h).
 */
void plant_remove(const struct process *p);

/*
 * A process was born while breakpoints were written, perhaps: does its memory hold
 * all that its parent's does?
 */
bool plant_is_whole_copy(const struct space *parent, const struct space *child);
/*
 * It does not: see what is there, as if a killed tracer had left it, and take it
 * out. @t: the child's held thread. @left: it is not kept, so return addresses are put back, too, and what
 * could not be taken out is added; NULL: it is kept.
 */
int plant_clean_partly(struct tracer *tracer, struct tracee *t, struct plant_left *left,
		       struct ubp_err *err);
/*
 * The same for a copy, not kept, that plant_clean_copy() has cleaned, of a parent that plant_forgot(). What
 * plant_copy() took over stays known.
 */
int plant_clean_forgotten(struct tracer *tracer, struct tracee *t, struct plant_left *left,
			  struct ubp_err *err);

/*
 * @child is a fresh copy of @parent's memory: the same bytes are in it. Take over
 * what is known about them (-ENOMEM), or take them out of it. @first: the thread
 * that runs in the copy, on its parent's stack. Nothing is replaced in the copy: what is to be taken
 * out of it is looked for by what its parent knows.
 */
int plant_copy(const struct space *parent, struct space *child, struct tracee *first);
/* *left: what could not be taken out of it. */
void plant_clean_copy(const struct space *parent, struct space *child, pid_t tid,
		      struct plant_left *left);
/*
 * Were there breakpoints in it that are no sites any more? A child that was born before may
 * have them, and be reported after: what the guard's own table tells is to be taken out.
 */
static inline bool plant_forgot(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->forgot;
}
/* No guard is left: the jumps to it go, too. */
void plant_unhook(struct space *space, pid_t pid, pid_t tid, struct plant_left *left);

/* Were its breakpoints taken out, by plant_remove()? */
static inline bool plant_is_closing(const struct space *space)
{
	const struct plant_space *ps = space->plant;

	return ps && ps->closing;
}

/*
 * The other end of plant_remove(), when no trap of ours can come any more: each
 * process of @tracer (only @only, if it is not NULL) gets its SIGTRAP handler and
 * its threads their signal masks back. Not where something stays that needs the guard.
 */
void plant_leave(struct tracer *tracer, const struct process *only);

/*
 * A child that shares the memory until its exec is to meet no breakpoint, for nobody would handle
 * it: they are out until plant_take_back(), which a thread calls whose registers are not needed:
 * one that waited for the child. Jumps stay, and record nothing. They nest.
 */
void plant_lend(struct space *space, pid_t tid);
void plant_take_back(struct space *space, pid_t tid);

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

/*
 * --force: probes whose returns cannot be caught there, for there is no room for what catches
 * them (plant_space.no_room). Returns the first by number, and in *@ret_more how many sites
 * of such there are beside; NULL: none, or it was asked before.
 */
const struct uprobe *plant_lost_returns(const struct space *space, size_t *ret_more);

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

/*
 * What @word, a return address, stands for, if it is one that we put there: read at @at. @sp:
 * the stack pointer of its caller behind the return, which tells exactly whose it is where a
 * call leaves the address in a register; 0: not known. Signatures are taken off there.
 */
uint64_t returns_real(const struct space *space, uint64_t at, uint64_t sp, uint64_t word);

/* --- guard.c: what keeps a target alive when ubp is killed ---------------------------- */

/*
 * Is the SIGTRAP handler no longer the guard's? A breakpoint met while SIGTRAP is
 * blocked resets it (force_sig). Cheap as long as the thread's mask stays the same.
 */
bool guard_is_lost(struct tracee *t);
/*
 * Send a thread that stopped at a breakpoint on to @regs' pc by way of a system
 * call that installs the guard again. No other stop is needed. Returns 0 or -errno
 * (-EACCES: a seccomp filter may not let it); then it was sent nowhere.
 */
int guard_reinstall(struct tracee *t, const struct ubp_regs *regs);
/*
 * A SIGTRAP of the program's own is about to be delivered to @t, in a process whose
 * guard was lost, or in which it blocked the signal. True: it is delivered later.
 * @at_site: its pc is where a breakpoint leaves a thread that, perhaps, only the guard knows.
 */
bool guard_defer(struct tracer *tracer, struct tracee *t, bool at_site);
/* Has the program said nothing about SIGTRAP, so that one of its own ends it? */
bool guard_ends_by_trap(const struct process *p);
/* Held thread @t of a process without guard, in a memory where others may have it, installs it. */
int plant_guard(struct tracer *tracer, struct tracee *t, struct ubp_err *err);
/* Has another process in the memory the guard? Then the chain and the notes of masks are its, too. */
bool guard_is_shared(const struct process *p);
/* Give the process its own handler back. @t: a held thread, that goes on with @at. */
int guard_uninstall(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		    struct ubp_err *err);

/*
 * Threads of @t's process that block SIGTRAP have it unblocked, as a breakpoint
 * would do; and blocked again by guard_close_mask() on held thread @t.
 */
void guard_open_masks(struct tracer *tracer, struct tracee *t, const struct maps *maps);
int guard_close_mask(struct tracee *t);

/*
 * The planter's side. First the page of data; the jumps from the program's calls
 * of rt_sigaction() may stand from then on. Then the handler, before the first
 * breakpoint.
 */
int guard_prepare(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		  struct ubp_err *err);
int guard_install(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		  struct ubp_err *err);
/* Room for hijacked return addresses. */
int guard_provide_returns(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
			  struct ubp_err *err);
/* @child is a copy of @parent's memory: tell its guard that it is @p's. */
void guard_copied(const struct space *child, const struct process *p);

/* --- give_back.c --------------------------------------------------------------------- */

/* Nothing leads to our mappings any more: those are unmapped that no thread is in. @t: the only
 * thread of @p, held, that goes on with @at, or NULL; it may be gone afterwards, and @p, too. */
void give_back(struct tracer *tracer, struct process *p, struct tracee *t,
	       const struct ubp_regs *at);

/* --- leftover.c ---------------------------------------------------------------------- */

/*
 * What an earlier ubp left in the process: its areas are taken over; if it was
 * killed, its breakpoints go, and reference counters are put right. *n_removed grows by the
 * breakpoints taken out, also if it fails: it may be tried again by another thread. @t goes on until it is out of the guard, and is held elsewhere then.
 */
int leftover_adopt(struct tracer *tracer, struct tracee *t, const struct maps *maps,
		   unsigned *n_removed, struct ubp_err *err);

/* --- cave.c -------------------------------------------------------------------------- */

struct cave {
	uint64_t vaddr;
	uint8_t saved[256];
	size_t len;
};

/*
 * Go's stacks have no room for frames, and its functions keep data below their stack pointers: then
 * frames go to the far end of the first thread's stack, which Go never comes near. @at: the
 * registers of @t. Before the first remote call. Returns 0 or -ENOTSUP: there is no room.
 */
int cave_provide_frames(struct plant *plant, struct tracee *t, const struct maps *maps,
			const struct ubp_regs *at, struct ubp_err *err);

/* Write the stub somewhere executable; remember what was there. */
int cave_open(struct tracee *t, const struct maps *maps, struct cave *cave,
	      struct ubp_err *err);
/*
 * The call is made. The thread still has the end of the stub before it: move it
 * to the copy in the new area, or (the call failed) do what the end of the stub
 * would do; then give the cave back.
 */
void cave_close(struct tracee *t, const struct ubp_regs *at, const struct cave *cave);

/* --- area.c: used inside this room ----------------------------------------------- */

struct guard_head;

/*
 * Room for @n slots from which [lo, hi) is within reach (lo == hi: anywhere), by
 * mapping a new area if need be. Sets *ret_area; slots are then taken with
 * area_take().
 */
int area_provide(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		 const struct maps *maps, uint64_t lo, uint64_t hi, size_t n,
		 struct area **ret_area, struct ubp_err *err);
uint64_t area_take(struct area *area, struct site *owner);
/* A block of @len bytes, at the end of what is used. False: there is no room. */
bool area_take_block(struct area *area, size_t len, struct site *owner);
/* One that was there before has another owner now. */
void area_own_block(const struct area *area, uint64_t block, size_t len, struct site *owner);
/* Enter a block into the table of its area, by the vaddr of its copy (UBP_SLOT_JUMP). */
void area_enter_copy(struct mem_writes *writes, struct area *area, uint64_t copy);
/* The trap at @vaddr of a detour that scans the stack: for the guard it is an unwinder's site whose
 * slot is @copy. For good: nothing else may ever stand in that block. */
int area_enter_trap(struct mem_writes *writes, struct area *area, uint64_t vaddr,
		    uint64_t copy);
/* Is [@vaddr, @vaddr + @len) room for slots in it, behind its table? */
bool area_holds(const struct area *area, uint64_t vaddr, uint64_t len);
/* The area that @vaddr lies in, or NULL. */
struct area *area_of(const struct plant_space *ps, uint64_t vaddr);
/* Has the guard an entry for the place, of a site that stands or stood there? */
bool area_has_entry(const struct plant_space *ps, uint64_t vaddr);
/* No room for another slot. */
bool area_is_full(const struct area *area);
/* Whose slot is it? */
struct site **area_owner(const struct area *area, uint64_t slot);
/*
 * Write the code of sites whose slots are in @area, and enter them into the table there.
 * Ascending slots go fastest.
 */
int area_enter(const struct space *space, pid_t tid, struct area *area,
	       struct site *const *sites, size_t n);
struct area *area_new(uint64_t vaddr, const struct guard_head *head);
/* Its .owners and, if it has a table, .keys: all empty. By .len and .table_mask, which stay as they
 * are. Returns 0 or -ENOMEM. */
int area_make_tables(struct area *area, bool has_keys);
void area_free_tables(struct area *area);
void area_free_all(struct area *area);
/* Write what stands once in a space, into the area at @head. */
int area_furnish(const struct space *space, uint64_t head, pid_t tid);
/* One remote system call of held thread @t, which goes on with @at afterwards. */
int area_call(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at, uint64_t stub,
	      int nr, const uint64_t args[6], int64_t *ret_result, struct ubp_err *err);
/* mmap() in the target; at @hint and nowhere else, if it is not 0. */
int area_map(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at, uint64_t stub,
	     uint64_t hint, uint64_t len, int prot, uint64_t *ret_vaddr, struct ubp_err *err);

/* --- slack.c ---------------------------------------------------------------------- */

/*
 * An area in the zero bytes behind the code of a file near [lo, hi): for a process
 * that may not be made to map anything (--force). Its room is small, and there is
 * no stub in it. -ENOSPC: no such place.
 */
int slack_provide(struct tracee *t, const struct maps *maps, uint64_t lo, uint64_t hi,
		  struct area **ret_area, struct ubp_err *err);

/* --- site.c ------------------------------------------------------------------------ */

/* What a site's file says is there. */
struct site_origin {
	const struct file_code *code;      /* NULL: an internal site, whatever is there */
	const struct displaced_insn *insn; /* the same decoded, or NULL */
	const struct lead *lead;           /* in front of it, or NULL */
	const char *what;                  /* names the probe */
};

/*
 * The site at @vaddr, made if there is none: the instruction there decoded and
 * compared with its file's. Not yet planted. @m is the mapping it lies in; @view was
 * begun after the last write.
 */
int site_provide(struct space *space, pid_t tid, struct mem_view *view, uint64_t vaddr,
		 const struct mapping *m, const struct site_origin *from,
		 struct site **ret_site, struct ubp_err *err);
int site_add_probe(struct site *site, struct uprobe *probe);
bool site_has_probe(const struct site *site, const struct uprobe *probe);
/* Has somebody else changed the first instruction at @probe's place, that has no site? */
bool site_is_taken(const struct space *space, struct mem_view *view, uint64_t vaddr,
		   const struct uprobe *probe);
void site_drop_probe(struct site *site, const struct uprobe *probe);
/* The same for a function that is left there. */
int site_add_exit(struct site *site, const struct site_exit *exit_);
bool site_has_exit(const struct site *site, const struct uprobe *probe, uint64_t func_vaddr);
void site_drop_exits(struct site *site, const struct uprobe *probe, uint64_t func_vaddr);
static inline bool site_is_probed(const struct site *site)
{
	return site->n_probes || site->n_exits;
}
/* Keep one that is in no map any more: return instances may name it. */
void site_bury(struct plant_space *ps, struct site *site);
/* Take a site that is not planted out of its space. */
void site_discard(struct plant_space *ps, struct site *site);
/* Give it a slot in @area (NULL: in place), make the code for that. Nothing is written. */
int site_prepare(const struct plant *plant, struct space *space, pid_t tid, struct site *site,
		 struct area *area, struct ubp_err *err);
/* All of a space, in the order of their addresses. Allocated; NULL: out of memory. */
struct site **plant_sites_by_place(const struct plant_space *ps, size_t *ret_n);
/* Write the breakpoint. */
int site_plant(struct space *space, pid_t tid, struct site *site, struct ubp_err *err);
/* Does it stand there? @view begins after the writes. */
int site_read_back(const struct space *space, struct mem_view *view, const struct site *site,
		   struct ubp_err *err);
/*
 * Does @now, what stands at a site, have something of @ours in it, whole or in part, or a
 * breakpoint over it? @orig: what stood there. Not if there is a byte that we have not written: the program
 * may have mapped something else.
 */
bool site_is_ours(const struct ubp_arch *arch, const uint8_t *ours, const uint8_t *orig,
		  size_t len, const uint8_t *now);
/* Has it been looked at, and has nothing of ours? @view begins after the writes. */
bool site_is_out(const struct space *space, struct mem_view *view, const struct site *site);
/* 0: nothing of ours stands there; it has been looked at. -errno: something may. */
int site_unplant(const struct space *space, pid_t tid, const struct site *site);
/* The same for all that are planted: those that are jumps to the guard, or all others. */
void site_unplant_all(const struct plant_space *owner, struct undo *undo, pid_t tid,
		      bool patched);
void site_free(struct site *site);
struct site *site_copy(const struct site *site);

/* --- first.c ----------------------------------------------------------------------- */

/*
 * @site is behind a lead: have its probes a breakpoint at that instead. @t: a stopped thread of its
 * space; it may be gone afterwards. False: all is as it was, but a jump is a breakpoint, perhaps.
 */
bool site_to_first(struct plant *plant, struct tracer *tracer, struct tracee *t,
		   struct site *site);

/* --- hooks.c ----------------------------------------------------------------------- */

/*
 * Call @each for the functions of the process on which breakpoints of our own
 * must stand. @has_returns: unwinders are among them without a return probe, too.
 * Stops when it returns non-zero and returns that; or -ENOMEM.
 */
int hooks_each(struct plant *plant, pid_t pid, const struct maps *maps, bool has_returns,
	       int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			   unsigned watches),
	       void *ctx);
/* Does the process map code that the Go compiler made? */
bool hooks_is_go(struct plant *plant, pid_t pid, const struct maps *maps);
void hooks_free(struct plant *plant);

/* --- watch.c ----------------------------------------------------------------------- */

/* A site that was just made, or has other probes and watches now: is it to rest? */
void watch_decide(const struct plant_space *ps, struct site *site);
/* Are there unwinders at all? */
bool watch_has_unwinders(const struct plant_space *ps);
/*
 * Breakpoints are to stand where unwinders begin, since return addresses will be replaced; or
 * where they end, since one is among them. Returns 0; -EFAULT: one could not be written.
 */
int watch_wake_begins(struct space *space, pid_t tid);
void watch_wake_ends(struct space *space, pid_t tid);
/* Such a breakpoint was met by @t, and handled: perhaps they may rest. */
void watch_met(struct tracee *t, const struct site *site);

/* Is that all it is for: to tell that an unwinder begins, or is resumed, or ends? */
bool watch_is_unwinders(const struct site *site);

/* --- scan.c ------------------------------------------------------------------------ */

/*
 * A site where an unwinder begins may become a jump to a detour that scans the stack itself, and
 * stops only if something of ours is on it (detour_plan.scans). Finds .scan of those that stand; @pid: a
 * thread of @space. False: of some a file could not be read, and may be later.
 */
bool scan_look(struct plant *plant, const struct space *space, pid_t pid);
/* May it become one, or is it? */
bool scan_is_one(const struct site *site);
/* @t, at @sp, has found its way to the tracer though nothing was there: it may need to know its
 * stack. */
void scan_note_stack(struct tracee *t, uint64_t sp);
void scan_free(struct plant *plant);

/* --- sigaction.c ------------------------------------------------------------------- */

/*
 * The same for the program's own calls of rt_sigaction(): @watch is WATCH_SIGACTION; and for those
 * that have to do with tracing, and with execs: WATCH_CALLS.
 */
int sigaction_each(struct plant *plant, const struct ubp_arch *arch, pid_t pid,
		   const struct maps *maps,
		   int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			       enum site_watch watch),
		   void *ctx);
void sigaction_free(struct plant *plant);
/*
 * The first of such calls that is at or behind @at, up to @end: a sequence as @call is one, and how
 * far behind its start the instruction stands that gives way. NULL: none.
 */
const uint8_t *sigaction_find(const struct ubp_arch *arch, const uint8_t *call,
			      const uint8_t *at, const uint8_t *end, size_t *ret_more);

/*
 * tracing.c: the first place at or behind @at, up to @end, where one of WATCH_CALLS stands or
 * begins. NULL: none. Where it begins is returned, *ret_more bytes behind that is the place.
 */
const uint8_t *tracing_find(const struct ubp_arch *arch, enum site_watch watch,
			    const uint8_t *at, const uint8_t *end, size_t *ret_more);

/* What can be told of a process beyond @probe's own file. */
void hooks_return_facts(struct plant *plant, pid_t pid, const struct maps *maps,
			struct return_facts *ret_facts);

/* --- returns.c --------------------------------------------------------------------- */

/*
 * Put every hijacked return address of @owner back into the memory of undo->space
 * (owner's own, or a copy), where our trampoline still stands there. What can't be is noted.
 */
void returns_put_back(struct plant_space *owner, struct undo *undo, pid_t tid);
/*
 * Write the trampoline's address over @ri's stack word, behind an entry in the
 * target's return table. Returns 0; -ENOSPC: the table is full; -EFAULT.
 */
int returns_arm(const struct space *space, struct return_instance *ri, pid_t tid);
/*
 * What @ri, taken out of all, leaves behind: the guard's table no longer knows of it; where a thread is not
 * on its way before it goes on (ubp_arch.leave_trampoline), not before the next one is over.
 */
void returns_over(const struct space *space, const struct return_instance *ri, pid_t tid);
/* @ri is over: its entry may be used again. */
void returns_forget(struct plant_space *ps, struct return_instance *ri);
int returns_copy(const struct plant_space *from, struct plant_space *to, struct tracee *first);
void returns_free(struct plant_space *ps);

/* Lists of instances: put in as the newest, or as the one that is next older than @newer (NULL:
 * none is newer); take out of the one it is in, if any. */
void returns_link(struct return_list *list, struct return_instance *ri);
void returns_link_behind(struct return_list *list, struct return_instance *newer,
			 struct return_instance *ri);
void returns_unlink(struct return_instance *ri);
void returns_free_one(struct return_instance *ri);

/* An instance for this stack word, empty, in no list. NULL: out of memory. */
struct return_instance *returns_new(struct plant_space *ps, uint64_t slot_vaddr);
/* The function at @site was entered at @entered_ns. 0 or -ENOMEM. */
int returns_add_entry(struct return_instance *ri, struct site *site, uint64_t entered_ns);
/* Put it in where it belongs by its stack word: further in is newer. */
void returns_link_in_place(struct return_list *list, struct return_instance *ri);

/* An instance can't return for reason @why, or (uncount) did all the same. */
void returns_count(struct return_instance *ri, enum missed_why why);
void returns_uncount(struct return_instance *ri);

/*
 * Forget those whose stack word holds something else by now. What stays is no more
 * than the target's memory has room for.
 */
void returns_sweep(struct space *space);
/* Not before there are some times as many as now. */
void returns_sweep_later(struct plant_space *ps);

/* --- semaphore.c -------------------------------------------------------------------- */

/*
 * Semaphores of @plant's probes that @maps now map: increment each once. Those no
 * longer mapped are forgotten.
 */
int semaphore_update(const struct plant *plant, struct space *space, pid_t tid,
		     const struct maps *maps);
/*
 * Decrement them. @pid lives in @space, which may be a copy (fork): what @owner incremented. If
 * that has decremented them meanwhile, it depends on what they are in the copy. Those that can't
 * be decremented stay noted in the target, and are added to *left.
 */
void semaphore_remove(struct plant_space *owner, struct space *space, pid_t pid, pid_t tid,
		      struct plant_left *left);
/* Write into the target that there are none that we incremented. */
void semaphore_note_none(const struct plant_space *ps, const struct space *space, pid_t tid);
/* Decrement one that a killed tracer had incremented, and noted so. True: it had. */
bool semaphore_drop(const struct space *space, const struct maps *maps, pid_t tid,
		    const struct guard_semaphore *noted);

#endif
