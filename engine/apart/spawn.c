/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/apart/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/err.h"

#define STACK_BYTES 65536 /* of each of the two processes that run in the host's memory */
#define FDS_MAX     65536 /* where close_range() is missing, so many are closed at most */

/* What is done on the way to the engine: two processes that live in the host's memory for a moment. */
struct spawning {
	const char *path;
	char *const *env;
	int socket; /* the engine's end */
	char *stack;
	int error;
};

static void close_others(void)
{
	if (syscall(SYS_close_range, SPAWN_SOCKET + 1, ~0U, 0) == 0)
		return;
	for (int fd = SPAWN_SOCKET + 1; fd < FDS_MAX; fd++)
		(void)close(fd);
}

/* The descriptors of the host's are its own: this process has a copy of their table. */
static int become_engine(void *arg)
{
	struct spawning *s = arg;
	char *argv[] = { (char *)s->path, NULL };
	int null;

	/* Out of the way of those that are given numbers here. */
	int socket = fcntl(s->socket, F_DUPFD_CLOEXEC, SPAWN_SOCKET + 1);

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (socket < 0 || null < 0)
		goto failed;
	if (null <= 2) {
		null = fcntl(null, F_DUPFD_CLOEXEC, SPAWN_SOCKET + 1);
		if (null < 0)
			goto failed;
	}
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			goto failed;
	if (dup2(socket, SPAWN_SOCKET) < 0)
		goto failed;
	close_others();
	execve(s->path, argv, s->env);
failed:
	s->error = errno;
	return 127;
}

/*
 * Its child is the engine, and it ends as soon as that has begun, so that the engine has another parent. No signal tells of its end
 * and only who asks for such children finds it (__WCLONE): it never executes anything, which would change that.
 */
static int between(void *arg)
{
	struct spawning *s = arg;

	if (clone(become_engine, s->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, s) <
	    0)
		s->error = errno;
	return 0;
}

/* All signals are blocked in these processes: the host's handlers are for the host. */
static int run(struct spawning *s)
{
	char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, old;
	int state, pid;

	if (stacks == MAP_FAILED)
		return -errno;
	s->stack = stacks;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = clone(between, stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
	if (pid < 0)
		s->error = errno;
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setcancelstate(state, NULL);
	munmap(stacks, 2 * STACK_BYTES);
	return -s->error;
}

int spawn_engine(const char *path, bool is_secure, int *ret_socket, struct ubp_err *err)
{
	static char *const nothing[] = { NULL };
	struct spawning s = { .path = path, .env = is_secure ? nothing : environ };
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return ubp_fail_sys(err, "a socket for the engine");
	s.socket = pair[1];
	rc = run(&s);
	close(pair[1]);
	if (rc < 0) {
		close(pair[0]);
		return ubp_fail(err, -rc, "the engine %s cannot be started: %s", path,
				strerror(-rc));
	}
	*ret_socket = pair[0];
	return 0;
}
