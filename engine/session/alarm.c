/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/alarm.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/base/quiet_thread.h"
#include "engine/event/clock.h"
#include "engine/trace/tracer.h"

#define TURNS_PART 100

static void *run(void *arg)
{
	struct alarm_clock *alarm = arg;
	uint64_t n;

	while (read(alarm->fd, &n, sizeof(n)) > 0 || errno == EINTR) {
		if (__atomic_load_n(&alarm->is_ending, __ATOMIC_ACQUIRE))
			break;
		tracer_wake(alarm->tracer);
	}
	return NULL;
}

bool alarm_begin(struct alarm_clock *alarm, struct tracer *tracer)
{
	if (alarm->is_there)
		return true;
	alarm->tracer = tracer;
	alarm->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (alarm->fd < 0)
		return false;
	alarm->is_there = quiet_thread_create(&alarm->thread, run, alarm) == 0;
	if (!alarm->is_there)
		close(alarm->fd);
	return alarm->is_there;
}

void alarm_in(const struct alarm_clock *alarm, uint64_t ns)
{
	/* Zero would set none. */
	const struct itimerspec when = { .it_value = { (time_t)(ns / 1000000000),
						       (long)(ns % 1000000000) + (ns == 0) } };

	(void)timerfd_settime(alarm->fd, 0, &when, NULL);
}

void alarm_end(struct alarm_clock *alarm)
{
	if (!alarm->is_there)
		return;
	__atomic_store_n(&alarm->is_ending, true, __ATOMIC_RELEASE);
	alarm_in(alarm, 0);
	pthread_join(alarm->thread, NULL);
	close(alarm->fd);
	alarm->is_there = false;
}

static void set_turn(struct alarm_turns *turns, uint64_t now_ns, uint64_t wait_ns)
{
	turns->next_ns = now_ns + wait_ns;
	alarm_in(&turns->alarm, wait_ns);
}

bool alarm_turns_begin(struct alarm_turns *turns, struct tracer *tracer, uint64_t pause_ns)
{
	if (!alarm_begin(&turns->alarm, tracer))
		return false;
	turns->pause_ns = pause_ns;
	set_turn(turns, event_clock_now(CLOCK_KIND_MONO), pause_ns);
	return true;
}

uint64_t alarm_turn_begin(const struct alarm_turns *turns)
{
	uint64_t now_ns;

	if (!turns->alarm.is_there)
		return 0;
	now_ns = event_clock_now(CLOCK_KIND_MONO);
	return now_ns < turns->next_ns ? 0 : now_ns;
}

void alarm_turn_end(struct alarm_turns *turns, uint64_t begun_ns)
{
	uint64_t now_ns = event_clock_now(CLOCK_KIND_MONO);
	uint64_t wait_ns = (now_ns - begun_ns) * TURNS_PART;

	set_turn(turns, now_ns, wait_ns > turns->pause_ns ? wait_ns : turns->pause_ns);
}

void alarm_turns_end(struct alarm_turns *turns)
{
	alarm_end(&turns->alarm);
}
