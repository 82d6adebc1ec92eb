/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A product's program that is linked with the installed library, for library.sh: what ubp.h says of sessions, dispatching and values, on
 * a child of its own that calls a function when it is asked to. C99 and C++17.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ubp.h>
#include <ubp_event.h>
#include <ubp_live.h>
#include <unistd.h>

/* Names that ubp's own code has, too. */
#ifdef __cplusplus
extern "C" {
#endif
int demangle = 1;
void map_free(void);
void map_free(void)
{
	abort();
}

struct told {
	signed char small;
	char letter;
	unsigned short words[3];
	double real;
	const char *text, *bad;
};

long host_called(long n, const struct told *told);
long __attribute__((noinline)) host_called(long n, const struct told *told)
{
	__asm__ volatile("" : "+r"(n) : "r"(told) : "memory");
	return n;
}
#ifdef __cplusplus
}
#endif

#ifdef __aarch64__
#define N_ARG    "%x0"
#define TOLD_ARG "%x1"
#else
#define N_ARG    "%di"
#define TOLD_ARG "%si"
#endif

#define CHECK(what)                                                                            \
	((what) ? (void)0                                                                      \
		: (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what), exit(1)))

/* --- the child ---------------------------------------------------------------------------------- */

static pid_t pid;
static int asks, answers;

/* Calls as often as it is told. */
static void be_child(int from, int to)
{
	static struct told told = { -5, 'z', { 1, 2, 65535 }, 2.5, "sixteen bytes ..", (const char *)16 };
	long n;

	while (read(from, &n, sizeof(n)) == (ssize_t)sizeof(n)) {
		for (long i = 0; i < n; i++)
			host_called(i, &told);
		if (write(to, &n, sizeof(n)) < 0)
			break;
	}
	_exit(0);
}

static void start_child(void)
{
	int from[2], to[2];

	CHECK(pipe(from) == 0 && pipe(to) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(from[1]);
		be_child(from[0], to[1]);
	}
	close(from[0]);
	close(to[1]);
	asks = from[1];
	answers = to[0];
}

static void calls(long n)
{
	CHECK(write(asks, &n, sizeof(n)) == (ssize_t)sizeof(n));
	CHECK(read(answers, &n, sizeof(n)) == (ssize_t)sizeof(n));
}

/* It ends now. Nobody waits for it while it is traced: such a call takes stops of its. */
static void let_end(void)
{
	close(asks);
	close(answers);
}

static void end_child(void)
{
	int status;

	let_end();
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- sessions ------------------------------------------------------------------------------------ */

static struct ubp_session *started(const char *args)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s = NULL;
	struct ubp_err err;
	char text[512];

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = UBP_MODE_JUMP;
	opt.room.ring_bytes = 64u << 20;
	ubp_err_reset(&err);
	snprintf(text, sizeof(text), "p:/proc/%d/exe:host_called %s", (int)getpid(), args);
	if (ubp_session_new(&opt, &s, &err) < 0 || ubp_add(s, text, NULL, &err) < 0 ||
	    ubp_start(s, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return s;
}

static int count(void *ctx, const struct ubp_event *event)
{
	if (ubp_event_probe(event) == 0)
		++*(long *)ctx;
	return 0;
}

static void check_options(void)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct {
		struct ubp_options opt;
		char later[16];
	} longer = { opt, { 0 } };
	struct ubp_session *s = NULL;
	struct ubp_err err;

	CHECK(ubp_version() == UBP_API_VERSION);
	opt.size = 0;
	CHECK(ubp_session_new(&opt, &s, &err) == -EINVAL && strstr(err.text, "UBP_OPTIONS_INIT"));
	longer.opt.size = sizeof(longer);
	CHECK(ubp_session_new(&longer.opt, &s, &err) == 0);
	ubp_session_free(s);
	longer.later[3] = 1;
	CHECK(ubp_session_new(&longer.opt, &s, &err) == -E2BIG);
}

/* Nobody has dispatched yet: the descriptor tells all the same that something came. */
static void check_first_poll(void)
{
	struct ubp_session *s;
	struct pollfd p = { -1, POLLIN, 0 };
	struct ubp_err err;
	long n = 0;

	start_child();
	s = started("n=" N_ARG ":s64");
	p.fd = ubp_fd(s);
	calls(1);
	while (n == 0) {
		CHECK(poll(&p, 1, 30000) == 1);
		CHECK(ubp_dispatch(s, count, &n, &err) >= 0);
	}
	let_end();
	while (!ubp_is_done(s)) {
		CHECK(poll(&p, 1, 30000) == 1);
		CHECK(ubp_dispatch(s, count, &n, &err) >= 0);
	}
	CHECK(ubp_start(s, &err) == -EBUSY);
	ubp_stop(s);
	CHECK(ubp_start(s, &err) == -EBUSY);
	CHECK(ubp_add(s, "p:libc:getpid", NULL, &err) == -EBUSY);
	CHECK(n == 1);
	ubp_session_free(s);
}

static void check_drain(void)
{
	const long most = 200000;
	struct ubp_session *s;
	struct ubp_err err;
	long n = 0, first;

	start_child();
	s = started("n=" N_ARG ":s64");
	calls(most);
	ubp_stop(s);
	first = ubp_dispatch(s, count, &n, &err);
	CHECK(first > 0 && first < most && n == first);
	CHECK(ubp_drain(s, count, &n, &err) == most - first);
	CHECK(n == most);
	CHECK(ubp_drain(s, count, &n, &err) == 0);
	ubp_session_free(s);
	end_child();
}

/* --- events --------------------------------------------------------------------------------------- */

struct seen {
	long n;
	struct ubp_event *copy;
};

static int ends_at_third(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = (struct seen *)ctx;
	struct ubp_value v;

	CHECK(ubp_event_arg(event, 0, 0, &v) && v.as.i == seen->n);
	if (seen->n == 1)
		seen->copy = ubp_event_copy(event);
	return ++seen->n == 3;
}

/* An event that wants no more ends that dispatch, and the next one has the rest. */
static void check_ends(void)
{
	struct seen seen = { 0, NULL };
	struct ubp_session *s;
	struct ubp_value v;
	struct ubp_err err;
	char line[256];
	size_t len;

	start_child();
	s = started("n=" N_ARG ":s64 text=+0(+16(" TOLD_ARG ")):string");
	calls(10);
	ubp_stop(s);
	CHECK(ubp_drain(s, ends_at_third, &seen, &err) == 3 && seen.n == 3);
	CHECK(ubp_dispatch(s, ends_at_third, &seen, &err) == 7 && seen.n == 10);
	CHECK(seen.copy && ubp_event_arg(seen.copy, 0, 0, &v) && v.as.i == 1);
	CHECK(ubp_event_arg(seen.copy, 1, 0, &v) && v.type == UBP_STRING && v.len == 16 &&
	      memcmp(v.as.s, "sixteen bytes ..", 16) == 0);
	CHECK(ubp_event_pid(seen.copy) == pid);
	snprintf(line, sizeof(line), "%s", ubp_event_line(seen.copy, &len));
	CHECK(strstr(line, "n=1 text=\"sixteen bytes ..\"\n"));
	ubp_event_free(seen.copy);
	ubp_event_free(NULL);
	ubp_session_free(s);
	end_child();
}

static int check_values(void *ctx, const struct ubp_event *event)
{
	struct ubp_value v;
	uint64_t address;

	if (ubp_event_probe(event) < 0)
		return 0;
	++*(long *)ctx;
	CHECK(ubp_event_n_args(event) == 7);
	CHECK(ubp_event_arg(event, 0, 0, &v) && v.type == UBP_SIGNED && v.as.i == 0 && v.size == 8 && !v.n);
	CHECK(ubp_event_arg(event, 1, 0, &v) && v.type == UBP_SIGNED && v.as.i == -5 && v.size == 1);
	CHECK(ubp_event_arg(event, 2, 0, &v) && v.type == UBP_CHAR && v.as.u == 'z');
	CHECK(ubp_event_arg(event, 3, 2, &v) && v.type == UBP_UNSIGNED && v.is_hex && v.as.u == 65535 && v.n == 3);
	CHECK(!ubp_event_arg(event, 3, 3, &v));
	CHECK(ubp_event_arg(event, 4, 0, &v) && v.type == UBP_UNSIGNED && !v.is_hex && v.as.u == 0x4004000000000000);
	CHECK(ubp_event_arg(event, 5, 0, &v) && v.type == UBP_STRING && v.len == 16);
	CHECK(ubp_event_arg(event, 6, 0, &v) && v.type == UBP_FAULT);
	CHECK(!ubp_event_arg(event, 7, 0, &v) && !ubp_event_arg_name(event, 7));
	CHECK(ubp_event_stack(event, &address, 1) == 0);
	return 0;
}

/* --- how soon they come --------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#define GAP_NS 200000000 /* between two hits: rings are looked at seldom by then */
#define HITS   5

struct delays {
	long n;
	uint64_t ns[HITS];
};

static int note_delay(void *ctx, const struct ubp_event *event)
{
	struct delays *d = (struct delays *)ctx;

	if (ubp_event_probe(event) == 0 && d->n < HITS)
		d->ns[d->n++] = now_ns() - ubp_event_time_ns(event);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : 1;
}

/* Of hits that are recorded by a jump, far from each other. */
static uint64_t median_delay(struct ubp_session *s)
{
	struct pollfd p = { ubp_fd(s), POLLIN, 0 };
	struct delays d;
	struct ubp_err err;

	memset(&d, 0, sizeof(d));
	for (long want = 0; want < HITS;) {
		uint64_t until = now_ns() + GAP_NS, now;

		while ((now = now_ns()) < until) {
			if (poll(&p, 1, (int)((until - now) / 1000000) + 1) == 1)
				CHECK(ubp_dispatch(s, note_delay, &d, &err) >= 0);
		}
		calls(1);
		for (want++; d.n < want;) {
			CHECK(poll(&p, 1, 30000) == 1);
			CHECK(ubp_dispatch(s, note_delay, &d, &err) >= 0);
		}
	}
	qsort(d.ns, HITS, sizeof(d.ns[0]), by_value);
	return d.ns[HITS / 2];
}

static void check_latency(void)
{
	struct ubp_session *s;
	uint64_t late, soon;

	start_child();
	s = started("n=" N_ARG ":s64");
	late = median_delay(s);
	ubp_set_latency(s, 0);
	soon = median_delay(s);
	printf("%.1f ms, at once %.1f ms\n", (double)late / 1e6, (double)soon / 1e6);
	CHECK(soon < late / 2);
	ubp_session_free(s);
	end_child();
}

/* --- children of the host's ---------------------------------------------------------------------- */

enum child_does { CHILD_FORGETS, CHILD_FREES, CHILD_ENDS, CHILD_EXECUTES, CHILD_N };

/* Descriptors that a program has which is executed now. */
static void read_inherited(char *ret_list, size_t size)
{
	FILE *f = popen("cd /proc/self/fd && echo *", "r");

	CHECK(f && fgets(ret_list, (int)size, f));
	pclose(f);
}

static void be_forked(struct ubp_session *s, enum child_does what)
{
	struct ubp_err err;
	size_t number = 0;
	int fd = ubp_fd(s);
	long n = 0;

	if (what == CHILD_EXECUTES)
		execl("/bin/true", "true", (char *)NULL);
	if (what == CHILD_ENDS)
		exit(0);
	CHECK(ubp_dispatch(s, count, &n, &err) == -ECHILD && strstr(err.text, "child"));
	CHECK(ubp_drain(s, count, &n, &err) == -ECHILD);
	CHECK(ubp_probes_remove(s, &number, 1, &err) == -ECHILD);
	ubp_stop(s);
	if (what == CHILD_FORGETS)
		ubp_session_forget(s);
	else
		ubp_session_free(s);
	CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	exit(0);
}

/* Whatever a child does with what it has of the session, the parent's goes on, while its target is busy. */
static void check_forks(void)
{
	const long at_once = 100000;
	char before[256], meanwhile[256];
	struct ubp_session *s;
	struct ubp_err err;
	long n = 0;

	start_child();
	read_inherited(before, sizeof(before));
	s = started("n=" N_ARG ":s64");
	read_inherited(meanwhile, sizeof(meanwhile));
	CHECK(strcmp(before, meanwhile) == 0);
	for (int what = CHILD_FORGETS; what < CHILD_N; what++) {
		long told = at_once;
		int status;
		pid_t child;

		CHECK(write(asks, &told, sizeof(told)) == (ssize_t)sizeof(told));
		child = fork();
		CHECK(child >= 0);
		if (child == 0)
			be_forked(s, (enum child_does)what);
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		CHECK(read(answers, &told, sizeof(told)) == (ssize_t)sizeof(told));
		CHECK(ubp_dispatch(s, count, &n, &err) >= 0);
	}
	ubp_stop(s);
	CHECK(ubp_drain(s, count, &n, &err) >= 0);
	CHECK(n == CHILD_N * at_once);
	CHECK(!ubp_has_failed(s));
	ubp_session_forget(s);
	ubp_session_forget(NULL);
	end_child();
}

static void check_types(void)
{
	struct ubp_session *s;
	struct ubp_err err;
	long n = 0;

	start_child();
	s = started("n=" N_ARG ":s64 small=+0(" TOLD_ARG "):s8 letter=+1(" TOLD_ARG "):char words=+2(" TOLD_ARG
		    "):x16[3] real=+8(" TOLD_ARG "):u64 text=+0(+16(" TOLD_ARG ")):string bad=+0(+24(" TOLD_ARG
		    ")):string");
	CHECK(ubp_probe_arg_index(s, 0, "n") == 0 && ubp_probe_arg_index(s, 0, "bad") == 6);
	CHECK(ubp_probe_arg_index(s, 0, "ba") == -ENOENT &&
	      ubp_probe_arg_index(s, 1, "n") == -ENOENT);
	CHECK(ubp_probe_arg_index(s, 0, NULL) == -EINVAL);
	calls(1);
	ubp_stop(s);
	CHECK(ubp_drain(s, check_values, &n, &err) == 1 && n == 1);
	ubp_session_free(s);
	end_child();
}

/* Any argument: what takes some seconds, too. */
int main(int argc, char **argv)
{
	(void)argv;
	CHECK(demangle == 1);
	signal(SIGPIPE, SIG_IGN);
	check_options();
	check_first_poll();
	check_drain();
	check_ends();
	check_types();
	check_forks();
	if (argc > 1)
		check_latency();
	puts("all of it holds");
	return 0;
}
