/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What an instruction set has for jumps: a part of its table (arch/arch.h). */

#ifndef UBP_ARCH_ARCH_JUMP_H
#define UBP_ARCH_ARCH_JUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct displaced_insn;
struct leaf;
struct leaf_copy;
struct ubp_err;
struct ubp_regs;
struct pun;
struct window;
struct window_copy;

/* Jumps, and the windows that they stand in. */
struct arch_jump {
	/*
	 * NULL: there are no jumps for this instruction set.
	 *
	 * The window at @vaddr: as many whole instructions of @code (of which @len bytes,
	 * up to UBP_WINDOW_MAX, may be read, all of one function; @padding bytes of fill may
	 * follow those) as a jump needs. -EOPNOTSUPP, with the reason: an instruction that
	 * can't be moved together with others, or the function ends too early. Whether somebody
	 * jumps into the window is not its question.
	 */
	int (*find)(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err);
	/*
	 * The same for a jump that leads to a hop only (struct hop): one instruction. NULL: there
	 * are no such jumps, or no need of them.
	 */
	int (*find_short)(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
			  struct window *ret_window, struct ubp_err *err);
	/* How far from a window's start a hop may begin: [-short_back, short_on]. */
	uint8_t short_back, short_on;
	/*
	 * The same as .find() for a jump of which @jump_len bytes are written, fewer than it has (struct pun). NULL: there
	 * are no such jumps, or no need of them.
	 */
	int (*find_punned)(const uint8_t *code, size_t len, uint8_t jump_len, uint64_t vaddr,
			   struct window *ret_window, struct ubp_err *err);
	/* Sets the rest of such a window: ->pun, with @n_prefix and UBP_PUN_FIXED bytes that stand behind the jump. False: that
	 * is not to be had. */
	bool (*take_pun)(struct window *window, uint8_t n_prefix, const uint8_t *behind);
	/*
	 * Has @insn the same effect wherever it stands, and makes it no fault but where the stack is gone? Then a detour may carry
	 * it out in front of a return (detour_plan.run_up). NULL: there are no such detours.
	 */
	bool (*runs_anywhere)(const struct displaced_insn *insn);
	/* The same, but it may make a fault, too, which is told of where it belongs; it leaves the stack pointer alone then. */
	bool (*runs_or_faults)(const struct displaced_insn *insn);
	/* Where such a jump at @vaddr that leads to @hop leads with breakpoints of others at these of its fixed bytes: bit by number. */
	uint64_t (*pun_with)(const struct pun *pun, uint64_t vaddr, uint64_t hop,
			     unsigned breakpoints);
	/* A jump to anywhere, from anywhere: at most UBP_FAR_JUMP_MAX bytes. Returns its length. */
	size_t (*build_far)(uint64_t to, uint8_t *ret_code);
	/* Does nothing that stands behind @insn run, unless somebody jumps there? Where there is .find_short. */
	bool (*ends_flow)(const struct displaced_insn *insn);
	/*
	 * Is the window's first instruction one that indirect branches may have to lead to, and
	 * no other? Then a jump must not stand there in a file that asks for it. NULL: there
	 * are none.
	 */
	bool (*is_landing_pad)(const struct window *window);
	/* The copy of @window that will stand at @vaddr. -ERANGE as of slot.build(). */
	int (*build_copy)(const struct window *window, uint64_t vaddr,
			  struct window_copy *ret_copy, struct ubp_err *err);
	/*
	 * The registers of a thread at offset @at of a copy that stands at @vaddr, as they
	 * would be in the program; as slot.leave().
	 */
	bool (*copy_leave)(const struct window *window, const struct window_copy *copy,
			   uint64_t vaddr, struct ubp_regs *regs);
	/*
	 * What of the function at @code, @len bytes of it, can be copied (arch/leaf.h): *ret_leaf is to be freed with free(). -EOPNOTSUPP, with the reason: nothing.
	 * NULL: of no function can it.
	 */
	int (*find_leaf)(const uint8_t *code, size_t len, uint64_t vaddr,
			 struct leaf **ret_leaf, struct ubp_err *err);
	/* Written over the first bytes of a ret of a copy, it is a ret that tells nothing; what is overwritten is the start of a jump. */
	struct {
		const uint8_t *code, *jump;
		size_t len;
	} leaf_ret;
	/* The jump at @site to @target, window->jump_len bytes; a hop's has UBP_HOP_LEN. -ERANGE: too far. Whether what
	 * follows one that is punned leads there is not its question. */
	int (*build)(const struct window *window, uint64_t site, uint64_t target,
		     uint8_t *ret_jump, struct ubp_err *err);
	/*
	 * From behind a jump to where it may lead, the best first, up to a 0: the bytes of such a jump behind its first one are those of
	 * breakpoints, the more the better. NULL: a jump takes the place of one instruction always.
	 */
	const int64_t *mirrors;
};

#endif
