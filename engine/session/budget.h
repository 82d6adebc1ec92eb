/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What probes cost, and taking out those that cost too much (ubp_limits.max_rate, .max_overhead). The tracing thread looks at
 * all counters now and then, judges each place by what it had since the look before, and retires those that are to go
 * as a change of the caller's would (engine/plant/change.h). The caller still has them by their numbers, with what was counted;
 * a change of one that is gone is answered by -ENOENT. All of it is for the tracing thread, where nothing else is said.
 */

#ifndef UBP_SESSION_BUDGET_H
#define UBP_SESSION_BUDGET_H

#include <stdint.h>

struct ubp_session;

/* Tracing begins. Where memory for it, or a timer, is not to be had the user is told. */
void budget_begin(struct ubp_session *s);
void budget_end(struct ubp_session *s);
/* Between two of its turns: is it time to look? */
void budget_pass(struct ubp_session *s);

/* Around what is done at a stop: when it began, 0 where nobody asks. */
uint64_t budget_stop_begin(const struct ubp_session *s);
void budget_stop_end(struct ubp_session *s, uint64_t begun_ns);

#endif
