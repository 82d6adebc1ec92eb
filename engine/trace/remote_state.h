/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread that makes remote calls (remote.h), and these. */

#ifndef UBP_TRACE_REMOTE_STATE_H
#define UBP_TRACE_REMOTE_STATE_H

#include "arch/arch.h"
#include "engine/trace/tracer.h"

struct remote {
	struct tracer *tracer;
	struct tracee *t;
	uint64_t stub; /* where it stands in the target */
	uint64_t sp;   /* of the frame */
	int deliver;   /* signal whose stop the thread is in, passed on with the next call */
	struct ubp_regs regs;
	int nr; /* of the call that is being made, and its arguments */
	uint64_t args[6];
	enum { REMOTE_PLAIN, REMOTE_SIGN_A, REMOTE_SIGN_B } sign;
	uint64_t signing[2]; /* address, modifier */
	bool suspend;        /* the target's seccomp filter, during the calls themselves */
	bool is_entered;     /* its entry was seen */
};

/* Calls that are made in a row, at most. */
#define REMOTE_STEPS 8

/* One of them. */
struct remote_step {
	int nr;
	uint64_t args[6];
	/* The step, behind this one, whose argument the result becomes (in its args[], too); 0: none. */
	uint8_t to_step, to_arg;
	int64_t result; /* as the kernel returned it */
};

/* Frames that a space has room for where they are not on stacks (struct space). */
#define REMOTE_FRAMES 4U

#endif
