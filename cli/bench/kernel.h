/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The other side: the kernel's uprobes. By tracefs (text events in a trace instance and a
 * group of our own), or by perf_event_open() where there is no tracefs.
 */

#ifndef UBP_CLI_BENCH_KERNEL_H
#define UBP_CLI_BENCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/probe_kind.h"

struct ubp_err;

enum kernel_kind { KERNEL_AUTO, KERNEL_TRACEFS, KERNEL_PERF, KERNEL_NONE };

/* One definition. All strings are borrowed. */
struct kernel_probe {
	enum probe_kind kind;
	const char *path;
	uint64_t offset;
	const char *rest;   /* behind the offset as the kernel reads it: (ref), ARGS, or "" */
	const char *filter; /* NULL: none */
};

/* Whose hits are recorded. */
struct kernel_target {
	pid_t pid;
	bool and_children; /* its threads to come and children too; perf: everybody's. It must have
			    * written KERNEL_MARK to kernel_mark_fd(), if there is one */
};

#define KERNEL_MARK "ubp_bench_target"

struct kernel_counts {
	uint64_t hits;     /* before filtering, of everybody (tracefs) or the target (perf) */
	uint64_t recorded; /* since switched on, of the target: in the buffer or lost */
	uint64_t lost;     /* of these */
};

struct kernel;

/*
 * *ret_kernel: NULL for KERNEL_NONE. @buffer_bytes: for each CPU (tracefs) or thread (perf). Sweeps
 * what killed runs left behind.
 */
int kernel_open(enum kernel_kind kind, size_t buffer_bytes, struct kernel **ret_kernel,
		struct ubp_err *err);
/* Off and away with all. NULL is fine. */
void kernel_close(struct kernel *kernel);

/* "tracefs" or "perf", and why not the other one ("" if nobody asked). */
const char *kernel_name(const struct kernel *kernel);
const char *kernel_why(const struct kernel *kernel);

/* Replace the probes by these, switched off. -EOPNOTSUPP: this kind can't do that;
 * -EINVAL: the kernel refuses the definition *ret_bad. */
int kernel_define(struct kernel *kernel, const struct kernel_probe *probes, size_t n,
		  size_t *ret_bad, struct ubp_err *err);
/*
 * Where a process makes itself known whose children are to be recorded: tracefs knows processes by
 * the numbers of the first pid namespace, and nobody in another one can tell his own. Borrowed; -1:
 * that is not needed.
 */
int kernel_mark_fd(const struct kernel *kernel);
/* From now on hits of @target are recorded, into an empty buffer. */
int kernel_on(struct kernel *kernel, const struct kernel_target *target, struct ubp_err *err);
/* Probes out. *ret_counts: since kernel_on(). */
int kernel_off(struct kernel *kernel, struct kernel_counts *ret_counts, struct ubp_err *err);

/* A live reader: what there is now is read as text and thrown away. -1: none to poll. */
int kernel_reader_fd(const struct kernel *kernel);
void kernel_read(struct kernel *kernel);

#endif
