/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/calls.h"

#include <errno.h>
#include <time.h>

#include "engine/base/err.h"
#include "engine/event/record.h"
#include "engine/session/inside.h"
#include "engine/session/live.h"
#include "engine/session/numbers.h"
#include "engine/session/owner.h"
#include "engine/session/put_off.h"
#include "engine/session/take.h"
#include "engine/session/tell.h"

/* Between two looks at whether records have to be taken; an answer wakes at once. */
#define LOOK_NS 1000000

void calls_init(struct ubp_session *s)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&s->out.calls.change, NULL);
	pthread_mutex_init(&s->out.calls.consume, NULL);
	pthread_mutex_init(&s->out.calls.news_lock, NULL);
	pthread_mutex_init(&s->numbers.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->out.calls.news, &attr);
	pthread_condattr_destroy(&attr);
}

void calls_fini(struct ubp_session *s)
{
	pthread_mutex_destroy(&s->out.calls.change);
	pthread_mutex_destroy(&s->out.calls.consume);
	pthread_mutex_destroy(&s->out.calls.news_lock);
	pthread_mutex_destroy(&s->numbers.lock);
	pthread_cond_destroy(&s->out.calls.news);
}

/* --- ubp_dispatch() -------------------------------------------------------------------- */

int calls_dispatch_begin(struct ubp_session *s, struct ubp_err *err)
{
	int rc = owner_check(s, err);

	if (rc < 0)
		return rc;
	if (calls_is_handler(s))
		return ubp_fail(err, EDEADLK, "a thread stands still: this is a handler");
	if (calls_is_callback(s))
		return ubp_fail(err, EDEADLK,
				"events are being handed out: this is a callback");
	pthread_mutex_lock(&s->out.calls.consume);
	__atomic_store_n(&s->out.calls.dispatcher, pthread_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&s->out.calls.is_dispatching, true, __ATOMIC_RELEASE);
	return 0;
}

void calls_dispatch_end(struct ubp_session *s)
{
	__atomic_store_n(&s->out.calls.is_dispatching, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->out.calls.consume);
}

/* --- events -------------------------------------------------------------------------------- */

static bool is_silent(const struct session_number *entry)
{
	return !entry || (__atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) == NUMBER_REMOVED &&
			  !__atomic_load_n(&entry->until, __ATOMIC_SEQ_CST));
}

/* @now, .now or .handling, is over: somebody may wait for that. */
static void end_now(struct ubp_session *s, unsigned *now)
{
	__atomic_store_n(now, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->out.calls.n_waiting, __ATOMIC_SEQ_CST))
		session_wake_calls(s);
}

bool calls_event_begin(struct ubp_session *s, const struct event_record *record)
{
	const struct session_number *entry = numbers_at(s, record->probe);

	/* First it is told which, then looked whether it was removed; who removes it does so the other way round. */
	if (entry)
		__atomic_store_n(&s->out.calls.now, entry->id + 1, __ATOMIC_SEQ_CST);
	if (!is_silent(entry))
		return true;
	__atomic_add_fetch(&s->out.n_untold, 1, __ATOMIC_RELAXED);
	calls_event_end(s);
	return false;
}

void calls_event_end(struct ubp_session *s)
{
	end_now(s, &s->out.calls.now);
}

/* @now: .now, or .handling. */
static bool is_one_of(const unsigned *now, const size_t *ids, size_t n)
{
	unsigned its = __atomic_load_n(now, __ATOMIC_SEQ_CST);

	for (size_t i = 0; its && i < n; i++)
		if (ids[i] == its - 1)
			return true;
	return false;
}

void calls_handler_enter(struct ubp_session *s, size_t id)
{
	__atomic_store_n(&s->out.calls.handler, pthread_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&s->out.calls.handling, (unsigned)id + 1, __ATOMIC_SEQ_CST);
}

bool calls_handler_begin(struct ubp_session *s, unsigned number)
{
	const struct session_number *entry = numbers_at(s, number);

	/* In this order, as for an event. */
	calls_handler_enter(s, entry->id);
	if (!is_silent(entry))
		return true;
	calls_handler_end(s);
	return false;
}

void calls_handler_end(struct ubp_session *s)
{
	end_now(s, &s->out.calls.handling);
}

void calls_await_events(struct ubp_session *s, const size_t *ids, size_t n)
{
	pthread_mutex_lock(&s->out.calls.news_lock);
	__atomic_add_fetch(&s->out.calls.n_waiting, 1, __ATOMIC_SEQ_CST);
	while (is_one_of(&s->out.calls.now, ids, n) ||
	       is_one_of(&s->out.calls.handling, ids, n))
		pthread_cond_wait(&s->out.calls.news, &s->out.calls.news_lock);
	__atomic_sub_fetch(&s->out.calls.n_waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&s->out.calls.news_lock);
}

void calls_await_handler(struct ubp_session *s)
{
	pthread_mutex_lock(&s->out.calls.news_lock);
	__atomic_add_fetch(&s->out.calls.n_waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&s->out.calls.handling, __ATOMIC_SEQ_CST))
		pthread_cond_wait(&s->out.calls.news, &s->out.calls.news_lock);
	__atomic_sub_fetch(&s->out.calls.n_waiting, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&s->out.calls.news_lock);
}

/* --- answers ------------------------------------------------------------------------------ */

/* What waits, unless somebody is in ubp_dispatch(). Returns how many there were, or -ENOBUFS: there is no room. */
static int take_waiting(struct ubp_session *s)
{
	int n;

	if (pthread_mutex_trylock(&s->out.calls.consume) != 0)
		return 0;
	n = take_aside(s);
	pthread_mutex_unlock(&s->out.calls.consume);
	return n;
}

static bool look_for_answer(struct ubp_session *s, uint64_t ticket, void *answer)
{
	return live_look(s, ticket, answer);
}

static bool look_for_turn(struct ubp_session *s, uint64_t ticket, void *none)
{
	(void)ticket;
	(void)none;
	return __atomic_load_n(&s->numbers.n_asked, __ATOMIC_RELAXED) < MAILBOX_QUESTIONS;
}

static int await(struct ubp_session *s,
		 bool (*look)(struct ubp_session *s, uint64_t ticket, void *arg),
		 uint64_t ticket, void *arg)
{
	bool is_there;
	int n;

	for (;;) {
		struct timespec until;

		n = take_waiting(s);
		live_nudge(s);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&s->out.calls.news_lock);
		is_there = look(s, ticket, arg);
		if (!is_there && n <= 0)
			pthread_cond_timedwait(&s->out.calls.news, &s->out.calls.news_lock,
					       &until);
		pthread_mutex_unlock(&s->out.calls.news_lock);
		if (is_there)
			return 0;
		if (n < 0 && s->opt.lossless)
			return -ETIMEDOUT;
	}
}

int calls_await(struct ubp_session *s, uint64_t ticket, struct mailbox_answer *ret_answer)
{
	int rc = await(s, look_for_answer, ticket, ret_answer);

	if (rc < 0)
		live_leave(s, ticket);
	return rc;
}

int calls_await_turn(struct ubp_session *s)
{
	return await(s, look_for_turn, 0, NULL);
}
