/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Probes on and off, as callers ask for it: before the start, too (live.h has the rest). */

#include <errno.h>
#include <pthread.h>

#include "engine/base/err.h"
#include "engine/define/definitions.h"
#include "engine/session/apart.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/space/uprobe.h"

static bool is_known(struct ubp_session *s, size_t i)
{
	bool is;

	pthread_mutex_lock(&s->numbers.lock);
	is = numbers_known(s, i);
	pthread_mutex_unlock(&s->numbers.lock);
	return is;
}

int ubp_probe_enable(struct ubp_session *s, size_t i, bool on, struct ubp_err *err)
{
	ubp_err_reset(err);
	if (s->tracing.apart)
		return apart_enable(s, i, on, err);
	if (definitions_are_given_up(s->defined))
		return ubp_fail(err, EBUSY, "the session was given up");
	if (!s->tracing.was_there && live_begin(s) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (!is_known(s, i) || live_switch(s, (unsigned)i, on, err) < 0)
		return ubp_fail(err, EINVAL, "there is no probe %zu", i);
	return 0;
}

bool ubp_probe_is_enabled(const struct ubp_session *session, size_t i)
{
	struct ubp_session *s = (struct ubp_session *)session;
	const struct session_number *entry;
	bool is_on;

	if (s->tracing.apart)
		return apart_number(s, APART_IS_ENABLED, i);
	pthread_mutex_lock(&s->numbers.lock);
	entry = numbers_latest(s, i);
	/* Without a number nobody has switched it off. */
	is_on = entry ? uprobe_is_on(entry->uprobe)
		      : i < definitions_n(s->defined) && i >= numbers_n(s);
	pthread_mutex_unlock(&s->numbers.lock);
	return is_on;
}
