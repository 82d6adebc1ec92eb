/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/fetch/fetch.h"
#include "engine/os/maps.h"

#define BATCH 32

/* Upper half: kernel, non-canonical, vsyscall. The program cannot read there. */
#define USER_END (1ULL << 63)

static bool is_refused(int code)
{
	return code == EACCES || code == EPERM || code == EROFS;
}

static int open_mem(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = again_open(path, O_RDWR);
	return fd >= 0 || !is_refused(errno) ? fd : again_open(path, O_RDONLY);
}

int direct_open(struct mem_file *file, pid_t pid, struct ubp_err *err)
{
	file->pid = pid;
	file->fd = open_mem(pid);
	if (file->fd >= 0 || errno == EMFILE || errno == ENFILE || is_refused(errno))
		return 0;
	if (errno == ENOENT || errno == ESRCH)
		return ubp_fail(err, ESRCH, "no process %d", (int)pid);
	return ubp_fail_sys(err, "/proc/%d/mem", (int)pid);
}

void direct_close(struct mem_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* process_vm_readv() is not to be had: a seccomp filter, a kernel without it. */
static bool is_without_readv(ssize_t n, int code)
{
	return n < 0 && (code == EPERM || code == ENOSYS);
}

/*
 * What process_vm_readv() does not give. A page that is only writable: the processor can read
 * it, but that call honours the flags of the mapping. /proc/PID/mem does not; it would read
 * PROT_NONE too, hence the look at the mapping. And every page that is readable, where
 * @all because there is no such call.
 */
static size_t read_by_file(const struct mem_file *file, pid_t tid, uint64_t vaddr, void *buf,
			   size_t len, bool all)
{
	const struct mapping *m;
	struct ubp_err err;
	struct maps maps;
	size_t got = 0;

	if (maps_read(tid, &maps, &err) == 0 && (m = maps_at(&maps, vaddr)) &&
	    (m->read ? all : m->write)) {
		char path[64];
		int fd;

		if (len > m->end - vaddr)
			len = m->end - vaddr;
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
		fd = again_open(path, O_RDONLY);
		/* What the tracer may open its stand-in may not, where Yama watches. */
		if (fd < 0 && is_refused(errno) && file)
			fd = file->fd;
		if (fd >= 0) {
			ssize_t n = again_pread(fd, buf, len, vaddr);

			got = n > 0 ? (size_t)n : 0;
			if (!file || fd != file->fd)
				close(fd);
		}
	}
	maps_free(&maps);
	return got;
}

/* One span, after the batch faulted in it: page by page, both ways. */
static uint32_t read_slowly(const struct mem_file *file, pid_t tid, struct fetch_span *s)
{
	uint32_t got = 0;

	while (got < s->len) {
		uint64_t vaddr = s->vaddr + got;
		size_t len = PAGE - (vaddr & (PAGE - 1));
		struct iovec to = { (char *)s->buf + got, 0 },
			     from = { (void *)(uintptr_t)vaddr, 0 };
		ssize_t n;

		if (vaddr >= USER_END)
			break;
		if (len > s->len - got)
			len = s->len - got;
		to.iov_len = from.iov_len = len;
		n = process_vm_readv(tid, &to, 1, &from, 1, 0);
		if (n <= 0)
			n = (ssize_t)read_by_file(file, tid, vaddr, to.iov_base, len,
						  is_without_readv(n, errno));
		got += (uint32_t)n;
		if ((size_t)n < len)
			break;
	}
	return got;
}

size_t direct_read_ahead(const struct mem_file *file, pid_t tid, uint64_t vaddr, void *buf,
			 size_t len)
{
	struct iovec from[DIRECT_AHEAD_PAGES], to = { buf, 0 };
	uint64_t at = vaddr;
	size_t n = 0;
	ssize_t got;

	/* No more than whole pieces is promised: one for each page. */
	while (to.iov_len < len && n < DIRECT_AHEAD_PAGES && at < USER_END) {
		size_t piece = PAGE - (at & (PAGE - 1));

		if (piece > len - to.iov_len)
			piece = len - to.iov_len;
		from[n++] = (struct iovec){ (void *)(uintptr_t)at, piece };
		to.iov_len += piece;
		at += piece;
	}
	got = n ? process_vm_readv(tid, &to, 1, from, n, 0) : 0;
	if (is_without_readv(got, errno))
		return read_by_file(file, tid, vaddr, buf, to.iov_len, true);
	return got > 0 ? (size_t)got : 0;
}

/* Up to BATCH spans with one call. Returns how many of them are settled. */
static size_t read_batch(const struct mem_file *file, pid_t tid, struct fetch_span *spans,
			 size_t n)
{
	struct iovec to[BATCH], from[BATCH];
	size_t used = 0, total;
	ssize_t got;

	while (used < n && used < BATCH && spans[used].vaddr < USER_END) {
		to[used] = (struct iovec){ spans[used].buf, spans[used].len };
		from[used] =
			(struct iovec){ (void *)(uintptr_t)spans[used].vaddr, spans[used].len };
		used++;
	}
	got = used ? process_vm_readv(tid, to, used, from, used, 0) : 0;
	total = got > 0 ? (size_t)got : 0;
	for (size_t i = 0; i < used; i++) {
		if (total >= spans[i].len) {
			spans[i].got = spans[i].len;
			total -= spans[i].len;
			continue;
		}
		spans[i].got = read_slowly(file, tid, &spans[i]);
		return i + 1;
	}
	if (used < n && used < BATCH)
		spans[used++].got = 0; /* the one that ended the batch */
	return used;
}

void direct_read_spans(const struct mem_file *file, pid_t tid, struct fetch_span *spans,
		       size_t n)
{
	while (n) {
		size_t done = read_batch(file, tid, spans, n);

		spans += done;
		n -= done;
	}
}

int direct_fd(const struct mem_file *file)
{
	return file->fd >= 0 ? file->fd : open_mem(file->pid);
}

void direct_fd_done(const struct mem_file *file, int fd)
{
	if (fd >= 0 && fd != file->fd)
		close(fd);
}

size_t direct_peek(const struct mem_file *file, uint64_t vaddr, void *buf, size_t len)
{
	struct fetch_span span = { .vaddr = vaddr, .len = (uint32_t)len, .buf = buf };
	int fd = direct_fd(file);
	ssize_t n;

	if (fd < 0) {
		direct_read_spans(file, file->pid, &span, 1);
		return span.got;
	}
	n = again_pread(fd, buf, len, vaddr);
	direct_fd_done(file, fd);
	return n > 0 ? (size_t)n : 0;
}

bool direct_is_gone(const struct mem_file *file)
{
	uint64_t word;

	/* The kernel tells nothing, and no error, where no memory is any more. */
	return file->fd >= 0 && again_pread(file->fd, &word, sizeof(word), 0) == 0;
}

/* Memory that the program itself may write needs no stop. */
static bool write_writable(const struct mem_file *file, uint64_t vaddr, const void *buf,
			   size_t len)
{
	struct iovec from = { (void *)(uintptr_t)buf, len },
		     to = { (void *)(uintptr_t)vaddr, len };

	return process_vm_writev(file->pid, &from, 1, &to, 1, 0) == (ssize_t)len;
}

/* Returns 0, or the errno. @once: it never works. */
static int write_by_file(int fd, bool once, uint64_t vaddr, const void *buf, size_t len)
{
	unsigned tries = 0;
	ssize_t n;

	do {
		n = pwrite(fd, buf, len, (off_t)vaddr);
		if (n == (ssize_t)len)
			return 0;
		if (n >= 0)
			errno = EFAULT; /* half of it: once more, as a whole */
	} while (!once && again(&tries));
	return errno;
}

int direct_write(const struct mem_file *file, bool once, uint64_t vaddr, const void *buf,
		 size_t len, bool *ret_is_there)
{
	int fd = direct_fd(file), code;
	bool is_there;
	char byte;

	/* What was written before, here or in memory shared with the target, is seen before this
	 * is: a system call alone makes no such promise on every machine. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	code = fd < 0 ? errno : write_by_file(fd, once, vaddr, buf, len);
	is_there = !code || fd < 0 || again_pread(fd, &byte, 1, vaddr) == 1;
	direct_fd_done(file, fd);
	if (code && is_there && write_writable(file, vaddr, buf, len))
		code = 0;
	if (ret_is_there)
		*ret_is_there = is_there;
	return -code;
}
