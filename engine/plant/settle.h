/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Between the guard and the first breakpoint of a process with several threads. */

#ifndef UBP_PLANT_SETTLE_H
#define UBP_PLANT_SETTLE_H

#include "engine/space/state.h"

struct process;
struct tracer;
struct ubp_err;

/*
 * plant_update() has answered -EINPROGRESS: the guard stands in all processes of @p's memory. Each thread there is seen once:
 * it is not making a child that lacks the guard, and does not block SIGTRAP. None is held longer than that takes.
 * Then plant_update() goes on to the breakpoints. Children that were born without the guard are told meanwhile, and
 * get it. Stops are handled: @p may end. Returns 0, or -ETIMEDOUT: some thread cannot be stopped.
 */
int plant_settle(const struct plant *plant, struct tracer *tracer, const struct process *p,
		 struct ubp_err *err);

#endif
