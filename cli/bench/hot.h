/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Where ubp stops a command's threads, how often, and why no jump records there. */

#ifndef UBP_CLI_BENCH_HOT_H
#define UBP_CLI_BENCH_HOT_H

#include <stdio.h>

#include "cli/bench/options.h"

/*
 * Run the options' command without probes, then under ubp with their definitions (none: entries and returns of all
 * functions of the command's file), and print to @out. Returns the exit status; what went wrong is said.
 */
int bench_hot(const struct bench_options *opt, int signal_fd, FILE *out);

#endif
