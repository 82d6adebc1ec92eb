/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Calls that fail although nothing is wrong with what they are about: the system was short of
 * something, a page could not be had. They are made again a few times, for what comes of
 * them is done to a program of somebody else. A failure that stays one is the caller's.
 */

#ifndef UBP_BASE_AGAIN_H
#define UBP_BASE_AGAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>

/*
 * Is a call to be made again, which has just failed with errno? *tries: 0 before the first
 * time. Asked for often, the answer is no. What can only mean that something is not there or not
 * allowed is not tried again. errno is preserved.
 */
bool again(unsigned *tries);

/*
 * ptrace() of any request. What it reads is returned as the C library does: errno tells -1 and
 * a failure apart. It is also made again where the thread is said to be gone, which is
 * cheap to ask twice and dear to believe.
 */
#define again_ptrace(request, tid, addr, data)                                                 \
	again_ptrace_words((int)(request), (tid), (uintptr_t)(addr), (uintptr_t)(data))
long again_ptrace_words(int request, pid_t tid, uintptr_t addr, uintptr_t data);

/* waitid(). EINTR is a failure like others. */
int again_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options);

/*
 * Do these two not work any more in this thread? So many calls of one of them have failed one
 * after the other, and none has succeeded, for reasons that are neither the end of a thread nor that
 * it may not be traced. Who waits for a stop, or for what a thread in a stop is to do, waits in vain then.
 */
bool again_is_hopeless(void);

/* open() for reading, or with other @flags that make no file; O_CLOEXEC is added. */
int again_open(const char *path, int flags);

/* One read(): what there is by now. -1: errno. */
ssize_t again_read_some(int fd, void *buf, size_t len);

/* Up to @len bytes from where the file stands: read() until there is no more. -1: errno. */
ssize_t again_read(int fd, void *buf, size_t len);

/* pread() until there is no more: a short result means that more can't be read. */
ssize_t again_pread(int fd, void *buf, size_t len, uint64_t at);

/* write() of all of it. Returns 0; -1: errno. What would block is a failure at once. */
int again_write(int fd, const void *buf, size_t len);

#endif
