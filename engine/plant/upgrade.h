/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* When breakpoints are made jumps: between two turns of the tracing thread's loop. */

#ifndef UBP_PLANT_UPGRADE_H
#define UBP_PLANT_UPGRADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held;
struct plant;
struct plant_space;
struct site;
struct space;
struct tracer;

/* Sites of @space may be made jumps that could not be before. @is_new: its program has just been started. */
void upgrade_due(struct plant *plant, struct tracer *tracer, struct space *space, bool is_new);
/*
 * The memory of @held's thread is up to date with what is probed: the same. With the option .eager it is done at once in a program that has just been
 * started; the thread stays held.
 */
void upgrade_planted(struct plant *plant, const struct held *held);
/* A breakpoint was hit: in a program that has just been started, jumps wait for some of these. */
void upgrade_hit(struct plant_space *ps);
/* The breakpoint at a ret was hit: it may have become hot enough for a jump (run_up.h). */
void upgrade_at_ret(struct plant *plant, struct tracer *tracer, struct space *space,
		    struct site *site);
/* Breakpoints at unwinders may have come to stand (watch_take_woken()): return probes may be made jumps then. */
void upgrade_returns(struct plant *plant, struct tracer *tracer, struct space *space);
/* A detour without rings came to its breakpoint: is it time for them? */
bool upgrade_wants_rings(struct plant_space *ps);
/* Is nothing due there: no jump to be made, or to be made anew, no old detour to be freed? */
bool upgrade_is_settled(const struct plant_space *ps);
/* Make jumps where that is due. Stops are handled meanwhile. False: there are more, but it has taken @limit_ns already. */
bool upgrade_pass(struct plant *plant, struct tracer *tracer, uint64_t limit_ns);
/* End all jumps. Stops are handled meanwhile. */
void upgrade_end(struct tracer *tracer);
/* A new thread, and @mother (0: not known), which made it, both stopped: detours find their rings by what they have. */
void upgrade_born(pid_t mother, const struct held *held);
/* It is stopped: detours find its ring from now on. */
void upgrade_note_thread(const struct held *held);
/*
 * Detours of the memory of @held's thread took many traps: rings for it, or more of them. @seen: @n addresses that the
 * program let a hit of its read.
 */
void upgrade_rings(struct plant *plant, const struct held *held, const uint64_t *seen,
		   size_t n);

#endif
