/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a hit costs from the call to the file that has the event: by uprobe, and by other tracers that are installed. */

#ifndef UBP_CLI_BENCH_END_TO_END_H
#define UBP_CLI_BENCH_END_TO_END_H

#include <stdio.h>

#include "cli/bench/options.h"

/* Returns the exit status; what went wrong is said. */
int bench_end_to_end(const struct bench_options *opt, FILE *out);

#endif
