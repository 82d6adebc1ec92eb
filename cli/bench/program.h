/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A command that is run again and again. */

#ifndef UBP_CLI_BENCH_PROGRAM_H
#define UBP_CLI_BENCH_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/bench/work.h"

struct ubp_session;

/* A child that waits before it becomes the command. */
struct bench_program {
	pid_t pid;
	int gate;         /* it goes when this is written to */
	int failed;       /* from here comes the errno of an exec that failed */
	const char *name; /* borrowed */
};

/*
 * bench_program_end() is due even after a failure. @mark: -1, or a file to which the child writes
 * KERNEL_MARK before this returns (kernel_mark_fd()).
 */
int bench_program_prepare(char *const argv[], int mark, struct bench_program *ret_program,
			  struct ubp_err *err);
/* Let it go; wait for its end. Status as a shell's $?, time in ns. */
int bench_program_run(struct bench_program *program, int signal_fd,
		      const struct bench_meanwhile *meanwhile, int *ret_status, double *ret_ns,
		      struct ubp_err *err);
/* What did not come to its end is killed. */
void bench_program_end(struct bench_program *program);

/* Wait for the end of process @pid. 0 or -EINTR. */
int bench_wait_for_process(pid_t pid, int signal_fd, const struct bench_meanwhile *meanwhile,
			   struct ubp_err *err);

/* Exit status of a wait status, as a shell has it. */
int bench_exit_status(int wait_status);

/* ubp_run_command() with the signal mask that this program was started with. */
int bench_run_command(struct ubp_session *session, char *const argv[], struct ubp_err *err);

#endif
