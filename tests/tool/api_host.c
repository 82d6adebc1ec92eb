/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * api_host apart|here CASE [ARG]: a host of the library that traces programs which run its own executable, for library_host.sh.
 *
 *	full MODE   lossless, and nobody dispatches until the child stands still, since there is no room for more; then poll() without a limit
 *	own         of all processes: a child that was there before, and one that is executed later. The host itself is left alone
 *	waits KIND  threads wait for any child, as KIND says, while sessions begin and end. "strange N": how many they had that were none of theirs
 *	work FROM TO   a child that was executed: be_child()
 *
 * It says what is not so, and ends with 1.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_stats.h"

#ifdef __aarch64__
#define N_ARG "%x0"
#else
#define N_ARG "%di"
#endif

#define CHECK(what)                                                                            \
	((what) ? (void)0                                                                      \
		: (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what),          \
		   exit(1)))

#define MANY     5000 /* calls, of which there is room for a fifth at most */
#define SESSIONS 12
#define LOOK_MS  20 /* between two looks at a child that may stand still */
#define LOOKS    5
#define LIFE_MS  2

long host_called(long n);
long __attribute__((noinline)) host_called(long n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return n + 1;
}

static bool is_apart;

/* --- children --------------------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int asks, answers;
};

/* Calls as often as it is told, with 0, 1, ...; the sum of what they return is the answer. */
static _Noreturn void be_child(int from, int to)
{
	long n, sum;

	while (read(from, &n, sizeof(n)) == (ssize_t)sizeof(n)) {
		sum = 0;
		for (long i = 0; i < n; i++)
			sum += host_called(i);
		if (write(to, &sum, sizeof(sum)) < 0)
			break;
	}
	_exit(0);
}

static struct child start_child(bool executes)
{
	char exe[4096], from[16], to[16];
	int ask[2], answer[2];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct child c;

	CHECK(pipe2(ask, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0 && len > 0);
	exe[len] = '\0';
	snprintf(from, sizeof(from), "%d", ask[0]);
	snprintf(to, sizeof(to), "%d", answer[1]);
	c = (struct child){ fork(), ask[1], answer[0] };
	CHECK(c.pid >= 0);
	if (c.pid == 0) {
		close(ask[1]);
		close(answer[0]);
		if (executes && fcntl(ask[0], F_SETFD, 0) == 0 &&
		    fcntl(answer[1], F_SETFD, 0) == 0)
			execl(exe, exe, "here", "work", from, to, (char *)NULL);
		if (!executes)
			be_child(ask[0], answer[1]);
		_exit(127);
	}
	close(ask[0]);
	close(answer[1]);
	return c;
}

static void ask(const struct child *c, long n)
{
	CHECK(write(c->asks, &n, sizeof(n)) == (ssize_t)sizeof(n));
}

static void take_answer(const struct child *c, long n)
{
	long sum;

	CHECK(read(c->answers, &sum, sizeof(sum)) == (ssize_t)sizeof(sum));
	CHECK(sum == n * (n + 1) / 2);
}

static void end_child(const struct child *c)
{
	int status;

	close(c->asks);
	close(c->answers);
	CHECK(waitpid(c->pid, &status, 0) == c->pid && status == 0);
}

/* --- sessions --------------------------------------------------------------------------------- */

static struct ubp_session *begin(struct ubp_options *opt)
{
	struct ubp_session *s = NULL;
	struct ubp_err err;
	char text[4200], exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(len > 0);
	exe[len] = '\0';
	snprintf(text, sizeof(text), "p:%s:host_called n=%s:s64", exe, N_ARG);
	opt->engine.apart = is_apart ? UBP_APART_YES : UBP_APART_NO;
	ubp_err_reset(&err);
	if (ubp_session_new(opt, &s, &err) < 0 || ubp_add(s, text, NULL, &err) < 0 ||
	    ubp_start(s, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return s;
}

/* Of two processes at most, each of which calls with 0, 1, ... */
struct seen {
	pid_t pids[2];
	long n[2], lost, strange;
	bool one_each_time;
};

static int look(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;
	struct ubp_value v;

	if (ubp_event_probe(event) < 0) {
		seen->lost += (long)ubp_event_lost(event);
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		if (ubp_event_pid(event) != seen->pids[i])
			continue;
		CHECK(ubp_event_arg(event, 0, 0, &v) && v.as.i == seen->n[i]);
		seen->n[i]++;
		return seen->one_each_time;
	}
	seen->strange++;
	return 0;
}

static void look_until(struct ubp_session *s, struct seen *seen, long n0, long n1)
{
	struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };
	struct ubp_err err;

	while (seen->n[0] < n0 || seen->n[1] < n1) {
		CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
		CHECK(ubp_dispatch(s, look, seen, &err) >= 0);
		CHECK(!ubp_has_failed(s));
	}
}

/* --- full ------------------------------------------------------------------------------------- */

/* What the child has done so far, which nobody but it counts: its time in user mode and in the kernel. And its state. */
static unsigned long time_of(pid_t pid, char *ret_state)
{
	char path[64], text[1024];
	unsigned long user = 0, kernel = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	CHECK(f && fgets(text, sizeof(text), f));
	fclose(f);
	CHECK(sscanf(strrchr(text, ')') + 1,
		     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", ret_state, &user,
		     &kernel) == 3);
	return user + kernel;
}

static void await_standstill(const struct child *c)
{
	unsigned long last = 0;
	char state;

	for (int same = 0; same < LOOKS;) {
		unsigned long now = time_of(c->pid, &state);
		struct pollfd p = { .fd = c->answers, .events = POLLIN };

		same = now == last && state != 'R' ? same + 1 : 0;
		last = now;
		/* An answer would tell that there was room for all. */
		CHECK(poll(&p, 1, LOOK_MS) == 0);
	}
}

static void check_full(const char *mode)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct child c = start_child(false);
	struct seen seen = { .pids = { c.pid, 0 }, .one_each_time = true };
	struct ubp_session *s;
	struct ubp_err err;

	opt.pids = &c.pid;
	opt.n_pids = 1;
	opt.lossless = true;
	opt.mode = strcmp(mode, "trap") == 0 ? UBP_MODE_TRAP : UBP_MODE_JUMP;
	opt.room.ring_bytes = 16384;
	opt.room.queue_bytes = 65536;
	s = begin(&opt);
	ask(&c, MANY);
	await_standstill(&c);
	/* What is left behind is told of again. */
	look_until(s, &seen, 3, 0);
	seen.one_each_time = false;
	look_until(s, &seen, MANY, 0);
	take_answer(&c, MANY);
	ubp_stop(s);
	CHECK(ubp_drain(s, look, &seen, &err) == 0);
	CHECK(seen.n[0] == MANY && seen.lost == 0 && seen.strange == 0);
	ubp_session_free(s);
	ask(&c, 10);
	take_answer(&c, 10);
	end_child(&c);
}

/* --- its own executable --------------------------------------------------------------------------- */

static void check_own(void)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct child before = start_child(false), later;
	unsigned char was[16];
	struct seen seen = { .pids = { before.pid } };
	struct ubp_session *s;
	struct ubp_err err;

	memcpy(was, (const void *)host_called, sizeof(was));
	opt.lossless = true;
	s = begin(&opt);
	later = start_child(true);
	seen.pids[1] = later.pid;
	CHECK(host_called(7) == 8);
	CHECK(memcmp(was, (const void *)host_called, sizeof(was)) == 0);
	for (int i = 1; i <= 2; i++) {
		ask(&before, 100);
		ask(&later, 50);
		look_until(s, &seen, 100, 50);
		take_answer(&before, 100);
		take_answer(&later, 50);
		seen.n[0] = seen.n[1] = 0;
		CHECK(host_called(i) == i + 1);
	}
	ubp_stop(s);
	CHECK(ubp_drain(s, look, &seen, &err) == 0);
	CHECK(seen.lost == 0 && seen.strange == 0);
	ubp_session_free(s);
	ask(&before, 10);
	take_answer(&before, 10);
	end_child(&before);
	end_child(&later);
}

/* --- waits ---------------------------------------------------------------------------------------- */

enum kind { KIND_WAIT, KIND_WAITID, KIND_ALL, KIND_CLONE, KIND_N };
static const char *const kinds[KIND_N] = { "wait", "waitid", "all", "clone" };

static atomic_bool is_over;
static atomic_long n_strange;
static sem_t had_child;
static enum kind kind;

/* Any child: its pid, and what it ended with. */
static pid_t wait_for_any(int *ret_code)
{
	siginfo_t info = { 0 };
	int status = 0;
	pid_t pid = -1;

	switch (kind) {
	case KIND_WAIT:
		pid = wait(&status);
		break;
	case KIND_WAITID:
		*ret_code = waitid(P_ALL, 0, &info, WEXITED) == 0 ? info.si_status : -1;
		return info.si_pid ? info.si_pid : -1;
	case KIND_ALL:
		pid = waitpid(-1, &status, __WALL);
		break;
	default:
		pid = waitpid(-1, &status, __WCLONE);
		break;
	}
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return pid;
}

/* Its end raises no signal where only __WCLONE finds it. */
static pid_t have_child(void)
{
	return kind == KIND_CLONE ? (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL)
				  : fork();
}

static void *wait_all_the_time(void *arg)
{
	(void)arg;
	while (!is_over) {
		pid_t child = have_child(), got = -1;
		int code = -1;

		/* It lives that long, so that somebody waits most of the time. */
		if (child == 0) {
			(void)poll(NULL, 0, LIFE_MS);
			_exit(7);
		}
		CHECK(child > 0);
		while (got != child) {
			got = wait_for_any(&code);
			CHECK(got > 0);
			if (got == child)
				CHECK(code == 7);
			else
				CHECK(code == 0 && (kind == KIND_ALL || kind == KIND_CLONE));
			n_strange += got != child;
		}
		sem_post(&had_child);
	}
	return NULL;
}

static void check_waits(const char *name)
{
	struct child c = start_child(false);
	pthread_t waiter;

	while (kind < KIND_N && strcmp(kinds[kind], name) != 0)
		kind++;
	CHECK(kind < KIND_N);
	CHECK(sem_init(&had_child, 0, 0) == 0);
	pthread_create(&waiter, NULL, wait_all_the_time, NULL);
	for (int i = 0; i < SESSIONS; i++) {
		struct ubp_options opt = UBP_OPTIONS_INIT;
		struct seen seen = { .pids = { c.pid, 0 } };
		struct ubp_session *s;

		opt.pids = &c.pid;
		opt.n_pids = 1;
		s = begin(&opt);
		ask(&c, 20);
		look_until(s, &seen, 20, 0);
		take_answer(&c, 20);
		while (sem_trywait(&had_child) == 0)
			;
		CHECK(sem_wait(&had_child) == 0);
		if (i % 2)
			ubp_stop(s);
		ubp_session_free(s);
	}
	is_over = true;
	pthread_join(waiter, NULL);
	end_child(&c);
	printf("strange %ld\n", (long)n_strange);
	CHECK(n_strange <= SESSIONS);
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[2] : "";

	is_apart = argc >= 3 && strcmp(argv[1], "apart") == 0;
	if (strcmp(what, "work") == 0 && argc == 5)
		be_child(atoi(argv[3]), atoi(argv[4]));
	alarm(600);
	if (strcmp(what, "full") == 0 && argc == 4)
		check_full(argv[3]);
	else if (strcmp(what, "own") == 0 && argc == 3)
		check_own();
	else if (strcmp(what, "waits") == 0 && argc == 4)
		check_waits(argv[3]);
	else
		return 2;
	puts("all of it holds");
	return 0;
}
