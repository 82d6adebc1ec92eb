/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory of another process, touched by whoever calls: it may never answer, and then the caller never comes back. So
 * this is for the stand-in (errands.h), and for mem.h, which knows when nobody has to wait.
 */

#ifndef UBP_TRACE_DIRECT_H
#define UBP_TRACE_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fetch_span;
struct ubp_err;

/* Stays with the image that @pid had when it was opened. */
struct mem_file {
	int fd; /* /proc/PID/mem; -1: no descriptor could be had, opened when needed */
	pid_t pid;
};

/*
 * Open for @pid, for reading alone if need be. Where it may not even be read that is found out
 * when it is: ptrace() may do, and explains itself better. Errors: -ESRCH.
 */
int direct_open(struct mem_file *file, pid_t pid, struct ubp_err *err);
void direct_close(struct mem_file *file);

/* The descriptor to use: .fd, or one that is opened for the moment, if none could be kept; -1: none. */
int direct_fd(const struct mem_file *file);
void direct_fd_done(const struct mem_file *file, int fd);

/* Pages of one direct_read_ahead(), the first one in part. */
#define DIRECT_AHEAD_PAGES 17

/* As mem_read_spans(), mem_read_ahead(). @file NULL: none is open. */
void direct_read_spans(const struct mem_file *file, pid_t tid, struct fetch_span *spans,
		       size_t n);
size_t direct_read_ahead(const struct mem_file *file, pid_t tid, uint64_t vaddr, void *buf,
			 size_t len);
/* As mem_peek(), mem_is_gone(). */
size_t direct_peek(const struct mem_file *file, uint64_t vaddr, void *buf, size_t len);
bool direct_is_gone(const struct mem_file *file);

/*
 * Write, also to read-only text. Returns 0 or -errno. @once: the file is known to refuse that, so it is tried but once.
 * *ret_is_there tells (NULL: it need not) whether anything is there, which ptrace() may be able to write.
 */
int direct_write(const struct mem_file *file, bool once, uint64_t vaddr, const void *buf,
		 size_t len, bool *ret_is_there);

#endif
