/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Jumps: sites that need no trap (arch/detour.h). Every site is a breakpoint first;
 * what can be a jump is made one in a later pass, in steps, so that the target
 * stands still for the last one alone:
 *
 *   jump_collect()  all run: which sites there are
 *   jump_prepare()  one thread held: rings and room for detours are mapped
 *   jump_build()    all run: detours are generated and written
 *   jump_write()    all held: nobody is in a window, the jumps are written
 *
 * What somebody is in the middle of stays a breakpoint until the next pass.
 */

#ifndef UBP_PLANT_JUMP_H
#define UBP_PLANT_JUMP_H

#include <stdbool.h>

#include "arch/detour.h"
#include "engine/plant/plant.h"

struct site_jump {
	uint64_t copy; /* vaddr of the window's copy, the start of the detour's code */
	uint32_t len;  /* of the code, from there on */
	struct detour detour;
	uint8_t n;                          /* instructions of the window */
	uint8_t from[UBP_WINDOW_INSNS + 1]; /* where they start; the last: behind them */
	uint8_t orig[UBP_WINDOW_MAX], bytes[UBP_INSN_MAX];
	uint8_t jump_len;
	bool is_begun;   /* some of it may stand behind the breakpoint, or all of it */
	bool is_written; /* all of it stands */
	bool is_left;    /* it could not be taken out again */
	bool in_use;     /* somebody is in its code */
	bool scans;      /* the detour scans the stack (detour_plan.scans) */
};

struct jump_batch;

/* The space is unguarded: its sites stay breakpoints, and are told why. */
void jump_refuse_all(struct plant_space *ps);
/* What could be a jump and is none yet. NULL: nothing, or out of memory. */
struct jump_batch *jump_collect(struct plant *plant, const struct space *space);
/*
 * @t: a held thread of that space, that goes on with @at. Errors: -ESRCH; whatever else
 * fails means that breakpoints stay breakpoints, with the reason in site->no_jump. The batch
 * is to be freed then.
 */
int jump_prepare(struct plant *plant, struct tracer *tracer, struct tracee *t,
		 const struct ubp_regs *at, struct jump_batch *batch, struct ubp_err *err);
/* @pid: any thread of the space, running or not. */
void jump_build(struct plant *plant, struct space *space, pid_t pid, struct jump_batch *batch);
/*
 * Write them, with all threads held; those held by the caller (@keep) stay so. The batch is
 * freed. The space may be gone afterwards.
 */
void jump_write(struct tracer *tracer, struct space *space, const struct tracee *keep,
		struct jump_batch *batch);
void jump_batch_free(struct jump_batch *batch);
/* At the end of a session: sites and statistics name them no more. */
void jump_free_reasons(struct plant *plant);
/*
 * Nothing was done with it, for no thread could be stopped: its sites are due again, but not soon.
 * The batch is freed.
 */
void jump_put_back(struct space *space, struct jump_batch *batch);

/*
 * All threads are stopped, written back what was there, let go. Detours that are being run are
 * run to their ends, and record nothing any more.
 */
void jump_remove(struct tracer *tracer, struct space *space);
/* The same in a copy of @owner's memory, whose only thread @tid is stopped. */
void jump_clean_copy(struct plant_space *owner, const struct space *space, pid_t tid,
		     struct plant_left *left);

/* Of the breakpoint in a detour at @vaddr: its site, and from which probe on the hit
 * is the tracer's. *ret_is_return: it is in the return code. */
struct site *jump_of_trap(const struct space *space, uint64_t vaddr, size_t *ret_first,
			  bool *ret_is_return);
/* Is @vaddr in the site's detour? *ret_at: where, from the copy's start. */
bool jump_has(const struct site *site, uint64_t vaddr, uint64_t *ret_at);
/* A fault at that place is the detour's own: where the thread goes on. 0: it is not. */
uint64_t jump_fixup(const struct site *site, uint64_t at);

/* Nobody knows who is in any of the detours, or will come back to it. */
void jump_keep_blocks(struct plant_space *ps);
int jump_copy(const struct site *from, struct site *to);
void jump_free(struct site_jump *jump);

/*
 * @site becomes a breakpoint again, for @why. @t: a stopped thread of its space; it may be
 * gone afterwards. False: it could not be done now.
 */
bool jump_demote(struct tracer *tracer, struct tracee *t, struct site *site, const char *why);

/* --- hijack.c: return addresses that detours have replaced ------------------------------ */

/* The table and the code that they need, in a held thread's process. 0 or -errno. */
int hijack_provide(struct tracer *tracer, struct tracee *t, const struct ubp_regs *at,
		   const struct maps *maps, struct ubp_err *err);
/* What stands at a stack word, really: @word is what was read there. */
uint64_t hijack_real(const struct space *space, uint64_t slot_vaddr, uint64_t word);
/*
 * The one at this stack word becomes the tracer's (struct return_instance), its probes'
 * sites with it. NULL: there is none.
 */
struct return_instance *hijack_take(struct tracee *t, uint64_t slot_vaddr);
/* Is an entry of this stack word in use? *ret_site: whose; NULL: that is not known. */
bool hijack_has(const struct space *space, uint64_t slot_vaddr, const struct site **ret_site);
/* The stack word holds something else by now: the one that was there will not return. Its site;
 * NULL: there was none. */
const struct site *hijack_drop(const struct space *space, pid_t tid, uint64_t slot_vaddr);
/* The stack word of the nearest one above @vaddr; 0: there is none. */
uint64_t hijack_nearest(const struct space *space, uint64_t vaddr);
/*
 * How long the call took, of a thread in the return code at @back (guard_hijack.back) that
 * asked for it, ns; @sp: its caller's stack pointer.
 */
uint64_t hijack_duration(const struct space *space, uint64_t sp, uint64_t back);
/* A signal comes while it is there: its handler may run on another stack. */
void hijack_note_stack(struct tracee *t, uint64_t sp);
/* Its frame is over: the next one that uses the word may have the entry. */
void hijack_set_free(const struct space *space, pid_t tid, uint64_t entry);

/* --- hijack_open.c: functions that do not return any more ----------------------------- */

struct guard_hijack;

/* Count @entry as missed, for each return probe of its function. */
void hijack_count(const struct space *space, const struct guard_hijack *entry,
		  enum missed_why why);
/* @t ends: what detours have replaced in its stacks is the tracer's from now on (hijack_take_own()), or,
 * where there are link registers, counted. @is_last: then all that no stack told of counts, too,
 * as those that a longjmp() skipped. */
void hijack_thread_ends(struct tracee *t, bool is_last);
/* @t is about to execute a program, and @is_alone in its process. What it leaves open is noted, to
 * be counted once its memory is gone. @is_in_it: it is in that system call, and the last of the others
 * has ended. */
void hijack_note_exec(struct tracee *t, bool is_alone, bool is_in_it);
/* Its memory is gone. */
void hijack_count_exec(struct space *space);
/* @first, in a copy of its parent's memory that is kept, has what detours had replaced for that: its
 * parent will return there, too, so they are not counted in the copy. They are the tracer's from now on,
 * and its parent's tables do not know that (plant_clean_copy()); where there are link registers they
 * stay as they are. */
void hijack_adopt(struct tracee *first);

/* hijack_take() for all from @sp upwards on this stack, and on those that signals came to. */
void hijack_take_stacks(struct tracee *t, uint64_t sp);
/* The same for a stopped thread and all of its stack, from where it is. Not where there are link
 * registers: nothing tells where those addresses are. */
void hijack_take_own(struct tracee *t);
/* Where they are not put back: their detours' blocks are in use. */
void hijack_note_blocks(const struct space *space);
/*
 * Where a signal's frame may be written over the word that a thread has just returned by (there is
 * no red zone): it returns once more, home. Before hijack_put_back().
 */
void hijack_save_returning(const struct space *space);
/* May somebody return by one that is still replaced, or was not found where it had stood? */
bool hijack_waits(const struct space *space);
/* Put all back into the memory of @space (@owner's, or a copy), whose threads are held. What
 * can't be put back is noted, and its detour's block is in use. */
void hijack_put_back(struct plant_space *owner, const struct space *space, pid_t tid,
		     struct plant_left *left);

/* --- rings.c ------------------------------------------------------------------------- */

#define RINGS_SHARED ((void *)1) /* several threads have one thread pointer */

/* A free range of @len bytes in a process of @arch, far from everything, on either side of @from; in
 * 32 bits where it is least in the way. 0: none. */
uint64_t rings_find_room(const struct ubp_arch *arch, const struct maps *maps, uint64_t from,
			 uint64_t len);
/* Map rings into a held thread's process. 0, or -errno: it can't have any. */
int rings_provide(struct plant *plant, struct tracer *tracer, struct tracee *t,
		  const struct ubp_regs *at, const struct maps *maps, struct ubp_err *err);
/*
 * Threads have come for which there are no rings: more of them are mapped, with @t held, which
 * goes on with @at. 0, or -errno: there are none to be had; -ESRCH: it has ended.
 */
int rings_grow(const struct plant *plant, struct tracer *tracer, struct tracee *t,
	       const struct ubp_regs *at, struct ubp_err *err);
/* Bytes that may be mapped into a process at a time: little of what RLIMIT_AS leaves to it. */
uint64_t rings_allowance(pid_t pid);
/* Entries of a table, a power of two: @most, or fewer where a limit leaves little room. */
uint64_t rings_fit_table(pid_t pid, uint64_t most, uint64_t entry_len);
/* Bytes of the region to begin with, for @t's process; no more than @most. 0: too much. */
size_t rings_first_part(const struct plant *plant, const struct tracee *t, size_t most);
/*
 * Where rings are mapped, those of an earlier session or of the process's parent too, as the guard's data
 * tells and @maps bear out: the control page's vaddr, bytes from there on. 0: nowhere.
 */
uint64_t rings_place(const struct space *space, const struct maps *maps, uint64_t *ret_len);
/* Tell the next session where they are: the control page's vaddr, bytes from there on. */
int rings_note_place(const struct space *space, pid_t tid, uint64_t at, uint64_t len);
/*
 * What detours do: RING_GATE_OFF, RING_GATE_TRAP, or the base. @space is @owner, or a
 * copy of its memory.
 */
int rings_set_gate(const struct space *owner, const struct space *space, pid_t tid,
		   uint64_t value);
/* A stopped thread has this thread pointer: a ring for it, if nobody else has the same. */
void rings_add_thread(struct tracer *tracer, struct tracee *t, const struct ubp_regs *regs);
/* Its stack, from @lo to @end, for detours that look through it; no more of it than they do. */
void rings_set_stack(const struct tracee *t, uint64_t lo, uint64_t end);
/* It shares its thread pointer with a child from now on. */
void rings_drop_thread(struct space *space, pid_t tid);
/* It has ended. */
void rings_thread_gone(struct tracee *t);
/*
 * Detours may read what is mapped now. If there is more than they can note, what holds one of
 * @wanted comes first.
 */
void rings_look_around(struct space *space, pid_t tid, const uint64_t *wanted, size_t n);
/* May they read this address already? */
bool rings_may_read(const struct plant_space *ps, uint64_t vaddr);
void rings_close(struct plant_space *ps);

#endif
