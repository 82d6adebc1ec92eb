/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Arguments that calls are made with, and what is looked at when they return. */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/tool/calls/calls.h"

/* A call that takes longer is told of, for who looks for one that hangs. */
#define SLOW 2.0

_Thread_local struct calls_here here;
struct calls_target target;

const struct calls_row calls_table[] = {
#define ROW(name, subject, places) { #name, call_##name, subject, places },
#define LEFT_OUT(name, why)
#include "tests/tool/calls/table.def"
#undef ROW
#undef LEFT_OUT
};
const size_t calls_n = ARRAY_N(calls_table);

unsigned any(unsigned n)
{
	/* xorshift64 */
	here.seed ^= here.seed << 13;
	here.seed ^= here.seed >> 7;
	here.seed ^= here.seed << 17;
	return (unsigned)((here.seed >> 32) % n);
}

void fail(const char *what, int64_t rc)
{
	printf("%s: %s (%lld, \"%s\")\n", here.now, what, (long long)rc, here.err.text);
	fflush(stdout);
	_exit(1);
}

double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void call_one(enum calls_place place, unsigned subjects)
{
	const char *before = here.now;
	const struct calls_row *row = NULL;
	double began;

	for (unsigned i = 0; i < 1000; i++) {
		row = &calls_table[any((unsigned)calls_n)];
		if ((row->places & place) && (!subjects || (subjects & 1U << row->subject)))
			break;
		row = NULL;
	}
	if (!row)
		return;
	here.now = row->name;
	here.err.text[0] = '\0';
	here.err.code = 0;
	__atomic_add_fetch(&target.n_calls, 1, __ATOMIC_RELAXED);
	began = seconds();
	row->call();
	if (seconds() - began > SLOW)
		fprintf(stderr, "%s took %.1f s\n", row->name, seconds() - began);
	here.now = before;
}

/* --- what a call returned ------------------------------------------------------------------------ */

void is_code(int64_t rc)
{
	if (rc < 0)
		__atomic_add_fetch(&target.n_failed, 1, __ATOMIC_RELAXED);
	if (rc < -4095)
		fail("no errno", rc);
}

bool is_well(int64_t rc)
{
	is_code(rc);
	if (rc >= 0)
		return true;
	if (!here.err.text[0] || strchr(here.err.text, '\n'))
		fail("no line of text", rc);
	if (here.err.code != -rc)
		fail("another code in the text", rc);
	here.err.text[0] = '\0';
	here.err.code = 0;
	return false;
}

void is_refused(int64_t rc)
{
	if (is_well(rc))
		fail("it is not refused", rc);
}

void look_at(const char *text, size_t len)
{
	static volatile unsigned char sum;

	for (size_t i = 0; i < len; i++)
		sum = (unsigned char)(sum + (unsigned char)text[i]);
}

void look_at_text(const char *text)
{
	if (text)
		look_at(text, strlen(text));
}

/* --- arguments -------------------------------------------------------------------------------------- */

/* What is no right text of anything. */
static const char *a_wrong_text(void)
{
	static char longest[70000];
	static const char *const wrong[] = { "",  " ",         "%s%n", "\xff\xfe",     "a\nb",
					     ":", "(((((((((", "-1",   "no_such_thing" };

	if (any(6))
		return ONE_OF(wrong);
	if (!longest[0])
		memset(longest, 'x', sizeof(longest) - 1);
	return longest + (any(2) ? 0 : sizeof(longest) - 300);
}

const char *a_text(const char *const *right, size_t n_right)
{
	if (seldom(16))
		return NULL;
	return seldom(6) ? a_wrong_text() : right[any((unsigned)n_right)];
}

const char *a_definition(void)
{
	if (seldom(24))
		return seldom(2) ? NULL : a_wrong_text();
	/* Those that are right come first. */
	return target.definitions[any(2) ? any(7) : any(ARRAY_N(target.definitions))];
}

const char *a_filter(void)
{
	static const char *const filters[] = { NULL,           NULL, "n > 0", "common_pid > 0",
					       "nothing == 1", "(",  "" };

	return seldom(20) ? a_wrong_text() : ONE_OF(filters);
}

const char *an_event(void)
{
	static const char *const events[] = { "step",         "mine:other", "back",
					      "uprobes:step", "made",       "synthetic:made",
					      "no:such" };
	const char *name = any(3) ? ubp_probe_event(target.session, a_number()) : NULL;

	return name ? name : A_TEXT(events);
}

const char *a_path(void)
{
	static const char *const paths[] = { "rec",       "rec2", "rec.1", "no/such/folder",
					     "/dev/null", "." };

	return seldom(12) ? target.program : A_TEXT(paths);
}

size_t a_number(void)
{
	static const size_t odd[] = { SIZE_MAX, (size_t)1 << (sizeof(size_t) * 4), 1000000,
				      INT32_MAX, UINT32_MAX };
	size_t n = ubp_n_probes(target.session);

	if (seldom(8))
		return ONE_OF(odd);
	return n ? any((unsigned)n + 1) : any(3);
}

uint64_t a_word(void)
{
	static const uint64_t odd[] = { 0,         1,          2,
					255,       4096,       UINT32_MAX,
					INT64_MAX, UINT64_MAX, (uint64_t)1 << 63 };

	return any(3) ? ONE_OF(odd) : here.seed;
}

pid_t a_pid(void)
{
	const pid_t pids[] = { target.pid, target.pid, 0, -1, getpid(), 1 << 30 };

	return ONE_OF(pids);
}
