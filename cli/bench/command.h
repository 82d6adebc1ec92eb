/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Real programs: the wall time of a command, bare, under the kernel's uprobes, under ubp. */

#ifndef UBP_CLI_BENCH_COMMAND_H
#define UBP_CLI_BENCH_COMMAND_H

#include "cli/bench/measure.h"

/* The options' command and definitions. Its standard input and output are ours. */
int bench_measure_command(struct bench *bench, bool reader, struct bench_result *result,
			  struct ubp_err *err);

#endif
