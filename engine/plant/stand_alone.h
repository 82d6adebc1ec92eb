/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What has to be so in a process that nobody traces (trace/alone.h), though its probes stand and record: no thread may
 * come to a trap that only the tracer deals with, and a child of fork() must not write into its parent's rings.
 */

#ifndef UBP_PLANT_STAND_ALONE_H
#define UBP_PLANT_STAND_ALONE_H

#include <stdbool.h>
#include <stdint.h>

struct held;
struct plant;
struct plant_space;
struct process;
struct space;
struct tracer;
struct ubp_err;

/* Why @p has to be traced, a word that stays; NULL: it need not be. */
const char *stand_alone_why_not(const struct plant *plant, const struct process *p);

/* What does not change while a thread is stopped for the next step, and takes time to look up: so it is looked up before. */
struct stand_alone_facts {
	bool reads;         /* a probe of it follows pointers */
	bool has_unwinders; /* some of its places are those where an unwinder begins */
	bool has_claimless; /* a jump of it does not claim rings for threads that it does not know */
};

struct stand_alone_facts stand_alone_look(const struct process *p);

/*
 * Rings for threads to come; and the kernel is asked, by @held's thread, that a child begins with its gate shut. -errno: it cannot be;
 * -ENOTSUP: it has to be traced, for what *ret_why says, a word that stays.
 */
int stand_alone_prepare(struct plant *plant, const struct held *held,
			const struct stand_alone_facts *facts, const char **ret_why,
			struct ubp_err *err);

/*
 * @p is about to be let go of: who will do something that it has to be traced for asks for that from now on, and waits. Behind that drain_traps(),
 * then who had begun such a thing has done it. Returns 0 or -errno.
 */
int stand_alone_announce(const struct process *p);

/*
 * Behind that: none of its threads is between a bell that was silent and its call, and no detour is in the middle of a load that may fault later. It may
 * be gone, or have executed a program, when this returns. 0; -EAGAIN: a thread did not get on; -ENOMEM.
 */
int stand_alone_settle(struct tracer *tracer, struct process *p);

/*
 * Nobody is about to trace @p: breakpoints of ours are taken out, and traps in detours are not taken any more. To be followed by
 * drain_traps(). Returns 0 or -errno, and all is as before.
 */
int stand_alone_begin(const struct process *p);
/*
 * Behind that: who is in a function whose entry the tracer saw returns without a trap, and is missed. To be followed by drain_traps() if
 * there are any (returns_n()). Returns 0 or -errno.
 */
int stand_alone_send_home(const struct process *p);
/* Behind that: whose masks were opened is kept until then. -ENOMEM: nothing is. */
int stand_alone_note(struct process *p);
/* It has asked to be traced, and cannot be now: who waits for that is told. */
void stand_alone_refuse(struct process *p);
/* It is traced again; @tid: a thread. Or it could not be let go of. */
void stand_alone_end(struct tracer *tracer, struct process *p);

/* It has ended. */
void stand_alone_forget(struct process *p);

#endif
