/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Breakpoints of our own at unwinders: they rest while nothing of ours is on any stack. */

#ifndef UBP_PLANT_WATCH_H
#define UBP_PLANT_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct part_copied;
struct plant_space;
struct site;
struct space;
struct tracee;

/* Do breakpoints stand where unwinders begin? */
bool watch_begins_awake(const struct plant_space *ps);
/* Have they come to stand since the last call? Return probes may be made jumps then. */
bool watch_take_woken(const struct plant_space *ps);
/* All at unwinders stood, or none, when an earlier ubp was killed. */
void watch_begin(const struct plant_space *ps, bool are_awake);

/* A site that was just made, or has other probes and watches now: is it to rest? */
void watch_decide(const struct plant_space *ps, struct site *site);

/* Are there unwinders at all? */
bool watch_has_unwinders(const struct plant_space *ps);

/*
 * Breakpoints are to stand where unwinders begin, since return addresses will be replaced; or
 * where they end, since one is among them. Returns 0; -EFAULT: one could not be written.
 */
int watch_wake_begins(struct space *space, pid_t tid);
void watch_wake_ends(struct space *space, pid_t tid);

/* Such a breakpoint was met by @t, and handled: perhaps they may rest. */
void watch_met(struct tracee *t, const struct site *site);

/* Why somebody has to trace @space, a word that stays: unwinders there could meet return addresses that only the tracer puts
 * back. NULL: they could not. */
const char *watch_why_traced(const struct space *space);

/* Is that all it is for: to tell that an unwinder begins, or is resumed, or ends? */
bool watch_is_unwinders(const struct site *site);

/* struct part */
int watch_copy(const struct part_copied *c);

#endif
