/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/stand_in.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/descriptors.h"
#include "engine/event/clock.h"
#include "engine/os/silent.h"
#include "engine/trace/errands.h"
#include "engine/trace/task.h"
#include "engine/trace/waker.h"

#define LOOKS       10 /* at who is asked, while an answer is waited for */
#define END_TURNS   20
#define END_TURN_NS 200000

/* For one that is runnable: if it had the processor for as long as a limit, and if not. */
#define LIMIT_LATE_NS    2000000000ULL
#define LIMIT_STARVED_NS 20000000000ULL

static bool start(struct stand_in *s)
{
	pid_t self = getpid();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		waker_become_one(self, sockets[1]);
		errands_run(s->desk, sockets[1]);
	}
	(void)close(sockets[1]);
	s->socket = sockets[0];
	if (s->pid > 0)
		return true;
	s->pid = 0;
	(void)close(sockets[0]);
	return false;
}

bool stand_in_begin(struct stand_in *s)
{
	struct errand_desk *desk;

	if (s->pid)
		return true;
	if (!lost_has_room(&s->lost))
		return false;
	desk = mmap(NULL, sizeof(*desk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (desk == MAP_FAILED)
		return false;
	s->desk = desk;
	s->n_asked = 0;
	if (start(s))
		return true;
	(void)munmap(desk, sizeof(*desk));
	s->desk = NULL;
	return false;
}

/* Nobody uses again what we shared: who was given up may still write to it. */
static void leave_desk(struct stand_in *s)
{
	(void)close(s->socket);
	(void)munmap(s->desk, sizeof(*s->desk));
	s->desk = NULL;
	s->pid = 0;
}

/* It ends at once, or not before somebody answers it: then it does no more for us. */
static void give_up(struct stand_in *s)
{
	pid_t pid = s->pid;
	bool has_ended = false;

	lost_add(&s->lost, pid);
	leave_desk(s);
	for (int i = 0; i < END_TURNS && !(has_ended = lost_has_ended(pid)); i++)
		(void)nanosleep(&(struct timespec){ .tv_nsec = END_TURN_NS }, NULL);
	if (has_ended)
		lost_forget(&s->lost, pid);
}

void stand_in_ended(struct stand_in *s, pid_t pid)
{
	if (s->pid == pid)
		leave_desk(s);
	lost_forget(&s->lost, pid);
}

void stand_in_end(struct stand_in *s)
{
	if (s->pid)
		give_up(s);
	(void)lost_has_room(&s->lost); /* who has ended is waited for */
	for (int i = 0; i < STAND_IN_AHEADS; i++)
		free(s->aheads[i].bytes);
	silent_mounts_free(s->mounts);
}

bool stand_in_is_late(const struct stand_in_wait *wait)
{
	if (wait->waited_ns >= wait->limit_ns && wait->looks >= LOOKS)
		return true;
	return wait->waited_ns >= LIMIT_STARVED_NS ||
	       (wait->waited_ns >= LIMIT_LATE_NS && wait->used_ns >= wait->limit_ns);
}

/* What it has had of processors; 0: it is gone. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* It stays with our processor, which is cheap; but another may have time for it. */
static void let_it_move(pid_t pid)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		(void)sched_setaffinity(pid, sizeof(set), &set);
}

/*
 * It is late: does it wait for something itself, or was it only not let run? False: somebody has killed it, and
 * there will be no answer.
 */
static bool look_at_it(const struct stand_in *s, struct stand_in_wait *wait, uint64_t *had_ns)
{
	char state = task_state(s->pid);

	if (state != 'R') {
		wait->looks++;
		return state && !strchr("ZX", state);
	}
	wait->looks = 0;
	if (!*had_ns) {
		*had_ns = cpu_ns(s->pid);
		let_it_move(s->pid);
	}
	wait->used_ns = cpu_ns(s->pid) - *had_ns;
	return true;
}

static bool wait_for_answer(struct stand_in *s, uint64_t limit_ns)
{
	const struct timespec turn = { .tv_nsec = (long)(limit_ns / LOOKS) };
	uint64_t begin_ns = event_clock_now(CLOCK_KIND_MONO), had_ns = 0;
	struct stand_in_wait wait = { .limit_ns = limit_ns };
	uint32_t answered;

	while ((answered = __atomic_load_n(&s->desk->answered, __ATOMIC_ACQUIRE)) !=
	       s->n_asked) {
		wait.waited_ns = event_clock_now(CLOCK_KIND_MONO) - begin_ns;
		if (stand_in_is_late(&wait))
			return false;
		if (syscall(SYS_futex, &s->desk->answered, FUTEX_WAIT, answered, &turn, NULL,
			    0) < 0 &&
		    errno == ETIMEDOUT && !look_at_it(s, &wait, &had_ns))
			break;
	}
	return answered == s->n_asked;
}

static bool ask_once(struct stand_in *s, uint64_t limit_ns)
{
	s->desk->cpu = sched_getcpu();
	__atomic_store_n(&s->desk->asked, ++s->n_asked, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &s->desk->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
	return wait_for_answer(s, limit_ns);
}

static bool ask(struct stand_in *s, int fd, uint64_t limit_ns)
{
	s->desk->gets_file = s->desk->has_no_file = false;
	s->desk->needs_file = false;
	if (!ask_once(s, limit_ns))
		return false;
	if (!s->desk->needs_file)
		return true;
	s->desk->gets_file = fd >= 0 && descriptors_send(s->socket, "", 1, fd, MSG_DONTWAIT);
	s->desk->has_no_file = !s->desk->gets_file;
	return ask_once(s, limit_ns) && !s->desk->needs_file;
}

/*
 * Killed, by somebody who needs memory, say: what it was asked for is not to blame, and the next one does it. The
 * same desk will do, since nobody else has it any more. Requests may be carried out twice.
 */
static bool replace(struct stand_in *s)
{
	struct errand_desk *desk = s->desk;

	if (!lost_has_ended(s->pid))
		return false;
	(void)close(s->socket);
	s->pid = 0;
	desk->asked = desk->answered = s->n_asked = 0;
	if (start(s))
		return true;
	(void)munmap(desk, sizeof(*desk));
	s->desk = NULL;
	return false;
}

bool stand_in_ask(struct stand_in *s, int fd, uint64_t limit_ns)
{
	uint64_t begin_ns = event_clock_now(CLOCK_KIND_MONO), took;
	bool is_answered = ask(s, fd, limit_ns);

	__atomic_store_n(&s->n_requests, s->n_requests + 1, __ATOMIC_RELAXED);
	if (!is_answered && replace(s))
		is_answered = ask(s, fd, limit_ns);
	if (!is_answered && s->pid)
		give_up(s);
	took = event_clock_now(CLOCK_KIND_MONO) - begin_ns;
	if (!is_answered)
		__atomic_store_n(&s->lost_ns, s->lost_ns + took, __ATOMIC_RELAXED);
	if (took > s->longest_ns)
		__atomic_store_n(&s->longest_ns, took, __ATOMIC_RELAXED);
	return is_answered;
}
