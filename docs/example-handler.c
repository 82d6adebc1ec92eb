/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of a running program are made to fail: ./example-handler PID FILE:FUNCTION RESULT ERRNO, until the process ends. Each call of FUNCTION returns RESULT
 * at once, and the program finds ERRNO behind it. Each is told with its first argument, if that is a string. C99; after make install:
 *	cc -o example-handler docs/example-handler.c $(pkg-config --cflags --libs ubp)
 *	./example-handler $(pidof python3) libc.so.6:open64 -1 28		# there is no space on any device
 * errno is a variable of each thread's, and the C library tells programs where it is: it is written once the thread has asked for that.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <ubp.h>
#include <ubp_event.h>
#include <ubp_handler.h>
#include <ubp_live.h>

#define THREADS 64

/* Handlers run one at a time, so nothing is locked. */
static struct thread {
	pid_t tid;
	uint64_t at; /* where it has errno; 0: it has not asked yet */
	int is_owed; /* it is to find one there */
} threads[THREADS];
static int number;
static uint64_t result;

/* NULL: there are too many. */
static struct thread *thread_of(const struct ubp_hit *hit)
{
	for (int i = 0; i < THREADS; i++) {
		if (!threads[i].tid)
			threads[i].tid = ubp_hit_tid(hit);
		if (threads[i].tid == ubp_hit_tid(hit))
			return &threads[i];
	}
	return NULL;
}

static void give_errno(struct thread *t, struct ubp_hit *hit)
{
	struct ubp_err err;

	if (t->at && t->is_owed && ubp_hit_write(hit, t->at, &number, sizeof(number), &err) < 0)
		fprintf(stderr, "errno is not set: %s\n", err.text);
	t->is_owed = t->is_owed && !t->at;
}

static enum ubp_verdict on_call(void *cookie, struct ubp_hit *hit)
{
	struct thread *t = thread_of(hit);
	struct ubp_err err;

	(void)cookie;
	if (!t || ubp_hit_skip(hit, result, &err) < 0) {
		fprintf(stderr, "it is not left out: %s\n", t ? err.text : "too many threads");
		return UBP_HIT_DROP;
	}
	t->is_owed = 1;
	give_errno(t, hit);
	return UBP_HIT_RECORD;
}

/* The address of errno is returned. */
static enum ubp_verdict on_errno(void *cookie, struct ubp_hit *hit)
{
	struct thread *t = thread_of(hit);

	(void)cookie;
	if (t && ubp_hit_result(hit, &t->at) == 0)
		give_errno(t, hit);
	return UBP_HIT_DROP;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	size_t len;
	const char *line = ubp_event_line(event, &len);

	(void)ctx;
	fwrite(line, 1, len, stdout);
	fflush(stdout);
	return 0;
}

static void check(int64_t rc, const struct ubp_err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

int main(int argc, char **argv)
{
#ifdef __aarch64__
	const char *arg = "%x0";
#else
	const char *arg = "%di";
#endif
	pid_t pid = argc == 5 ? atoi(argv[1]) : 0;
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	struct ubp_err err;
	char text[1024];

	if (!pid) {
		fprintf(stderr, "example-handler PID FILE:FUNCTION RESULT ERRNO\n");
		return 2;
	}
	result = (uint64_t)strtoll(argv[3], NULL, 0);
	number = atoi(argv[4]);
	opt.pids = &pid;
	opt.n_pids = 1;
	check(ubp_session_new(&opt, &s, &err), &err);
	snprintf(text, sizeof(text), "p:fails %s first=+0(%s):string", argv[2], arg);
	check(ubp_add(s, text, NULL, &err), &err);
	check(ubp_add(s, "r:errno libc.so.6:__errno_location", NULL, &err), &err);
	check(ubp_probe_set_handler(s, 0, on_call, true, &err), &err);
	check(ubp_probe_set_handler(s, 1, on_errno, true, &err), &err);
	check(ubp_start(s, &err), &err);
	fprintf(stderr, "ready\n");
	while (!ubp_is_done(s)) {
		struct pollfd p = { ubp_fd(s), POLLIN, 0 };

		if (poll(&p, 1, -1) > 0)
			check(ubp_dispatch(s, on_event, NULL, &err), &err);
	}
	ubp_stop(s);
	check(ubp_drain(s, on_event, NULL, &err), &err);
	ubp_session_free(s);
	return 0;
}
