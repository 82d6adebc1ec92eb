/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes are added, filtered, switched and removed by several threads while another one dispatches, and threads of a program call what is probed as
 * fast as they can. LIVE_SECONDS says for how long; LIVE_SEED begins other changes.
 */

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/session/state.h"
#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

#define CALLERS  2
#define CHANGERS 3

#ifdef __aarch64__
#define N_ARG "n=%%x0:s64" /* in a format */
#else
#define N_ARG "n=%%di:s64"
#endif

#define FUNCTION(name)                                                                         \
	long name(long n);                                                                     \
	long __attribute__((noinline)) name(long n)                                            \
	{                                                                                      \
		__asm__ volatile("" : "+r"(n) : : "memory");                                   \
		return n + 1;                                                                  \
	}
FUNCTION(threads_0)
FUNCTION(threads_1)
FUNCTION(threads_2)

/* --- the program ------------------------------------------------------------------------ */

struct told {
	struct {
		pid_t tid;
		long done, wrong;
	} callers[CALLERS];
	int stop, n_ended;
};

static struct told *told;
static pid_t pid;

static void *call(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;

	told->callers[i].tid = (pid_t)syscall(SYS_gettid);
	for (long n = 1; !__atomic_load_n(&told->stop, __ATOMIC_ACQUIRE); n++) {
		if (threads_0(n) != n + 1 || threads_1(n) != n + 1 || threads_2(n) != n + 1)
			told->callers[i].wrong++;
		__atomic_store_n(&told->callers[i].done, n, __ATOMIC_RELEASE);
		usleep(20);
	}
	__atomic_add_fetch(&told->n_ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

static _Noreturn void be_program(void)
{
	pthread_t ids[CALLERS];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < CALLERS; i++)
		(void)pthread_create(&ids[i], NULL, call, (void *)(uintptr_t)i);
	for (;;)
		pause();
}

/* --- what is told ----------------------------------------------------------------------------- */

/* Of one probe that comes and goes. */
struct life {
	bool is_gone; /* it was removed */
	long n;
};

struct run {
	struct ubp_session *session;
	char exe[512];
	int stop;
	long n_changes, n_events, n_gone, n_out_of_order;
	uint64_t n_lost;
	long first[CALLERS], last[CALLERS];
	unsigned seed, n_names;
};

static void see_first(struct run *run, const struct ubp_event *event)
{
	struct ubp_value v = { 0 };
	pid_t tid = ubp_event_tid(event);

	(void)ubp_event_arg(event, 0, 0, &v);
	for (size_t i = 0; i < CALLERS; i++) {
		if (told->callers[i].tid != tid)
			continue;
		if (!run->first[i])
			run->first[i] = v.as.i;
		else if (v.as.i != run->last[i] + 1)
			run->n_out_of_order++;
		run->last[i] = v.as.i;
	}
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	struct life *life = ubp_event_cookie(event);

	run->n_lost += ubp_event_lost(event);
	run->n_events++;
	if (ubp_event_probe(event) == 0) {
		see_first(run, event);
	} else if (life) {
		run->n_gone += __atomic_load_n(&life->is_gone, __ATOMIC_ACQUIRE);
		__atomic_add_fetch(&life->n, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* --- changes ------------------------------------------------------------------------------- */

/* In a thread, where cmocka's checks may not be used. */
static void must(int rc, const struct ubp_err *err)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%d: %s\n", rc, err->text);
	abort();
}

static void change(struct run *run, struct life *life, unsigned *seed)
{
	static const char *const forms[] = { "p:%c%u_%d %s:threads_%d " N_ARG,
					     "r:%c%u_%d %s:threads_%d n=$retval:s64" };
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char text[2][700];
	const char *texts[] = { text[0], text[1] };
	size_t numbers[2], n = 1 + (size_t)rand_r(seed) % 2;
	int f = rand_r(seed) % 3;
	struct ubp_err err;
	unsigned name = __atomic_add_fetch(&run->n_names, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < 2; i++)
		snprintf(text[i], sizeof(text[i]), forms[rand_r(seed) % 2], 'a' + i, name, i,
			 run->exe, (f + i) % 3);
	opt.cookie = life;
	opt.disabled = rand_r(seed) % 4 == 0;
	opt.filter = rand_r(seed) % 3 ? NULL : "n & 1";
	must(ubp_probes_add(run->session, texts, n, &opt, &numbers[0], NULL, &err), &err);
	numbers[1] = numbers[0] + 1;
	if (rand_r(seed) % 2)
		must(ubp_probe_set_filter(run->session, numbers[0],
					  rand_r(seed) % 2 ? "n > 3" : NULL, &err),
		     &err);
	must(ubp_probe_enable(run->session, numbers[0], rand_r(seed) % 4, &err), &err);
	usleep((useconds_t)rand_r(seed) % 2000);
	if (!ubp_probe_listing(run->session, numbers[0]))
		abort();
	must(ubp_probes_remove(run->session, numbers, n, &err), &err);
	/* What is its cookie's now is nobody's. */
	__atomic_store_n(&life->is_gone, true, __ATOMIC_RELEASE);
	__atomic_add_fetch(&run->n_changes, 3, __ATOMIC_RELAXED);
}

static void *make_changes(void *arg)
{
	struct run *run = arg;
	unsigned seed = __atomic_add_fetch(&run->seed, 1, __ATOMIC_RELAXED);

	while (!__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE)) {
		struct life life = { 0 };

		change(run, &life, &seed);
	}
	return NULL;
}

/* --- how much there is ----------------------------------------------------------------------- */

struct size {
	long host, target, maps; /* pages, pages, mappings */
	size_t n_leaving; /* probes that were removed, and that somebody may still be at */
};

static long resident(pid_t of)
{
	char path[64];
	long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)of);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages;
}

static struct size measure(const struct run *run)
{
	struct size size = { resident(getpid()), resident(pid), 0,
			     __atomic_load_n(&run->session->numbers.n_leaving,
					     __ATOMIC_RELAXED) };
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		size.maps++;
	fclose(f);
	return size;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- the test ------------------------------------------------------------------------------ */

static void dispatch(struct run *run)
{
	struct pollfd p = { .fd = ubp_fd(run->session), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, 20);
	if (ubp_dispatch(run->session, on_event, run, &err) < 0)
		fail_msg("%s", err.text);
}

static void begin(struct run *run, enum ubp_mode mode)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	char text[700];
	struct ubp_err err;

	*run = (struct run){ .seed = getenv("LIVE_SEED") ? (unsigned)atoi(getenv("LIVE_SEED"))
							 : 1 };
	assert_true(readlink("/proc/self/exe", run->exe, sizeof(run->exe) - 1) > 0);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	assert_true(told != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_program();
	for (size_t i = 0; i < CALLERS; i++)
		while (!__atomic_load_n(&told->callers[i].done, __ATOMIC_ACQUIRE))
			usleep(1000);
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = mode;
	opt.lossless = true;
	snprintf(text, sizeof(text), "p:first %s:threads_0 " N_ARG, run->exe);
	if (ubp_session_new(&opt, &run->session, &err) < 0 ||
	    ubp_add(run->session, text, NULL, &err) < 0 || ubp_start(run->session, &err) < 0)
		fail_msg("%s", err.text);
}

/* Each call since the first that was told, once. */
static void check_all(const struct run *run)
{
	assert_int_equal(run->n_lost, 0);
	assert_int_equal(run->n_out_of_order, 0);
	assert_int_equal(run->n_gone, 0);
	for (size_t i = 0; i < CALLERS; i++) {
		assert_int_equal(run->last[i], told->callers[i].done);
		assert_int_equal(told->callers[i].wrong, 0);
	}
}

static void changes_of_threads(enum ubp_mode mode)
{
	uint64_t ms =
		1000 * (uint64_t)(getenv("LIVE_SECONDS") ? atoi(getenv("LIVE_SECONDS")) : 5);
	pthread_t ids[CHANGERS];
	struct size before = { 0 }, after;
	struct ubp_err err;
	struct run run;
	uint64_t start;

	begin(&run, mode);
	start = now_ms();
	for (int i = 0; i < CHANGERS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, make_changes, &run), 0);
	while (now_ms() < start + ms) {
		dispatch(&run);
		if (!before.host && now_ms() > start + ms / 3)
			before = measure(&run);
	}
	after = measure(&run);
	__atomic_store_n(&run.stop, 1, __ATOMIC_RELEASE);
	/* Nobody dispatches now: each makes its last change alone. */
	for (int i = 0; i < CHANGERS; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	__atomic_store_n(&told->stop, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&told->n_ended, __ATOMIC_ACQUIRE) < CALLERS)
		dispatch(&run);
	ubp_stop(run.session);
	assert_true(ubp_drain(run.session, on_event, &run, &err) >= 0);
	printf("%ld changes in %" PRIu64
	       " ms, %ld events; pages of the host %ld, %ld, of the target %ld, %ld; its "
	       "mappings %ld, %ld; %zu are leaving\n",
	       run.n_changes, ms, run.n_events, before.host, after.host, before.target,
	       after.target, before.maps, after.maps, after.n_leaving);
	check_all(&run);
	assert_true(run.n_changes > 6);
	/* Each that is still there has its file open. */
	assert_true(after.n_leaving < 400);
	/* Probes that leave have their files, as many as there are on a quick machine. */
	assert_true(after.host < before.host + 65536);
	assert_true(after.target < before.target + 2048);
	/* Old detours' blocks serve new ones, so this does not grow with time (by 1 in 180 s); as many leave at a time on a quick machine as have not left yet. */
	assert_true(after.maps < before.maps + 24);
	ubp_session_free(run.session);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	munmap(told, sizeof(*told));
}

static void by_traps(void **state)
{
	(void)state;
	changes_of_threads(UBP_MODE_TRAP);
}

static void by_jumps(void **state)
{
	(void)state;
	changes_of_threads(UBP_MODE_JUMP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_traps),
		cmocka_unit_test(by_jumps),
	};

	return cmocka_run_group_tests_name("live_threads", tests, NULL, NULL);
}
