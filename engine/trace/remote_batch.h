/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Remote calls that are made in a row, without a stop at each: remote_calls() uses it. */

#ifndef UBP_TRACE_REMOTE_BATCH_H
#define UBP_TRACE_REMOTE_BATCH_H

#include "engine/trace/remote_state.h"

/* May the thread make calls in a row? */
bool remote_may_batch(const struct remote *remote);

/* Note the result of the step behind @n_made, where a later one needs it, too. */
void remote_note_result(struct remote_step *steps, size_t *n_made, int64_t result);
/* Were all @n made, or did the last one fail? */
bool remote_is_over(const struct remote_step *steps, size_t n, size_t n_made);

/* As remote_calls(); but steps may be left to be made, by themselves, where its stack has no room. */
int remote_batch(struct remote *remote, struct remote_step *steps, size_t n, size_t *ret_n_made,
		 struct ubp_err *err);

#endif
