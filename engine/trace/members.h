/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Who is traced: address spaces, processes and threads are taken up, and forgotten. */

#ifndef UBP_TRACE_MEMBERS_H
#define UBP_TRACE_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

struct process;
struct space;
struct tracee;
struct tracer;
struct ubp_arch;
struct ubp_err;

/* @arch NULL: that of the program which runs there. NULL: with a text. */
struct space *space_new(struct tracer *tracer, const struct ubp_arch *arch, pid_t pid,
			struct ubp_err *err);
/*
 * To be kept by whoever goes on to work on it behind a call that handles stops: all its processes may end, execute a
 * program, or be found to live in another one. It stays until space_put(), with what its owner knows of it (.plant).
 */
void space_keep(struct space *space);
/* One process less lives in it, or one less keeps it; with the last one it is freed. */
void space_put(struct tracer *tracer, struct space *space);

/*
 * @tid stands in its exec event: the system call's result, 0, is still to be put into its register.
 * Who saves registers there and has them restored later would undo that.
 */
void space_settle_exec(const struct space *space, pid_t tid);

/* NULL: out of memory; @space is gone then if nobody else lives in it. */
struct process *tracer_add_process(struct tracer *tracer, pid_t pid, struct space *space);

/*
 * Behind a wait: is @p, which was process @pid, known still, and does it live in @space? @p is not read where it is gone. Its space is kept
 * meanwhile (space_keep()), or another one may have its address.
 */
bool process_is_there(const struct tracer *tracer, pid_t pid, const struct process *p,
		      const struct space *space);

/* Its memory is another one from now on: what it had is put. */
void process_move(struct tracer *tracer, struct process *p, struct space *space);

/* One without threads. */
void tracer_drop_process(struct tracer *tracer, struct process *p);

/* A thread of @p that was seized. NULL: out of memory. */
struct tracee *tracer_add_tracee(struct tracer *tracer, struct process *p, pid_t tid);
/* With the last thread of a process that is dropped, too. */
void tracer_drop_tracee(struct tracer *tracer, struct tracee *t);

/* Let go of a stopped thread for ever. */
void tracer_detach(struct tracer *tracer, struct tracee *t);

#endif
