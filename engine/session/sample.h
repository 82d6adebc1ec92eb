/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Hits that are sampled (ubp_options.sample), in a session. */

#ifndef UBP_SESSION_SAMPLE_H
#define UBP_SESSION_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct event_record;
struct ring;
struct ubp_err;
struct ubp_session;

int session_sample_init(struct ubp_session *s, struct ubp_err *err);
void session_sample_free(struct ubp_session *s);
/* ring_options.sample */
bool session_sample_ring(void *ctx, const struct event_record *record, struct ring *ring);
/* ubp_event_weight() of a hit. */
uint64_t session_sample_weight(struct ubp_session *s, const struct event_record *record);

#endif
