/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Letting stopped threads run, each as its stop demands; or keeping them in it. */

#ifndef UBP_TRACE_RESUME_H
#define UBP_TRACE_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"

struct tracee;
struct tracer;

/* Let a stopped thread run; @sig is delivered (0: none). */
void tracee_resume(struct tracee *t, int sig);

/*
 * @t, which stopped just now, is not let go on, whoever would do so, until tracer_unpark():
 * tracer_run() returns at once, for its owner to do what has to be done first. The stop is
 * consumed: a signal that it carries is dropped. @pid: t->parked_for.
 */
void tracer_park(struct tracer *tracer, struct tracee *t, pid_t pid);
/* Unless it has ended. */
void tracer_unpark(struct tracer *tracer, pid_t tid);

/*
 * As tracer_park(), but nobody hurries: tracer_run() goes on with others. Until tracer_keep_no_more(); then @t is
 * held, for tracee_resume().
 */
void tracer_keep(struct tracee *t);
void tracer_keep_no_more(struct tracee *t);
/* It is not in that stop any more: it executes another program, or has ended. */
void tracer_forget_parked(struct tracer *tracer, struct tracee *t);

/*
 * An event stop may overtake the SIGTRAP of a breakpoint that was just hit, or of
 * a step. Does @t, in such a stop, still have one to report?
 */
bool tracee_has_trap(struct tracer *tracer, struct tracee *t);

/* Consume the stop @t is in, so that waiting does not return it again. Only for
 * stops that carry no signal. */
void tracee_consume(const struct tracee *t);

/* A stopped thread that made a remote call: put its registers back. The kernel makes
 * a system call that was broken off again, or does not, as signals demand. */
void tracee_leave_stub(struct tracee *t);

/* A stopped thread that is about to make its remote call: its registers are put back, nothing else. */
void tracee_put_before(struct tracee *t);

/* The frame of @t's remote call: it ends by the registers that @t had before. @ret_sp: where it belongs. */
void tracee_build_frame(const struct tracee *t, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			size_t *ret_len, uint64_t *ret_sp);

/*
 * The registers that @t had before have changed, its stack pointer not, and it stands in the stub, behind its call: write the frame again.
 * @t goes on by that if its tracer is killed. Returns 0 or a negative errno.
 */
int tracee_renew_frame(const struct tracee *t);

/* It is gone, or has other registers: nobody needs the frame of its remote call any more. */
void tracee_leave_frame(struct tracee *t);

/*
 * @t is in an event stop of kind @sig: SIGTRAP when we asked for it, else a group
 * stop. Consumes it. A system call that it broke off will be made again.
 */
void tracee_event_stop(struct tracee *t, int sig);

#endif
