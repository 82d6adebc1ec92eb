/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/sink/stamp.h"

#include "engine/sink/buf.h"

#define US_PER_S 1000000

/* "    0.000123", in a field of 12; behind a sign if it is negative. */
static char *put_seconds(char *to, uint64_t us, bool is_negative)
{
	char digits[SINK_NUMBER_MAX], *end = sink_put_dec(digits, us / US_PER_S);
	size_t len = (size_t)(end - digits) + is_negative;

	for (; len < 5; len++)
		*to++ = ' ';
	if (is_negative)
		*to++ = '-';
	to = sink_put_text(to, digits, (size_t)(end - digits));
	*to++ = '.';
	return sink_put_digits(to, us % US_PER_S, 6);
}

static char *put_of_day(struct sink_stamps *stamps, char *to, uint64_t us)
{
	time_t second = (time_t)(us / US_PER_S);
	struct tm tm;

	/* Files are read for the time zone, so once a second. */
	if (second != stamps->second && localtime_r(&second, &tm)) {
		char *at = sink_put_digits(stamps->of_day, (uint64_t)tm.tm_hour, 2);

		*at++ = ':';
		at = sink_put_digits(at, (uint64_t)tm.tm_min, 2);
		*at++ = ':';
		(void)sink_put_digits(at, (uint64_t)tm.tm_sec, 2);
		stamps->second = second;
	}
	to = sink_put_text(to, stamps->of_day, sizeof(stamps->of_day));
	*to++ = '.';
	return sink_put_digits(to, us % US_PER_S, 6);
}

/* Rounded as the kernel's are. */
static uint64_t in_us(uint64_t ns)
{
	return (ns + 500) / 1000;
}

static char *put(struct sink_stamps *s, char *to, uint64_t time_ns)
{
	switch (s->kind) {
	case SINK_TIME_RELATIVE:
		return put_seconds(to, in_us(time_ns - s->first_ns), false);
	case SINK_TIME_DELTA:
		return time_ns < s->last_ns
			       ? put_seconds(to, in_us(s->last_ns - time_ns), true)
			       : put_seconds(to, in_us(time_ns - s->last_ns), false);
	case SINK_TIME_CLOCK:
		return put_of_day(s, to, in_us(time_ns + s->to_real));
	case SINK_TIME_KERNEL:
	case SINK_TIME_NONE:
		break;
	}
	return to;
}

void sink_stamps_next(struct sink_stamps *s, uint64_t time_ns)
{
	char *end;

	if (!s->has_first || time_ns < s->first_ns)
		s->first_ns = time_ns;
	if (!s->has_first)
		s->last_ns = time_ns;
	s->has_first = true;
	end = put(s, s->text, time_ns);
	if (end > s->text)
		end = sink_put_text(end, ": ", 2);
	s->len = (size_t)(end - s->text);
	s->last_ns = time_ns;
}
