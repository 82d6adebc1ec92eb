/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Changes of what is probed, and those who are in the way of them: children that are born meanwhile, which have what their
 * mother had at some moment; a program that has changed its own code; a jump that another probe comes to.
 */

#include <dlfcn.h>
#include <link.h>
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
#include "tests/unit/live_one.h"
#include "tests/unit/temp.h"

/* Each birth copies the memory of this process, of which there is much where it is sanitized. */
#ifdef __SANITIZE_ADDRESS__
#define CHILDREN 20
#define ROUNDS   2
#else
#define CHILDREN 60
#define ROUNDS   6
#endif

uint64_t more_0(uint64_t n);
uint64_t more_1(uint64_t n);
uint64_t more_2(uint64_t n);
/* @ends: the thread does, in here. */
uint64_t more_3(uint64_t ends);

#ifdef __x86_64__
#define FUNCTION(name)                                                                         \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n"    \
		"push %rbp\nmov %rsp,%rbp\nmov %rdi,%rax\npop %rbp\nret\nnop\nnop\nnop\n"      \
		".size " name ",.-" name "\n")
FUNCTION("more_0");
FUNCTION("more_1");
FUNCTION("more_2");
__asm__(".text\n.p2align 4\n.globl more_3\n.type more_3,@function\nmore_3:\n"
	"push %rbp\nmov %rsp,%rbp\ntest %rdi,%rdi\nje 1f\nxor %edi,%edi\nmov "
	"$60,%eax\nsyscall\n"
	"1: xor %eax,%eax\npop %rbp\nret\n.size more_3,.-more_3\n");
#else
#define FUNCTION(name)                                                                         \
	__attribute__((noinline)) uint64_t name(uint64_t n)                                    \
	{                                                                                      \
		__asm__ volatile("" : "+r"(n));                                                \
		return n;                                                                      \
	}
FUNCTION(more_0)
FUNCTION(more_1)
FUNCTION(more_2)
FUNCTION(more_3)
#endif

/* Of the probe at more_1. */
volatile uint16_t more_semaphore __attribute__((section(".data"))) = 0;

/* --- the program ------------------------------------------------------------------------ */

/* What it tells, in memory that it shares with the test. */
struct told {
	struct child {
		pid_t pid;
		uint64_t begun; /* calls */
		uint64_t semaphore;
	} children[CHILDREN];
	uint64_t n_children;
	int go, stop;
};

static struct told *told;

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static _Noreturn void be_child(struct child *child)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t n = 1; !__atomic_load_n(&told->stop, __ATOMIC_RELAXED); n++) {
		__atomic_store_n(&child->semaphore, more_semaphore, __ATOMIC_SEQ_CST);
		__atomic_store_n(&child->begun, n, __ATOMIC_SEQ_CST);
		(void)more_1(n);
		(void)more_0(n);
		usleep(4000);
	}
	_exit(0);
}

static void bear_children(void)
{
	for (unsigned i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0)
			be_child(&told->children[i]);
		told->children[i].pid = pid;
		__atomic_store_n(&told->n_children, i + 1, __ATOMIC_SEQ_CST);
		usleep(300);
	}
}

/* As if another tracer had a breakpoint there. */
static void change_code(void)
{
	uintptr_t page = (uintptr_t)more_2 & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);

	if (mprotect((void *)page, 2 * (size_t)sysconf(_SC_PAGESIZE),
		     PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		memset((void *)(uintptr_t)more_2, 0xcc, 4);
}

static int count_frame(const void *context, void *ctx)
{
	(void)context;
	(void)ctx;
	return 0;
}

/* An unwinder of the C library's kind, if there is one. */
static void walk_stack(void)
{
	static int (*walk)(int (*)(const void *, void *), void *);
	static bool is_asked;
	void *library = is_asked ? NULL : dlopen("libgcc_s.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "_Unwind_Backtrace") : NULL;

	if (found)
		memcpy(&walk, &found, sizeof(walk));
	is_asked = true;
	if (walk)
		(void)walk((int (*)(const void *, void *))count_frame, NULL);
}

static void *end_inside(void *arg)
{
	(void)arg;
	(void)more_3(1);
	return NULL;
}

static void end_a_thread(void)
{
	pthread_t id;

	(void)pthread_create(&id, NULL, end_inside, NULL);
	pthread_detach(id);
}

static _Noreturn void be_program(bool changes, bool walks)
{
	int go;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (changes)
		change_code();
	__atomic_store_n(&told->go, 1, __ATOMIC_SEQ_CST);
	for (uint64_t n = 1; !__atomic_load_n(&told->stop, __ATOMIC_RELAXED); n++) {
		(void)more_0(n);
		(void)more_1(n);
		(void)more_3(0);
		if (walks)
			walk_stack();
		go = __atomic_exchange_n(&told->go, 1, __ATOMIC_SEQ_CST);
		if (go == 2)
			bear_children();
		else if (go == 3)
			end_a_thread();
		usleep(200);
	}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

/* --- the test --------------------------------------------------------------------------- */

struct run {
	struct ubp_session *session;
	pid_t pid;
	char exe[512];
	/* By children, of the probe that is asked for; and all of that. */
	unsigned number;
	uint64_t by_child[CHILDREN], n_events;
};

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	const struct event_record *r = event->record;

	if (r->kind != EVENT_HIT || r->probe != run->number)
		return 0;
	run->n_events++;
	for (unsigned i = 0; i < CHILDREN; i++)
		run->by_child[i] += told->children[i].pid == r->pid;
	return 0;
}

static void dispatch(struct run *run)
{
	struct pollfd p = { .fd = ubp_fd(run->session), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, 2);
	if (ubp_dispatch(run->session, on_event, run, &err) < 0)
		fail_msg("%s", err.text);
}

static struct mailbox_answer await(struct run *run, uint64_t ticket)
{
	struct mailbox_answer answer;

	while (!live_look(run->session, ticket, &answer))
		dispatch(run);
	return answer;
}

static void await_done(struct run *run, uint64_t ticket)
{
	struct mailbox_answer answer = await(run, ticket);

	if (answer.code)
		fail_msg("%d: %s", answer.code, answer.text);
}

static uint64_t ask(struct run *run, const char *definition, unsigned *ret_number)
{
	uint64_t ticket;
	struct ubp_err err;

	if (live_add_one(run->session, definition, NULL, ret_number, &ticket, &err) < 0)
		fail_msg("%s: %s", definition, err.text);
	return ticket;
}

static void on_warning(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

static void begin_with(struct run *run, enum ubp_mode mode, bool changes, bool walks)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	char definition[600];
	struct ubp_err err;
	ssize_t n = readlink("/proc/self/exe", run->exe, sizeof(run->exe) - 1);

	assert_true(n > 0);
	run->number = 1;
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	assert_true(told != MAP_FAILED);
	run->pid = fork();
	assert_true(run->pid >= 0);
	if (run->pid == 0)
		be_program(changes, walks);
	while (!__atomic_load_n(&told->go, __ATOMIC_SEQ_CST))
		usleep(100);
	options.mode = mode;
	options.lossless = true;
	options.follow = UBP_FOLLOW_YES;
	options.pids = &run->pid;
	options.n_pids = 1;
	options.warn = on_warning;
	ubp_err_reset(&err);
	snprintf(definition, sizeof(definition), "p:live/first %s:more_0", run->exe);
	if (ubp_session_new(&options, &run->session, &err) < 0 ||
	    ubp_add(run->session, definition, NULL, &err) < 0 ||
	    ubp_start(run->session, &err) < 0)
		fail_msg("%s", err.text);
}

static void begin(struct run *run, enum ubp_mode mode, bool changes)
{
	begin_with(run, mode, changes, false);
}

static void end(struct run *run)
{
	__atomic_store_n(&told->stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 20; i++)
		dispatch(run);
	ubp_stop(run->session);
	ubp_session_free(run->session);
	kill(run->pid, SIGKILL);
	(void)waitpid(run->pid, NULL, 0);
	munmap(told, sizeof(*told));
}

/* --- children ----------------------------------------------------------------------------- */

struct place {
	uintptr_t vaddr;
	uint64_t foffset;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct place *place = ctx;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && place->vaddr - start < ph->p_filesz)
			place->foffset = place->vaddr - start + ph->p_offset;
	}
	return 1; /* the program comes first */
}

static uint64_t foffset_of(const volatile void *object)
{
	struct place place = { .vaddr = (uintptr_t)object };

	(void)dl_iterate_phdr(find_segment, &place);
	assert_true(place.foffset);
	return place.foffset;
}

/* Each of the first @n has called so many times more. */
static void let_run(struct run *run, size_t n, uint64_t calls)
{
	uint64_t until[CHILDREN];

	for (size_t i = 0; i < n; i++)
		until[i] = load(&told->children[i].begun) + calls;
	for (size_t i = 0; i < n; i++)
		while (load(&told->children[i].begun) < until[i])
			dispatch(run);
	for (int i = 0; i < 5; i++)
		dispatch(run);
}

static void await_children(struct run *run, uint64_t n)
{
	while (load(&told->n_children) < n)
		dispatch(run);
}

static void check_semaphores(size_t n, uint64_t wanted, const char *when)
{
	for (size_t i = 0; i < n; i++)
		if (load(&told->children[i].semaphore) != wanted)
			fail_msg("%s, child %zu: the semaphore is %llu", when, i,
				 (unsigned long long)load(&told->children[i].semaphore));
}

static void children_are_born(enum ubp_mode mode)
{
	struct run *run = calloc(1, sizeof(*run));
	char definition[600];
	uint64_t ticket;
	struct ubp_err err;
	size_t n;

	begin(run, mode, false);
	snprintf(definition, sizeof(definition), "p:live/second %s:0x%llx(0x%llx)", run->exe,
		 (unsigned long long)foffset_of((const void *)(uintptr_t)more_1),
		 (unsigned long long)foffset_of(&more_semaphore));
	__atomic_store_n(&told->go, 2, __ATOMIC_SEQ_CST);
	await_children(run, CHILDREN / 4);
	ticket = ask(run, definition, &run->number);
	await_done(run, ticket);
	n = load(&told->n_children);
	let_run(run, n, 5);
	for (size_t i = 0; i < n; i++)
		if (!run->by_child[i])
			fail_msg("child %zu of %zu tells of nothing", i, n);
	check_semaphores(n, 1, "it was added");
	await_children(run, n + (CHILDREN - n) / 2);
	if (live_remove_one(run->session, run->number, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	await_done(run, ticket);
	await_children(run, CHILDREN);
	let_run(run, CHILDREN, 5);
	check_semaphores(CHILDREN, 0, "it was removed");
	end(run);
	free(run);
}

static void children_and_traps(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		children_are_born(UBP_MODE_TRAP);
}

static void children_and_jumps(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++)
		children_are_born(UBP_MODE_JUMP);
}

/* --- what cannot be planted ------------------------------------------------------------------ */

static void failure_is_told(void **state)
{
	struct run *run = calloc(1, sizeof(*run));
	struct mailbox_answer answer;
	char definition[600];
	unsigned number;
	uint64_t ticket, n;
	struct ubp_err err;

	(void)state;
	begin(run, UBP_MODE_TRAP, true);
	snprintf(definition, sizeof(definition), "p:live/bad %s:more_2", run->exe);
	answer = await(run, ask(run, definition, &number));
	assert_int_equal(answer.code, 1);
	assert_non_null(strstr(answer.text, "another tracer"));
	/* The process is traced still, and it takes others, once that is gone. */
	if (live_remove_one(run->session, number, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	await_done(run, ticket);
	snprintf(definition, sizeof(definition), "p:live/good %s:more_1", run->exe);
	await_done(run, ask(run, definition, &run->number));
	n = run->n_events;
	for (int i = 0; i < 1000 && run->n_events == n; i++)
		dispatch(run);
	assert_true(run->n_events > n);
	end(run);
	free(run);
}

/* --- jumps --------------------------------------------------------------------------------------- */

static const struct uprobe_stats *stats_of(const struct run *run, unsigned number)
{
	const struct uprobe *probe = live_probe(run->session, number);

	assert_non_null(probe);
	return &probe->stats;
}

static void await_jump(struct run *run, unsigned number)
{
	const struct uprobe_stats *st = stats_of(run, number);

	for (int i = 0; i < 5000 && !__atomic_load_n(&st->jumped, __ATOMIC_RELAXED); i++)
		dispatch(run);
	if (st->sites != 1 || st->jumped != 1 || st->boosted)
		fail_msg("probe %u: sites %u, jumped %u, boosted %u", number, st->sites,
			 st->jumped, st->boosted);
}

static void jumps_come_again(void **state)
{
	struct run *run = calloc(1, sizeof(*run));
	char definition[600];
	unsigned second, again;
	uint64_t ticket;
	struct ubp_err err;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	begin(run, UBP_MODE_JUMP, false);
	await_jump(run, 0);
	/* One more at a place that is jumped ... */
	snprintf(definition, sizeof(definition), "p:live/beside %s:more_0", run->exe);
	await_done(run, ask(run, definition, &second));
	await_jump(run, second);
	await_jump(run, 0);
	/* ... one in the place of that ... */
	if (live_filter(run->session, second, NULL, &again, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	await_done(run, ticket);
	await_jump(run, again);
	/* ... and none any more. */
	if (live_remove_one(run->session, again, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	await_done(run, ticket);
	await_jump(run, 0);
	end(run);
	free(run);
}

/* The first return probe comes while its threads are traced: they have to tell of their ends from then on. */
static void ends_are_seen(void **state)
{
	struct run *run = calloc(1, sizeof(*run));
	const struct uprobe_stats *st;
	char definition[600];
	unsigned number;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	begin(run, UBP_MODE_JUMP, false);
	snprintf(definition, sizeof(definition), "r:live/ends %s:more_3", run->exe);
	await_done(run, ask(run, definition, &number));
	await_jump(run, number);
	st = stats_of(run, number);
	__atomic_store_n(&told->go, 3, __ATOMIC_SEQ_CST);
	for (int i = 0;
	     i < 1000 && !__atomic_load_n(&st->missed[MISSED_THREAD], __ATOMIC_RELAXED); i++)
		dispatch(run);
	assert_int_equal(st->missed[MISSED_THREAD], 1);
	end(run);
	free(run);
}

/* Where an unwinder begins ubp has a breakpoint, or a jump, of its own. */
static void unwinders_can_be_probed(void **state)
{
	struct run *run = calloc(1, sizeof(*run));
	Dl_info info;
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
	void *walk = library ? dlsym(library, "_Unwind_Backtrace") : NULL;
	char definition[600];
	unsigned number;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	if (!walk || !dladdr(walk, &info))
		skip();
	begin_with(run, UBP_MODE_JUMP, false, true);
	snprintf(definition, sizeof(definition), "r:live/returns %s:more_3", run->exe);
	await_done(run, ask(run, definition, &number));
	await_jump(run, number);
	for (int i = 0; i < 200; i++)
		dispatch(run);
	snprintf(definition, sizeof(definition), "p:live/walks %s:_Unwind_Backtrace",
		 info.dli_fname);
	await_done(run, ask(run, definition, &run->number));
	for (int i = 0; i < 1000 && run->n_events < 10; i++)
		dispatch(run);
	assert_true(run->n_events >= 10);
	end(run);
	free(run);
}

/* --- files that come later ------------------------------------------------------------------------- */

#define SHORT_MS 200 /* shorter than until all processes are looked at again */
#define SHORT    5

static int be_short(void)
{
	for (uint64_t n = 1; n <= SHORT_MS; n++) {
		(void)more_1(n);
		usleep(1000);
	}
	return 0;
}

static void copy_program(const char *folder, const char *name, char ret_path[64])
{
	char command[700], exe[512];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(n > 0);
	exe[n] = '\0';
	snprintf(ret_path, 64, "%s/%s", folder, name);
	snprintf(command, sizeof(command), "cp '%s' '%s'", exe, ret_path);
	assert_int_equal(system(command), 0);
}

/* By another process, which is returned: who waits for one that it traces by another thread takes its stops. */
static pid_t run_short(const char *program)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pid = fork();
	if (pid == 0)
		execl(program, program, "short", NULL);
	(void)waitpid(pid, NULL, 0);
	_exit(0);
}

static int on_hit(void *ctx, const struct ubp_event *event)
{
	uint64_t *n = ctx;

	*n += event->record->kind == EVENT_HIT && event->record->probe == 1;
	return 0;
}

static void look(struct ubp_session *s, uint64_t *n)
{
	struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };
	struct ubp_err err;

	(void)poll(&p, 1, 2);
	assert_true(ubp_dispatch(s, on_hit, n, &err) >= 0);
}

/* Who executes the first file is held: nobody looks at others then, so who executes the second one is to be looked for anew. */
static void later_files_are_looked_for(void **state)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	char folder[TEMP_LEN], first[64], second[64], definition[700];
	struct mailbox_answer answer;
	struct ubp_session *s;
	struct ubp_err err;
	unsigned number, n_found = 0;
	uint64_t ticket;

	(void)state;
	if (geteuid() != 0)
		skip();
	temp_folder(folder);
	copy_program(folder, "first", first);
	copy_program(folder, "second", second);
	options.warn = on_warning;
	ubp_err_reset(&err);
	snprintf(definition, sizeof(definition), "p:live/first %s:more_0", first);
	if (ubp_session_new(&options, &s, &err) < 0 || ubp_add(s, definition, NULL, &err) < 0 ||
	    ubp_start(s, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(definition, sizeof(definition), "p:live/second %s:more_1", second);
	if (live_add_one(s, definition, NULL, &number, &ticket, &err) < 0)
		fail_msg("%s", err.text);
	while (!live_look(s, ticket, &answer))
		look(s, &(uint64_t){ 0 });
	assert_int_equal(answer.code, 0);
	for (int i = 0; i < SHORT; i++) {
		uint64_t n = 0;
		pid_t pid = run_short(second);

		while (waitpid(pid, NULL, WNOHANG) == 0)
			look(s, &n);
		for (int k = 0; k < 20; k++)
			look(s, &n);
		n_found += n > 0;
	}
	ubp_stop(s);
	ubp_session_free(s);
	unlink(first);
	unlink(second);
	rmdir(folder);
	if (n_found <= SHORT / 2)
		fail_msg("%u of %d were found", n_found, SHORT);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_and_traps),
		cmocka_unit_test(children_and_jumps),
		cmocka_unit_test(failure_is_told),
		cmocka_unit_test(jumps_come_again),
		cmocka_unit_test(ends_are_seen),
		cmocka_unit_test(unwinders_can_be_probed),
		cmocka_unit_test(later_files_are_looked_for),
	};

	if (argc > 1 && strcmp(argv[1], "short") == 0)
		return be_short();
	return cmocka_run_group_tests_name("live_more", tests, NULL, NULL);
}
