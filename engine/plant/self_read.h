/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that nobody traces, and whose probes follow pointers: their detours ask the kernel for the memory (detour_plan.reads), since
 * nobody makes the fault of a load good.
 */

#ifndef UBP_PLANT_SELF_READ_H
#define UBP_PLANT_SELF_READ_H

#include <stdbool.h>

struct held;
struct plant;
struct process;
struct tracer;

/* Does a probe of it follow pointers? */
bool self_read_is_wanted(const struct process *p);
/* Why it may not do so alone, words that stay; NULL: self_read_why_unseen() tells. */
const char *self_read_why_not(const struct process *p);
/* The same of what its code may do, and of @held's thread. */
const char *self_read_why_unseen(struct plant *plant, const struct held *held);

/*
 * No detour of it loads from memory any more that is not known to stay. @p may be gone or have executed a program behind that.
 * 0, or -EAGAIN: a thread did not leave its detour.
 */
int self_read_begin(struct tracer *tracer, struct process *p);
/* Somebody makes faults good again. */
void self_read_end(const struct process *p);

#endif
