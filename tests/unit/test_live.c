/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes come, go and change while threads of a program, and children that it gives birth to, call the probed functions as fast
 * as they can. Each call has a number of its thread's, which is what the probes tell: so what was lost or told
 * twice shows in each probe's own events, and the program's counts tell where they have to begin and to end.
 */

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
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/base/mailbox.h"
#include "engine/event/record.h"
#include "engine/session/event.h"
#include "engine/session/live.h"
#include "engine/session/state.h"
#include "engine/space/uprobe.h"
#include "engine/ubp.h"
#include "tests/unit/live_one.h"

#define THREADS     2
#define FUNCTIONS   3
#define PROBES      4096 /* numbers, in one run */
#define CHILD_CALLS 50

uint64_t live_0(uint64_t n, uint64_t odd);
uint64_t live_1(uint64_t n, uint64_t odd);
uint64_t live_2(uint64_t n, uint64_t odd);

#ifdef __x86_64__
/* A jump behind the first instruction reaches over the third, at 4, which is a place for another probe. */
#define MIDDLE "+4"
#define FUNCTION(name)                                                                         \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n"    \
		"push %rbp\nmov %rsp,%rbp\nmov %rdi,%rax\npop %rbp\nret\nnop\nnop\nnop\n"      \
		".size " name ",.-" name "\n")
#define WALL(name)                                                                             \
	__asm__(".text\n.type " name ",@function\n" name ": .fill 160,1,0xf4\nret\n.size " name  \
		",.-" name "\n")
FUNCTION("live_0");
/* A punned jump: others enter it at its second instruction. What is at 4 is a part of where it leads, which is far below. */
WALL("live_wall_1");
__asm__(".text\n.globl live_1\n.type live_1,@function\nlive_1:\n"
	"mov %rdi,%rax\n1: nop\nmov %eax,%eax\nret\njmp 1b\n.size live_1,.-live_1\n");
WALL("live_wall_2");
FUNCTION("live_2");
#else
#define FUNCTION(name)                                                                         \
	__attribute__((noinline)) uint64_t name(uint64_t n, uint64_t odd)                      \
	{                                                                                      \
		__asm__ volatile("" : "+r"(n), "+r"(odd));                                     \
		return n;                                                                      \
	}
FUNCTION(live_0)
FUNCTION(live_1)
FUNCTION(live_2)
#endif

/* --- the program ------------------------------------------------------------------------ */

/* What it tells, in memory that it shares with the test. */
struct told {
	struct {
		pid_t tid;
		uint64_t begun[FUNCTIONS], done[FUNCTIONS];
	} threads[THREADS];
	uint64_t n_children;
	int stop, has_stopped;
};

static struct told *told;

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void call(unsigned thread, unsigned f, uint64_t n)
{
	static uint64_t (*const functions[])(uint64_t, uint64_t) = { live_0, live_1, live_2 };

	__atomic_store_n(&told->threads[thread].begun[f], n, __ATOMIC_SEQ_CST);
	(void)functions[f](n, n & 1);
	__atomic_store_n(&told->threads[thread].done[f], n, __ATOMIC_SEQ_CST);
}

static void *caller(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg;

	told->threads[thread].tid = (pid_t)syscall(SYS_gettid);
	for (uint64_t n = 1; !__atomic_load_n(&told->stop, __ATOMIC_RELAXED); n++)
		for (unsigned f = 0; f < FUNCTIONS; f++)
			call(thread, f, n);
	return NULL;
}

static void be_child(void)
{
	for (uint64_t n = 1; n <= CHILD_CALLS; n++)
		(void)live_0(n, n & 1);
	_exit(0);
}

static _Noreturn void be_program(void)
{
	pthread_t ids[THREADS];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < THREADS; i++)
		(void)pthread_create(&ids[i], NULL, caller, (void *)(uintptr_t)i);
	while (!__atomic_load_n(&told->stop, __ATOMIC_RELAXED)) {
		pid_t pid = fork();

		if (pid == 0)
			be_child();
		(void)waitpid(pid, NULL, 0);
		told->n_children++;
		usleep(2000);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	__atomic_store_n(&told->has_stopped, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static pid_t start_program(void)
{
	pid_t pid;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	assert_true(told != MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_program();
	for (unsigned i = 0; i < THREADS; i++)
		while (!load(&told->threads[i].done[FUNCTIONS - 1]))
			usleep(100);
	return pid;
}

/* --- what is told ----------------------------------------------------------------------- */

/* A probe of one number, as one thread has hit it. */
struct seen {
	uint64_t first, last, n;
	uint64_t requested[2],
		answered[2]; /* calls that were over, begun: when it came, and went */
};

enum wants { ALL, EVEN, ODD };

struct probe {
	unsigned f;
	enum wants wants;
	bool is_return;
	bool is_there;
	bool comes, goes; /* it was not there at the start; it was removed */
	unsigned before;  /* the one whose place it took ... */
	bool has_before;  /* ... if any */
	struct seen seen[THREADS];
};

struct run {
	struct ubp_session *session;
	char exe[512];
	struct probe probes[PROBES];
	unsigned n_probes;
	uint64_t n_events, n_lost, n_child_events, n_changes;
	/* Of the child that calls just now. */
	uint64_t child_sum;
	unsigned seed;
};

static uint64_t step(const struct probe *p)
{
	return p->wants == ALL ? 1 : 2;
}

static void see(struct probe *p, unsigned number, unsigned thread, uint64_t n)
{
	struct seen *seen = &p->seen[thread];

	if (p->wants != ALL && (n & 1) != (p->wants == ODD))
		fail_msg("probe %u: call %llu passed its filter", number,
			 (unsigned long long)n);
	if (seen->n && n != seen->last + step(p))
		fail_msg("%s probe %u, thread %u: call %llu follows %llu",
			 p->is_return ? "return" : "entry", number, thread,
			 (unsigned long long)n, (unsigned long long)seen->last);
	if (!seen->n)
		seen->first = n;
	seen->last = n;
	seen->n++;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	const struct event_record *r = event->record;
	uint64_t n;

	if (r->kind != EVENT_HIT) {
		run->n_lost += r->n_lost;
		return 0;
	}
	run->n_events++;
	assert_true(r->probe < run->n_probes);
	memcpy(&n, r->data, sizeof(n));
	for (unsigned i = 0; i < THREADS; i++)
		if (r->tid == told->threads[i].tid) {
			see(&run->probes[r->probe], r->probe, i, n);
			return 0;
		}
	/* A child: those of the probe that was there from the start are counted. */
	if (r->probe == 0) {
		run->n_child_events++;
		run->child_sum += n;
	}
	return 0;
}

static void dispatch(struct run *run)
{
	struct pollfd p = { .fd = ubp_fd(run->session), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, 20);
	if (ubp_dispatch(run->session, on_event, run, &err) < 0)
		fail_msg("%s", err.text);
}

static void note(struct probe *p, int which, bool is_answer)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (is_answer)
			p->seen[i].answered[which] = load(&told->threads[i].begun[p->f]);
		else
			p->seen[i].requested[which] = load(&told->threads[i].done[p->f]);
}

static void await(struct run *run, uint64_t ticket, const char *what)
{
	struct mailbox_answer answer;

	if (getenv("LIVE_LOG"))
		fprintf(stderr, "%u: %s at %llu, %llu\n", run->n_probes, what,
			(unsigned long long)load(&told->threads[0].begun[0]),
			(unsigned long long)load(&told->threads[1].begun[0]));
	while (!live_look(run->session, ticket, &answer))
		dispatch(run);
	if (answer.code)
		fail_msg("%s: %s", what, answer.text);
	run->n_changes++;
}

static const char *filter_of(enum wants wants)
{
	return wants == ALL ? NULL : wants == ODD ? "n & 1" : "odd==0";
}

/* --- changes ------------------------------------------------------------------------------ */

static void add(struct run *run, const char *form, unsigned f, const char *where)
{
	enum wants wants = ALL;
	char definition[700];
	unsigned number;
	struct probe p = { .f = f, .is_return = *form == 'r', .is_there = true, .comes = true };
	uint64_t ticket;
	struct ubp_err err;

	if (*form == 'p' && !*where)
		wants = (enum wants)(rand_r(&run->seed) % 3);
	p.wants = wants;
	snprintf(definition, sizeof(definition), form, run->exe, f, where);
	note(&p, 0, false);
	run->probes[run->n_probes++] = p;
	if (live_add_one(run->session, definition, filter_of(wants), &number, &ticket, &err) < 0)
		fail_msg("%s: %s", definition, err.text);
	assert_int_equal(number, run->n_probes - 1);
	await(run, ticket, definition);
	note(&run->probes[number], 0, true);
}

static void take_away(struct run *run, unsigned number)
{
	struct probe *p = &run->probes[number];
	uint64_t ticket;
	struct ubp_err err;

	note(p, 1, false);
	if (live_remove_one(run->session, number, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	await(run, ticket, "remove");
	note(p, 1, true);
	p->is_there = false;
	p->goes = true;
}

static void refilter(struct run *run, unsigned number)
{
	struct probe *p = &run->probes[number];
	struct probe *next = &run->probes[run->n_probes++];
	/* What returns has no second argument. */
	enum wants wants = p->is_return ? (rand_r(&run->seed) % 2 ? ODD : ALL)
					: (enum wants)(rand_r(&run->seed) % 3);
	unsigned got;
	uint64_t ticket;
	struct ubp_err err;

	*next = (struct probe){ .f = p->f,
				.wants = wants,
				.is_return = p->is_return,
				.is_there = true,
				.before = number,
				.has_before = true };
	if (live_filter(run->session, number, filter_of(wants), &got, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(got, run->n_probes - 1);
	await(run, ticket, "filter");
	note(next, 0, true);
	p->is_there = false;
}

/* Is live_1() a punned jump now? */
static bool is_punned(pid_t pid)
{
	uint8_t first = 0;
	struct iovec here = { &first, 1 }, there = { (void *)(uintptr_t)live_1, 1 };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 && first == 0xe9;
}

/* One that is there and has come while the program ran. -1: none. */
static int pick(struct run *run)
{
	unsigned start = (unsigned)rand_r(&run->seed) % run->n_probes;

	for (unsigned i = 0; i < run->n_probes; i++) {
		unsigned k = (start + i) % run->n_probes;

		if (k && run->probes[k].is_there)
			return (int)k;
	}
	return -1;
}

static void change(struct run *run)
{
	static const char *const forms[] = {
		"p:live/e%2$u %1$s:live_%2$u%3$s n=%%di:u64 odd=%%si:u64",
		"r:live/r%2$u %1$s:live_%2$u%3$s n=$retval:u64",
	};
	unsigned n_there = 0, f = (unsigned)rand_r(&run->seed) % FUNCTIONS;
	int one = pick(run), what = rand_r(&run->seed) % 8;

	for (unsigned i = 0; i < run->n_probes; i++)
		n_there += run->probes[i].is_there;
	if (one < 0 || (n_there < 6 && what < 3)) {
		bool is_return = what == 2;

		add(run, forms[is_return], f,
#ifdef MIDDLE
		    what == 1 ? MIDDLE : ""
#else
		    ""
#endif
		);
	} else if (what < 6) {
		take_away(run, (unsigned)one);
	} else {
		refilter(run, (unsigned)one);
	}
}

/* --- judged --------------------------------------------------------------------------------- */

static void check_begin(const struct probe *p, unsigned number, unsigned thread)
{
	const struct seen *seen = &p->seen[thread];

	if (p->comes && seen->n && seen->first <= seen->requested[0])
		fail_msg("probe %u tells of call %llu, which was over before it was asked for",
			 number, (unsigned long long)seen->first);
	/* Each call that began after the answer is told, and every other one of those. */
	if (seen->n && seen->first > seen->answered[0] + step(p))
		fail_msg("probe %u, thread %u: the first is call %llu, it was there at %llu",
			 number, thread, (unsigned long long)seen->first,
			 (unsigned long long)seen->answered[0]);
}

static void check_end(const struct probe *p, unsigned number, unsigned thread)
{
	const struct seen *seen = &p->seen[thread];

	if (seen->n && seen->last > seen->answered[1])
		fail_msg("probe %u tells of call %llu, it was removed at %llu", number,
			 (unsigned long long)seen->last, (unsigned long long)seen->answered[1]);
	if (seen->last + step(p) <= seen->requested[1] &&
	    seen->requested[1] > seen->answered[0] + step(p))
		fail_msg("probe %u, thread %u: the last is call %llu, it was there at %llu",
			 number, thread, (unsigned long long)seen->last,
			 (unsigned long long)seen->requested[1]);
}

/* One takes over from the other: the first call that the one behind wants, and was not to be told before. */
static void check_handed_over(const struct run *run, unsigned number, unsigned thread)
{
	const struct probe *p = &run->probes[number], *before = &run->probes[p->before];
	const struct seen *old = &before->seen[thread], *new = &p->seen[thread];
	uint64_t gap = new->first - old->last;

	if (!old->n || !new->n)
		return;
	if (new->first <= old->last)
		fail_msg("probe %u begins at %llu, the one before it ended at %llu", number,
			 (unsigned long long)new->first, (unsigned long long)old->last);
	/* Between the two at most: what the old one does not want, then what the new one does not. */
	if (gap > step(before) + step(p) - 1)
		fail_msg("probe %u begins at %llu, the one before it ended at %llu", number,
			 (unsigned long long)new->first, (unsigned long long)old->last);
}

static void check_all(const struct run *run)
{
	for (unsigned i = 0; i < run->n_probes; i++) {
		const struct probe *p = &run->probes[i];

		for (unsigned k = 0; k < THREADS; k++) {
			uint64_t done = load(&told->threads[k].done[p->f]);

			if (p->comes || p->has_before)
				check_begin(p, i, k);
			if (p->has_before)
				check_handed_over(run, i, k);
			if (p->goes)
				check_end(p, i, k);
			/* Nothing has to be told before it was answered. */
			if (p->is_there && p->seen[k].last + step(p) <= done &&
			    done > p->seen[k].answered[0] + step(p))
				fail_msg("probe %u, thread %u: the last is call %llu of %llu",
					 i, k, (unsigned long long)p->seen[k].last,
					 (unsigned long long)done);
		}
	}
	/* Each child's calls, once. */
	assert_int_equal(run->n_child_events % CHILD_CALLS, 0);
	assert_int_equal(run->child_sum, run->n_child_events / CHILD_CALLS * CHILD_CALLS *
						 (CHILD_CALLS + 1) / 2);
}

/* What is retired is freed, once nobody can be at it. */
static void await_freed(struct run *run)
{
	for (int i = 0; i < 3000 && live_is_waiting(run->session); i++)
		dispatch(run);
	if (live_is_waiting(run->session))
		fail_msg("%zu retired probes are still there", run->session->numbers.n_leaving);
}

static void on_warning(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
}

static unsigned rounds(void)
{
	const char *text = getenv("LIVE_ROUNDS");

	return text ? (unsigned)atoi(text) : 60;
}

static void changes_while_it_runs(enum ubp_mode mode)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct run *run = calloc(1, sizeof(*run));
	pid_t pid = start_program();
	unsigned n_punned = 0;
	char definition[600];
	struct ubp_err err;
	ssize_t n;

	n = readlink("/proc/self/exe", run->exe, sizeof(run->exe) - 1);
	assert_true(n > 0);
	run->seed = getenv("LIVE_SEED") ? (unsigned)atoi(getenv("LIVE_SEED")) : (unsigned)pid;
	options.mode = mode;
	options.lossless = true;
	options.follow = UBP_FOLLOW_YES;
	options.pids = &pid;
	options.n_pids = 1;
	options.warn = on_warning;
	ubp_err_reset(&err);
	snprintf(definition, sizeof(definition),
		 "p:live/first %s:live_0 n=%%di:u64 odd=%%si:u64", run->exe);
	run->probes[run->n_probes++] = (struct probe){ .is_there = true };
	if (ubp_session_new(&options, &run->session, &err) < 0 ||
	    ubp_add(run->session, definition, NULL, &err) < 0 ||
	    ubp_start(run->session, &err) < 0)
		fail_msg("%s", err.text);
	for (unsigned i = 0; i < rounds() && run->n_probes < PROBES - 1; i++) {
		change(run);
		dispatch(run);
		n_punned += is_punned(pid);
	}
	__atomic_store_n(&told->stop, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&told->has_stopped, __ATOMIC_SEQ_CST))
		dispatch(run);
	await_freed(run);
	ubp_stop(run->session);
	while (ubp_dispatch(run->session, on_event, run, &err) > 0)
		;
	printf("%llu changes, a punned jump seen %u times, %llu events, %llu of %llu children\n",
	       (unsigned long long)run->n_changes, n_punned, (unsigned long long)run->n_events,
	       (unsigned long long)run->n_child_events, (unsigned long long)told->n_children);
	assert_int_equal(run->n_lost, 0);
	check_all(run);
	ubp_session_free(run->session);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	munmap(told, sizeof(*told));
	free(run);
}

static void with_traps(void **state)
{
	(void)state;
	changes_while_it_runs(UBP_MODE_TRAP);
}

static void with_jumps(void **state)
{
	(void)state;
	changes_while_it_runs(UBP_MODE_JUMP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_traps),
		cmocka_unit_test(with_jumps),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
