/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is probed: a child of ours that calls one of a few functions as often as it is
 * told. The functions differ in their first instruction, and are written for each
 * instruction set (cli/bench/x86). The child is this program, executed again.
 */

#ifndef UBP_CLI_BENCH_WORK_H
#define UBP_CLI_BENCH_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/bench/spawned.h"

struct ubp_err;

/* A call returns @a + 1, and is done @a = 0, 1, ... with a string of 15 letters. */
typedef long bench_function(long a, const char *s);

struct bench_first {
	const char *name; /* of the first instruction */
	bench_function *fn;
	bool is_default; /* measured in every case, if nothing else is asked for */
};

/* Of the instruction set; they end in a name NULL, the first is the usual one. */
extern const struct bench_first bench_firsts[];

/* The words by which a definition fetches what the functions get and return. */
extern const char bench_arg_int[];
extern const char bench_arg_string[];
extern const char bench_arg_return[];

/* perf_event.h's numbers of the registers of the first and of the result. */
extern const unsigned bench_perf_reg_int, bench_perf_reg_return;

/* Who says to be the hypervisor: its name, or false. */
bool bench_hypervisor(char ret_name[13]);

/* NULL: none has this name. */
const struct bench_first *bench_first_by_name(const char *name);

/* Path of this program and the offset in its file of the function. */
int bench_place(const struct bench_first *first, char *path, size_t size, uint64_t *ret_offset,
		struct ubp_err *err);

/* --- the child ------------------------------------------------------------------ */

#define BENCH_WORK_WORD "--work" /* first argument of the child; not for users */

#define BENCH_THREADS_MAX 64
#define BENCH_IDLE_MAX    100000

/* main() of the child; returns its exit status. */
int bench_work_main(int argc, char **argv);

/* --- our side of it --------------------------------------------------------------- */

struct bench_work {
	struct bench_spawned child;
	int signal_fd;
};

/* @threads call, each on a CPU of its own if @pin; @idle more sleep all the time. */
int bench_work_start(struct bench_work *work, unsigned threads, unsigned idle, bool pin,
		     int signal_fd, struct ubp_err *err);

/* Waiting with something to do: called again and again until the work is done. */
struct bench_meanwhile {
	int fd; /* poll this, too; -1: none */
	void (*fn)(void *ctx);
	void *ctx;
};

/*
 * All threads together call @first @calls times. *ret_ns: from the first call's begin to the
 * last one's end. -EINTR: a signal has come that ends this program. @meanwhile
 * may be NULL.
 */
int bench_work_run(struct bench_work *work, const struct bench_first *first, uint64_t calls,
		   const struct bench_meanwhile *meanwhile, uint64_t *ret_ns,
		   struct ubp_err *err);

/* It ends; an error if it does not end well. */
int bench_work_end(struct bench_work *work, struct ubp_err *err);

/* Wait for @fd (POLLIN) or a signal for us: 0 or -EINTR. */
int bench_wait(int fd, int signal_fd, const struct bench_meanwhile *meanwhile,
	       struct ubp_err *err);
/* Some milliseconds, unless a signal comes. */
int bench_wait_moment(int signal_fd, struct ubp_err *err);

uint64_t bench_now_ns(void);

#endif
