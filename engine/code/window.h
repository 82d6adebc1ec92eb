/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where in a file a jump can take the place of instructions (arch/detour.h). */

#ifndef UBP_CODE_WINDOW_H
#define UBP_CODE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct lead;
struct object;
struct ubp_err;
struct window;

/*
 * The window at @foffset; vaddrs in it are elf_vaddrs. Returns 0; -EOPNOTSUPP: none,
 * with the reason in *err, and its kind in ret_window->why; or another -errno, when the file
 * can't be looked through (landings_get()).
 *
 * A window lies in one function, but for fill behind it, and nobody is known to jump
 * into what would be under the jump. In Go programs it is one instruction, or lies in the
 * check of the stack.
 */
int object_window(struct object *object, uint64_t foffset, struct window *ret_window,
		  struct ubp_err *err);

/*
 * A window of one instruction, of two bytes or more with the fill behind it, whose jump leads to one of ret_window->hops. Errors as
 * of object_window().
 */
int object_window_short(struct object *object, uint64_t foffset, struct window *ret_window,
			struct ubp_err *err);

/*
 * A window whose jump is a punned one (ret_window->pun), which leads to a hop in memory of ours. Errors as of
 * object_window().
 */
int object_window_punned(struct object *object, uint64_t foffset, struct window *ret_window,
			 struct ubp_err *err);

/*
 * A window of one instruction at the start of a run-up (arch/detour.h), as object_window() finds it, or a punned one. The hop of that is in memory
 * of ours, where no goroutine is parked. @several: one of several instructions, as object_window() finds it. Errors as of object_window().
 */
int object_window_run_up(struct object *object, uint64_t foffset, bool several,
			 struct window *ret_window, struct ubp_err *err);

/*
 * A window of a plain ret, one that takes nothing but its address off the stack, and of fill behind it that nobody is known to come to.
 * Errors as of object_window().
 */
int object_window_at_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			 struct ubp_err *err);

/* The same with a short jump, which leads to one of ret_window->hops. */
int object_window_short_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			    struct ubp_err *err);

/* The same with a punned jump. */
int object_window_punned_ret(struct object *object, uint64_t foffset, struct window *ret_window,
			     struct ubp_err *err);

/* The same of a jump to another function, as long as the one that is to stand there, which may be a short one. */
int object_window_at_jump(struct object *object, uint64_t foffset, struct window *ret_window,
			  struct ubp_err *err);

/* At the first instruction: what object_window() finds, else object_window_short(), else object_window_punned(). */
int object_window_first(struct object *object, uint64_t foffset, struct window *ret_window,
			struct ubp_err *err);

/*
 * Can a jump stand behind the lead (arch/detour.h) of what is at @foffset? Errors as of
 * object_window(); nobody but the lead may lead to the window, its first byte included. The window's
 * vaddrs begin behind the lead.
 */
int object_window_behind(struct object *object, uint64_t foffset, struct lead *ret_lead,
			 struct window *ret_window, struct ubp_err *err);

/* Can a breakpoint stand there? *ret_window is the one instruction behind the lead. Errors as of
 * object_window(). */
int object_lead(struct object *object, uint64_t foffset, struct lead *ret_lead,
		struct window *ret_window, struct ubp_err *err);

#endif
