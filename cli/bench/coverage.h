/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How many places of a file can be probed, and how. */

#ifndef UBP_CLI_BENCH_COVERAGE_H
#define UBP_CLI_BENCH_COVERAGE_H

#include "cli/bench/options.h"

/* Count the options' files, print; returns the exit status. */
int bench_coverage(const struct bench_options *opt);

#endif
