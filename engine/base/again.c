/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/again.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define TRIES_MAX    3
#define HOPELESS_MIN 100

/* Of these calls, one after the other. */
static __thread unsigned n_ptrace_failed, n_waitid_failed;

static void note(unsigned *n_failed, bool failed)
{
	if (!failed)
		*n_failed = 0;
	else if (errno != ESRCH && errno != ECHILD && errno != EINTR && errno != EPERM)
		++*n_failed;
}

bool again_is_hopeless(void)
{
	return n_ptrace_failed >= HOPELESS_MIN || n_waitid_failed >= HOPELESS_MIN;
}

bool again(unsigned *tries)
{
	switch (errno) {
	case EAGAIN:
	case EBUSY:
	case ECHILD:
	case EFAULT:
	case EINTR:
	case EIO:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ESRCH:
		return (*tries)++ < TRIES_MAX;
	}
	return false;
}

/* EIO is what is said of memory that is not there. */
static bool is_of_memory(int request)
{
	return request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	       request == PTRACE_POKETEXT || request == PTRACE_POKEDATA;
}

long again_ptrace_words(int request, pid_t tid, uintptr_t addr, uintptr_t data)
{
	unsigned tries = 0;
	long result = -1;

	do {
		errno = 0;
		result = ptrace(request, tid, addr, data);
	} while (result == -1 && errno && again(&tries));
	if (!is_of_memory(request))
		note(&n_ptrace_failed, result == -1 && errno);
	return result;
}

int again_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options)
{
	unsigned tries = 0;
	int rc;

	do {
		rc = waitid(type, id, ret_info, options);
	} while (rc < 0 && again(&tries));
	note(&n_waitid_failed, rc < 0);
	return rc;
}

int again_open(const char *path, int flags)
{
	unsigned tries = 0;
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC);
	} while (fd < 0 && again(&tries));
	return fd;
}

ssize_t again_read_some(int fd, void *buf, size_t len)
{
	unsigned tries = 0;
	ssize_t n;

	do {
		n = read(fd, buf, len);
	} while (n < 0 && again(&tries));
	return n;
}

ssize_t again_read(int fd, void *buf, size_t len)
{
	unsigned tries = 0;
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n != 0) {
		n = read(fd, (char *)buf + got, len - got);
		if (n > 0)
			got += (size_t)n;
		else if (n < 0 && !again(&tries))
			return got ? (ssize_t)got : -1;
	}
	return (ssize_t)got;
}

ssize_t again_pread(int fd, void *buf, size_t len, uint64_t at)
{
	unsigned tries = 0;
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n != 0) {
		n = pread(fd, (char *)buf + got, len - got, (off_t)(at + got));
		if (n > 0)
			got += (size_t)n;
		else if (n < 0 && !again(&tries))
			return got ? (ssize_t)got : -1;
	}
	return (ssize_t)got;
}

int again_write(int fd, const void *buf, size_t len)
{
	unsigned tries = 0;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN || !again(&tries))
			return -1;
	}
	return 0;
}
