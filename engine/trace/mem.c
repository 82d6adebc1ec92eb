/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/fetch/fetch.h"
#include "engine/os/maps.h"
#include "engine/os/silent.h"
#include "engine/trace/care.h"
#include "engine/trace/direct.h"

int mem_open(struct trace_mem *mem, pid_t pid, struct ubp_err *err)
{
	return direct_open(&mem->file, pid, err);
}

void mem_close(struct trace_mem *mem)
{
	direct_close(&mem->file);
}

bool mem_is_sure(const struct trace_mem *mem, pid_t tid)
{
	return !mem || !mem->care || care_is_sure(mem->care, tid ? tid : mem->file.pid);
}

void mem_answers_all(const struct trace_mem *mem, pid_t tid, struct mem_range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ranges[i].answers = true;
	if (n && !mem_is_sure(mem, tid))
		care_answers_all(mem->care, tid ? tid : mem->file.pid, ranges, n);
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
	size_t most = DIRECT_AHEAD_PAGES * PAGE - vaddr % PAGE;

	if (mem_is_sure(mem, tid))
		return direct_read_ahead(mem ? &mem->file : NULL, tid, vaddr, buf, len);
	return read_with_care(mem, tid, vaddr, buf, len < most ? len : most);
}

void mem_read_spans(const struct trace_mem *mem, pid_t tid, struct fetch_span *spans, size_t n)
{
	if (mem_is_sure(mem, tid))
		direct_read_spans(mem ? &mem->file : NULL, tid, spans, n);
	else
		care_read(mem->care, tid, spans, n);
}

size_t mem_read(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf, size_t len)
{
	struct fetch_span span = { .vaddr = vaddr, .len = (uint32_t)len, .buf = buf };

	mem_read_spans(mem, tid, &span, 1);
	return span.got;
}

size_t mem_peek(const struct trace_mem *mem, uint64_t vaddr, void *buf, size_t len)
{
	return mem_is_sure(mem, 0) ? direct_peek(&mem->file, vaddr, buf, len)
				   : care_peek(mem->care, vaddr, buf, len);
}

size_t mem_peek_ahead(const struct trace_mem *mem, uint64_t *ahead, uint64_t vaddr, void *buf,
		      size_t len)
{
	return mem_is_sure(mem, 0) ? mem_peek(mem, vaddr, buf, len)
				   : care_peek_ahead(mem->care, ahead, vaddr, buf, len);
}

bool mem_is_gone(const struct trace_mem *mem)
{
	return mem_is_sure(mem, 0) ? direct_is_gone(&mem->file) : care_is_gone(mem->care);
}

size_t mem_view_peek(struct mem_view *view, uint64_t vaddr, void *buf, size_t len)
{
	uint64_t page = vaddr / PAGE * PAGE;
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

void mem_expect(const struct trace_mem *mem, uint64_t vaddr)
{
	if (mem->care)
		care_expect(mem->care, vaddr);
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

/* Through @tid, or any thread that is stopped. */
static int poke_somehow(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, const void *buf,
			size_t len)
{
	struct mem_pokes *pokes = mem->pokes;
	int fd = direct_fd(&mem->file), rc = tid ? poke(fd, tid, vaddr, buf, len) : -ESRCH;

	/* None, or it is not stopped. */
	if (rc == -ESRCH && pokes && (tid = pokes->stop_one(mem->space)))
		rc = poke(fd, tid, vaddr, buf, len);
	direct_fd_done(&mem->file, fd);
	if (rc == 0 && pokes)
		pokes->needed = true;
	return rc;
}

/* That is done by the tracer, so nothing may be able to keep it waiting there. */
static bool may_poke(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, size_t len)
{
	const struct mem_pokes *pokes = mem->pokes;
	bool needs_stop = false;

	tid = tid ? tid : mem->file.pid;
	if (care_may_poke(mem->care, tid, vaddr, len, &needs_stop))
		return true;
	return needs_stop && pokes && pokes->stop_all(pokes->tracer, mem->space) &&
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
	return poke_somehow(mem, tid, vaddr, buf, len);
}

int mem_write(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, const void *buf,
	      size_t len)
{
	bool is_there;
	int rc;

	if (!mem_is_sure(mem, tid))
		return write_with_care(mem, tid, vaddr, buf, len);
	rc = direct_write(&mem->file, mem->pokes && mem->pokes->needed, vaddr, buf, len,
			  &is_there);
	return rc < 0 && is_there && poke_somehow(mem, tid, vaddr, buf, len) == 0 ? 0 : rc;
}

/* mem_write() writes to what is read-only, too; page by page. */
static int write_where_it_may(const struct trace_mem *mem, pid_t tid, uint64_t vaddr,
			      const void *buf, size_t len)
{
	struct ubp_err ignored;
	struct maps maps;
	int rc = maps_read(tid, &maps, &ignored);

	if (rc < 0)
		return rc;
	for (size_t done = 0, n; done < len && rc == 0; done += n) {
		const struct mapping *m = maps_at(&maps, vaddr + done);

		n = PAGE - (vaddr + done) % PAGE;
		n = n < len - done ? n : len - done;
		rc = m && m->write
			     ? mem_write(mem, tid, vaddr + done, (const char *)buf + done, n)
			     : -EFAULT;
	}
	maps_free(&maps);
	return rc;
}

int mem_write_as_program(const struct trace_mem *mem, pid_t tid, uint64_t vaddr,
			 const void *buf, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)buf, len },
		     remote = { (void *)(uintptr_t)vaddr, len };
	ssize_t n;

	if (!len)
		return 0;
	if (!mem_is_sure(mem, tid))
		return write_where_it_may(mem, tid, vaddr, buf, len);
	n = process_vm_writev(tid, &local, 1, &remote, 1, 0);
	if (n < 0 && errno == ENOSYS)
		return write_where_it_may(mem, tid, vaddr, buf, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

const char *mem_error(const struct trace_mem *mem, int rc)
{
	const char *why = rc == -EIO && mem->care && !mem_is_sure(mem, 0)
				  ? silent_text(mem->care->why)
				  : NULL;

	return why ? why : strerror(-rc);
}

static void note_write(struct mem_writes *w, uint64_t vaddr, int rc)
{
	if (w->rc == 0 && rc < 0) {
		w->rc = rc;
		w->at = vaddr;
	}
}

/* The first of these, by whatever way. */
static void write_one(struct mem_writes *w, const struct fetch_span *span)
{
	note_write(w, span->vaddr,
		   mem_write(w->mem, w->tid, span->vaddr, span->buf, span->len));
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
			note_write(w, w->v[done].vaddr, -EIO);
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

bool mem_has_call(void)
{
	char from = 0, to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}
