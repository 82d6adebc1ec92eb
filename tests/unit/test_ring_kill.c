/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Rings between real threads and processes: writers that are interrupted or killed
 * amid a record, that scribble over everything, and an owner that is killed.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "tests/unit/ring_target.h"

#define TP 0x7f0000001000ULL

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

/* Shared with children. */
static void *share(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static pid_t fork_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void wait_for(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
		sched_yield();
}

/* --- the owner --------------------------------------------------------------------- */

struct owned {
	int fds[6]; /* control and region of three spaces */
	bool close_second;
	struct ring_set *set;
	uint64_t *done;
};

static void make_spaces(struct owned *o)
{
	struct ring_options options = { .ring_bytes = RING_BYTES_MIN, .ticks = ubp_host_ticks };
	struct ring_space *spaces[3];
	struct ring_region region;
	struct ubp_err err;

	if (ring_set_new(&options, &o->set, &err) < 0)
		_exit(1);
	region = (struct ring_region){ 0x10000000,
				       ring_region_len(o->set, RING_BYTES_MIN, UINT64_MAX),
				       RING_BYTES_MIN };
	for (int i = 0; i < 3; i++)
		if (ring_space_new(o->set, o->fds[2 * i], o->fds[2 * i + 1], &region,
				   &spaces[i], &err) < 0)
			_exit(1);
	if (o->close_second)
		ring_space_close(spaces[1]);
	__atomic_store_n(o->done, 1, __ATOMIC_RELEASE);
}

static void open_files(struct owned *o, const uint32_t *ret_owners[3])
{
	for (int i = 0; i < 6; i++) {
		o->fds[i] = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_true(o->fds[i] >= 0);
	}
	for (int i = 0; i < 3; i++) {
		ret_owners[i] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, o->fds[2 * i], 0);
		assert_true(ret_owners[i] != MAP_FAILED);
	}
}

static void close_files(struct owned *o)
{
	for (int i = 0; i < 6; i++)
		close(o->fds[i]);
}

static void an_owner_that_is_killed_leaves_word(void **state)
{
	const uint32_t *owners[3];
	struct owned o = { .close_second = true, .done = share(4096) };
	pid_t pid;

	(void)state;
	open_files(&o, owners);
	pid = fork_child();
	if (pid == 0) {
		make_spaces(&o);
		for (;;)
			pause();
	}
	wait_for(o.done, 1);
	assert_int_equal(*owners[0], pid);
	assert_int_equal(*owners[1], RING_OWNER_DIED);
	assert_int_equal(*owners[2], pid);
	end_child(pid);
	assert_true(*owners[0] & RING_OWNER_DIED);
	assert_true(*owners[2] & RING_OWNER_DIED);
	close_files(&o);
	munmap(o.done, 4096);
}

static void *own_and_end(void *arg)
{
	make_spaces(arg);
	return NULL;
}

/* It is the thread's death that counts, not the process's. */
static void an_owner_thread_that_ends_leaves_word(void **state)
{
	const uint32_t *owners[3];
	struct owned o = { .done = share(4096) };
	pthread_t thread;

	(void)state;
	open_files(&o, owners);
	assert_int_equal(pthread_create(&thread, NULL, own_and_end, &o), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_true(*owners[i] & RING_OWNER_DIED);
	ring_set_free(o.set);
	close_files(&o);
	munmap(o.done, 4096);
}

/* The C library's own robust mutexes of the thread work again after the last space. */
static void the_lists_of_the_c_library_are_put_back(void **state)
{
	struct ring_target t;
	void *before, *during, *after;
	size_t len;

	(void)state;
	assert_int_equal(syscall(SYS_get_robust_list, 0, &before, &len), 0);
	target_open(&t, RING_BYTES_MIN);
	assert_int_equal(syscall(SYS_get_robust_list, 0, &during, &len), 0);
	assert_ptr_not_equal(before, during);
	target_close(&t);
	assert_int_equal(syscall(SYS_get_robust_list, 0, &after, &len), 0);
	assert_ptr_equal(before, after);
}

/* --- killed amid a record ------------------------------------------------------------ */

/* Each takes some turns of the processor. Every second one is amid a record. */
#define N_KILLS 150

static void write_until_killed(struct ring_target *t, uint64_t *n_done, uint64_t seed)
{
	struct ring_thread *thread = target_find(t, TP);

	for (uint64_t n = 0;;) {
		size_t len = next_random(&seed) % 600;
		struct target_record r;

		if (!target_reserve(t, thread, len + 64, &r))
			continue;
		target_fill(&r, 1, n, len);
		(void)target_shorten(&r, len);
		target_commit(&r);
		__atomic_store_n(n_done, ++n, __ATOMIC_RELEASE);
	}
}

static uint64_t take_all(struct ring_target *t, uint64_t n)
{
	const struct event_record *e;

	(void)ring_set_drain(t->set);
	while ((e = ring_set_next(t->set, UINT64_MAX))) {
		assert_true(target_is_intact(e));
		assert_int_equal(e->ip, n);
		n++;
	}
	return n;
}

static void a_writer_that_is_killed_is_read_to_the_last_record(void **state)
{
	uint64_t *n_done = share(4096), seed = 11;
	unsigned n_amid = 0;
	struct ring_target t;

	(void)state;
	target_open(&t, RING_BYTES_MIN);
	for (int round = 0; round < N_KILLS; round++) {
		uint64_t n = 0, enough = next_random(&seed) % 300, lost;
		pid_t pid;

		*n_done = 0;
		assert_int_equal(ring_space_add(t.space, 1, 1000001 + round, TP, false), 0);
		pid = fork_child();
		if (pid == 0)
			write_until_killed(&t, n_done, (uint64_t)round);
		while (__atomic_load_n(n_done, __ATOMIC_ACQUIRE) < enough) {
			uint64_t before = n;

			n = take_all(&t, n);
			if (n == before) /* the writer may wait for this processor */
				sched_yield();
		}
		for (uint64_t i = next_random(&seed) % 5000; i; i--)
			__asm__ volatile("" ::: "memory");
		end_child(pid);
		(void)ring_set_drain(t.set);
		n = take_all(&t, n);
		(void)ring_set_take_lost(t.set); /* of a full ring */
		ring_space_drop(t.space, 1000001 + round);
		n = take_all(&t, n);
		lost = ring_set_take_lost(t.set);
		assert_true(lost <= 1);
		n_amid += lost != 0;
		/* One may be complete that it had no time to count. */
		assert_true(n == *n_done || n == *n_done + 1);
	}
	print_message("killed amid a record: %u of %d\n", n_amid, N_KILLS);
	assert_true(n_amid > 0);
	munmap(n_done, 4096);
	target_close(&t);
}

/* --- interrupted by handlers ------------------------------------------------------------ */

#define N_WRITERS 3

static struct ring_target shared;
static uint64_t n_ok, n_refused, n_by_handlers[2], n_ended;
static _Thread_local uint64_t own_pointer;
static bool is_over;

static bool write_one(uint32_t probe, size_t len)
{
	bool ok = target_write(&shared, own_pointer, probe, probe, len);

	__atomic_fetch_add(ok ? &n_ok : &n_refused, 1, __ATOMIC_RELAXED);
	return ok;
}

static void on_signal(int sig)
{
	bool second = sig == SIGUSR2;

	if (own_pointer && write_one(second ? 3 : 2, second ? 444 : 33))
		__atomic_fetch_add(&n_by_handlers[second], 1, __ATOMIC_RELAXED);
}

/* At least until both signals came through: their sender may have to wait for a processor. */
static void *write_much(void *arg)
{
	own_pointer = TP + 4096 * (uintptr_t)arg;
	for (uint64_t i = 0;
	     i < 300000 || !__atomic_load_n(&n_by_handlers[0], __ATOMIC_RELAXED) ||
	     !__atomic_load_n(&n_by_handlers[1], __ATOMIC_RELAXED);
	     i++)
		(void)write_one(1, i % 200);
	__atomic_fetch_add(&n_ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *send_signals(void *arg)
{
	pthread_t *writers = arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		for (int i = 0; i < N_WRITERS; i++) {
			(void)pthread_kill(writers[i], SIGUSR1);
			(void)pthread_kill(writers[i], SIGUSR2);
		}
	return NULL;
}

static uint64_t count_taken(uint64_t of[4])
{
	const struct event_record *e;
	uint64_t n = 0;

	(void)ring_set_drain(shared.set);
	for (; (e = ring_set_next(shared.set, UINT64_MAX)); n++) {
		assert_true(target_is_intact(e));
		assert_true(e->probe >= 1 && e->probe <= 3 && e->ip == e->probe);
		of[e->probe]++;
	}
	return n;
}

/* A reader beside, on and on: what was written was read or counted. */
static void handlers_record_amid_records(void **state)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t writers[N_WRITERS], sender;
	uint64_t n = 0, of[4] = { 0 }, lost = 0;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
	assert_int_equal(sigaction(SIGUSR2, &sa, NULL), 0);
	target_open(&shared, RING_BYTES_MIN);
	for (int i = 0; i < N_WRITERS; i++)
		assert_int_equal(ring_space_add(shared.space, 1, 1000001 + i,
						TP + 4096 * (uint64_t)(i + 1), false),
				 0);
	for (uintptr_t i = 0; i < N_WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_much, (void *)(i + 1)),
				 0);
	assert_int_equal(pthread_create(&sender, NULL, send_signals, writers), 0);
	while (__atomic_load_n(&n_ended, __ATOMIC_RELAXED) < N_WRITERS)
		n += count_taken(of);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(sender, NULL), 0);
	for (int i = 0; i < N_WRITERS; i++)
		assert_int_equal(pthread_join(writers[i], NULL), 0);
	n += count_taken(of);
	assert_true(of[2] && of[3]);
	assert_int_equal(n, n_ok);
	lost += ring_set_take_lost(shared.set);
	assert_int_equal(lost, n_refused);
	target_close(&shared);
}

/* --- targets that do what they like ------------------------------------------------------- */

static void scribble(struct ring_target *t, uint64_t seed)
{
	uint64_t *words = (uint64_t *)t->region;
	size_t table = RING_TABLE_AT / 8, rings = RING_RINGS_AT / 8;

	for (;;) {
		uint64_t r = next_random(&seed), value = next_random(&seed);
		struct ring_thread *thread = &target_table(t)[r % RING_THREADS];

		switch (r >> 20 & 7) {
		case 0: /* not where we would write to then */
			if (r % 8 != 3 && r % 8 != 4)
				words[table + r % (rings - table)] = value;
			break;
		case 1:
			words[rings + r % 6144] = value << 3;
			break;
		case 2:
			thread = target_find(t, TP);
			if (thread)
				thread->head += (value & 255) * ((value & 256) ? 1 : 8);
			break;
		case 3:
			thread = target_find(t, TP);
			if (thread)
				thread->limit = thread->head + 100000;
			break;
		case 4: /* something that was committed once */
			words[rings + r % 6144] =
				(uint64_t)ring_commit(value & 0xffff) << 32 | (value & 0xfff);
			break;
		default:
			thread = target_find(t, TP);
			if (thread && thread->head % 8 == 0)
				(void)target_write(t, TP, (uint32_t)value % 8, 0, value % 4000);
		}
	}
}

static void targets_may_scribble_on_everything(void **state)
{
	struct ring_target t;
	uint64_t n = 0, seed = 5;

	(void)state;
	target_open(&t, RING_BYTES_MIN);
	/* On a busy machine hardly anything of it may be a record. */
	for (int round = 0; round < 20 || (n == 0 && round < 600); round++) {
		uint64_t until = event_clock_now(CLOCK_KIND_MONO) + 50000000;
		pid_t pid;

		(void)ring_space_add(t.space, 1, 1000001, TP, false);
		pid = fork_child();
		if (pid == 0)
			scribble(&t, (uint64_t)round);
		while (event_clock_now(CLOCK_KIND_MONO) < until) {
			const struct event_record *e;

			assert_true(ring_set_drain(t.set) <= 100);
			while ((e = ring_set_next(t.set, UINT64_MAX))) {
				assert_true(e->probe < TARGET_PROBES && e->cpu < 8192);
				assert_true(e->data_len <= EVENT_DATA_MAX);
				assert_true(e->size >= sizeof(*e) + e->data_len);
				n++;
			}
			(void)ring_space_add(t.space, 1, 1000001,
					     TP + (next_random(&seed) & 1) * 64, false);
		}
		end_child(pid);
		ring_space_drop(t.space, 1000001);
	}
	print_message("%lu records, %lu lost\n", (unsigned long)n,
		      (unsigned long)ring_set_take_lost(t.set));
	assert_true(n > 0);
	target_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_that_is_killed_leaves_word),
		cmocka_unit_test(an_owner_thread_that_ends_leaves_word),
		cmocka_unit_test(the_lists_of_the_c_library_are_put_back),
		cmocka_unit_test(a_writer_that_is_killed_is_read_to_the_last_record),
		cmocka_unit_test(handlers_record_amid_records),
		cmocka_unit_test(targets_may_scribble_on_everything),
	};

	return cmocka_run_group_tests_name("ring_kill", tests, NULL, NULL);
}
