/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Memory of another process. */

#ifndef UBP_TRACE_MEM_H
#define UBP_TRACE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/page.h"
#include "engine/fetch/fetch.h"
#include "engine/trace/care.h"
#include "engine/trace/direct.h"

struct space;
struct tracer;
struct ubp_err;

/*
 * Where /proc/PID/mem may not be written (the kernel's proc_mem.force_override, a /proc that is
 * read-only, a security module), words are poked through a thread that is stopped. Of the
 * tracer, whose threads those are.
 */
struct mem_pokes {
	bool needed; /* seen: a write does not come whole */
	/* A thread of @space that is in a stop, and stays so until the tracer next waits; one
	 * is stopped if none is. 0: none can be had. */
	pid_t (*stop_one)(const struct space *space);
	/* All threads in the memory of @space are in a stop, and stay so until the tracer next waits: nobody
	 * maps anything there. False: that cannot be had. */
	bool (*stop_all)(const struct tracer *tracer, const struct space *space);
	const struct tracer *tracer;
};

/* Access to one address space. Outlives an exec: it stays with the old image. */
struct trace_mem {
	struct mem_file file;
	struct mem_pokes *pokes;   /* NULL: through the threads named to mem_write() alone */
	const struct space *space; /* for .pokes */
	struct mem_care *care;     /* NULL: all of it answers whoever touches it (care.h) */
};

/* As direct_open(). */
int mem_open(struct trace_mem *mem, pid_t pid, struct ubp_err *err);
void mem_close(struct trace_mem *mem);

/*
 * Read what the program itself could read. Returns the bytes got before the
 * first fault, 0 to @len. @tid is any thread of the process. @mem NULL: one whose memory answers.
 * What might keep us waiting is read with care, or not.
 */
size_t mem_read(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf, size_t len);

/*
 * What is there of up to 64 KiB, by one system call: for reading ahead. Pages that are only
 * writable end it, too.
 */
size_t mem_read_ahead(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, void *buf,
		      size_t len);

/* A batch of reads, one system call where nothing faults. */
void mem_read_spans(const struct trace_mem *mem, pid_t tid, struct fetch_span *spans, size_t n);

/* May the bytes of each range be touched without waiting, for whatever purpose? @tid 0: any thread. */
void mem_answers_all(const struct trace_mem *mem, pid_t tid, struct mem_range *ranges,
		     size_t n);
/* The same of all of its memory: then there is nothing to be asked for each piece. */
bool mem_is_sure(const struct trace_mem *mem, pid_t tid);
/*
 * For what nobody else can do for us, and takes a while: will these bytes answer until then? Not to be
 * known of a stranger's, whatever they do now. Looked at anew each time.
 */
bool mem_may_be_touched(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, uint64_t len);

/*
 * Read through the open file: needs no thread, also sees what is PROT_NONE. For
 * our own bytes, not for values of the program.
 */
size_t mem_peek(const struct trace_mem *mem, uint64_t vaddr, void *buf, size_t len);

/*
 * The same for who goes through memory upwards, a page at a time: of memory that is touched with care, the
 * pages that follow are read by the same request, and shown as they were then. @ahead: begins as 0;
 * anew after writes that are to be seen. Whoever writes to pages behind it alone may go on.
 */
size_t mem_peek_ahead(const struct trace_mem *mem, uint64_t *ahead, uint64_t vaddr, void *buf,
		      size_t len);

/* Has the last of its programs ended, or left it? Not where that can't be told. */
bool mem_is_gone(const struct trace_mem *mem);

/*
 * mem_peek() of many places, by a system call a page where they come in ascending
 * order. Zero-initialise, but for .mem. What was read may be read again: begin a new one
 * after a write.
 */
#define MEM_VIEW_MORE 64 /* at most so many bytes at a time */

struct mem_view {
	const struct trace_mem *mem;
	uint64_t ahead; /* of mem_peek_ahead() */
	uint64_t vaddr; /* of buf */
	size_t len;
	uint8_t buf[PAGE + MEM_VIEW_MORE];
};

size_t mem_view_peek(struct mem_view *view, uint64_t vaddr, void *buf, size_t len);

/*
 * Views will be asked for @vaddr, and for other places: said before the first of them is, what lies far
 * apart comes by one request, too.
 */
void mem_expect(const struct trace_mem *mem, uint64_t vaddr);

/*
 * Write, also to read-only text (the page becomes private). @tid: a thread that is stopped, if
 * one is known, for where words have to be poked; that begins at the end, so that what something
 * is found by, in front, comes last. Returns 0 or -errno,
 * -EIO for what does not answer.
 */
int mem_write(const struct trace_mem *mem, pid_t tid, uint64_t vaddr, const void *buf,
	      size_t len);

/*
 * Write where the program itself could. Returns 0 or -errno; -EFAULT: not all of that can be written, and what is in front of it was; -EIO: it may not
 * answer. By way of maps where the call for it would have to wait.
 */
int mem_write_as_program(const struct trace_mem *mem, pid_t tid, uint64_t vaddr,
			 const void *buf, size_t len);

/* For people: why reading or writing has failed with @rc, -errno. */
const char *mem_error(const struct trace_mem *mem, int rc);

/*
 * Writes of which nobody needs to know at once whether they have come. Memory that is touched with care (care.h)
 * gets many of them by one request, in their order; other memory gets each at once. Zero-initialise, but for
 * .mem and .tid, as of mem_write().
 */
#define MEM_WRITES      256
#define MEM_WRITES_ROOM 16384 /* bytes; what is longer does not wait */

struct mem_writes {
	const struct trace_mem *mem;
	pid_t tid;
	bool goes_on; /* behind one that fails, too: they have nothing to do with each other */
	int rc;       /* of the first that failed */
	uint64_t at;  /* where that was to be */
	size_t n, len;
	struct fetch_span v[MEM_WRITES];
	uint8_t bytes[MEM_WRITES_ROOM];
};

void mem_writes_add(struct mem_writes *writes, uint64_t vaddr, const void *buf, size_t len);
/* Write what waits. Returns .rc. */
int mem_writes_end(struct mem_writes *writes);

/*
 * Does a write there come whole, as far as threads that run there and whoever kills us can
 * tell? Within a page it does, poked within a word. To be asked after a write of code.
 */
bool mem_is_whole(const struct trace_mem *mem, uint64_t vaddr, size_t len);

/* Does this kernel have process_vm_readv()? It may have been built without. */
bool mem_has_call(void);

#endif
