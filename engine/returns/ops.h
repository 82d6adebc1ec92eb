/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where a call leaves the return address decides how it is replaced: in a word of the stack, which is the same one
 * until the function returns; or in a register, from where the function puts it anywhere, perhaps signed. There is one
 * table of operations for each, and nobody else asks which one it is (ubp_arch.return_in).
 *
 * Either way it is known by its stack word, the stack pointer at entry (return_instance.slot_vaddr): that is where the
 * address stands, or, from a register, the end of its caller's frame.
 */

#ifndef UBP_RETURNS_OPS_H
#define UBP_RETURNS_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/space/space.h"

struct held;
struct tracee;
struct ubp_regs;
struct undo;

/* A word that holds a return address: what stands there when it is replaced, and when it is put back for an unwinder. */
struct return_word {
	uint64_t at; /* 0: it was in the register still */
	uint64_t was, is;
};

/* What becomes of those that detours replaced, and that stay theirs. */
enum with_open {
	COUNT_AS_THREADS, /* missed: the thread ended */
	COUNT_AS_EXITED,  /* missed: the process ended */
	NOTE,             /* to be counted if the exec succeeds */
	LEAVE_UNCOUNTED,  /* its parent's, which counts them */
};

struct return_ops {
	/* --- a function is entered, by a thread that stopped with @regs ---------------------- */

	/* Find where it is to return to. False: that can't be replaced. */
	bool (*find)(const struct tracee *t, const struct ubp_regs *regs,
		     uint64_t *ret_address);
	/* Where it is to return to, without a signature, to be told. False: it can't be read. */
	bool (*read)(const struct tracee *t, const struct ubp_regs *regs,
		     uint64_t *ret_address);
	/* What stands there is a detour's: it becomes the tracer's, as by hijack_take(). */
	struct return_instance *(*take_over)(struct tracee *t, uint64_t sp);
	/* What stands there is the program's: a detour's with the same stack word is over, or lies under the new one. */
	void (*overtake)(struct tracee *t, uint64_t sp);
	/* May @ri still return when @tid has entered another function with the same stack word? */
	bool (*may_lie_under)(const struct return_instance *ri, pid_t tid);
	/* Write the guard's entry of @ri at @entry (0: there is no table), then replace the word, if it is one.
	 * Returns 0 or -errno. */
	int (*write)(const struct space *space, const struct return_instance *ri, pid_t tid,
		     uint64_t entry);
	/* Replace it in @regs, if it is there: they are written later. */
	void (*replace)(const struct space *space, struct ubp_regs *regs);
	/* Take what .replace() changed from @from over to @regs. */
	void (*copy)(const struct ubp_arch *arch, struct ubp_regs *regs,
		     const struct ubp_regs *from);
	/* Write what .replace() changed, if anything, of a thread that goes on at @pc, where it stands. */
	void (*write_regs)(struct tracee *t, const struct ubp_regs *regs, uint64_t pc);

	/*
	 * Make the registers at entry those behind a return, without any trace of ours: *@ret_to is what a return instruction
	 * would go to, perhaps a trampoline. False: it can't be read.
	 */
	bool (*leave)(const struct tracee *t, struct ubp_regs *regs, uint64_t *ret_to);

	/* --- it returns ---------------------------------------------------------------------- */

	/* What a return address stands for: returns_real(). */
	uint64_t (*real)(const struct space *space, uint64_t at, uint64_t sp, uint64_t word);
	/* How far below the stack pointer behind a return its stack word is, if the callee popped nothing. */
	uint64_t (*word_below)(const struct ubp_arch *arch);
	/* The one by which a thread at @sp has returned to the trampoline. NULL: none has that stack word. */
	struct return_instance *(*find_returned)(const struct space *space, uint64_t sp);
	/* Put the real address where the trampoline's jump takes it from. False: it can't be written. */
	bool (*put_real)(const struct tracee *t, struct ubp_regs *regs, uint64_t real);
	/* Where a thread in the return code of a detour goes on. False: it can't be read. */
	bool (*read_returned)(const struct tracee *t, const struct ubp_regs *regs,
			      uint64_t *ret_real);
	/* @t goes on from the trampoline with @regs, behind .put_real(). */
	void (*send_on)(struct tracee *t, const struct ubp_regs *regs);

	/* --- an unwinder looks --------------------------------------------------------------- */

	/* Put back all that it may find: those on its own stack go to @here, innermost first, others to @far. */
	void (*disarm)(struct tracee *t, struct ubp_regs *regs, unsigned watches,
		       struct return_list *here, struct return_list *far);
	/* The signed ones of them, by remote calls of @held. False: it has ended meanwhile. */
	bool (*disarm_signed)(const struct held *held);
	/* Where it stands, to be replaced again. */
	struct return_word (*word)(const struct plant_space *ps,
				   const struct return_instance *ri);
	/* Is a function that was entered at @entry_sp left, by a thread that is at @sp? */
	bool (*is_left)(uint64_t entry_sp, uint64_t sp);
	/* Where a signal comes, is the stack to be remembered, for an unwinder on another one? */
	bool (*wants_stacks)(const struct plant_space *ps);

	/* --- a thread, or the tracing, ends -------------------------------------------------- */

	/* Forget those whose stack word holds something else by now, if that can be told. What stays is no more than the
	 * target's memory has room for. */
	void (*sweep)(struct space *space);
	/* Put back all that the tracer replaced in @owner's memory, into undo->space, that or a copy.
	 * What can't be put back is noted. */
	void (*put_back)(struct plant_space *owner, struct undo *undo, pid_t tid);
	/* Does somebody come home by the guard's table only? */
	bool (*needs_table)(const struct plant_space *ps);

	/* Return addresses that detours replaced in the stacks of stopped thread @t become the tracer's. */
	void (*take_own)(struct tracee *t);
	/* Those of .take_own() stay the detours', and are dealt with as @what says. */
	void (*look_at_own)(struct tracee *t, enum with_open what);
	/*
	 * Where a signal's frame may be written over the word that a thread has just returned by (there is
	 * no red zone): it returns once more, home. Before .put_back_hijacks().
	 */
	void (*save_returning)(const struct space *space);
	/* Put all of them back into the memory of @space (@owner's, or a copy), whose threads are held. What
	 * can't be put back is noted, and its detour's block is in use. */
	void (*put_back_hijacks)(struct plant_space *owner, const struct space *space,
				 pid_t tid, struct plant_left *left);
	/* Where they are not put back: their detours' blocks are in use. */
	void (*note_blocks)(const struct space *space);
	/* May unwinders meet some that an earlier session's detours replaced? */
	bool (*keeps_hijacks)(const struct plant_space *ps);
};

extern const struct return_ops return_in_stack, return_in_register;

/* By enum arch_return_in. */
extern const struct return_ops *const return_ops_tables[];

static inline const struct return_ops *return_ops(const struct space *space)
{
	return return_ops_tables[space->arch->return_in];
}

#endif
