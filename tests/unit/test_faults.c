/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Numbers whose memory cannot be read are told from those that are 0, wherever they are read: by the tracer, by jumps, by a process that was let go. */

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
#include <unistd.h>

#include <cmocka.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"

#ifdef __aarch64__
#define ARG  "%%x0" /* in a format */
#define WORD "u64"
#elif defined(__i386__)
#define ARG  "+4(%%sp)"
#define WORD "u32"
#else
#define ARG  "%%di"
#define WORD "u64"
#endif

#define PAGE   4096
#define ROUNDS 40
#define N      8 /* elements */

long faults_at(const void *p);
long __attribute__((noinline)) faults_at(const void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return (long)(uintptr_t)p + 1;
}

/* Three pages, of which the first and the last are not there. */
static unsigned char *pages;
/* Calls of the program that were right. */
static unsigned *n_right;

/* What is called with, and which bytes of it are there. */
static const struct place {
	const char *what;
	int at; /* in .pages */
} places[] = {
	{ "there", PAGE + 64 },
	{ "not there", 2 * PAGE + 64 },
	{ "ends amid the second element", 2 * PAGE - 6 },
	{ "ends behind the second element", 2 * PAGE - 8 },
	{ "begins with the third element", PAGE - 8 },
	{ "begins amid the third element", PAGE - 10 },
	{ "ends with the last element", 2 * PAGE - 32 },
};
#define N_PLACES (sizeof(places) / sizeof(places[0]))

static bool is_there(const struct place *place, int from, int n)
{
	int at = place->at + from;

	return at >= PAGE && at + n <= 2 * PAGE;
}

static void make_pages(void)
{
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	assert_true(pages != MAP_FAILED);
	n_right = mmap(NULL, sizeof(*n_right), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(n_right != MAP_FAILED);
	/* Zeros, which are no faults, but for a pointer to itself. */
	*(void **)(void *)(pages + PAGE + 64) = pages + PAGE + 64;
	assert_int_equal(mprotect(pages, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(pages + (size_t)2 * PAGE, PAGE, PROT_NONE), 0);
}

static _Noreturn void be_program(int begin)
{
	char word;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(begin, &word, 1) != 1)
		_exit(1);
	for (size_t i = 0; i < ROUNDS * N_PLACES; i++) {
		const unsigned char *p = pages + places[i % N_PLACES].at;

		*n_right += faults_at(p) == (long)(uintptr_t)p + 1;
	}
	_exit(0);
}

static void expect(const struct ubp_event *event, size_t arg, size_t element, bool is_read,
		   uint64_t number, const struct place *place)
{
	struct ubp_value v;

	assert_true(ubp_event_arg(event, arg, element, &v));
	if ((v.type != UBP_FAULT) != is_read || (is_read && v.as.u != number))
		fail_msg("%s: argument %zu, element %zu: type %d, %llu", place->what, arg,
			 element, (int)v.type, (unsigned long long)v.as.u);
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	size_t *n = ctx;
	const struct place *place = &places[*n % N_PLACES];
	bool is_self = place == &places[0];
	struct ubp_value v;

	assert_true(ubp_event_probe(event) >= 0);
	assert_int_equal(ubp_event_n_args(event), 5);
	expect(event, 0, 0, is_there(place, 0, 4),
	       is_self ? (uint32_t)(uintptr_t)(pages + PAGE + 64) : 0, place);
	expect(event, 1, 0, is_there(place, 8, 8), 0, place);
	/* By way of a word that is a pointer in one place alone. */
	expect(event, 2, 0, is_self, is_self ? *(unsigned char *)(pages + PAGE + 64) : 0,
	       place);
	for (int i = 0; i < N; i++)
		if (!is_self || i > 1)
			expect(event, 3, (size_t)i, is_there(place, 4 * i, 4), 0, place);
	/* Not in memory. */
	assert_true(ubp_event_arg(event, 4, 0, &v));
	assert_int_equal(v.type, UBP_UNSIGNED);
	assert_int_equal(v.as.u, (uintptr_t)(pages + place->at));
	/* As the kernel has it. */
	if (!is_there(place, 8, 8))
		assert_string_equal(ubp_event_arg_text(event, 1), "0");
	(*n)++;
	return 0;
}

static void take_all(struct ubp_session *session)
{
	struct ubp_err err;
	size_t n = 0;

	while (!ubp_is_done(session)) {
		struct pollfd p = { .fd = ubp_fd(session), .events = POLLIN };

		(void)poll(&p, 1, 100);
		if (ubp_dispatch(session, on_event, &n, &err) < 0)
			fail_msg("%s", err.text);
	}
	if (ubp_drain(session, on_event, &n, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(n, ROUNDS * N_PLACES);
}

static void faults(enum ubp_mode mode, bool stay)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	char exe[512] = "", text[2048];
	struct ubp_session *session;
	struct ubp_err err;
	int begin[2];
	pid_t pid;

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(pipe(begin), 0);
	*n_right = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_program(begin[0]);
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = mode;
	opt.stay = stay;
	opt.lossless = true;
	snprintf(text, sizeof(text),
		 "p:called %s:faults_at n=+0(" ARG "):u32 w=+8(" ARG "):u64 x=+0(+0(" ARG
		 ")):u8 a=+0(" ARG "):u32[8] p=" ARG ":" WORD,
		 exe);
	if (ubp_session_new(&opt, &session, &err) < 0)
		fail_msg("%s", err.text);
	ubp_tell_faults(session);
	if (ubp_add(session, text, NULL, &err) < 0 || ubp_start(session, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(write(begin[1], "g", 1), 1);
	take_all(session);
	ubp_session_free(session);
	close(begin[0]);
	close(begin[1]);
	assert_int_equal(*n_right, ROUNDS * N_PLACES);
}

static void by_traps(void **state)
{
	(void)state;
	faults(UBP_MODE_TRAP, true);
}

static void by_jumps(void **state)
{
	(void)state;
	faults(UBP_MODE_JUMP, true);
}

static void let_go(void **state)
{
	(void)state;
	faults(UBP_MODE_JUMP, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_traps),
		cmocka_unit_test(by_jumps),
		cmocka_unit_test(let_go),
	};

	make_pages();
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
