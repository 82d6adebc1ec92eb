/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/object/maps.h"

#define BATCH 32

/* Pages of one mem_read_ahead(). */
#define AHEAD 17

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

int mem_open(struct trace_mem *mem, pid_t pid, struct ubp_err *err)
{
	mem->pid = pid;
	mem->fd = open_mem(pid);
	if (mem->fd >= 0 || errno == EMFILE || errno == ENFILE || is_refused(errno))
		return 0;
	if (errno == ENOENT || errno == ESRCH)
		return ubp_fail(err, ESRCH, "no process %d", (int)pid);
	return ubp_fail_sys(err, "/proc/%d/mem", (int)pid);
}

void mem_close(struct trace_mem *mem)
{
	if (mem->fd >= 0)
		close(mem->fd);
	mem->fd = -1;
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
static size_t read_by_file(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf,
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
		if (fd < 0 && is_refused(errno) && mem)
			fd = mem->fd;
		if (fd >= 0) {
			ssize_t n = again_pread(fd, buf, len, vaddr);

			got = n > 0 ? (size_t)n : 0;
			if (!mem || fd != mem->fd)
				close(fd);
		}
	}
	maps_free(&maps);
	return got;
}

/* One span, after the batch faulted in it: page by page, both ways. */
static uint32_t read_slowly(const struct trace_mem *mem, pid_t tid, struct fetch_span *s)
{
	uint32_t got = 0;

	while (got < s->len) {
		uint64_t vaddr = s->vaddr + got;
		size_t len = 4096 - (vaddr & 4095);
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
			n = (ssize_t)read_by_file(mem, tid, vaddr, to.iov_base, len,
						  is_without_readv(n, errno));
		got += (uint32_t)n;
		if ((size_t)n < len)
			break;
	}
	return got;
}

bool mem_is_sure(const struct trace_mem *mem, pid_t tid)
{
	return !mem || !mem->care || care_is_sure(mem->care, tid ? tid : mem->pid);
}

bool mem_answers(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, uint64_t len)
{
	return mem_is_sure(mem, tid) ||
	       care_answers(mem->care, tid ? tid : mem->pid, vaddr, len);
}

bool mem_may_be_touched(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, uint64_t len)
{
	return !mem->care || care_may_be_touched(mem->care, tid, vaddr, len);
}

static size_t read_with_care(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf,
			     size_t len)
{
	struct fetch_span span = { .vaddr = vaddr, .len = (uint32_t)len, .buf = buf };

	care_read(mem->care, tid, &span, 1);
	return span.got;
}

size_t mem_read_ahead(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf,
		      size_t len)
{
	struct iovec from[AHEAD], to = { buf, 0 };
	uint64_t begin = vaddr;
	size_t n = 0;
	ssize_t got;

	/* No more than whole pieces is promised: one for each page. */
	while (to.iov_len < len && n < AHEAD && vaddr < USER_END) {
		size_t piece = PAGE - (vaddr & (PAGE - 1));

		if (piece > len - to.iov_len)
			piece = len - to.iov_len;
		from[n++] = (struct iovec){ (void *)(uintptr_t)vaddr, piece };
		to.iov_len += piece;
		vaddr += piece;
	}
	if (!mem_is_sure(mem, tid))
		return read_with_care(mem, tid, begin, buf, to.iov_len);
	got = n ? process_vm_readv(tid, &to, 1, from, n, 0) : 0;
	if (is_without_readv(got, errno))
		return read_by_file(mem, tid, begin, buf, to.iov_len, true);
	return got > 0 ? (size_t)got : 0;
}

/* Up to BATCH spans with one call. Returns how many of them are settled. */
static size_t read_batch(const struct trace_mem *mem, pid_t tid, struct fetch_span *spans,
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
		spans[i].got = read_slowly(mem, tid, &spans[i]);
		return i + 1;
	}
	if (used < n && used < BATCH)
		spans[used++].got = 0; /* the one that ended the batch */
	return used;
}

void mem_read_spans(const struct trace_mem *mem, pid_t tid, struct fetch_span *spans, size_t n)
{
	if (!mem_is_sure(mem, tid)) {
		care_read(mem->care, tid, spans, n);
		return;
	}
	while (n) {
		size_t done = read_batch(mem, tid, spans, n);

		spans += done;
		n -= done;
	}
}

size_t mem_read(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf, size_t len)
{
	struct fetch_span span = { .vaddr = vaddr, .len = (uint32_t)len, .buf = buf };

	mem_read_spans(mem, tid, &span, 1);
	return span.got;
}

/* The descriptor to use, opened for the moment where none could be kept. */
static int borrow_fd(const struct trace_mem *mem)
{
	return mem->fd >= 0 ? mem->fd : open_mem(mem->pid);
}

static void return_fd(const struct trace_mem *mem, int fd)
{
	if (fd >= 0 && fd != mem->fd)
		close(fd);
}

size_t mem_peek(const struct trace_mem *mem, uint64_t vaddr, void *buf, size_t len)
{
	ssize_t n;
	int fd;

	if (!mem_is_sure(mem, 0))
		return care_peek(mem->care, vaddr, buf, len);
	fd = borrow_fd(mem);
	n = fd < 0 ? (ssize_t)mem_read(mem, mem->pid, vaddr, buf, len)
		   : again_pread(fd, buf, len, vaddr);
	return_fd(mem, fd);
	return n > 0 ? (size_t)n : 0;
}

size_t mem_peek_ahead(const struct trace_mem *mem, uint64_t *ahead, uint64_t vaddr, void *buf,
		      size_t len)
{
	return mem_is_sure(mem, 0) ? mem_peek(mem, vaddr, buf, len)
				   : care_peek_ahead(mem->care, ahead, vaddr, buf, len);
}

bool mem_is_gone(const struct trace_mem *mem)
{
	uint64_t word;

	if (!mem_is_sure(mem, 0))
		return care_is_gone(mem->care);
	/* The kernel tells nothing, and no error, where no memory is any more. */
	return mem->fd >= 0 && again_pread(mem->fd, &word, sizeof(word), 0) == 0;
}

size_t mem_view_peek(struct mem_view *view, uint64_t vaddr, void *buf, size_t len)
{
	uint64_t page = vaddr / MEM_VIEW_PAGE * MEM_VIEW_PAGE;
	size_t at = (size_t)(vaddr - page);

	if (len > MEM_VIEW_MORE)
		len = MEM_VIEW_MORE;
	if (!view->len || view->vaddr != page) {
		view->vaddr = page;
		view->len = mem_peek_ahead(view->mem, &view->ahead, page, view->buf,
					   sizeof(view->buf));
	}
	if (view->len <= at)
		return 0;
	if (len > view->len - at)
		len = view->len - at;
	memcpy(buf, view->buf + at, len);
	return len;
}

/*
 * An exec gives threads another memory, and the open file stays with the old one: what it
 * does not show is not ours to change. Without a file it cannot be told.
 */
static bool shows(int fd, uint64_t vaddr, long word)
{
	long seen;

	return fd < 0 ||
	       (again_pread(fd, &seen, sizeof(seen), vaddr) == (ssize_t)sizeof(seen) &&
		seen == word);
}

/* The bytes [skip, skip + n) of the word at @vaddr. */
static int poke_word(int fd, pid_t tid, uint64_t vaddr, size_t skip, const void *bytes,
		     size_t n)
{
	void *at = (void *)(uintptr_t)vaddr;
	long word, now;

	errno = 0;
	now = again_ptrace(PTRACE_PEEKTEXT, tid, at, 0);
	if (now == -1 && errno)
		return -errno;
	if (!shows(fd, vaddr, now))
		return -EFAULT;
	word = now;
	memcpy((char *)&word + skip, bytes, n);
	return word == now || again_ptrace(PTRACE_POKETEXT, tid, at, word) == 0 ? 0 : -errno;
}

static int poke(int fd, pid_t tid, uint64_t vaddr, const uint8_t *buf, size_t len)
{
	int rc = 0;

	while (len && rc == 0) {
		uint64_t end = vaddr + len, word = (end - 1) / sizeof(long) * sizeof(long);
		size_t skip = word < vaddr ? vaddr - word : 0, n = end - word - skip;

		len -= n;
		rc = poke_word(fd, tid, word, skip, buf + len, n);
	}
	return rc;
}

/* Memory that the program itself may write needs no stop. */
static bool write_writable(const struct trace_mem *mem, uint64_t vaddr, const void *buf,
			   size_t len)
{
	struct iovec from = { (void *)(uintptr_t)buf, len },
		     to = { (void *)(uintptr_t)vaddr, len };

	return process_vm_writev(mem->pid, &from, 1, &to, 1, 0) == (ssize_t)len;
}

/* Through @tid, or any thread that is stopped. */
static int poke_somehow(const struct trace_mem *mem, int fd, pid_t tid, uint64_t vaddr,
			const void *buf, size_t len)
{
	struct mem_pokes *pokes = mem->pokes;
	int rc = tid ? poke(fd, tid, vaddr, buf, len) : -ESRCH;

	/* None, or it is not stopped. */
	if (rc == -ESRCH && pokes && (tid = pokes->stop_one(pokes->ctx, mem->space)))
		rc = poke(fd, tid, vaddr, buf, len);
	if (rc == 0 && pokes)
		pokes->needed = true;
	return rc;
}

static int write_otherwise(const struct trace_mem *mem, int fd, pid_t tid, uint64_t vaddr,
			   const void *buf, size_t len)
{
	char byte;

	if (fd >= 0 && again_pread(fd, &byte, 1, vaddr) != 1)
		return -EFAULT; /* nothing is there */
	return write_writable(mem, vaddr, buf, len)
		       ? 0
		       : poke_somehow(mem, fd, tid, vaddr, buf, len);
}

/* Returns 0, or the errno. Where words have to be poked it never works. */
static int write_by_file(const struct trace_mem *mem, int fd, uint64_t vaddr, const void *buf,
			 size_t len)
{
	bool is_refused = mem->pokes && mem->pokes->needed;
	unsigned tries = 0;
	ssize_t n;

	do {
		n = pwrite(fd, buf, len, (off_t)vaddr);
		if (n == (ssize_t)len)
			return 0;
		if (n >= 0)
			errno = EFAULT; /* half of it: once more, as a whole */
	} while (!is_refused && again(&tries));
	return errno;
}

/* That is done by the tracer, so nothing may be able to keep it waiting there. */
static bool may_poke(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, size_t len)
{
	const struct mem_pokes *pokes = mem->pokes;
	bool needs_stop = false;

	tid = tid ? tid : mem->pid;
	if (care_may_poke(mem->care, tid, vaddr, len, &needs_stop))
		return true;
	return needs_stop && pokes && pokes->stop_all(pokes->ctx, mem->space) &&
	       care_may_poke(mem->care, tid, vaddr, len, NULL);
}

static int write_with_care(const struct trace_mem *mem, pid_t tid, uint64_t vaddr,
			   const void *buf, size_t len)
{
	int rc = care_write(mem->care, vaddr, buf, len);

	if (rc == 0)
		return 0;
	if (rc == -ETIMEDOUT || !may_poke(mem, tid, vaddr, len))
		return -EIO;
	return poke_somehow(mem, mem->fd, tid, vaddr, buf, len);
}

int mem_write(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, const void *buf,
	      size_t len)
{
	int code, rc = 0, fd;

	if (!mem_is_sure(mem, tid))
		return write_with_care(mem, tid, vaddr, buf, len);
	fd = borrow_fd(mem);
	/* What was written before, here or in memory shared with the target, is seen before this
	 * is: a system call alone makes no such promise on every machine. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	code = fd < 0 ? errno : write_by_file(mem, fd, vaddr, buf, len);
	if (code)
		rc = write_otherwise(mem, fd, tid, vaddr, buf, len);
	return_fd(mem, fd);
	return rc < 0 ? -code : 0;
}

const char *mem_error(const struct trace_mem *mem, int rc)
{
	const char *why = rc == -EIO && mem->care && !mem_is_sure(mem, 0)
				  ? silent_text(mem->care->why)
				  : NULL;

	return why ? why : strerror(-rc);
}

static void note_write(struct mem_writes *w, int rc)
{
	w->rc = w->rc < 0 ? w->rc : rc;
}

/* The first of these, by whatever way. */
static void write_one(struct mem_writes *w, const struct fetch_span *span)
{
	note_write(w, mem_write(w->mem, w->tid, span->vaddr, span->buf, span->len));
}

static bool is_over(const struct mem_writes *w)
{
	return w->rc < 0 && !w->goes_on;
}

int mem_writes_end(struct mem_writes *w)
{
	const struct mem_pokes *pokes = w->mem->pokes;
	size_t done = 0;

	while (done < w->n && !is_over(w)) {
		int rc = -EACCES;

		if (!pokes || !pokes->needed)
			done += care_write_spans(w->mem->care, w->v + done, w->n - done, &rc);
		if (rc == -ETIMEDOUT) {
			note_write(w, -EIO);
			break; /* nor would the others be written */
		}
		if (rc < 0)
			write_one(w, &w->v[done++]);
	}
	w->n = w->len = 0;
	return w->rc;
}

void mem_writes_add(struct mem_writes *w, uint64_t vaddr, const void *buf, size_t len)
{
	struct fetch_span span = { .vaddr = vaddr, .len = (uint32_t)len };

	if (w->n == MEM_WRITES || len > sizeof(w->bytes) - w->len)
		(void)mem_writes_end(w);
	if (is_over(w))
		return;
	if (len > sizeof(w->bytes) || (!w->n && mem_is_sure(w->mem, w->tid))) {
		span.buf = (void *)(uintptr_t)buf;
		write_one(w, &span);
		return;
	}
	span.buf = w->bytes + w->len;
	memcpy(span.buf, buf, len);
	w->v[w->n++] = span;
	w->len += len;
}

bool mem_is_whole(const struct trace_mem *mem, uint64_t vaddr, size_t len)
{
	size_t unit = mem->pokes && mem->pokes->needed ? sizeof(long) : PAGE;

	return vaddr % unit + len <= unit;
}
