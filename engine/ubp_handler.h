/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: functions of the caller's that run at a hit, while the thread that was hit stands still. They read its registers,
 * its memory and its stack, decide whether the hit is recorded, and, where the probe may do so, change what the program goes on with.
 *
 * A probe gets its handler when it is added (ubp_probe_options.handler of ubp_live.h), or before ubp_start() by ubp_probe_set_handler(). Such a
 * probe is a stop: it is a breakpoint at the probed instruction itself, and a process that has one stays traced.
 *
 * When. A handler runs for each hit that the probe's filter lets through, of a probe that is switched on, also where the event has no room in the
 * queue then. Sampling (ubp_options.sample) does not leave it out. The event's arguments are taken before the handler runs, so they are what the
 * program had. Of several probes at one place the handlers run in the order of their definition, and each sees what the one before has changed. Of a
 * return probe it runs when the function returns.
 *
 * Where. Handlers of a session run one at a time on the session's tracing thread, which is not the caller's, or, with ubp_options.engine, on a thread for them: with all signals blocked, on a
 * stack of the usual size. Its data is to be shared as between any threads. What it is called with is good until it returns, on that thread alone.
 *
 * How long. The thread of the target stands still until the handler returns: a stop, of 10 us to 100 us by how busy the machine is, and what the handler takes. Its other threads run on
 * until they meet something that only the tracing thread can deal with; so do other processes. Signals that come meanwhile are delivered behind it,
 * and no system call is broken off. With ubp_options.engine it is three times as long about, and half of that again for each call that needs more than general registers. So a handler should be short: it is a part of what the target's users wait for. What it takes counts for ubp_limits.max_overhead, up to 1 ms of a hit.
 *
 * What it may call. All of this header on its hit; of its own session what ubp_live.h lists for any thread. Changes do not wait, as in a callback of
 * ubp_dispatch(): they are done behind the handler. ubp_dispatch() and ubp_drain() return -EDEADLK, ubp_stop() and ubp_session_free() do nothing. A handler must
 * not wait for a thread that is in a call of the session, since that may wait for the handler; must not fork a child that goes on to use the session;
 * and must return, so C++ exceptions do not leave it.
 *
 * If the host dies in a handler, by SIGKILL too, the thread goes on as if there had been no probe: registers are written once, behind the handler. What
 * was written to memory by then stays, as does what handlers have changed at earlier stops: a call of which one has changed an argument goes on with that, and its
 * result is its own. With ubp_options.engine the engine may die instead: the thread goes on so, too, calls of the handler's fail, or tell nothing, and the session
 * has failed when it returns.
 *
 * When ubp_probes_remove() returns no handler of theirs runs, nor will one; but in a callback, or in a handler, one that has begun may go on, since nobody waits.
 */

#ifndef UBP_HANDLER_H
#define UBP_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A hit whose thread stands still; good until the handler returns. */
struct ubp_hit;

enum ubp_verdict {
	UBP_HIT_RECORD, /* it becomes an event, unless sampling leaves it out */
	UBP_HIT_DROP,   /* it does not; it is counted in ubp_handler_stats.dropped */
};

/* @cookie: what ubp_probe_options.cookie, or ubp_probe_set_cookie(), says. Any other value than UBP_HIT_DROP records. */
typedef enum ubp_verdict ubp_handler_fn(void *cookie, struct ubp_hit *hit);

/*
 * Probe @number, which was defined by ubp_add() and its like, gets @handler, in place of one that it had; NULL: none. @may_change: it may
 * change the program. Before ubp_start(); later probes are added with theirs. Errors: -EBUSY: the session has started; -ENOENT: there is
 * no such probe; -ENOMEM.
 */
int ubp_probe_set_handler(struct ubp_session *session, size_t number, ubp_handler_fn *handler,
			  bool may_change, struct ubp_err *err);

/* --- what was hit -------------------------------------------------------------------------- */

/* The probe's number, and who has hit it. */
size_t ubp_hit_probe(const struct ubp_hit *hit);
pid_t ubp_hit_pid(const struct ubp_hit *hit);
pid_t ubp_hit_tid(const struct ubp_hit *hit);
/* When, in the session's clock. */
uint64_t ubp_hit_time_ns(const struct ubp_hit *hit);
/* Does a function return? */
bool ubp_hit_is_return(const struct ubp_hit *hit);
/* The address of the probe; at a return, that of the function that returns. */
uint64_t ubp_hit_addr(const struct ubp_hit *hit);

/* --- registers ------------------------------------------------------------------------------- */

/*
 * By their names in fetch args, without the %: "di", "sp", "x0". They are as at the probed instruction, which has not run; at a return, as the caller will
 * find them, and the pc is where it returns to. Of a vector register ("xmm0") the low 64 bits. Errors: -EINVAL: @name is none of this program's.
 */
int ubp_hit_reg(const struct ubp_hit *hit, const char *name, uint64_t *ret_value);
/* The names of all general registers are those of @i from 0 on; NULL: that was all. */
const char *ubp_hit_reg_name(const struct ubp_hit *hit, size_t i);

/*
 * Argument @n, from 0 on, of the function at whose first instruction the probe stands, by the C calling convention, where it is an integer or a pointer:
 * a register, or a word of the stack. Errors: -EINVAL: it is a return, or stands elsewhere, or @n is over 126; -EOPNOTSUPP: the function is of Go's, which has
 * a convention of its own; -EFAULT: the stack cannot be read.
 */
int ubp_hit_arg(const struct ubp_hit *hit, unsigned n, uint64_t *ret_value);
/* What the function returns, if that is an integer or a pointer of one register. Errors: -EINVAL: it is no return. */
int ubp_hit_result(const struct ubp_hit *hit, uint64_t *ret_value);

/*
 * Change them: the thread goes on with what the last of all handlers has written, whatever way the probed instruction is carried out. Bits that the program itself
 * cannot change in the flags stay. Errors, with nothing changed: -EPERM: the probe has no .may_change; -EINVAL: there is no such register, or it is none
 * that can be changed: the pc (ubp_hit_skip()), segments, vector registers, at a return the stack pointer; those of reading.
 */
int ubp_hit_set_reg(struct ubp_hit *hit, const char *name, uint64_t value, struct ubp_err *err);
int ubp_hit_set_arg(struct ubp_hit *hit, unsigned n, uint64_t value, struct ubp_err *err);
int ubp_hit_set_result(struct ubp_hit *hit, uint64_t value, struct ubp_err *err);

/*
 * The function does not run: its caller goes on as if it had returned @result at once. So calls are made to fail; errno is the target's own and stays what it
 * is. Other probes at the place are hit all the same, but for return probes. For functions that take nothing but
 * the return address off the stack, as almost all do. Errors: -EPERM: the probe has no .may_change; -EINVAL: the probe does not stand at the
 * first instruction of a function that the file names, or it is a return; -EOPNOTSUPP: a function of Go's, or the thread has a shadow stack; -EBUSY: ubp
 * has to see this function run; -EFAULT: the stack cannot be read.
 */
int ubp_hit_skip(struct ubp_hit *hit, uint64_t result, struct ubp_err *err);

/* --- memory, the stack ------------------------------------------------------------------------- */

/*
 * Read @size bytes at @addr of the target. Returns how many could be read in front of the first that is not there, 0 to @size. Of memory that
 * might keep the tracer waiting, a file server's for instance, nothing is read. What ubp has put there shows: breakpoints in code, the trampoline
 * in place of return addresses that are caught.
 */
size_t ubp_hit_read(const struct ubp_hit *hit, uint64_t addr, void *buf, size_t size);
/* A string, at most @size - 1 bytes, and a 0 behind them in any case. Returns its length; -EFAULT: it is not there, whole or in part; -E2BIG: it is longer. */
ssize_t ubp_hit_read_string(const struct ubp_hit *hit, uint64_t addr, char *buf, size_t size);
/*
 * Write @size bytes at @addr, where the program itself could. At once: it stays, whatever comes of the handler. Errors: -EPERM: the probe has no
 * .may_change; -EFAULT: the program could not write all of it; what is in front of that may be written; -EINVAL: it is ubp's own; -EIO: it might keep the
 * tracer waiting, and is left alone.
 */
int ubp_hit_write(struct ubp_hit *hit, uint64_t addr, const void *buf, size_t size,
		  struct ubp_err *err);

/*
 * The stack: the pc, then return addresses, innermost first, at most @n. Returns how many. By what ubp_options.stack says; without, by frame pointers,
 * which code may have none of.
 */
size_t ubp_hit_stack(const struct ubp_hit *hit, uint64_t *ret_addr, size_t n);

/* --- what was done -------------------------------------------------------------------------------- */

/* To begin with UBP_HANDLER_STATS_INIT, which sets .size. */
struct ubp_handler_stats {
	/* Of this structure, as the caller knows it. */
#ifdef __cplusplus
	size_t size = sizeof(ubp_handler_stats);
#else
	size_t size;
#endif
	uint64_t handled; /* how often the handler has run */
	uint64_t
		dropped; /* of these, hits that it did not want recorded; none is part of ubp_probe_stats.passed */
	uint64_t changed; /* hits behind which registers or memory were others */
	uint64_t skipped; /* of these, functions that did not run */
	uint64_t refused; /* calls of the handler's to change something that were refused */
	uint64_t total_ns, longest_ns; /* how long it took: all together, and one */
};

#ifdef __cplusplus
#define UBP_HANDLER_STATS_INIT                                                                 \
	{                                                                                      \
	}
#else
#define UBP_HANDLER_STATS_INIT                                                                 \
	{                                                                                      \
		.size = sizeof(struct ubp_handler_stats)                                       \
	}
#endif

/* Of probe @number until now, from any thread, also after ubp_stop(). -EINVAL: .size is none; -ENOENT: there is no such probe. */
int ubp_probe_handler_stats(const struct ubp_session *session, size_t number,
			    struct ubp_handler_stats *ret_stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
