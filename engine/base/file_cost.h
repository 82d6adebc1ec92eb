/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What it costs to look through the files that one process executes. The process chose them, and while the
 * tracing thread reads them all others that stop wait for it: so there is a limit, behind which the process
 * is refused.
 *
 * Code is searched at 1 GiB in a second; 227 MiB in 32 files, of which two are libLLVM,
 * take 0.2 s with their symbols. Most of what node takes, 0.25 s, are symbols.
 */

#ifndef UBP_BASE_FILE_COST_H
#define UBP_BASE_FILE_COST_H

#include <stdbool.h>
#include <stdint.h>

/* So much processor time a process may cost in this way, and as much again in each FILE_COST_REFILL_NS. */
#define FILE_COST_LIMIT_NS  UINT64_C(1000000000)
#define FILE_COST_REFILL_NS (100 * FILE_COST_LIMIT_NS)

/* The account of one process. All zero: nothing was read for it. */
struct file_cost {
	uint64_t spent_ns; /* of the limit */
	uint64_t since_ns; /* when that was so */
	uint64_t begun_ns; /* the processor time of the thread that reads, when it began */
	bool is_late; /* since file_cost_renew() something was not read, because of the limit */
	bool is_told; /* for who tells the user */
};

/* The process is looked at once more: .is_late is false now. */
void file_cost_renew(struct file_cost *cost);

/*
 * Around the reading of one file, on one thread: between the two cancel_is_asked() also says when the limit is
 * reached. @is_costly: what file_cost_end() said of the file. False: it must not be read, and .is_late is set.
 */
bool file_cost_begin(struct file_cost *cost, bool is_costly);
/*
 * False: the limit was reached meanwhile, .is_late is set, and what was read must not be kept. Then
 * *ret_is_costly says whether this file alone took half of the limit: then it is not to be read again.
 */
bool file_cost_end(struct file_cost *cost, bool *ret_is_costly);

#endif
