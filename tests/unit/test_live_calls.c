/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes that come, go and change by the public functions (engine/ubp_live.h), in a program that calls when it is asked to, or as fast as it can.
 * Each call has a number, so what is lost, or told twice, shows.
 */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"
#include "tests/unit/temp.h"

#define N_ARG                                                                                  \
	(sizeof(long) == 8 && HAS_X0 ? "n=%x0:s64"                                             \
	 : sizeof(long) == 8         ? "n=%di:s64"                                             \
				     : "n=+4(%sp):s32")
#ifdef __aarch64__
#define HAS_X0 1
#else
#define HAS_X0 0
#endif

long live_called(long n);
long __attribute__((noinline)) live_called(long n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n + 1;
}

long live_other(long n);
long __attribute__((noinline)) live_other(long n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n + 2;
}

/* --- the program ------------------------------------------------------------------------ */

struct told {
	long asked, done; /* so many calls in all */
	long wrong;       /* results that were not right */
	int stop, has_ended;
};

static struct told *told;
static pid_t pid;
static char exe[512];

static void call(long n)
{
	if (live_called(n) != n + 1 || live_other(n) != n + 2)
		told->wrong++;
	__atomic_store_n(&told->done, n, __ATOMIC_RELEASE);
}

static _Noreturn void be_program(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long n = 1; !__atomic_load_n(&told->stop, __ATOMIC_ACQUIRE); n++) {
		while (__atomic_load_n(&told->asked, __ATOMIC_ACQUIRE) < n &&
		       !__atomic_load_n(&told->stop, __ATOMIC_ACQUIRE))
			usleep(100);
		call(n);
	}
	__atomic_store_n(&told->has_ended, 1, __ATOMIC_RELEASE);
	_exit(0);
}

static int start_program(void **state)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	pid = n > 0 && told != MAP_FAILED ? fork() : -1;
	if (pid == 0)
		be_program();
	return pid < 0 ? -1 : 0;
}

/* It has seen right results alone, and ends as it should. */
static int end_program(void **state)
{
	int status = 0;
	bool is_well;

	(void)state;
	__atomic_store_n(&told->stop, 1, __ATOMIC_RELEASE);
	/* One that ended while it was traced has no status left. */
	(void)waitpid(pid, &status, 0);
	is_well = status == 0 && !told->wrong &&
		  __atomic_load_n(&told->has_ended, __ATOMIC_ACQUIRE);
	munmap(told, sizeof(*told));
	return is_well ? 0 : -1;
}

/* @n more calls of each function. */
static void calls(long n)
{
	long until = told->asked + n;

	__atomic_store_n(&told->asked, until, __ATOMIC_RELEASE);
	while (__atomic_load_n(&told->done, __ATOMIC_ACQUIRE) < until)
		usleep(100);
}

/* --- sessions ------------------------------------------------------------------------------- */

#define PROBES 4096

/* What was told, by the probe's number. */
struct seen {
	struct ubp_session *session;
	long n[PROBES], first[PROBES], last[PROBES];
	void *cookie[PROBES];
	char name[64]; /* of the last event */
	uint64_t n_lost;
	bool in_order; /* each call of a probe follows the one before */
};

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;
	struct ubp_value v;
	int i = ubp_event_probe(event);

	seen->n_lost += ubp_event_lost(event);
	if (i < 0)
		return 0;
	assert_true(i < PROBES);
	assert_true(ubp_event_arg(event, 0, 0, &v));
	if (seen->n[i] && v.as.i != seen->last[i] + 1)
		seen->in_order = false;
	if (!seen->n[i]++)
		seen->first[i] = v.as.i;
	seen->last[i] = v.as.i;
	seen->cookie[i] = ubp_event_cookie(event);
	snprintf(seen->name, sizeof(seen->name), "%s", ubp_event_name(event));
	return 0;
}

static void warned(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

static struct ubp_session *start(enum ubp_mode mode, bool lossless, struct seen *seen)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	struct ubp_err err;

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = mode;
	opt.lossless = lossless;
	opt.room.queue_bytes = 16384;
	opt.room.ring_bytes = 16384;
	opt.warn = warned;
	if (ubp_session_new(&opt, &s, &err) < 0 || ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
	*seen = (struct seen){ .session = s, .in_order = true };
	return s;
}

static void dispatch(struct seen *seen, int ms)
{
	struct pollfd p = { .fd = ubp_fd(seen->session), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, ms);
	if (ubp_dispatch(seen->session, on_event, seen, &err) < 0)
		fail_msg("%s", err.text);
}

static void await(struct seen *seen, size_t number, long n)
{
	for (int i = 0; i < 2000 && seen->n[number] < n; i++)
		dispatch(seen, 10);
	if (seen->n[number] != n)
		fail_msg("probe %zu: %ld of %ld", number, seen->n[number], n);
}

static size_t add(struct ubp_session *s, const char *what, const char *filter, void *cookie)
{
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char text[700];
	const char *texts[] = { text };
	size_t first, n;
	struct ubp_err err;

	opt.filter = filter;
	opt.cookie = cookie;
	/* 'q': under a name of its own. */
	if (*what == 'q')
		snprintf(text, sizeof(text), "p:q%zu %s:%s %s", ubp_n_probes(s), exe, what + 2,
			 N_ARG);
	else
		snprintf(text, sizeof(text), "p:%s:%s %s", exe, what + 2, N_ARG);
	if (ubp_probes_add(s, texts, 1, &opt, &first, &n, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(n, 1);
	return first;
}

static void take_away(struct ubp_session *s, size_t number)
{
	struct ubp_err err;

	if (ubp_probes_remove(s, &number, 1, &err) < 0)
		fail_msg("%s", err.text);
}

static void end(struct ubp_session *s)
{
	ubp_stop(s);
	ubp_session_free(s);
}

/* --- one after the other -------------------------------------------------------------------- */

static void check_told(struct ubp_session *s, size_t i, const char *event)
{
	struct ubp_probe_stats stats;
	char line[700];

	assert_string_equal(ubp_probe_event(s, i), event);
	assert_string_equal(ubp_probe_path(s, i), exe);
	snprintf(line, sizeof(line), "p:%s/%s %s:0x", ubp_probe_group(s, i), event, exe);
	assert_memory_equal(ubp_probe_listing(s, i), line, strlen(line));
	assert_non_null(strstr(ubp_probe_format(s, i), event));
	assert_false(ubp_probe_is_return(s, i));
	assert_int_equal(ubp_probe_state(s, i), UBP_PROBE_THERE);
	assert_true(ubp_probe_is_enabled(s, i));
	ubp_probe_stats(s, i, &stats);
	assert_int_equal(stats.hits, 5);
	assert_int_equal(stats.passed, 5);
	assert_int_equal(stats.sites, 1);
}

/* It begins with none, and they come and go. */
static void comes_and_goes(enum ubp_mode mode)
{
	struct seen seen;
	struct ubp_session *s = start(mode, false, &seen);
	struct ubp_err err;
	size_t first, second;
	int a, b;

	assert_int_equal(ubp_n_probes(s), 0);
	assert_true(ubp_probe_next(s, 0) == SIZE_MAX);
	calls(5);
	first = add(s, "p live_called", NULL, &a);
	second = add(s, "p live_other", NULL, &b);
	assert_true(first == 0 && second == 1);
	calls(5);
	await(&seen, first, 5);
	await(&seen, second, 5);
	assert_int_equal(seen.first[first], 6);
	assert_ptr_equal(seen.cookie[first], &a);
	assert_ptr_equal(seen.cookie[second], &b);
	check_told(s, first, "live_called");
	check_told(s, second, "live_other");
	take_away(s, first);
	calls(5);
	await(&seen, second, 10);
	assert_int_equal(seen.n[first], 5);
	assert_int_equal(ubp_probe_state(s, first), UBP_PROBE_NONE);
	assert_null(ubp_probe_listing(s, first));
	assert_int_equal(ubp_probes_remove(s, &first, 1, &err), -ENOENT);
	assert_int_equal(ubp_probe_set_filter(s, first, NULL, &err), -ENOENT);
	assert_int_equal(ubp_probe_enable(s, first, true, &err), -EINVAL);
	/* Its number is nobody's again. */
	assert_int_equal(add(s, "p live_called", NULL, &a), 2);
	assert_int_equal(ubp_probe_next(s, 0), second);
	assert_int_equal(ubp_probe_next(s, second + 1), 2);
	assert_int_equal(seen.n_lost, 0);
	assert_int_equal(ubp_untold(s), 0);
	end(s);
}

static void by_traps(void **state)
{
	(void)state;
	comes_and_goes(UBP_MODE_TRAP);
}

static void by_jumps(void **state)
{
	(void)state;
	comes_and_goes(UBP_MODE_JUMP);
}

/* Another filter: number, cookie and counts stay. */
static void filters(void **state)
{
	struct seen seen;
	struct ubp_session *s = start(UBP_MODE_JUMP, false, &seen);
	struct ubp_probe_stats stats;
	struct ubp_err err;
	size_t i;
	int a;

	(void)state;
	i = add(s, "p live_called", "n > 2", &a);
	calls(5);
	await(&seen, i, 3);
	assert_int_equal(ubp_probe_set_filter(s, i, "n ==", &err), -EINVAL);
	assert_true(err.text[0]);
	assert_int_equal(ubp_probe_set_filter(s, i, "n & 1", &err), 0);
	calls(6);
	await(&seen, i, 6);
	assert_int_equal(seen.last[i], 11);
	assert_ptr_equal(seen.cookie[i], &a);
	assert_int_equal(ubp_probe_set_filter(s, i, NULL, &err), 0);
	calls(2);
	await(&seen, i, 8);
	/* What was counted before is, too, also when the first two are gone. */
	for (int k = 0; k < 50; k++)
		dispatch(&seen, 10);
	ubp_probe_stats(s, i, &stats);
	assert_int_equal(stats.passed, 8);
	assert_int_equal(ubp_probe_enable(s, i, false, &err), 0);
	calls(2);
	assert_int_equal(ubp_probe_enable(s, i, true, &err), 0);
	calls(1);
	await(&seen, i, 9);
	take_away(s, i);
	assert_true(ubp_probe_next(s, 0) == SIZE_MAX);
	end(s);
}

/* All or none; several in one call, in each form; off at first. */
static void many_at_once(void **state)
{
	struct seen seen;
	struct ubp_session *s = start(UBP_MODE_JUMP, false, &seen);
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char good[700], other[700], bad[700], lines[1500];
	const char *texts[] = { good, bad, other };
	const char *text = lines;
	size_t first, n, all[2];
	struct ubp_err err;

	(void)state;
	snprintf(good, sizeof(good), "p:%s:live_called %s", exe, N_ARG);
	snprintf(bad, sizeof(bad), "p:%s:live_nowhere", exe);
	snprintf(other, sizeof(other), "p:%s:live_other %s", exe, N_ARG);
	snprintf(lines, sizeof(lines),
		 "# a text\np:g/a %s:live_called %s\np:g/b %s:live_other %s\n", exe, N_ARG, exe,
		 N_ARG);
	assert_int_equal(ubp_probes_add(s, texts, 3, NULL, &first, &n, &err), -ENOENT);
	assert_non_null(strstr(err.text, "live_nowhere"));
	assert_int_equal(ubp_n_probes(s), 0);
	texts[1] = other;
	assert_int_equal(ubp_probes_add(s, texts, 2, NULL, NULL, NULL, &err), 0);
	opt.form = UBP_FORM_EVENTS;
	opt.disabled = true;
	assert_int_equal(ubp_probes_add(s, &text, 1, &opt, &first, &n, &err), 0);
	assert_true(first == 2 && n == 2);
	assert_string_equal(ubp_probe_group(s, 3), "g");
	assert_false(ubp_probe_is_enabled(s, 2));
	calls(3);
	await(&seen, 0, 3);
	await(&seen, 1, 3);
	assert_int_equal(seen.n[2] + seen.n[3], 0);
	assert_int_equal(ubp_probe_enable(s, 3, true, &err), 0);
	calls(3);
	await(&seen, 3, 3);
	assert_string_equal(seen.name, "b");
	all[0] = 3;
	all[1] = 17;
	assert_int_equal(ubp_probes_remove(s, all, 2, &err), -ENOENT);
	calls(1);
	await(&seen, 3, 4);
	all[1] = 3;
	assert_int_equal(ubp_probes_remove(s, all, 2, &err), 0);
	calls(1);
	await(&seen, 1, 8);
	assert_int_equal(seen.n[3], 4);
	end(s);
}

/* What is there is in the way as what was defined before the start would be. */
static void collisions(void **state)
{
	struct seen seen;
	struct ubp_session *s = start(UBP_MODE_TRAP, false, &seen);
	char text[700];
	const char *texts[] = { text };
	size_t i = add(s, "p live_called", NULL, NULL);
	struct ubp_err err;

	(void)state;
	snprintf(text, sizeof(text), "p:%s:live_called %s", exe, N_ARG);
	assert_int_equal(ubp_probes_add(s, texts, 1, NULL, NULL, NULL, &err), -EEXIST);
	assert_non_null(strstr(err.text, "There is already the exact same probe event"));
	snprintf(text, sizeof(text), "r:%s/live_called %s:live_other n=$retval",
		 ubp_probe_group(s, i), exe);
	assert_int_equal(ubp_probes_add(s, texts, 1, NULL, NULL, NULL, &err), -EEXIST);
	assert_non_null(strstr(err.text, "Probe type is different from existing probe"));
	snprintf(text, sizeof(text), "p:%s/live_called %s:live_other m=$stack0",
		 ubp_probe_group(s, i), exe);
	assert_int_equal(ubp_probes_add(s, texts, 1, NULL, NULL, NULL, &err), -EEXIST);
	assert_true(err.has_caret);
	/* One more place of the event. */
	snprintf(text, sizeof(text), "p:%s/live_called %s:live_other %s", ubp_probe_group(s, i),
		 exe, N_ARG);
	assert_int_equal(ubp_probes_add(s, texts, 1, NULL, NULL, NULL, &err), 0);
	take_away(s, i);
	assert_int_equal(add(s, "p live_called", NULL, NULL), 2);
	end(s);
}

static void bad_calls(void **state)
{
	struct seen seen;
	struct ubp_session *s;
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	const char *texts[] = { NULL, "p:libc:getpid" };
	size_t number = SIZE_MAX;
	struct ubp_err err;

	(void)state;
	assert_int_equal(ubp_session_new(&options, &s, &err), 0);
	assert_int_equal(ubp_probes_add(s, texts + 1, 1, NULL, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "does not run yet"));
	assert_int_equal(ubp_probe_state(s, 0), UBP_PROBE_NONE);
	assert_int_equal(ubp_add(s, texts[1], NULL, &err), 0);
	assert_int_equal(ubp_probe_set_cookie(s, 0, &seen, &err), 0);
	assert_int_equal(ubp_probe_set_cookie(s, 1, &seen, &err), -ENOENT);
	assert_ptr_equal(ubp_probe_cookie(s, 0), &seen);
	assert_int_equal(ubp_probe_state(s, 0), UBP_PROBE_DEFINED);
	ubp_session_free(s);
	s = start(UBP_MODE_TRAP, false, &seen);
	assert_int_equal(ubp_probes_add(s, texts, 2, NULL, NULL, NULL, &err), -EINVAL);
	assert_int_equal(ubp_probes_add(s, texts, 0, NULL, NULL, NULL, &err), -EINVAL);
	assert_int_equal(ubp_probes_add(s, NULL, 1, NULL, NULL, NULL, &err), -EINVAL);
	opt.form = (enum ubp_form)77;
	assert_int_equal(ubp_probes_add(s, texts + 1, 1, &opt, NULL, NULL, &err), -EINVAL);
	opt.size = 3;
	assert_int_equal(ubp_probes_add(s, texts + 1, 1, &opt, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "UBP_PROBE_OPTIONS_INIT"));
	assert_int_equal(ubp_probes_remove(s, &number, 1, &err), -ENOENT);
	assert_int_equal(ubp_probes_remove(s, NULL, 1, &err), -EINVAL);
	assert_int_equal(ubp_probe_set_filter(s, number, "n > 1", &err), -ENOENT);
	assert_null(ubp_probe_listing(s, number));
	assert_null(ubp_probe_cookie(s, number));
	ubp_stop(s);
	assert_int_equal(ubp_probes_add(s, texts + 1, 1, NULL, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "does not run any more"));
	ubp_session_free(s);
}

/* --- under hits ------------------------------------------------------------------------------- */

/*
 * The program calls as fast as it can and may lose nothing, so that the tracing thread soon waits for room; and all changes are made by the thread
 * that would have to make it.
 */
static void changes_alone(enum ubp_mode mode)
{
	struct seen seen;
	struct ubp_session *s = start(mode, true, &seen);
	size_t i, other;
	long n;
	struct ubp_err err;

	i = add(s, "p live_called", NULL, NULL);
	__atomic_store_n(&told->asked, 1L << 40, __ATOMIC_RELEASE);
	for (int k = 0; k < 20; k++) {
		/* The queue is full by then. */
		n = __atomic_load_n(&told->done, __ATOMIC_ACQUIRE);
		for (int ms = 0;
		     ms < 20 && __atomic_load_n(&told->done, __ATOMIC_ACQUIRE) < n + 500; ms++)
			usleep(1000);
		other = add(s, k & 1 ? "q live_other" : "q live_called", NULL, NULL);
		assert_int_equal(ubp_probe_set_filter(s, other, "n & 1", &err), 0);
		take_away(s, other);
		if (k % 5 == 4)
			dispatch(&seen, 0);
	}
	__atomic_store_n(&told->stop, 1, __ATOMIC_RELEASE);
	while (!ubp_is_done(s))
		dispatch(&seen, 10);
	ubp_stop(s);
	assert_true(ubp_drain(s, on_event, &seen, &err) >= 0);
	assert_int_equal(seen.n_lost, 0);
	assert_true(seen.in_order);
	/* The last call may have been made without having been asked for. */
	assert_int_equal(seen.last[i], told->done);
	assert_int_equal(seen.n[i], seen.last[i] - seen.first[i] + 1);
	ubp_session_free(s);
}

static void alone_by_traps(void **state)
{
	(void)state;
	changes_alone(UBP_MODE_TRAP);
}

static void alone_by_jumps(void **state)
{
	(void)state;
	changes_alone(UBP_MODE_JUMP);
}

/* --- in callbacks --------------------------------------------------------------------------- */

static int on_first(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;
	int i = ubp_event_probe(event);
	size_t number = (size_t)i;
	struct ubp_err err;

	(void)on_event(ctx, event);
	assert_int_equal(ubp_dispatch(seen->session, on_event, ctx, &err), -EDEADLK);
	/* It goes at its third event, and another one comes. */
	if (i == 0 && seen->n[0] == 3) {
		take_away(seen->session, number);
		assert_int_equal(add(seen->session, "p live_other", NULL, ctx), 1);
	}
	return 0;
}

static void in_callbacks(void **state)
{
	struct seen seen;
	struct ubp_session *s = start(UBP_MODE_TRAP, false, &seen);
	struct ubp_err err;

	(void)state;
	assert_int_equal(add(s, "p live_called", NULL, NULL), 0);
	calls(10);
	while (seen.n[0] < 3 || seen.n[1] < 5) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 10);
		assert_true(ubp_dispatch(s, on_first, &seen, &err) >= 0);
		if (seen.n[0] == 3)
			calls(1);
	}
	assert_int_equal(seen.n[0], 3);
	assert_ptr_equal(seen.cookie[1], &seen);
	assert_true(ubp_untold(s) >= 7);
	end(s);
}

static int keep_copy(void *ctx, const struct ubp_event *event)
{
	struct ubp_event **copy = ctx;

	if (!*copy)
		*copy = ubp_event_copy(event);
	return 0;
}

/* A copy has its names when the probe is long gone; what waited when it was removed is not handed out. */
static void what_is_left(void **state)
{
	struct ubp_event *copy = NULL;
	struct seen seen;
	struct ubp_session *s = start(UBP_MODE_JUMP, false, &seen);
	struct ubp_err err;
	struct ubp_value v;
	size_t len;

	(void)state;
	assert_int_equal(add(s, "p live_called", NULL, &seen), 0);
	calls(1);
	while (!copy) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 10);
		assert_true(ubp_dispatch(s, keep_copy, &copy, &err) >= 0);
	}
	calls(7);
	take_away(s, 0);
	for (int k = 0; k < 60; k++)
		dispatch(&seen, 10);
	assert_int_equal(seen.n[0], 0);
	assert_int_equal(ubp_untold(s), 7);
	assert_string_equal(ubp_event_name(copy), "live_called");
	assert_string_equal(ubp_event_arg_name(copy, 0), "n");
	assert_true(ubp_event_arg(copy, 0, 0, &v) && v.as.i == 1);
	assert_non_null(strstr(ubp_event_line(copy, &len), "live_called: ("));
	assert_ptr_equal(ubp_event_cookie(copy), &seen);
	ubp_event_free(copy);
	end(s);
}

/* --- all processes ---------------------------------------------------------------------------- */

static int count_pids(void *ctx, const struct ubp_event *event)
{
	long *n = ctx;

	if (ubp_event_probe(event) == 0)
		n[ubp_event_pid(event) == (pid_t)n[2]]++;
	return 0;
}

static pid_t run_copy(const char *path)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "calls", (char *)NULL);
		_exit(1);
	}
	return child;
}

/* No process is named, and nothing is to be probed yet: later that is found in who runs already, and in who comes. */
static void found_later(void **state)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	char path[TEMP_LEN], text[700];
	const char *texts[] = { text };
	long n[3] = { 0 };
	struct ubp_err err;
	size_t number;
	pid_t later;

	(void)state;
	temp_file(path);
	snprintf(text, sizeof(text), "cp '%s' '%s' && chmod 700 '%s'", exe, path, path);
	assert_int_equal(system(text), 0);
	n[2] = run_copy(path);
	opt.warn = warned;
	assert_int_equal(ubp_session_new(&opt, &s, &err), 0);
	if (ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(text, sizeof(text), "p:%s:live_called", path);
	if (ubp_probes_add(s, texts, 1, NULL, &number, NULL, &err) < 0)
		fail_msg("%s", err.text);
	later = run_copy(path);
	for (int i = 0; i < 2000 && !(n[0] && n[1]); i++) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		(void)poll(&p, 1, 10);
		assert_true(ubp_dispatch(s, count_pids, n, &err) >= 0);
	}
	assert_true(n[0] && n[1]);
	assert_int_equal(ubp_probes_remove(s, &number, 1, &err), 0);
	end(s);
	for (int i = 0; i < 2; i++) {
		pid_t child = i ? later : (pid_t)n[2];

		assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	unlink(path);
}

/* Of two processes one comes, and goes again, unharmed. */
static void pids_come_and_go(enum ubp_mode mode)
{
	struct seen seen;
	struct ubp_session *s = start(mode, false, &seen);
	char path[TEMP_LEN], text[700];
	const char *texts[] = { text };
	long n[3] = { 0 }, before;
	struct ubp_err err;
	size_t number;
	pid_t other;

	temp_file(path);
	snprintf(text, sizeof(text), "cp '%s' '%s' && chmod 700 '%s'", exe, path, path);
	assert_int_equal(system(text), 0);
	n[2] = other = run_copy(path);
	snprintf(text, sizeof(text), "p:%s:live_called", path);
	if (ubp_probes_add(s, texts, 1, NULL, &number, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ubp_remove_pid(s, other, &err), -ESRCH);
	for (int round = 0; round < 3; round++) {
		if (ubp_add_pid(s, other, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(ubp_add_pid(s, other, &err), -EEXIST);
		before = n[1];
		for (int i = 0; i < 2000 && n[1] < before + 5; i++) {
			struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

			(void)poll(&p, 1, 10);
			assert_true(ubp_dispatch(s, count_pids, n, &err) >= 0);
		}
		assert_true(n[1] >= before + 5);
		if (ubp_remove_pid(s, other, &err) < 0)
			fail_msg("%s", err.text);
		assert_false(ubp_is_done(s));
		/* What it recorded before comes, and no more. */
		for (int i = 0; i < 20; i++)
			assert_true(ubp_dispatch(s, count_pids, n, &err) >= 0 &&
				    usleep(10000) == 0);
		before = n[1];
		usleep(50000);
		for (int i = 0; i < 20; i++)
			assert_true(ubp_dispatch(s, count_pids, n, &err) >= 0 &&
				    usleep(1000) == 0);
		assert_int_equal(n[1], before);
	}
	assert_int_equal(ubp_add_pid(s, 0x7ffffffe, &err), -ESRCH);
	assert_int_equal(ubp_remove_pid(s, -1, &err), -ESRCH);
	assert_int_equal(n[0], 0);
	/* The last one goes. */
	assert_int_equal(ubp_remove_pid(s, pid, &err), 0);
	assert_true(ubp_is_done(s));
	end(s);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	unlink(path);
}

static void pids_by_traps(void **state)
{
	(void)state;
	pids_come_and_go(UBP_MODE_TRAP);
}

static void pids_by_jumps(void **state)
{
	(void)state;
	pids_come_and_go(UBP_MODE_JUMP);
}

static int be_copy(void)
{
	for (long n = 0;; n++) {
		if (live_called(n) != n + 1)
			return 1;
		usleep(1000);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start_program, end_program)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(by_traps),       TEST(by_jumps),       TEST(filters),
		TEST(many_at_once),   TEST(collisions),     TEST(bad_calls),
		TEST(alone_by_traps), TEST(alone_by_jumps), TEST(in_callbacks),
		TEST(what_is_left),   TEST(found_later),    TEST(pids_by_traps),
		TEST(pids_by_jumps),
	};

	if (argc > 1 && strcmp(argv[1], "calls") == 0)
		return be_copy();

	return cmocka_run_group_tests_name("live_calls", tests, NULL, NULL);
}
