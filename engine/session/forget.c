/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A session in a child of fork(). */

#include <stdlib.h>

#include "engine/session/inside.h"
#include "engine/session/limit.h"
#include "engine/session/owner.h"
#include "engine/session/put_off.h"
#include "engine/session/record.h"

/* What is the thread's that dispatches. If it is not this thread, or is in the middle of that, it may be half changed. */
static void free_delivery(struct ubp_session *s)
{
	if (pthread_mutex_trylock(&s->out.calls.consume) != 0)
		return;
	session_record_free(s);
	put_off_free(s);
	sink_buf_free(&s->out.texts.line);
	sink_buf_free(&s->out.texts.arg);
	pthread_mutex_unlock(&s->out.calls.consume);
}

/*
 * The tracing thread was copied as it stood, perhaps in the middle of a change, and locks as others held them: nothing of
 * that is looked at. Rings are not even mapped here (event/ring_space.c).
 */
void ubp_session_forget(struct ubp_session *s)
{
	if (!s)
		return;
	if (s->tracing.apart || !owner_is_other(s)) {
		ubp_session_free(s);
		return;
	}
	descriptor_limit_lower(s);
	free_delivery(s);
	event_queue_free(s->out.queue);
	session_close_descriptors(s);
	free(s->pids);
	free(s);
}
