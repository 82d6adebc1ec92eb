/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Handlers (engine/ubp_handler.h): what they read, what the program goes on with behind what they change, whatever the probed instruction is and
 * whatever way it is carried out; what is refused; what becomes of the program when the host dies in one, and of signals meanwhile.
 *
 * A child calls the functions when it is asked to, and answers what they have returned. It waits in a pipe's read() until then, so
 * whoever sees its answers sees what the handlers have made of them.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
#include <unistd.h>

#include <cmocka.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_handler.h"
#include "engine/ubp_live.h"
#include "engine/ubp_stats.h"

/* --- functions ------------------------------------------------------------------------------ */

typedef long called_fn(long a, long b, long c, long d, long e, long f, long g);

#ifdef __x86_64__
#define FUNCTION(name, code)                                                                   \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name       \
		":\n" code "\n.size " #name ",.-" #name "\n");                                 \
	called_fn name
/* a - b, and what they begin with. */
FUNCTION(h_push, "push %rbp\nmov %rsp,%rbp\nmov %rdi,%rax\nsub %rsi,%rax\npop %rbp\nret");
FUNCTION(h_call, "call h_helper\nret");
FUNCTION(h_jmp, "jmp h_helper");
FUNCTION(h_nop, "endbr64\nmov %rdi,%rax\nsub %rsi,%rax\nret");
FUNCTION(h_short, "mov %rdi,%rax\nsub %rsi,%rax\nret");
FUNCTION(h_helper, "mov %rdi,%rax\nsub %rsi,%rax\nret");
FUNCTION(h_pushed, "push %rdi\npop %rax\nsub %rsi,%rax\nret");
FUNCTION(h_near, "cmp h_number(%rip),%rdi\nmov %rdi,%rax\nsub %rsi,%rax\nret\n.p2align "
		 "3\nh_number: .quad 1");
/* 1 if a == b, else 2, by the flags behind a comparison. */
FUNCTION(h_flags, "cmp %rsi,%rdi\nje 1f\nmov $2,%eax\nret\n1: mov $1,%eax\nret");
/* What was pushed for it. */
FUNCTION(h_word, "mov 8(%rsp),%rax\nret");
/* Its returns are caught at its ret instruction, since it might ask who has called it. */
FUNCTION(___mcount, "mov %rdi,%rax\nsub %rsi,%rax\nnop\nret");
#define FIRST_ARG  "di"
#define SECOND_ARG "si"
#define RESULT     "ax"
#else
#define FUNCTION(name)                                                                         \
	called_fn name;                                                                        \
	__attribute__((noinline)) long name(long a, long b, long c, long d, long e, long f,    \
					    long g)                                            \
	{                                                                                      \
		__asm__ volatile(""                                                            \
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f),       \
				   "+r"(g));                                                   \
		return a - b;                                                                  \
	}
FUNCTION(h_push)
FUNCTION(h_call)
FUNCTION(h_jmp)
FUNCTION(h_nop)
FUNCTION(h_short)
FUNCTION(h_pushed)
FUNCTION(h_near)
FUNCTION(___mcount)
#define FIRST_ARG  "x0"
#define SECOND_ARG "x1"
#define RESULT     "x0"
#endif

long h_deep(long n, long b, long c, long d, long e, long f, long g);
__attribute__((noinline)) long h_deep(long n, long b, long c, long d, long e, long f, long g)
{
	long below = n > 0 ? h_deep(n - 1, b, c, d, e, f, g) : 0;

	__asm__ volatile("" : "+r"(below)); /* a call, and no loop */
	return n + below;
}

long h_text(long text, long b, long c, long d, long e, long f, long g);
__attribute__((noinline)) long h_text(long text, long b, long c, long d, long e, long f, long g)
{
	(void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
	__asm__ volatile("" : "+r"(text) : : "memory");
	return (long)strlen((const char *)text);
}

static called_fn *const functions[] = {
	h_push,  h_call, h_jmp, h_nop, h_short, h_pushed, h_near, ___mcount, h_deep, h_text,
#ifdef __x86_64__
	h_flags, h_word,
#endif
};
enum { PUSH, CALL, JMP, NOP, SHORT, PUSHED, NEAR, AT_RET, DEEP, TEXT, FLAGS, WORD };
static const char *const names[] = { "h_push",  "h_call",   "h_jmp",   "h_nop",
				     "h_short", "h_pushed", "h_near",  "___mcount",
				     "h_deep",  "h_text",   "h_flags", "h_word" };

/* --- the program ------------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS  200
#define SENT    8

/* What is asked, or what is answered: the result. */
struct call {
	int which;
	bool in_threads; /* each ROUNDS times: .args[0] is how many results were others */
	long args[7];
};

static struct told {
	int n_signals, n_eintr, is_asleep;
} * told;

static char text[64];
static pid_t pid;
static int to_child, from_child;
static char exe[512];

static void count_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&told->n_signals, 1, __ATOMIC_SEQ_CST);
}

static void *sleep_on(void *arg)
{
	sigset_t all;

	(void)arg;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (;;) {
		__atomic_store_n(&told->is_asleep, 1, __ATOMIC_SEQ_CST);
		if (usleep(500) < 0)
			__atomic_add_fetch(&told->n_eintr, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void *call_often(void *arg)
{
	struct call *call = arg;
	long want = call->args[6], wrong = 0;

	for (int i = 0; i < ROUNDS; i++)
		wrong += functions[call->which](call->args[0], call->args[1], 3, 4, 5, 6, 7) !=
			 want;
	return (void *)wrong;
}

static long call_in_threads(struct call *call)
{
	pthread_t ids[THREADS];
	long wrong = 0;

	for (int i = 0; i < THREADS; i++)
		(void)pthread_create(&ids[i], NULL, call_often, call);
	for (int i = 0; i < THREADS; i++) {
		void *its;

		(void)pthread_join(ids[i], &its);
		wrong += (long)its;
	}
	return wrong;
}

static _Noreturn void be_program(int from, int to)
{
	struct sigaction on = { .sa_handler = count_signal };
	struct call c;
	pthread_t id;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* a host of its own may trace it */
	/* As a handler of the tracing thread's session may send them. */
	(void)sigaction(SIGRTMIN, &on, NULL);
	(void)pthread_create(&id, NULL, sleep_on, NULL);
	for (;;) {
		ssize_t n = read(from, &c, sizeof(c));

		if (n < 0 && errno == EINTR && told->n_signals)
			continue;
		if (n != (ssize_t)sizeof(c))
			_exit(1);
		c.args[0] = c.in_threads ? call_in_threads(&c)
					 : functions[c.which](c.args[0], c.args[1], c.args[2],
							      c.args[3], c.args[4], c.args[5],
							      c.args[6]);
		if (write(to, &c, sizeof(c)) != (ssize_t)sizeof(c))
			_exit(1);
	}
}

static int start_program(void **state)
{
	int there[2], back[2];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(n > 0);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	assert_true(told != MAP_FAILED);
	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	strcpy(text, "as the program has it");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_program(there[0], back[1]);
	close(there[0]);
	close(back[1]);
	to_child = there[1];
	from_child = back[0];
	return 0;
}

static int end_program(void **state)
{
	int status;

	(void)state;
	/* Whatever was done to it, it lives. */
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	close(to_child);
	close(from_child);
	(void)munmap(told, sizeof(*told));
	return 0;
}

static void ask(const struct call *call)
{
	assert_int_equal(write(to_child, call, sizeof(*call)), sizeof(*call));
}

static long answer(void)
{
	struct pollfd p = { .fd = from_child, .events = POLLIN };
	struct call call;

	if (poll(&p, 1, 60000) != 1)
		fail_msg("the program does not answer");
	assert_int_equal(read(from_child, &call, sizeof(call)), sizeof(call));
	return call.args[0];
}

static long call(int which, long a, long b)
{
	const struct call c = { .which = which, .args = { a, b, 3, 4, 5, 6, 7 } };

	ask(&c);
	return answer();
}

/* --- the session ---------------------------------------------------------------------------------- */

static struct ubp_session *session;
static struct ubp_err err;

static bool is_other; /* a process that the tests have started */

static void is_well(int64_t rc)
{
	if (rc >= 0)
		return;
	if (!is_other)
		fail_msg("%s", err.text);
	fprintf(stderr, "%s\n", err.text);
	_exit(1);
}

static void begin(enum ubp_mode mode)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = mode;
	is_well(ubp_session_new(&opt, &session, &err));
	is_well(ubp_start(session, &err));
}

struct seen {
	unsigned n;
	uint64_t first; /* of the last one: its first argument */
};

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct seen *seen = ctx;
	struct ubp_value v;

	if (ubp_event_probe(event) < 0)
		return 0;
	seen->n++;
	if (ubp_event_n_args(event) && ubp_event_arg(event, 0, 0, &v))
		seen->first = v.as.u;
	return 0;
}

static struct seen end(void)
{
	struct seen seen = { 0 };

	ubp_stop(session);
	is_well(ubp_drain(session, on_event, &seen, &err));
	ubp_session_free(session);
	session = NULL;
	return seen;
}

static size_t add(const char *form, int which, const char *behind, ubp_handler_fn *handler,
		  void *cookie, bool may_change)
{
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	char definition[700];
	const char *one = definition;
	size_t number;

	(void)snprintf(definition, sizeof(definition), "%s %s:%s%s", form, exe, names[which],
		       behind);
	opt.handler = handler;
	opt.may_change = may_change;
	opt.cookie = cookie;
	is_well(ubp_probes_add(session, &one, 1, &opt, &number, NULL, &err));
	return number;
}

static struct ubp_handler_stats stats_of(size_t number)
{
	struct ubp_handler_stats stats = UBP_HANDLER_STATS_INIT;

	assert_int_equal(ubp_probe_handler_stats(session, number, &stats), 0);
	return stats;
}

/* A call in a handler: what has gone wrong is told by whoever looks at the cookie. */
struct wanted {
	int rc; /* of the first call that has failed */
	struct ubp_err why;
	uint64_t value;
	const char *reg;
	bool drops;
	unsigned n;
};

static void note(struct wanted *w, int rc, const struct ubp_err *why)
{
	if (rc >= 0 || w->rc < 0)
		return;
	w->rc = rc;
	w->why = *why;
}

/* --- what goes on with what ------------------------------------------------------------------------ */

static enum ubp_verdict set_first(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;

	w->n++;
	note(w, ubp_hit_set_arg(hit, 0, w->value, &why), &why);
	return w->drops ? UBP_HIT_DROP : UBP_HIT_RECORD;
}

static enum ubp_verdict set_result(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;
	uint64_t now = 0;

	w->n++;
	if (!ubp_hit_is_return(hit) || ubp_hit_result(hit, &now) < 0)
		w->rc = -1;
	note(w, ubp_hit_set_result(hit, now + w->value, &why), &why);
	return UBP_HIT_RECORD;
}

static enum ubp_verdict leave_out(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;

	w->n++;
	note(w, ubp_hit_skip(hit, w->value, &why), &why);
	return UBP_HIT_RECORD;
}

static void all_well(const struct wanted *w)
{
	if (w->rc < 0)
		fail_msg("a call in a handler: %d, %s", w->rc, w->why.text);
}

/* One of each kind of first instruction; then what the functions return. */
static void change_one(int which, enum ubp_mode mode)
{
	struct wanted arg = { .value = 100 }, result = { .value = 1000 },
		      none = { .value = (uint64_t)-7 };
	struct ubp_handler_stats stats;
	size_t entry, back, skipped;
	struct seen seen;

	assert_int_equal(call(which, 50, 8), 42);
	begin(mode);
	entry = add("p", which, " first=%" FIRST_ARG, set_first, &arg, true);
	assert_int_equal(call(which, 50, 8), 92);
	assert_int_equal(call(which, 60, 8), 92);
	back = add("r", which, "", set_result, &result, true);
	assert_int_equal(call(which, 50, 10), 1090);
	skipped = add("p:skipped", which, "", leave_out, &none, true);
	assert_int_equal(call(which, 50, 10), -7);
	assert_int_equal(call(which, 50, 10), -7);
	stats = stats_of(entry);
	assert_int_equal(stats.handled, 5);
	assert_int_equal(stats.changed, 5);
	assert_int_equal(stats.skipped + stats.refused + stats.dropped, 0);
	assert_true(stats.total_ns >= stats.longest_ns && stats.longest_ns > 0);
	/* A function that has not run returns nothing. */
	assert_int_equal(stats_of(back).changed, 1);
	assert_int_equal(stats_of(skipped).skipped, 2);
	is_well(ubp_probes_remove(session, &skipped, 1, &err));
	assert_int_equal(call(which, 50, 10), 1090);
	is_well(ubp_probes_remove(session, &back, 1, &err));
	assert_int_equal(call(which, 50, 10), 90);
	all_well(&arg);
	all_well(&result);
	all_well(&none);
	seen = end();
	/* An event tells what the program had. Those of removed probes are not handed out. */
	assert_int_equal(seen.n, 7);
	assert_int_equal(seen.first, 50);
	assert_int_equal(call(which, 50, 10), 40);
}

static void each_instruction(void **state)
{
	(void)state;
	for (int which = PUSH; which <= AT_RET; which++)
		change_one(which, UBP_MODE_AUTO);
}

static void each_instruction_stepped(void **state)
{
	(void)state;
	for (int which = PUSH; which <= AT_RET; which++)
		change_one(which, UBP_MODE_STEP);
}

/* What was a jump is a breakpoint with it, and the other way round. */
static void beside_a_jump(void **state)
{
	struct wanted arg = { .value = 9 };
	struct ubp_probe_stats stats;
	size_t handled;

	(void)state;
	begin(UBP_MODE_JUMP);
	(void)add("p:plain", PUSH, " first=%" FIRST_ARG, NULL, NULL, false);
	for (int i = 0; i < 50; i++)
		assert_int_equal(call(PUSH, 50, 8), 42);
	handled = add("p:handled", PUSH, "", set_first, &arg, true);
	for (int i = 0; i < 50; i++)
		assert_int_equal(call(PUSH, 50, 8), 1);
	ubp_probe_stats(session, handled, &stats);
	assert_int_equal(stats.jumped, 0);
	assert_non_null(stats.no_jump);
	assert_non_null(strstr(stats.no_jump, "handler"));
	is_well(ubp_probes_remove(session, &handled, 1, &err));
	for (int i = 0; i < 50; i++)
		assert_int_equal(call(PUSH, 50, 8), 42);
	assert_int_equal(arg.n, 50);
	all_well(&arg);
	/* Those of the other probe, all the time. */
	assert_int_equal(end().n, 150);
}

/* Each sees what the one before has changed; another filter keeps the handler. */
static enum ubp_verdict add_one(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;
	uint64_t now = 0;

	w->n++;
	if (ubp_hit_arg(hit, 0, &now) < 0)
		w->rc = -1;
	note(w, ubp_hit_set_arg(hit, 0, now + w->value, &why), &why);
	return UBP_HIT_RECORD;
}

static void one_behind_another(void **state)
{
	struct wanted one = { .value = 1 }, ten = { .value = 10 };
	size_t first;

	(void)state;
	begin(UBP_MODE_AUTO);
	first = add("p:one", PUSH, " first=%" FIRST_ARG, add_one, &one, true);
	(void)add("p:ten", PUSH, "", add_one, &ten, true);
	assert_int_equal(call(PUSH, 5, 0), 16);
	is_well(ubp_probe_set_filter(session, first, "first == 7", &err));
	assert_int_equal(call(PUSH, 5, 0), 15);
	assert_int_equal(call(PUSH, 7, 0), 18);
	is_well(ubp_probe_enable(session, first, false, &err));
	assert_int_equal(call(PUSH, 7, 0), 17);
	assert_int_equal(stats_of(first).handled, 2);
	assert_int_equal(one.n, 2);
	assert_int_equal(ten.n, 4);
	all_well(&one);
	all_well(&ten);
	(void)end();
}

static void recursion(void **state)
{
	struct wanted back = { .value = 1 };
	size_t number;

	(void)state;
	begin(UBP_MODE_AUTO);
	number = add("r", DEEP, "", set_result, &back, true);
	/* Each of 21 calls returns one more. */
	assert_int_equal(call(DEEP, 20, 0), 210 + 21);
	assert_int_equal(stats_of(number).changed, 21);
	all_well(&back);
	(void)end();
	assert_int_equal(call(DEEP, 20, 0), 210);
}

static enum ubp_verdict cut_short(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;
	uint64_t n = 0;

	w->n++;
	if (ubp_hit_arg(hit, 0, &n) == 0 && n == 10)
		note(w, ubp_hit_skip(hit, w->value, &why), &why);
	return UBP_HIT_DROP;
}

/* Returned from into functions whose own return addresses are replaced. */
static void left_out_in_recursion(void **state)
{
	struct wanted cut = { .value = 1000 }, back = { 0 };
	size_t number;

	(void)state;
	begin(UBP_MODE_AUTO);
	number = add("p", DEEP, "", cut_short, &cut, true);
	(void)add("r", DEEP, "", set_result, &back, true);
	assert_int_equal(call(DEEP, 20, 0), 155 + 1000);
	assert_int_equal(stats_of(number).skipped, 1);
	assert_int_equal(stats_of(number).dropped, 11);
	assert_int_equal(back.n, 10);
	all_well(&cut);
	all_well(&back);
	(void)end();
}

static void threads(void **state)
{
	struct wanted arg = { .value = 100, .drops = true }, back = { .value = 5 };
	const struct call many = { .which = PUSH,
				   .in_threads = true,
				   .args = { 1, 8, 0, 0, 0, 0, 97 } };
	struct ubp_probe_stats stats;
	size_t number;

	(void)state;
	begin(UBP_MODE_AUTO);
	number = add("p", PUSH, "", set_first, &arg, true);
	(void)add("r", PUSH, "", set_result, &back, true);
	ask(&many);
	assert_int_equal(answer(), 0);
	assert_int_equal(stats_of(number).changed, THREADS * ROUNDS);
	assert_int_equal(stats_of(number).dropped, THREADS * ROUNDS);
	/* What is dropped is a hit, and no event. */
	ubp_probe_stats(session, number, &stats);
	assert_int_equal(stats.hits, THREADS * ROUNDS);
	assert_int_equal(stats.passed, 0);
	all_well(&arg);
	all_well(&back);
	assert_int_equal(end().n, THREADS * ROUNDS);
}

#ifdef __x86_64__
static enum ubp_verdict set_register(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;

	w->n++;
	note(w, ubp_hit_set_reg(hit, w->reg, w->value, &why), &why);
	return UBP_HIT_RECORD;
}

/* At the branch behind a comparison: the zero flag, and bits that no program may change. */
static void flags(void **state)
{
	struct wanted zero = { .reg = "flags", .value = 0x40 | 0x100 | 0x3000 };

	(void)state;
	assert_int_equal(call(FLAGS, 1, 2), 2);
	begin(UBP_MODE_AUTO);
	(void)add("p", FLAGS, "+3", set_register, &zero, true);
	assert_int_equal(call(FLAGS, 1, 2), 1);
	all_well(&zero);
	(void)end();
	assert_int_equal(call(FLAGS, 1, 2), 2);
}

static enum ubp_verdict set_seventh(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;

	if (ubp_hit_arg(hit, 6, &w->value) < 0)
		w->rc = -1;
	note(w, ubp_hit_set_arg(hit, 6, 77, &why), &why);
	return UBP_HIT_RECORD;
}

static void argument_on_the_stack(void **state)
{
	struct wanted w = { 0 };

	(void)state;
	begin(UBP_MODE_AUTO);
	(void)add("p", WORD, "", set_seventh, &w, true);
	assert_int_equal(call(WORD, 1, 2), 77);
	assert_int_equal(w.value, 7);
	all_well(&w);
	(void)end();
}
#endif

/* --- memory, what is told ------------------------------------------------------------------------ */

struct look {
	char text[64], cut[4];
	ssize_t len, cut_len, nothing;
	size_t partly;
	int rc_code, rc_nothing;
	uint64_t stack[16], addr, by_name, sp;
	size_t n_stack, n_names, probe;
	pid_t pid, tid;
};

static enum ubp_verdict look(void *cookie, struct ubp_hit *hit)
{
	struct look *l = cookie;
	struct ubp_err why;
	uint64_t at = 0;
	char bytes[8];

	(void)ubp_hit_arg(hit, 0, &at);
	(void)ubp_hit_reg(hit, FIRST_ARG, &l->by_name);
	(void)ubp_hit_reg(hit, "sp", &l->sp);
	l->len = ubp_hit_read_string(hit, at, l->text, sizeof(l->text));
	l->cut_len = ubp_hit_read_string(hit, at, l->cut, sizeof(l->cut));
	l->nothing = ubp_hit_read_string(hit, 16, bytes, sizeof(bytes));
	l->partly = ubp_hit_read(hit, 16, bytes, sizeof(bytes));
	(void)ubp_hit_write(hit, at + 2, "", 1, &why);
	l->addr = ubp_hit_addr(hit);
	l->rc_code = ubp_hit_write(hit, l->addr, bytes, 1, &why);
	l->rc_nothing = ubp_hit_write(hit, 16, bytes, 1, &why);
	l->n_stack = ubp_hit_stack(hit, l->stack, 16);
	while (ubp_hit_reg_name(hit, l->n_names))
		l->n_names++;
	l->probe = ubp_hit_probe(hit);
	l->pid = ubp_hit_pid(hit);
	l->tid = ubp_hit_tid(hit);
	return UBP_HIT_RECORD;
}

static void memory(void **state)
{
	struct look l = { 0 };
	size_t number;

	(void)state;
	begin(UBP_MODE_AUTO);
	number = add("p", TEXT, "", look, &l, true);
	/* "as", and then what was a blank is its end. */
	assert_int_equal(call(TEXT, (long)text, 0), 2);
	assert_string_equal(l.text, "as the program has it");
	assert_int_equal(l.len, 21);
	assert_string_equal(l.cut, "as ");
	assert_int_equal(l.cut_len, -E2BIG);
	assert_int_equal(l.nothing, -EFAULT);
	assert_int_equal(l.partly, 0);
	/* Where the program may not write nobody does for it. */
	assert_int_equal(l.rc_code, -EFAULT);
	assert_int_equal(l.rc_nothing, -EFAULT);
	assert_int_equal(stats_of(number).refused, 2);
	assert_int_equal(stats_of(number).changed, 1);
	assert_int_equal(l.by_name, (uintptr_t)text);
	assert_int_equal(l.addr, (uintptr_t)h_text);
	assert_int_equal(l.stack[0], (uintptr_t)h_text);
	assert_true(l.n_stack >= 1);
	assert_true(l.n_names > 16);
	assert_int_equal(l.probe, number);
	assert_int_equal(l.pid, pid);
	assert_int_equal(l.tid, pid);
	(void)end();
}

/* --- what is refused ------------------------------------------------------------------------------- */

struct refused {
	int set_arg, set_reg, write, skip, set_result, pc, segment, unknown, odd;
	struct ubp_err why;
	uint64_t arg;
};

static enum ubp_verdict try_all(void *cookie, struct ubp_hit *hit)
{
	struct refused *r = cookie;
	struct ubp_err why;

	(void)ubp_hit_arg(hit, 0, &r->arg);
	r->set_reg = ubp_hit_set_reg(hit, FIRST_ARG, 1, &why);
	r->why = why;
	r->set_arg = ubp_hit_set_arg(hit, 0, 1, &why);
	r->write = ubp_hit_write(hit, (uintptr_t)text, "a", 1, &why);
	r->set_result = ubp_hit_set_result(hit, 1, &why);
	r->unknown = ubp_hit_set_reg(hit, "no_such", 1, &why);
#ifdef __x86_64__
	r->pc = ubp_hit_set_reg(hit, "ip", 1, &why);
	r->segment = ubp_hit_set_reg(hit, "cs", 1, &why);
#else
	r->pc = ubp_hit_set_reg(hit, "pc", 1, &why);
	r->segment = r->pc;
#endif
	r->skip = ubp_hit_skip(hit, 1, &why);
	return (enum ubp_verdict)77;
}

/* Behind the first instruction there is no function to leave out, and no argument. */
static void not_behind_its_first(void)
{
#ifdef __x86_64__
	struct refused inside = { 0 };
	size_t number = add("p:inside", PUSH, "+1", try_all, &inside, true);

	(void)call(PUSH, 50, 8);
	assert_int_equal(inside.skip, -EINVAL);
	assert_int_equal(inside.set_arg, -EINVAL);
	is_well(ubp_probes_remove(session, &number, 1, &err));
#endif
}

static void refusals(void **state)
{
	struct refused looks = { 0 }, changes = { 0 }, back = { 0 };
	struct ubp_probe_options opt = UBP_PROBE_OPTIONS_INIT;
	const char *one = "p bash:main";
	size_t number;

	(void)state;
	begin(UBP_MODE_AUTO);
	/* Without .may_change nothing. */
	number = add("p:looks", PUSH, "", try_all, &looks, false);
	assert_int_equal(call(PUSH, 50, 8), 42);
	assert_int_equal(looks.arg, 50);
	assert_int_equal(looks.set_reg, -EPERM);
	assert_int_equal(looks.set_arg, -EPERM);
	assert_int_equal(looks.write, -EPERM);
	assert_int_equal(looks.skip, -EPERM);
	assert_int_equal(looks.set_result, -EPERM);
	assert_non_null(strstr(looks.why.text, ".may_change"));
	assert_int_equal(stats_of(number).changed, 0);
	assert_int_equal(stats_of(number).refused, 8);
	is_well(ubp_probes_remove(session, &number, 1, &err));
	/* With it, what no handler may. The last call leaves the function out. */
	number = add("p:changes", PUSH, "", try_all, &changes, true);
	assert_int_equal(call(PUSH, 50, 8), 1);
	assert_int_equal(changes.set_reg, 0);
	assert_int_equal(changes.skip, 0);
	assert_int_equal(changes.pc, -EINVAL);
	assert_int_equal(changes.segment, -EINVAL);
	assert_int_equal(changes.unknown, -EINVAL);
	assert_int_equal(changes.set_result, -EINVAL);
	is_well(ubp_probes_remove(session, &number, 1, &err));
	not_behind_its_first();
	/* Nor at a return. */
	number = add("r:back", PUSH, "", try_all, &back, true);
	(void)call(PUSH, 50, 8);
	assert_int_equal(back.skip, -EINVAL);
	assert_int_equal(back.set_result, 0);
	opt.may_change = true;
	assert_int_equal(ubp_probes_add(session, &one, 1, &opt, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "handler"));
	assert_int_equal(ubp_probe_set_handler(session, number, leave_out, true, &err), -EBUSY);
	(void)end();
}

/* --- from the start ---------------------------------------------------------------------------------- */

static void defined_before_the_start(void **state)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_handler_stats stats = UBP_HANDLER_STATS_INIT;
	struct wanted arg = { .value = 100 };
	char definition[700];

	(void)state;
	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = UBP_MODE_JUMP;
	is_well(ubp_session_new(&opt, &session, &err));
	(void)snprintf(definition, sizeof(definition), "p %s:h_push", exe);
	is_well(ubp_add(session, definition, NULL, &err));
	assert_null(strstr(ubp_probe_explain(session, 0), "a handler runs"));
	assert_int_equal(ubp_probe_set_handler(session, 1, set_first, true, &err), -ENOENT);
	is_well(ubp_probe_set_handler(session, 0, set_first, true, &err));
	is_well(ubp_probe_set_cookie(session, 0, &arg, &err));
	assert_non_null(strstr(ubp_probe_explain(session, 0), "a handler runs"));
	stats.size = 8;
	assert_int_equal(ubp_probe_handler_stats(session, 0, &stats), -EINVAL);
	is_well(ubp_start(session, &err));
	assert_int_equal(call(PUSH, 50, 8), 92);
	assert_int_equal(stats_of(0).handled, 1);
	all_well(&arg);
	(void)end();
}

/* --- calls in a handler -------------------------------------------------------------------------------- */

struct calls {
	size_t number;
	int dispatch, drain, remove, add, n;
};

static enum ubp_verdict call_all(void *cookie, struct ubp_hit *hit)
{
	struct calls *c = cookie;
	char definition[700];
	const char *one = definition;
	struct ubp_err why;

	(void)hit;
	c->n++;
	(void)snprintf(definition, sizeof(definition), "p:late %s:h_short", exe);
	c->dispatch = ubp_dispatch(session, on_event, NULL, &why);
	c->drain = (int)ubp_drain(session, on_event, NULL, &why);
	ubp_stop(session);
	ubp_session_free(session);
	c->add = ubp_probes_add(session, &one, 1, NULL, NULL, NULL, &why);
	c->remove = ubp_probes_remove(session, &c->number, 1, &why);
	return UBP_HIT_RECORD;
}

static void calls_do_not_wait(void **state)
{
	struct calls c = { 0 };

	(void)state;
	begin(UBP_MODE_AUTO);
	c.number = add("p", PUSH, "", call_all, &c, true);
	assert_int_equal(call(PUSH, 50, 8), 42);
	assert_int_equal(c.dispatch, -EDEADLK);
	assert_int_equal(c.drain, -EDEADLK);
	assert_int_equal(c.add, 0);
	assert_int_equal(c.remove, 0);
	/* It has removed itself; and it was not stopped. */
	assert_int_equal(call(PUSH, 50, 8), 42);
	assert_int_equal(c.n, 1);
	assert_false(ubp_is_done(session));
	(void)end();
}

struct meeting {
	int in_handler, may_go;
};

static enum ubp_verdict stay(void *cookie, struct ubp_hit *hit)
{
	struct meeting *m = cookie;

	(void)hit;
	__atomic_store_n(&m->in_handler, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&m->may_go, __ATOMIC_SEQ_CST))
		usleep(1000);
	return UBP_HIT_RECORD;
}

static void await_true(const int *flag)
{
	for (int i = 0; !__atomic_load_n(flag, __ATOMIC_SEQ_CST); i++) {
		if (i == 60000)
			fail_msg("what is waited for does not come");
		usleep(1000);
	}
}

static void *remove_it(void *number)
{
	struct ubp_err why;

	return (void *)(intptr_t)ubp_probes_remove(session, number, 1, &why);
}

static void *let_it_go(void *meeting)
{
	struct meeting *m = meeting;

	usleep(50000);
	__atomic_store_n(&m->may_go, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Who removes a probe may free its cookie: no handler of it runs then. */
static void removal_waits(void **state)
{
	const struct call c = { .which = PUSH, .args = { 50, 8 } };
	struct meeting *m = calloc(1, sizeof(*m));
	pthread_t id, other;
	size_t number;
	void *rc;

	(void)state;
	begin(UBP_MODE_AUTO);
	number = add("p", PUSH, "", stay, m, false);
	ask(&c);
	await_true(&m->in_handler);
	(void)pthread_create(&other, NULL, let_it_go, m);
	(void)pthread_create(&id, NULL, remove_it, &number);
	(void)pthread_join(id, &rc);
	assert_int_equal((intptr_t)rc, 0);
	assert_int_equal(__atomic_load_n(&m->may_go, __ATOMIC_SEQ_CST), 1);
	(void)pthread_join(other, NULL);
	free(m);
	assert_int_equal(answer(), 42);
	assert_int_equal(call(PUSH, 50, 8), 42);
	(void)end();
}

/* --- the program is not harmed ------------------------------------------------------------------------ */

static enum ubp_verdict send_signals(void *cookie, struct ubp_hit *hit)
{
	struct wanted *w = cookie;
	struct ubp_err why;

	for (int i = 0; i < SENT; i++)
		if (syscall(SYS_tgkill, ubp_hit_pid(hit), ubp_hit_tid(hit), SIGRTMIN) < 0)
			w->rc = -1;
	w->n++;
	note(w, ubp_hit_set_arg(hit, 0, w->value, &why), &why);
	return UBP_HIT_RECORD;
}

/* Signals that come while the thread stands still are delivered, all of them, and registers are those that were written. */
static void signals(void **state)
{
	struct wanted w = { .value = 100 };

	(void)state;
	await_true(&told->is_asleep);
	begin(UBP_MODE_AUTO);
	(void)add("p", PUSH, "", send_signals, &w, true);
	for (int i = 1; i <= 20; i++) {
		assert_int_equal(call(PUSH, 50, 8), 92);
		assert_int_equal(__atomic_load_n(&told->n_signals, __ATOMIC_SEQ_CST), i * SENT);
	}
	all_well(&w);
	(void)end();
	assert_int_equal(__atomic_load_n(&told->n_eintr, __ATOMIC_SEQ_CST), 0);
}

static int to_test;

static void stand_still(bool is_well)
{
	char well = (char)is_well;

	if (write(to_test, &well, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static enum ubp_verdict set_and_stay(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err why;

	stand_still(ubp_hit_set_arg(hit, 0, 100, &why) == 0 &&
		    (!cookie || ubp_hit_skip(hit, 5, &why) == 0));
	return UBP_HIT_RECORD;
}

static enum ubp_verdict return_and_stay(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err why;
	uint64_t result = 0;

	(void)cookie;
	stand_still(ubp_hit_result(hit, &result) == 0 && result == 1000 &&
		    ubp_hit_set_result(hit, 7, &why) == 0);
	return UBP_HIT_RECORD;
}

static enum ubp_verdict set_result_register(void *cookie, struct ubp_hit *hit)
{
	struct ubp_err why;

	(void)cookie;
	is_well(ubp_hit_set_reg(hit, RESULT, 1000, &why));
	return UBP_HIT_RECORD;
}

/* The first dies in one at the entry, the second has left the function out, the third dies in one at the return, behind one at the same stop. */
#ifdef __x86_64__
enum death { DIES_AT_ENTRY, DIES_BEHIND_SKIP, DIES_AT_RETURN, DEATHS };
#else
/* Where the ret is in the third's function is known above. */
enum death { DIES_AT_ENTRY, DIES_BEHIND_SKIP, DEATHS, DIES_AT_RETURN };
#endif

static void add_deaths(enum death death)
{
	if (death == DIES_AT_RETURN) {
		(void)add("p", AT_RET, "+7", set_result_register, NULL, true);
		(void)add("r", AT_RET, "", return_and_stay, NULL, true);
	} else {
		(void)add("p", PUSH, "", set_and_stay,
			  death == DIES_BEHIND_SKIP ? &to_test : NULL, true);
	}
}

/* An engine in a process of its own is not gone as soon as its host is. */
static void await_untraced(void)
{
	char path[64], line[256];
	int tracer;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	do {
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		tracer = -1;
		while (tracer < 0 && fgets(line, sizeof(line), f))
			(void)sscanf(line, "TracerPid: %d", &tracer);
		(void)fclose(f);
		(void)sched_yield();
	} while (tracer != 0);
}

/* The host dies in the handler: the thread goes on as if there had been no probe. */
static void host_is_killed(void **state)
{
	int told_by[2];

	(void)state;
	for (enum death death = DIES_AT_ENTRY; death < DEATHS; death++) {
		const struct call c = { .which = death == DIES_AT_RETURN ? AT_RET : PUSH,
					.args = { 50, 8 } };
		struct pollfd p = { .events = POLLIN };
		char well = 0;
		pid_t host;

		assert_int_equal(pipe(told_by), 0);
		host = fork();
		assert_true(host >= 0);
		if (host == 0) {
			char ready = 2;

			is_other = true;
			to_test = told_by[1];
			begin(UBP_MODE_AUTO);
			add_deaths(death);
			if (write(to_test, &ready, 1) != 1)
				_exit(1);
			for (;;)
				pause();
		}
		close(told_by[1]);
		p.fd = told_by[0];
		if (poll(&p, 1, 60000) != 1 || read(told_by[0], &well, 1) != 1 || well != 2)
			fail_msg("the host does not get ready");
		ask(&c);
		if (poll(&p, 1, 60000) != 1 || read(told_by[0], &well, 1) != 1 || well != 1)
			fail_msg("its handler does not run");
		(void)kill(host, SIGKILL);
		(void)waitpid(host, NULL, 0);
		close(told_by[0]);
		assert_int_equal(answer(), 42);
		assert_int_equal(call(c.which, 50, 8), 42);
		await_untraced();
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start_program, end_program)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_instruction),
		TEST(each_instruction_stepped),
		TEST(beside_a_jump),
		TEST(one_behind_another),
		TEST(recursion),
		TEST(left_out_in_recursion),
		TEST(threads),
#ifdef __x86_64__
		TEST(flags),
		TEST(argument_on_the_stack),
#endif
		TEST(memory),
		TEST(refusals),
		TEST(defined_before_the_start),
		TEST(calls_do_not_wait),
		TEST(removal_waits),
		TEST(signals),
		TEST(host_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
