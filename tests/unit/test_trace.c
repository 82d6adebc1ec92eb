/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracer alone, with an owner that plants nothing: processes are attached to, held, followed into threads,
 * fork() and exec, make system calls, are written to, get their signals, and are let go. It is linked with the rooms
 * up to trace and no other (GNUmakefile).
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/trace/attach.h"
#include "engine/trace/dispatch.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/ids.h"
#include "engine/trace/members.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/remote.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"
#include "engine/trace/wait_loop.h"

#define LIMIT_S   60
#define THREADS   3
#define HOLD_MS   5000
#define STUB_PAGE 4096

/* --- the program that is traced ------------------------------------------------------- */

enum command { NOTHING, MAKE_THREAD, FORK, VFORK, HIDE, CALL, RAISE, RAISE_ON };

static struct shared {
	atomic_uint turns[THREADS + 1];
	atomic_uint usr1, usr2, traps; /* caught */
	atomic_int command;            /* what it is to do; NOTHING: it is done */
	atomic_uint result;
	atomic_uint hidden; /* children that are there */
} * shared;

static uint64_t own = 7; /* a copy of its own in each process */
static uint8_t *stub_page;

__attribute__((noinline)) static unsigned next_number(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static void *turn(void *at)
{
	for (;;) {
		++*(atomic_uint *)at;
		sched_yield();
	}
	return NULL;
}

static void caught(int sig)
{
	if (sig == SIGUSR1)
		shared->usr1++;
	else if (sig == SIGUSR2)
		shared->usr2++;
	else
		shared->traps++;
}

/* As the thread of a leak checker: in this memory, where no tracer is told of it. */
static int be_hidden(void *arg)
{
	(void)arg;
	shared->hidden++;
	while (shared->command == HIDE)
		sched_yield();
	_exit(0);
}

static void hide(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t pid = clone(be_hidden, stack + sizeof(stack), CLONE_VM | CLONE_UNTRACED, NULL);

	(void)waitpid(pid, NULL, __WALL);
	shared->hidden--;
}

static void obey(enum command command)
{
	char *const argv[] = { "true", NULL };
	pthread_t thread;
	pid_t child;

	if (command == MAKE_THREAD) {
		(void)pthread_create(&thread, NULL, turn, &shared->turns[THREADS]);
	} else if (command == FORK) {
		child = fork();
		if (child == 0) {
			execvp(argv[0], argv);
			_exit(1);
		}
		(void)waitpid(child, NULL, 0);
	} else if (command == VFORK) {
		child = vfork(); /* NOLINT: that is what it is about */
		if (child == 0)
			_exit(0);
		(void)waitpid(child, NULL, 0);
	} else if (command == HIDE) {
		hide();
	} else if (command == CALL) {
		shared->result = next_number(41);
	} else if (command == RAISE) {
		(void)raise(SIGTRAP);
	} else if (command == RAISE_ON) {
		while (shared->command == RAISE_ON)
			(void)raise(SIGTRAP);
	}
}

static void be_program(unsigned n_threads)
{
	pthread_t thread;

	alarm(LIMIT_S);
	(void)signal(SIGUSR1, caught);
	(void)signal(SIGUSR2, caught);
	(void)signal(SIGTRAP, caught);
	for (unsigned i = 1; i < n_threads; i++)
		(void)pthread_create(&thread, NULL, turn, &shared->turns[i]);
	for (;;) {
		enum command command = shared->command;

		if (command) {
			obey(command);
			shared->command = NOTHING;
		}
		shared->turns[0]++;
		sched_yield();
	}
}

/* --- the owner -------------------------------------------------------------------------- */

/* What it has with each thread, process and address space. */
struct thread_probes {
	pid_t tid, mother;
};

struct process_probes {
	pid_t pid;
	unsigned n_births;
};

struct plant_space {
	unsigned n_processes;
};

static struct owner {
	struct plant_space first; /* what the space that was attached to has */
	uint64_t breakpoint;      /* 0: none stands */
	bool calls;               /* at each trap that is the program's own */
	uint8_t orig[sizeof(((struct arch_swbp *)NULL)->code)];
	unsigned n_hits, n_calls, n_foreign, n_signals, n_born, n_forked, n_shares, n_execed,
		n_vfork_done;
	unsigned n_threads_gone, n_processes_gone, n_spaces_gone;
} owner;

/* The stub is on its page. */
static void call_getppid(const struct held *trapped)
{
	static const uint64_t no_args[6];
	struct ubp_regs at = { 0 };
	struct held held = *trapped;
	struct remote remote;
	struct ubp_err err;
	int64_t result;

	held.at = &at;
	assert_int_equal(ubp_host_get_regs(held.tid, &at), 0);
	assert_int_equal(remote_begin(&remote, &held, (uintptr_t)stub_page, &err), 0);
	assert_int_equal(remote_call(&remote, SYS_getppid, no_args, &result, &err), 0);
	assert_int_equal(result, getpid());
	remote_end(&remote);
	held_keep(&held, false); /* it goes on from the trap */
	owner.n_calls++;
}

static enum trap_verdict trap(void *ctx, const struct held *held)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	uint64_t pc;

	assert_ptr_equal(ctx, &owner);
	if (owner.calls) {
		call_getppid(held);
		return TRAP_OURS;
	}
	assert_int_equal(ubp_host_get_pc(t->tid, &pc), 0);
	if (!owner.breakpoint || pc != owner.breakpoint + space->arch->swbp.pc_advance) {
		owner.n_foreign++;
		return TRAP_FOREIGN;
	}
	assert_int_equal(mem_write(&space->mem, t->tid, owner.breakpoint, owner.orig,
				   space->arch->swbp.len),
			 0);
	assert_int_equal(ubp_host_set_pc(t->tid, owner.breakpoint), 0);
	owner.breakpoint = 0;
	owner.n_hits++;
	return TRAP_OURS;
}

static bool pc_has_trap(void *ctx, struct tracee *t, uint64_t pc)
{
	(void)ctx;
	return owner.breakpoint &&
	       pc == owner.breakpoint + t->process->space->arch->swbp.pc_advance;
}

/* SIGUSR2 is none of the program's. */
static bool take_signal(void *ctx, const struct held *held, int sig)
{
	(void)ctx, (void)held;
	owner.n_signals++;
	return sig == SIGUSR2;
}

static void born(void *ctx, pid_t mother, const struct held *held)
{
	struct tracee *t = held->t;

	(void)ctx;
	assert_int_equal(t->probes->tid, 0);
	t->probes->tid = t->tid;
	t->probes->mother = mother;
	t->process->probes->n_births++;
	owner.n_born++;
}

static enum keep_verdict forked(void *ctx, const struct process *parent,
				const struct held *held, bool shares)
{
	struct tracee *first = held->t;
	uint64_t word = 0;

	(void)ctx;
	assert_int_equal(parent->probes->pid, parent->pid);
	assert_int_equal(first->process->probes->pid, 0);
	assert_true(first->process != parent);
	assert_true((first->process->space == parent->space) == shares);
	assert_int_equal(
		mem_peek(&first->process->space->mem, (uintptr_t)&own, &word, sizeof(word)),
		sizeof(word));
	assert_int_equal(word, own);
	first->probes->tid = first->tid;
	first->process->probes->pid = first->process->pid;
	owner.n_forked += !shares;
	owner.n_shares += shares;
	return KEEP_TRACING;
}

static enum keep_verdict execed(void *ctx, const struct held *held)
{
	struct tracee *t = held->t;
	uint64_t word = 0;

	(void)ctx;
	assert_null(t->process->space->plant);
	assert_int_equal(t->process->probes->pid, t->process->pid);
	/* Another program, with nothing at that place, or something else. */
	assert_true(mem_peek(&t->process->space->mem, (uintptr_t)&own, &word, sizeof(word)) !=
			    sizeof(word) ||
		    word != own);
	owner.n_execed++;
	return KEEP_TRACING;
}

static void vfork_done(void *ctx, struct tracee *t)
{
	(void)ctx, (void)t;
	owner.n_vfork_done++;
}

static void tracee_gone(void *ctx, struct tracee *t)
{
	(void)ctx;
	assert_true(t->probes->tid == t->tid || owner.n_execed);
	owner.n_threads_gone++;
}

static void process_gone(void *ctx, struct process *p)
{
	(void)ctx;
	assert_int_equal(p->probes->pid, p->pid);
	owner.n_processes_gone++;
}

static void space_gone(void *ctx, struct space *space)
{
	(void)ctx;
	assert_true(!space->plant || space->plant == &owner.first);
	owner.n_spaces_gone++;
}

static void ending(void *ctx, struct tracee *t)
{
	(void)ctx, (void)t;
}

static void command_ended(void *ctx, int status)
{
	(void)ctx, (void)status;
}

static void nothing(void *ctx)
{
	assert_ptr_equal(ctx, &owner);
}

static const struct tracer_ops ops = {
	.thread_len = sizeof(struct thread_probes),
	.process_len = sizeof(struct process_probes),
	.trap = trap,
	.pc_has_trap = pc_has_trap,
	.signal = take_signal,
	.born = born,
	.forked = forked,
	.execed = execed,
	.vfork_done = vfork_done,
	.ending = ending,
	.tracee_gone = tracee_gone,
	.process_gone = process_gone,
	.command_ended = command_ended,
	.space_gone = space_gone,
	.idle = nothing,
	.meanwhile = nothing,
};

/* --- both ------------------------------------------------------------------------------- */

struct traced {
	struct tracer tracer;
	struct process *p;
	struct space *space;
	pid_t pid;
};

static void handle_stops(struct traced *traced)
{
	tracer_poll(&traced->tracer, 16);
	sched_yield(); /* the program's alarm() ends what does not come */
}

static void wait_for_turns(struct traced *traced, unsigned i)
{
	unsigned before = shared->turns[i];

	while (shared->turns[i] == before)
		handle_stops(traced);
}

static void do_command(struct traced *traced, enum command command)
{
	shared->command = (int)command;
	while (shared->command != NOTHING)
		handle_stops(traced);
}

/* A program with so many threads, attached to. */
static void begin(struct traced *traced, unsigned n_threads)
{
	struct ubp_err err;

	owner = (struct owner){ 0 };
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	stub_page = mmap(NULL, STUB_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	assert_true(shared != MAP_FAILED && stub_page != MAP_FAILED);
	assert_int_equal(tracer_init(&traced->tracer, &ops, &owner, &err), 0);
	traced->pid = fork();
	assert_true(traced->pid >= 0);
	if (traced->pid == 0)
		be_program(n_threads);
	for (unsigned i = 0; i < n_threads; i++)
		while (!shared->turns[i])
			sched_yield();
	assert_int_equal(attach_process(&traced->tracer, traced->pid, &traced->p, &err), 0);
	traced->space = traced->p->space;
	assert_null(traced->space->plant);
	traced->space->plant = &owner.first;
	traced->space->plant->n_processes = 1;
	assert_int_equal(traced->p->probes->pid, 0);
	traced->p->probes->pid = traced->pid;
	for (struct tracee *t = NULL; (t = space_next(traced->space, t));) {
		assert_int_equal(t->probes->tid, 0);
		t->probes->tid = t->tid;
	}
}

/* It is killed, if it is traced still. */
static void end(struct traced *traced)
{
	if (traced->tracer.tracees.n)
		assert_int_equal(kill(traced->pid, SIGKILL), 0);
	while (traced->tracer.tracees.n)
		handle_stops(traced);
	tracer_fini(&traced->tracer);
	munmap(shared, sizeof(*shared));
	munmap(stub_page, STUB_PAGE);
}

static void threads_are_held_and_let_go(void **state)
{
	unsigned turns[THREADS];
	struct traced traced;

	(void)state;
	begin(&traced, THREADS);
	assert_int_equal(traced.p->n_tracees, THREADS);
	assert_true(hold_all(&traced.tracer, traced.space, HOLD_MS));
	for (unsigned i = 0; i < THREADS; i++)
		turns[i] = shared->turns[i];
	usleep(10000);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(shared->turns[i], turns[i]);
	hold_end(&traced.tracer, traced.space, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		wait_for_turns(&traced, i);
	/* Nobody was told of anything. */
	assert_int_equal(owner.n_signals + owner.n_foreign + owner.n_hits, 0);
	end(&traced);
	assert_int_equal(owner.n_threads_gone, THREADS);
	assert_int_equal(owner.n_processes_gone, 1);
	assert_int_equal(owner.n_spaces_gone, 1);
}

static void who_is_detached_goes_on(void **state)
{
	struct traced traced;
	unsigned before;
	pid_t *tids;
	size_t n;

	(void)state;
	begin(&traced, THREADS);
	assert_int_equal(task_tracer(traced.pid), getpid());
	assert_true(hold_all(&traced.tracer, traced.space, HOLD_MS));
	tids = tracer_tids(&traced.tracer, &n);
	assert_int_equal(n, THREADS);
	for (size_t i = 0; i < n; i++)
		tracer_detach(&traced.tracer,
			      map_get(&traced.tracer.tracees, (uint64_t)tids[i]));
	ids_give(&traced.tracer, tids);
	assert_int_equal(traced.tracer.tracees.n, 0);
	assert_int_equal(traced.tracer.processes.n, 0);
	assert_int_equal(owner.n_spaces_gone, 1);
	assert_int_equal(task_tracer(traced.pid), 0);
	for (unsigned i = 0; i < THREADS; i++)
		for (before = shared->turns[i]; shared->turns[i] == before;)
			sched_yield();
	assert_int_equal(kill(traced.pid, SIGKILL), 0);
	assert_int_equal(waitpid(traced.pid, NULL, 0), traced.pid);
	end(&traced);
}

static void children_are_followed(void **state)
{
	struct traced traced;
	const struct tracee *t;

	(void)state;
	begin(&traced, 1);
	do_command(&traced, MAKE_THREAD);
	wait_for_turns(&traced, THREADS);
	assert_int_equal(owner.n_born, 1);
	assert_int_equal(traced.p->n_tracees, 2);
	assert_int_equal(traced.p->probes->n_births, 1);
	t = traced.p->tracees->tid == traced.pid ? traced.p->tracees->next : traced.p->tracees;
	assert_int_equal(t->probes->mother, traced.pid);
	/* A copy of the memory, a program of its own, an end. */
	do_command(&traced, FORK);
	assert_int_equal(owner.n_forked, 1);
	assert_int_equal(owner.n_execed, 1);
	assert_int_equal(owner.n_processes_gone, 1);
	assert_int_equal(owner.n_spaces_gone, 2);
	/* The same memory, for a while. */
	do_command(&traced, VFORK);
	assert_int_equal(owner.n_shares, 1);
	assert_int_equal(owner.n_vfork_done, 1);
	assert_int_equal(owner.n_processes_gone, 2);
	assert_int_equal(owner.n_spaces_gone, 2);
	assert_int_equal(traced.tracer.processes.n, 1);
	assert_int_equal(traced.space->plant->n_processes, 1);
	end(&traced);
}

static void signals_and_traps_find_their_owner(void **state)
{
	const struct arch_swbp *swbp;
	struct traced traced;
	uint64_t at = (uintptr_t)next_number;

	(void)state;
	begin(&traced, 1);
	swbp = &traced.space->arch->swbp;
	assert_int_equal(kill(traced.pid, SIGUSR1), 0);
	assert_int_equal(kill(traced.pid, SIGUSR2), 0);
	while (owner.n_signals < 2 || !shared->usr1)
		handle_stops(&traced);
	wait_for_turns(&traced, 0);
	assert_int_equal(shared->usr1, 1);
	assert_int_equal(shared->usr2, 0);
	/* The program's own trap, and ours. */
	do_command(&traced, RAISE);
	assert_int_equal(owner.n_foreign, 1);
	assert_int_equal(shared->traps, 1);
	assert_int_equal(mem_peek(&traced.space->mem, at, owner.orig, swbp->len), swbp->len);
	owner.breakpoint = at;
	assert_int_equal(mem_write(&traced.space->mem, 0, at, swbp->code, swbp->len), 0);
	do_command(&traced, CALL);
	assert_int_equal(owner.n_hits, 1);
	assert_int_equal(shared->result, 42);
	assert_int_equal(shared->traps, 1);
	end(&traced);
}

static void calls_are_made_by_a_held_thread(void **state)
{
	static const uint64_t no_args[6];
	struct ubp_regs before, after;
	const struct ubp_arch *arch;
	struct traced traced;
	struct remote remote;
	struct ubp_err err;
	struct held held;
	struct tracee *t;
	int64_t result;

	(void)state;
	begin(&traced, 1);
	arch = traced.space->arch;
	assert_int_equal(mem_write(&traced.space->mem, 0, (uintptr_t)stub_page, arch->stub.code,
				   arch->stub.len),
			 0);
	assert_int_equal(attach_hold_one(&traced.tracer, traced.p, &held, &err), 0);
	t = held.t;
	assert_true(t->held);
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	assert_int_equal(ubp_host_get_regs(t->tid, &before), 0);
	held.at = &before;
	assert_int_equal(remote_begin(&remote, &held, 0, &err), -ESTALE);
	assert_int_equal(remote_begin(&remote, &held, (uintptr_t)stub_page, &err), 0);
	assert_int_equal(remote_call(&remote, SYS_getppid, no_args, &result, &err), 0);
	assert_int_equal(result, getpid());
	assert_int_equal(remote_call(&remote, SYS_getpid, no_args, &result, &err), 0);
	assert_int_equal(result, traced.pid);
	assert_true(held_lasts(&held));
	remote_end(&remote);
	assert_int_equal(hold_get_regs(t, &after), 0);
	for (unsigned i = 0; i < arch->reg.n; i++)
		assert_int_equal(after.r[i], before.r[i]);
	held_let_go(&held);
	wait_for_turns(&traced, 0);
	do_command(&traced, CALL);
	assert_int_equal(shared->result, 42);
	end(&traced);
	assert_false(held_lasts(&held));
}

/* A remote call has the thread stop, and that stop may be the one that somebody waits for. */
static void who_makes_calls_at_each_trap_is_held(void **state)
{
	const struct arch_stub *stub;
	uint64_t page = (uintptr_t)stub_page;
	struct traced traced;
	struct tracee *t;
	struct stop stop;

	(void)state;
	begin(&traced, 1);
	stub = &traced.space->arch->stub;
	assert_int_equal(mem_write(&traced.space->mem, 0, page, stub->code, stub->len), 0);
	if (stub->batch.code) {
		traced.space->batch = page + STUB_PAGE / 2;
		assert_int_equal(mem_write(&traced.space->mem, 0, traced.space->batch,
					   stub->batch.code, stub->batch.len),
				 0);
	}
	owner.calls = true;
	shared->command = RAISE_ON;
	while (owner.n_calls < 2)
		handle_stops(&traced);
	t = traced.p->tracees;
	while (wait_look(t->tid, &stop) != 1)
		sched_yield();
	assert_int_equal(attach_hold(&traced.tracer, t), 1);
	assert_true(t->held);
	shared->command = NOTHING;
	attach_let_go(t);
	wait_for_turns(&traced, 0);
	end(&traced);
}

static void memory_is_read_and_written(void **state)
{
	uint64_t at = (uintptr_t)&own, word = 0, more = 9;
	struct trace_mem kept;
	struct traced traced;
	struct ubp_err err;

	(void)state;
	begin(&traced, 1);
	assert_int_equal(mem_read(&traced.space->mem, traced.pid, at, &word, 8), 8);
	assert_int_equal(word, 7);
	assert_int_equal(mem_write(&traced.space->mem, 0, at, &more, 8), 0);
	assert_int_equal(mem_peek(&traced.space->mem, at, &word, 8), 8);
	assert_int_equal(word, 9);
	assert_int_equal(own, 7);
	assert_int_equal(mem_read(&traced.space->mem, traced.pid, 8, &word, 8), 0);
	assert_true(mem_write(&traced.space->mem, 0, 8, &more, 8) < 0);
	kept = (struct trace_mem){ .file.fd = -1 };
	assert_int_equal(mem_open(&kept, traced.pid, &err), 0);
	assert_false(mem_is_gone(&kept));
	end(&traced);
	assert_true(mem_is_gone(&kept));
	mem_close(&kept);
}

static void who_waits_is_woken(void **state)
{
	struct traced traced;

	(void)state;
	begin(&traced, 1);
	tracer_wake(&traced.tracer);
	/* It may have a stop of the attach to see to first. */
	while (tracer_run(&traced.tracer, 1) != 0)
		;
	assert_int_equal(kill(traced.pid, SIGUSR1), 0);
	/* The call may be heard once more. */
	while (!owner.n_signals)
		assert_in_range(tracer_run(&traced.tracer, 1), 0, 1);
	end(&traced);
}

static void hidden_children_are_seen(void **state)
{
	struct traced traced;

	(void)state;
	begin(&traced, THREADS);
	assert_null(sharers_hidden(traced.space));
	shared->command = HIDE;
	while (!shared->hidden)
		handle_stops(&traced);
	assert_true(hold_all(&traced.tracer, traced.space, HOLD_MS));
	assert_ptr_equal(sharers_hidden(traced.space), traced.p);
	hold_end(&traced.tracer, traced.space, NULL);
	shared->command = NOTHING;
	while (shared->hidden)
		handle_stops(&traced);
	assert_null(sharers_hidden(traced.space));
	end(&traced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_held_and_let_go),
		cmocka_unit_test(who_is_detached_goes_on),
		cmocka_unit_test(children_are_followed),
		cmocka_unit_test(signals_and_traps_find_their_owner),
		cmocka_unit_test(calls_are_made_by_a_held_thread),
		cmocka_unit_test(who_makes_calls_at_each_trap_is_held),
		cmocka_unit_test(memory_is_read_and_written),
		cmocka_unit_test(who_waits_is_woken),
		cmocka_unit_test(hidden_children_are_seen),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
