/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Everything is taken out, in the one order there is for that: jumps, then breakpoints and return addresses; when no trap of ours
 * can come any more, the guards. Stops are handled meanwhile. What stays is noted (engine/space/left_behind.h).
 */

#ifndef UBP_PLANT_WAY_OUT_H
#define UBP_PLANT_WAY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process;
struct tracee;
struct tracer;

/* Take all out of all processes. */
void way_out_all(struct tracer *tracer);
/*
 * Take all out of these processes, which share their memory with no others. Nothing more is planted in them. Some may end
 * meanwhile. Threads that are parked stand in the program's own code then.
 */
void way_out_some(struct tracer *tracer, const pid_t *pids, size_t n);
/*
 * @t, parked, is a vfork() child that is to be let go, and lives in its mother's memory until its exec: her breakpoints are out
 * until she goes on (births_vfork_done()). False: they cannot be kept from it.
 */
bool way_out_vforked(struct tracer *tracer, struct tracee *t);

#endif
