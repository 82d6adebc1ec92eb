/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Records that were taken while a call waited for the tracing thread, which may itself wait for room: they are the first that the next
 * ubp_dispatch() hands out. By who holds session_calls.consume.
 */

#ifndef UBP_SESSION_PUT_OFF_H
#define UBP_SESSION_PUT_OFF_H

#include <stdbool.h>

struct event_record;
struct rings_batch;
struct ubp_session;

/* A rings_batch.deliver: keeps a copy. When there are as many as may be, the batch is ended. One that there is no memory for is lost, which is told. */
void put_off_record(struct rings_batch *batch, const struct event_record *record);
bool put_off_has(const struct ubp_session *s);
bool put_off_is_full(const struct ubp_session *s);
/* Up to the end of @batch. Returns how many were handed out. */
int put_off_hand_out(struct ubp_session *s, struct rings_batch *batch);
void put_off_free(struct ubp_session *s);

#endif
