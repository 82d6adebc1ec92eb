/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Stopping all threads of an address space at once, for as short as can be. */

#ifndef UBP_TRACE_HOLD_H
#define UBP_TRACE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct held;
struct space;
struct tracee;
struct tracer;
struct ubp_regs;

/*
 * Hold every thread that lives in @space; none of them has a trap of ours pending.
 * Threads that are held already stay so. Those born meanwhile are held, too. A vfork()
 * parent does not stop before its child lets it go, one that waits for a disk may take long:
 * after @limit_ms these are given up; those that merely have no processor yet are waited for 50
 * times as long. False: not all could be had, or the space is gone; what was held is held
 * all the same, and those that are missing are inside the kernel: they run no instruction of the
 * program before they stop. But for a thread that there was no memory for (children_note_unseen()): as long
 * as there is one, this returns false.
 */
bool hold_all(struct tracer *tracer, const struct space *space, unsigned limit_ms);

/*
 * The same, but who is asleep in the kernel (task_asleep()) is left alone: no system call is
 * broken off, and if we are killed, nobody has to repair it. It may wake up at any time.
 */
bool hold_running(struct tracer *tracer, const struct space *space, unsigned limit_ms);

/*
 * What a hold would have to look at while somebody stands still is looked at before, while all run: @look is shown each
 * thread that is asleep, and says whether it is to be left alone by hold_rest(). That lasts until the tracer
 * lets the thread go on from a stop, so this is for questions whose answer another sleep cannot change: may it be in some
 * code that is come to by a stop alone? It may wake up at any time, also before hold_rest(). @look NULL: all are.
 *
 * Stops are handled in between, of other processes, too: the caller keeps a reference to @space.
 */
typedef bool hold_look_fn(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp);
void hold_look(struct tracer *tracer, const struct space *space, hold_look_fn *look, void *ctx);
bool hold_rest(struct tracer *tracer, const struct space *space, unsigned limit_ms);
/* Is there anybody that was not looked at? */
bool hold_has_rest(const struct space *space);
/* What was looked for can be come to without a stop now, or could for a while: no look holds any more. */
void hold_forget_looks(const struct space *space);

/* struct tracee's left_alone. */
enum {
	LEFT_NOT,
	LEFT_ASLEEP,    /* by the hold that goes on */
	LEFT_LOOKED_AT, /* by hold_look() */
};

/* Let them go on, but for the thread @keep (NULL: all). */
void hold_end(struct tracer *tracer, const struct space *space, const struct held *keep);

/*
 * Work on the memory of a stopped thread for which its other threads are stopped, once or several times: from begin to
 * end the thread is kept in its stop, and .space is kept (space_keep()).
 */
struct hold_scope {
	const struct held *held;
	struct space *space;
	bool was_held;
};

void hold_scope_begin(struct hold_scope *scope, const struct held *held);
/* Does the thread last (held_lasts()), in that memory? */
bool hold_scope_lasts(const struct hold_scope *scope);
/* Behind hold_end(). The thread is as it was, if it lasts. */
void hold_scope_end(struct hold_scope *scope);

/*
 * Registers of a held thread, those it goes on with in the program: it may be in the stub of a
 * remote call (t->called). Return 0 or a negative errno.
 */
int hold_get_regs(const struct tracee *t, struct ubp_regs *ret_regs);
int hold_get_pc(const struct tracee *t, uint64_t *ret_pc);
int hold_set_pc(struct tracee *t, uint64_t pc);
/* Of a thread in the program's or our code, not in a system call. */
int hold_set_regs(struct tracee *t, const struct ubp_regs *regs);

#endif
