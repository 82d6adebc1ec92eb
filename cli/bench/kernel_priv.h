/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Between ubp_bench_kernel.c and the two ways to the kernel's uprobes. */

#ifndef UBP_CLI_BENCH_KERNEL_PRIV_H
#define UBP_CLI_BENCH_KERNEL_PRIV_H

#include "cli/bench/kernel.h"

struct kernel_ops {
	const char *name;
	int (*open)(size_t buffer_bytes, void **ret_state, struct ubp_err *err);
	void (*close)(void *state);
	int (*define)(void *state, const struct kernel_probe *probes, size_t n, size_t *ret_bad,
		      struct ubp_err *err);
	int (*on)(void *state, const struct kernel_target *target, struct ubp_err *err);
	int (*off)(void *state, struct kernel_counts *ret_counts, struct ubp_err *err);
	int (*mark_fd)(const void *state);
	int (*reader_fd)(const void *state);
	void (*read)(void *state);
};

extern const struct kernel_ops kernel_tracefs, kernel_perf;

#endif
