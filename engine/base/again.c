/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/again.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define TRIES_MAX 3

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

long again_ptrace_words(int request, pid_t tid, uintptr_t addr, uintptr_t data)
{
	unsigned tries = 0;
	long result = -1;

	do {
		errno = 0;
		result = ptrace(request, tid, addr, data);
	} while (result == -1 && errno && again(&tries));
	return result;
}

int again_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options)
{
	unsigned tries = 0;
	int rc;

	do {
		rc = waitid(type, id, ret_info, options);
	} while (rc < 0 && again(&tries));
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
