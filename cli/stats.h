/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a trace came to: the lines of --stats. */

#ifndef UBP_CLI_STATS_H
#define UBP_CLI_STATS_H

#include <stdint.h>

struct ubp_session;

/*
 * On standard error, a line for each probe and one for the session:
 *   NAME: stats: PATH GROUP/EVENT hits=N passed=N lost=N missed=N too_big=N
 *         sites=N boosted=N stepped=N in_place=N           (one line)
 *   NAME: stats: processes=N skipped=N unguarded=N dropped=N finder="TEXT"
 * @n_dropped: events that the command itself did not print.
 */
void cli_print_stats(struct ubp_session *session, uint64_t n_dropped);

#endif
