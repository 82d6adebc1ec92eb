/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Jumps: sites that need no trap (arch/detour.h). Every site is a breakpoint first;
 * what can be a jump is made one in a later pass, in steps, so that the target
 * stands still for the last one alone:
 *
 *   jump_collect()  all run: which sites there are
 *   jump_prepare()  one thread held: rings and room for detours are mapped
 *   jump_make()     some at a time:
 *     jump_build()  all run: detours are generated and written
 *                   all held: nobody is in a window, the jumps are written
 *
 * What somebody is in the middle of stays a breakpoint until the next pass.
 */

#ifndef UBP_PLANT_JUMP_H
#define UBP_PLANT_JUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct jump_batch;
struct part_copied;
struct part_left;
struct plant;
struct plant_space;
struct site;
struct space;
struct tracer;
struct ubp_err;

/* The space is unguarded: its sites stay breakpoints, and are told why. */
void jump_refuse_all(struct plant_space *ps);

/* What could be a jump and is none yet. NULL: nothing, or out of memory. */
struct jump_batch *jump_collect(struct plant *plant, const struct space *space);

/*
 * Map what they need, by a thread of that space. Errors: -ESRCH; whatever else
 * fails means that breakpoints stay breakpoints, with the reason in site->no_jump. The batch
 * is to be freed then.
 */
int jump_prepare(struct plant *plant, const struct held *held, struct jump_batch *batch,
		 struct ubp_err *err);

/* @pid: any thread of the space, running or not. */
void jump_build(struct plant *plant, struct space *space, pid_t pid, struct jump_batch *batch);

/*
 * Detours are made, and jumps written with all threads held; the one that the caller holds (@keep; NULL: none) stays so.
 * @tid: as of jump_build(). The batch is freed. The space may be gone afterwards. Stops are handled meanwhile.
 */
void jump_make(struct plant *plant, struct tracer *tracer, struct space *space, pid_t tid,
	       const struct held *keep, struct jump_batch *batch);
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

/*
 * @site becomes a breakpoint again, for @why. The held thread, of its space, may be
 * gone afterwards. False: it could not be done now.
 */
bool jump_demote(const struct held *held, struct site *site, const char *why);

/* struct part: jumps of a space, and the breakpoints in their detours. A copy's are taken out, any other space's by
 * jump_remove(). */
int jumps_copy(const struct part_copied *c);
void jumps_leave(struct part_left *l);
void jumps_forget(struct plant_space *ps);

#endif
