/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/waker.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/descriptors.h"
#include "engine/base/err.h"
#include "engine/trace/permission.h"
#include "engine/trace/task.h"

/* Ignored by default: a waker whose tracer is gone does not mind. */
#define RING SIGWINCH

void waker_become_one(pid_t parent, int keep)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* killed before we could ask for a word of it */
	descriptors_keep((const int[2]){ -1, keep });
	(void)setsid();
}

/*
 * It has our memory: a copy of it would have each page that we write to copied from then on, and what is defined, by the ten thousand, is
 * written to when it is planted. So it runs nothing of the host's, and nothing that keeps anything but in its stack: an
 * errno would be the tracing thread's, which waits until it sits.
 */
struct seat {
	struct seat *next;
	pid_t pid, parent;
	int state; /* a futex */
	/* Not on its stack, which goes without a return from there: a sanitizer would know of that for ever. */
	sigset_t mask;
	_Alignas(16) uint8_t stack[16384];
};

enum { SEAT_EMPTY, SEAT_TAKING, SEAT_TAKEN };

/* Of the wakers of this thread. */
static _Thread_local struct seat *seats;

static int sit_still(void *seat_ptr)
{
	struct seat *seat = seat_ptr;

	/* The host's handlers are not for a process that has its memory. */
	(void)signal(RING, SIG_DFL);
	waker_become_one(seat->parent, -1);
	sigfillset(&seat->mask);
	sigdelset(&seat->mask, RING);
	(void)sigprocmask(SIG_SETMASK, &seat->mask, NULL);
	__atomic_store_n(&seat->state, SEAT_TAKEN, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &seat->state, FUTEX_WAKE, 1, NULL, NULL, 0);
	/* The kernel begins this call again by itself behind each stop: no error is told, which would be in the tracing thread's errno. */
	for (;;)
		(void)syscall(SYS_futex, &seat->state, FUTEX_WAIT, SEAT_TAKEN, NULL, NULL, 0);
	return 0;
}

/* Until it sits, or has ended: then the kernel empties the seat. */
static void wait_until_taken(struct seat *seat)
{
	while (__atomic_load_n(&seat->state, __ATOMIC_ACQUIRE) == SEAT_TAKING)
		(void)syscall(SYS_futex, &seat->state, FUTEX_WAIT, SEAT_TAKING, NULL, NULL, 0);
}

static pid_t start(void)
{
	struct seat *seat = mmap(NULL, sizeof(*seat), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, before;

	if (seat == MAP_FAILED)
		return -1;
	seat->parent = getpid();
	seat->state = SEAT_TAKING;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	seat->pid = clone(sit_still, seat->stack + sizeof(seat->stack),
			  CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, seat, NULL, NULL,
			  &seat->state);
	if (seat->pid > 0)
		wait_until_taken(seat);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (seat->pid < 0) {
		(void)munmap(seat, sizeof(*seat));
		return -1;
	}
	seat->next = seats;
	seats = seat;
	return seat->pid;
}

/* It has been waited for. */
static void clear_seat(pid_t pid)
{
	struct seat **at = &seats, *seat;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	seat = *at;
	if (!seat)
		return;
	*at = seat->next;
	(void)munmap(seat, sizeof(*seat));
}

pid_t waker_start(struct ubp_err *err)
{
	pid_t pid = start();

	if (pid < 0)
		return ubp_fail_sys(err, "clone");
	if (again_ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) < 0) {
		int rc, code = errno;
		pid_t by = task_tracer(pid);

		rc = by ? ubp_fail(err, EPERM,
				   "ubp and its children are traced by process %d themselves",
				   (int)by)
			: permission_no_ptrace(permission_yama(), code, err);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, __WALL);
		clear_seat(pid);
		return rc;
	}
	return pid;
}

void waker_ring(pid_t waker)
{
	if (waker > 0)
		(void)kill(waker, RING);
}

void waker_quiet(pid_t waker)
{
	(void)again_ptrace(PTRACE_CONT, waker, 0, 0);
}

void waker_end(pid_t waker)
{
	int status;

	if (waker <= 0)
		return;
	(void)kill(waker, SIGKILL);
	while (waitpid(waker, &status, __WALL | __WNOTHREAD) == waker && !WIFEXITED(status) &&
	       !WIFSIGNALED(status))
		;
	clear_seat(waker);
}
