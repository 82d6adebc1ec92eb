/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Before threads are let go: nothing of ours is met by them any more. */

#ifndef UBP_TRACE_DRAIN_H
#define UBP_TRACE_DRAIN_H

struct process;
struct tracer;

/*
 * After everything of ours was taken out of the memory of @p (NULL: of all): see
 * each thread stopped once without a trap of ours pending, unless it is blocked in
 * the kernel. Then nothing of ours can be met any more, and it may be let go. Takes
 * as long as stops keep coming, but no longer than 20 s.
 */
void drain_traps(struct tracer *tracer, const struct process *p);

#endif
