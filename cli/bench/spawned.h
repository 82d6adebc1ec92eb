/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A program between two pipes: what is measured, by itself or under a tracer. */

#ifndef UBP_CLI_BENCH_SPAWNED_H
#define UBP_CLI_BENCH_SPAWNED_H

#include <stdbool.h>
#include <sys/types.h>

struct ubp_err;

struct bench_spawned {
	pid_t pid;
	int in, out; /* our ends of its standard input and output */
};

struct bench_spawn {
	const char *file; /* sought in PATH, if there is no slash in it */
	char *const *argv;
	bool ignores_keys; /* Ctrl-C and its like are for us alone, who end it */
	bool is_silent;    /* its standard error is /dev/null */
};

/* It begins with no signal blocked. 0, or a negative errno. */
int bench_spawn(const struct bench_spawn *what, struct bench_spawned *ret, struct ubp_err *err);

#endif
