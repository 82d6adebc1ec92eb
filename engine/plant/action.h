/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Signal actions of a target, by remote calls of rt_sigaction(); and the masks of its handlers,
 * which must not hold SIGTRAP while breakpoints stand.
 */

#ifndef UBP_PLANT_ACTION_H
#define UBP_PLANT_ACTION_H

#include <stdbool.h>
#include <stdint.h>

struct remote;
struct space;
struct ubp_err;

#define SIGSET_LEN 8 /* of the kernel's sigset_t */

/* The kernel's struct sigaction, as the program's instruction set has it, and what the chain holds. */
struct action {
	uint64_t words[4];
};

uint64_t action_handler(const struct action *a, const struct space *space);

/*
 * rt_sigaction(@sig) in the target, with the action at @act (0: none); what it was comes back.
 * Returns 0 or -errno.
 */
int action_swap(struct remote *remote, int sig, uint64_t act, struct action *ret_old,
		struct ubp_err *err);

/*
 * A handler that runs with SIGTRAP blocked would end the program at its first breakpoint, once
 * the tracer was killed. So actions whose mask holds it are set again without it, and noted
 * (struct guard_data.masked). Calls to come are the guard's: its jumps stand already.
 */
int action_open_masks(struct remote *remote, struct ubp_err *err);
/*
 * Set the actions that are noted with SIGTRAP in their masks again: the guard is retired. @is_last: no other process in the
 * memory has the guard; then nothing is noted any more.
 */
int action_close_masks(struct remote *remote, bool is_last, struct ubp_err *err);

#endif
