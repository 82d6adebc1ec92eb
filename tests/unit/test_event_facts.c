/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the public interface tells of an event, by what the program itself knows of it: the addresses of its stack and their names, where it was, numbers with a
 * fraction, how many hits it stands for; meters that are fed with events.
 */

#include <math.h>
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_meter.h"
#include "engine/ubp_recording.h"

/* In a format. */
#ifdef __aarch64__
#define ARG "%%x0"
#elif defined(__i386__)
#define ARG "+4(%%sp)"
#else
#define ARG "%%di"
#endif

#define CALLS 30

struct numbers {
	double wide, wides[3];
	float narrow, narrows[2];
};

static const struct numbers known[] = {
	{ 0.1, { -0.0, 1e308, 5e-324 }, 0.1f, { -2.5f, 16777216 } },
	{ -INFINITY, { INFINITY, 0, -1 }, INFINITY, { 1e-45f, 3.4e38f } },
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

/* --- the program: each calls the next, and has something to do behind that --------------------------- */

#ifdef __clang__
#define FRAMES __attribute__((noinline, disable_tail_calls))
#else
#define FRAMES                                                                                 \
	__attribute__((noinline, noclone,                                                      \
		       optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))
#endif

long facts_inner(const struct numbers *n);
long facts_middle(const struct numbers *n);
long facts_outer(const struct numbers *n);

FRAMES long facts_inner(const struct numbers *n)
{
	__asm__ volatile("" : "+r"(n) : : "memory");
	return (long)sizeof(*n);
}

FRAMES long facts_middle(const struct numbers *n)
{
	long got = facts_inner(n);

	__asm__ volatile("" : "+r"(got));
	return got + 1;
}

FRAMES long facts_outer(const struct numbers *n)
{
	long got = facts_middle(n);

	__asm__ volatile("" : "+r"(got));
	return got + 1;
}

static _Noreturn FRAMES void be_program(int begin)
{
	long wrong = 0;
	char word;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(begin, &word, 1) != 1)
		_exit(1);
	for (int i = 0; i < CALLS; i++)
		wrong += facts_outer(&known[(size_t)i % N_KNOWN]) != (long)sizeof(known[0]) + 2;
	_exit(wrong ? 1 : 0);
}

/* --- where its functions are: as nm tells of the file --------------------------------------------------- */

struct place {
	const char *name;
	uint64_t from, to;
};

static struct place places[] = { { "facts_inner", 0, 0 },
				 { "facts_middle", 0, 0 },
				 { "facts_outer", 0, 0 },
				 { "be_program", 0, 0 } };
#define N_PLACES (sizeof(places) / sizeof(places[0]))

static char exe[512];

static int find_places(void **state)
{
	char line[1024], name[1024], kind;
	unsigned long long from, size;
	int64_t slide;
	FILE *nm;

	(void)state;
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0)
		return -1;
	(void)snprintf(line, sizeof(line), "nm -S %s", exe);
	nm = popen(line, "r");
	while (nm && fgets(line, sizeof(line), nm)) {
		if (sscanf(line, "%llx %llx %c %1000s", &from, &size, &kind, name) != 4)
			continue;
		for (size_t i = 0; i < N_PLACES; i++)
			if (strcmp(places[i].name, name) == 0)
				places[i] = (struct place){ places[i].name, from, from + size };
	}
	if (!nm || pclose(nm) != 0)
		return -1;
	/* The program is a child by fork(): it has what this process has, at the same addresses. */
	slide = (int64_t)((uintptr_t)facts_inner - places[0].from);
	for (size_t i = 0; i < N_PLACES; i++) {
		if (!places[i].from || places[i].from == places[i].to)
			return -1;
		places[i].from += (uint64_t)slide;
		places[i].to += (uint64_t)slide;
	}
	return 0;
}

static void is_in(uint64_t addr, const struct place *place, bool is_start)
{
	if (is_start ? addr != place->from : addr <= place->from || addr > place->to)
		fail_msg("%llx is not in %s, %llx to %llx", (unsigned long long)addr,
			 place->name, (unsigned long long)place->from,
			 (unsigned long long)place->to);
}

/* --- sessions ------------------------------------------------------------------------------------------ */

struct run {
	struct ubp_session *session;
	pid_t pid;
	int begin;
	unsigned n;
	uint64_t last_ns;
	bool is_raw,
		skips; /* stack entries have no names; the caller of what was just entered is missing */
	struct ubp_meter *meter;
};

static struct ubp_options options(enum ubp_mode mode)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;

	opt.mode = mode;
	opt.lossless = true;
	return opt;
}

static void define(struct run *run, const char *form)
{
	struct ubp_err err;
	char text[1024];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, sizeof(text), form, exe);
#pragma GCC diagnostic pop
	if (ubp_add(run->session, text, NULL, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

static void begin(struct run *run, struct ubp_options *opt)
{
	struct ubp_err err;
	int pipes[2];

	*run = (struct run){ 0 };
	assert_int_equal(pipe(pipes), 0);
	run->pid = fork();
	assert_true(run->pid >= 0);
	if (run->pid == 0)
		be_program(pipes[0]);
	close(pipes[0]);
	run->begin = pipes[1];
	opt->pids = &run->pid;
	opt->n_pids = 1;
	if (ubp_session_new(opt, &run->session, &err) < 0)
		fail_msg("%s", err.text);
}

static void take_all(struct run *run, ubp_event_fn *fn)
{
	struct ubp_err err;

	if (ubp_start(run->session, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(write(run->begin, "g", 1), 1);
	while (!ubp_is_done(run->session)) {
		struct pollfd p = { .fd = ubp_fd(run->session), .events = POLLIN };

		(void)poll(&p, 1, 100);
		if (ubp_dispatch(run->session, fn, run, &err) < 0)
			fail_msg("%s", err.text);
	}
	ubp_stop(run->session);
	if (ubp_drain(run->session, fn, run, &err) < 0)
		fail_msg("%s", err.text);
	assert_false(ubp_has_failed(run->session));
	close(run->begin);
}

/* --- stacks ---------------------------------------------------------------------------------------------- */

static void look_at_names(const struct ubp_event *event, size_t i, uint64_t addr,
			  const struct place *place)
{
	struct ubp_frame frames[2];

	memset(frames, 0, sizeof(frames));
	assert_int_equal(ubp_event_frames(event, i, frames, 2), 1);
	assert_int_equal(frames[0].addr, addr);
	assert_string_equal(frames[0].function, place->name);
	assert_int_equal(frames[0].offset, addr - place->from);
	assert_string_equal(frames[0].file, exe);
	assert_true(frames[0].file_vaddr > 0 && !frames[0].is_inlined);
	/* No room, and the same number. */
	assert_int_equal(ubp_event_frames(event, i, NULL, 0), 1);
}

static int on_stack(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	uint64_t addr[64], few[2] = { 0, 0 };
	size_t n = ubp_event_stack(event, addr, 64);

	run->n++;
	assert_in_range(n, N_PLACES - run->skips, 64);
	for (size_t i = 0; i < N_PLACES - run->skips; i++) {
		const struct place *place = &places[i > 0 && run->skips ? i + 1 : i];

		is_in(addr[i], place, i == 0);
		if (run->is_raw)
			assert_int_equal(ubp_event_frames(event, i, NULL, 0), 0);
		else
			look_at_names(event, i, addr[i], place);
	}
	/* No more than there is room for. */
	assert_int_equal(ubp_event_stack(event, few, 1), n);
	assert_true(few[0] == addr[0] && few[1] == 0);
	assert_int_equal(ubp_event_frames(event, n, NULL, 0), 0);
	assert_int_equal(ubp_event_frames(event, SIZE_MAX, NULL, 0), 0);
	return 0;
}

static void stacks(enum ubp_stack how, enum ubp_mode mode, bool is_raw)
{
	struct ubp_options opt = options(mode);
	struct run run;

	opt.stack = how;
	opt.stack_raw = is_raw;
	begin(&run, &opt);
	run.is_raw = is_raw;
	run.skips = how == UBP_STACK_FP;
	define(&run, "p:inner %s:facts_inner");
	take_all(&run, on_stack);
	assert_int_equal(run.n, CALLS);
	ubp_session_free(run.session);
}

static void stacks_by_frame_pointers(void **state)
{
	(void)state;
	stacks(UBP_STACK_FP, UBP_MODE_JUMP, false);
	stacks(UBP_STACK_FP, UBP_MODE_TRAP, true);
}

static void stacks_by_call_frames(void **state)
{
	(void)state;
	stacks(UBP_STACK_CFI, UBP_MODE_AUTO, false);
}

/* --- numbers with a fraction ------------------------------------------------------------------------------- */

static void is_float(const struct ubp_event *event, size_t arg, size_t element, double want,
		     unsigned size, size_t n)
{
	struct ubp_value v;

	assert_true(ubp_event_arg(event, arg, element, &v));
	assert_int_equal(v.type, UBP_FLOAT);
	assert_int_equal(v.size, size);
	assert_int_equal(v.n, n);
	/* By their bits: -0 is not 0. */
	if (memcmp(&v.as.f, &want, sizeof(want)) != 0)
		fail_msg("argument %zu, element %zu: %g, not %g", arg, element, v.as.f, want);
}

static int on_floats(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	const struct numbers *want = &known[run->n++ % N_KNOWN];
	struct ubp_value v;

	is_float(event, 0, 0, want->wide, 8, 0);
	is_float(event, 2, 0, (double)want->narrow, 4, 0);
	for (size_t i = 0; i < 3; i++)
		is_float(event, 1, i, want->wides[i], 8, 3);
	for (size_t i = 0; i < 2; i++)
		is_float(event, 3, i, (double)want->narrows[i], 4, 2);
	assert_false(ubp_event_arg(event, 1, 3, &v));
	/* Behind no memory: a fault, since that was asked for. */
	assert_true(ubp_event_arg(event, 4, 0, &v));
	assert_int_equal(v.type, UBP_FAULT);
	return 0;
}

static void floats(void **state)
{
	const enum ubp_mode modes[] = { UBP_MODE_TRAP, UBP_MODE_JUMP };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ubp_options opt = options(modes[i]);
		struct run run;

		begin(&run, &opt);
		ubp_tell_faults(run.session);
		define(&run, "p:inner %s:facts_inner w=+0(" ARG "):f64 ws=+8(" ARG
			     "):f64[3] n=+32(" ARG "):f32 ns=+36(" ARG "):f32[2] no=+0(+0(" ARG
			     ")):f64");
		take_all(&run, on_floats);
		assert_int_equal(run.n, CALLS);
		ubp_session_free(run.session);
	}
}

/* --- when, where, by whom -------------------------------------------------------------------------------------- */

static int on_where(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	uint64_t ns = ubp_event_time_ns(event);

	if (ubp_event_probe(event) == 0)
		is_in(ubp_event_ip(event), &places[0], true);
	else
		is_in(ubp_event_ip(event), &places[1], false);
	assert_int_equal(ubp_event_pid(event), run->pid);
	assert_int_equal(ubp_event_tid(event), run->pid);
	assert_in_range(ubp_event_cpu(event), 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
	assert_true(ns >= run->last_ns);
	run->last_ns = ns;
	assert_int_equal(ubp_event_weight(event), 0);
	assert_null(ubp_event_host(event));
	assert_string_equal(ubp_event_name(event),
			    ubp_event_probe(event) == 0 ? "inner" : "back");
	run->n++;
	ubp_meter_event(run->meter, event);
	return 0;
}

/* Each call has an entry and a return: so a meter knows how long it took. */
static void where_and_how_long(void **state)
{
	struct ubp_options opt = options(UBP_MODE_AUTO);
	struct ubp_meter_row row;
	uint64_t in_octaves = 0;
	struct ubp_err err;
	struct run run;

	(void)state;
	begin(&run, &opt);
	define(&run, "p:inner %s:facts_inner");
	define(&run, "r:back %s:facts_inner");
	assert_int_equal(ubp_meter_new(run.session, &run.meter, &err), 0);
	take_all(&run, on_where);
	assert_int_equal(run.n, 2 * CALLS);
	assert_int_equal(ubp_meter_n(run.meter), 1);
	ubp_meter_row(run.meter, 0, &row);
	assert_string_equal(row.name, "inner");
	assert_int_equal(row.hits, 2 * CALLS);
	assert_int_equal(row.calls, CALLS);
	assert_true(row.p50_ns > 0 && row.p50_ns <= row.p99_ns &&
		    row.p99_ns <= row.max_ns + row.max_ns / 8);
	for (size_t i = 0; i < UBP_METER_OCTAVES; i++)
		in_octaves += row.octaves[i];
	assert_int_equal(in_octaves, CALLS);
	assert_int_equal(ubp_meter_lost(run.meter), 0);
	ubp_meter_free(run.meter);
	ubp_session_free(run.session);
}

static int on_sample(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;

	bool is_inner = ubp_event_probe(event) == 0;

	run->n += is_inner ? 3 : 1;
	assert_int_equal(ubp_event_weight(event), is_inner ? 3 : 0);
	return 0;
}

static void samples(void **state)
{
	struct ubp_options opt = options(UBP_MODE_AUTO);
	struct run run;

	(void)state;
	opt.sample = "3";
	begin(&run, &opt);
	define(&run, "p:inner %s:facts_inner");
	assert_non_null(strstr(ubp_probe_sample(run.session, 0), "3"));
	/* Behind that all hits are told of. */
	ubp_sample_next(run.session, false);
	define(&run, "p:outer %s:facts_outer");
	assert_null(ubp_probe_sample(run.session, 1));
	take_all(&run, on_sample);
	assert_int_equal(run.n, 2 * CALLS);
	ubp_session_free(run.session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_by_frame_pointers),
		cmocka_unit_test(stacks_by_call_frames),
		cmocka_unit_test(floats),
		cmocka_unit_test(where_and_how_long),
		cmocka_unit_test(samples),
	};

	return cmocka_run_group_tests_name("event facts", tests, find_places, NULL);
}
