/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/clock.h"

#include <inttypes.h>
#include <string.h>

#include "cli/fs/text.h"

/* Bytes of a thread's name in a line, whatever they are. */
#define NAME_WIDTH 16

/* The kernel's first two are of its scheduler, which nobody else can ask: nearly the same. */
const struct fs_clock fs_clocks[] = {
	{ "local", CLOCK_MONOTONIC }, { "global", CLOCK_MONOTONIC },
	{ "mono", CLOCK_MONOTONIC },  { "mono_raw", CLOCK_MONOTONIC_RAW },
	{ "boot", CLOCK_BOOTTIME },   { "tai", CLOCK_TAI },
	{ NULL, CLOCK_MONOTONIC },
};

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t fs_clock_of(unsigned clock, uint64_t mono_ns)
{
	clockid_t id = fs_clocks[clock].id;

	/* Both run alike for as long as a line is on its way. */
	return id == CLOCK_MONOTONIC ? mono_ns : mono_ns + now_ns(id) - now_ns(CLOCK_MONOTONIC);
}

bool fs_line_time(const char *line, size_t len, size_t *ret_at, size_t *ret_behind)
{
	const char *end = line + len, *at, *behind;

	at = len > NAME_WIDTH ? memchr(line + NAME_WIDTH, ']', len - NAME_WIDTH) : NULL;
	at = at && end - at > 2 ? memchr(at + 2, ' ', (size_t)(end - at) - 2) : NULL;
	behind = at ? memchr(at, ':', (size_t)(end - at)) : NULL;
	if (!behind)
		return false;
	*ret_at = (size_t)(at - line) + 1;
	*ret_behind = (size_t)(behind - line);
	return true;
}

void fs_clock_line(const char *line, size_t len, uint64_t ns, struct text *out)
{
	uint64_t us = (ns + 500) / 1000; /* rounded, as the kernel does */
	size_t at, behind;

	if (!fs_line_time(line, len, &at, &behind)) {
		text_add(out, line, len);
		return;
	}
	text_add(out, line, at);
	text_printf(out, "%5" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	text_add(out, line + behind, len - behind);
}
