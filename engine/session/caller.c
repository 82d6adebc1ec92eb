/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/caller.h"

#include "engine/session/state.h"

bool calls_is_callback(const struct ubp_session *s)
{
	return __atomic_load_n(&s->out.calls.is_dispatching, __ATOMIC_ACQUIRE) &&
	       pthread_equal(__atomic_load_n(&s->out.calls.dispatcher, __ATOMIC_RELAXED),
			     pthread_self());
}

bool calls_is_handler(const struct ubp_session *s)
{
	return __atomic_load_n(&s->out.calls.handling, __ATOMIC_ACQUIRE) &&
	       pthread_equal(__atomic_load_n(&s->out.calls.handler, __ATOMIC_RELAXED),
			     pthread_self());
}

bool calls_is_inside(const struct ubp_session *s)
{
	return calls_is_callback(s) || calls_is_handler(s);
}
