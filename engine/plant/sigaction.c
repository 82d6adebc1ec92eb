/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where programs change their signal actions: the C library's one system call, and
 * those of programs that call the kernel by themselves, as Go's do. A jump to the
 * guard is put there, so that the program's handler for SIGTRAP goes into the
 * guard's chain and does not replace it. A jump to the guard stands also where they change
 * their signal masks: SIGTRAP stays unblocked. A jump and no breakpoint: children of
 * posix_spawn() come by with SIGTRAP blocked.
 *
 * In the same pass through a file: where it calls ptrace(), where it allows another
 * process to trace it, and where it executes a program (tracing.c).
 */

#include "engine/plant/sigaction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/cancel.h"
#include "engine/base/err.h"
#include "engine/base/file_cost.h"
#include "engine/base/find_bytes.h"
#include "engine/base/vec.h"
#include "engine/code/boundary.h"
#include "engine/code/hook_call.h"
#include "engine/elf/object.h"
#include "engine/os/maps.h"
#include "engine/os/untrusted_file.h"
#include "engine/plant/tracing.h"
#include "engine/space/state.h"

#define CHUNK 0x40000

/* What is known of one file. */
struct call_file {
	const struct ubp_arch *arch; /* of the process that asked */
	uint64_t dev, ino;
	struct call {
		uint64_t foffset;
		unsigned watches;
	} * calls;
	size_t n;
	unsigned n_unread; /* so often it could not be read; 0 also when it was */
	bool is_costly;    /* file_cost_end() */
	unsigned
		kinds; /* of calls of the kernel: bits 1 << enum ubp_call_kind; but for UBP_CALL_OTHER */
	struct call_file *next;
};

/* A file that could not be read is asked again so often: memory may have been short, or descriptors. */
#define UNREAD_MAX 3

/* What a file that wears us out could make us remember. */
#define CALLS_MAX 4096

static int open_mapped(pid_t pid, const struct mapping *m)
{
	char path[4352];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
		 (unsigned long)m->start, (unsigned long)m->end);
	fd = file_open(path, &st);
	if (fd < 0) {
		/* Without privilege map_files is out of reach. */
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, m->path);
		fd = file_open(path, &st);
	}
	if (fd >= 0 && st.st_ino != m->ino) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The file behind a descriptor as an object; NULL: it is none. */
static struct object *object_of(int fd)
{
	struct object *object;
	struct ubp_err ignored;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return object_open(path, &object, &ignored) == 0 ? object : NULL;
}

static int add_call(struct call_file *f, uint64_t foffset, unsigned watches)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->calls[i].foffset == foffset)
			return 0;
	if (VEC_FIT(f->calls, f->n + 1) < 0)
		return -ENOMEM;
	f->calls[f->n++] = (struct call){ foffset, watches };
	return 0;
}

/*
 * Does an instruction start there? Where neither the file nor the address tells, a byte in
 * front of it that could be a prefix (REX) decides against it.
 */
static bool is_boundary(const struct ubp_arch *arch, struct object *object, uint64_t foffset,
			uint8_t before)
{
	uint64_t start;
	int rc;

	if (arch->insn.align > 1 && foffset % arch->insn.align)
		return false;
	rc = object ? object_check_boundary(object, foffset, &start) : BOUNDARY_UNKNOWN;
	return rc == BOUNDARY_OK ||
	       (rc != BOUNDARY_INSIDE && (arch->insn.align > 1 || (before & 0xf0) != 0x40));
}

/* Look for @call in @len bytes of the file, which begin at @from. */
static int search_chunk(struct call_file *f, const struct ubp_arch *arch, const uint8_t *call,
			const uint8_t *buf, size_t len, uint64_t from, struct object *object)
{
	const uint8_t *at = buf;
	size_t more;
	int rc = 0;

	while (rc == 0 && f->n < CALLS_MAX && !cancel_is_asked() &&
	       (at = hook_call_find(arch, call, at + 1, buf + len, &more))) {
		uint64_t foffset = from + (uint64_t)(at - buf);

		if (is_boundary(arch, object, foffset, at[-1]))
			rc = add_call(f, foffset + more, WATCH_SIGACTION);
	}
	return rc;
}

/* Is the number at @at that of vfork(), behind one instruction? @from: what may be read begins there, @foffset of the file. */
static bool is_in_vfork(const struct ubp_arch *arch, struct object *object, const uint8_t *from,
			const uint8_t *at, uint64_t foffset)
{
	const struct ubp_known_insn *begin = &arch->call.vfork_begin;

	return begin->len && at - from >= 2 && memcmp(at - 1, begin->bytes, begin->len) == 0 &&
	       is_boundary(arch, object, foffset - 1, at[-2]);
}

/* In front of an exec and of a fork, who comes to its number asks for the tracer; in vfork() one instruction earlier, where it begins. */
static int add_bell(struct call_file *f, const struct ubp_arch *arch, enum site_watch watch,
		    uint64_t foffset, size_t more, bool is_vfork)
{
	if (!arch->detour.asks || more < UBP_HOP_LEN)
		return 0;
	if (is_vfork)
		return add_call(f, foffset - 1, WATCH_ASKS | WATCH_FORKS | WATCH_PAIR);
	return add_call(f, foffset,
			watch == WATCH_FORKS ? WATCH_ASKS | WATCH_FORKS : WATCH_ASKS);
}

static int add_found(struct call_file *f, const struct ubp_arch *arch, enum site_watch watch,
		     uint64_t foffset, size_t more, bool is_vfork)
{
	int rc = watch == WATCH_FORKS ? 0 : add_call(f, foffset + more, watch);

	if (rc == 0 && watch & (WATCH_EXEC | WATCH_FORKS))
		rc = add_bell(f, arch, watch, foffset, more, is_vfork);
	return rc;
}

/* The same for one of WATCH_CALLS. */
static int search_tracing(struct call_file *f, const struct ubp_arch *arch,
			  enum site_watch watch, const uint8_t *buf, size_t len, uint64_t from,
			  struct object *object)
{
	const uint8_t *at = buf;
	size_t more;
	int rc = 0;

	while (rc == 0 && f->n < CALLS_MAX && !cancel_is_asked() &&
	       (at = tracing_find(arch, watch, at + 1, buf + len, &more))) {
		uint64_t foffset = from + (uint64_t)(at - buf);

		if (is_boundary(arch, object, foffset, at[-1]))
			rc = add_found(f, arch, watch, foffset, more,
				       watch == WATCH_FORKS &&
					       is_in_vfork(arch, object, buf, at, foffset));
	}
	return rc;
}

/* More is not looked at in front of a call to tell what kind it is. */
#define KIND_BEFORE 64

/* Calls that may set a filter for calls of the kernel: those that can be told have a bell in front. */
static int search_kinds(struct call_file *f, const struct ubp_arch *arch, const uint8_t *buf,
			size_t len, uint64_t from, bool is_first, struct object *object)
{
	const struct ubp_known_insn *call = &arch->call.kernel_calls[0];
	const uint8_t *at = buf + (is_first ? 1 : KIND_BEFORE) - 1;
	int rc = 0;

	while (rc == 0 && f->n < CALLS_MAX && !cancel_is_asked() &&
	       (at = find_bytes(at + 1, buf + len, call->bytes, call->len))) {
		uint64_t foffset = from + (uint64_t)(at - buf);
		size_t back;
		enum ubp_call_kind kind = arch->call.kind(at, (size_t)(at - buf), &back);

		if (kind == UBP_CALL_OTHER || !is_boundary(arch, object, foffset, at[-1]))
			continue;
		f->kinds |= 1u << kind;
		if (kind != UBP_CALL_UNKNOWN)
			rc = add_call(f, foffset - back,
				      WATCH_ASKS | WATCH_FILTERS |
					      (kind == UBP_CALL_ANY ? WATCH_PAIR : 0));
	}
	return rc;
}

/* Is it one that somebody wants to know of? */
static bool is_wanted(const struct plant *plant, unsigned watch)
{
	return watch == WATCH_EXEC ? plant->counts_open
				   : !(watch & WATCH_ASKS) || !plant->opt.stay;
}

/*
 * Look through one executable mapping. *ret_is_read: the file is an object, so what was found is all that
 * there is.
 */
static int search(struct call_file *f, const struct ubp_arch *arch, int fd, uint64_t from,
		  uint64_t to, bool has_kinds, bool *ret_is_read)
{
	static const enum site_watch calls[] = { WATCH_PTRACE, WATCH_PTRACER, WATCH_EXEC,
						 WATCH_FORKS };
	struct object *object = object_of(fd);
	/* So much of one chunk is in the next, too. */
	size_t n = UBP_SIGACTION_LOOK;
	uint8_t *buf = malloc(CHUNK + n);
	int rc = buf ? 0 : -ENOMEM;
	bool is_first = true;

	while (rc == 0 && from + n < to && !cancel_is_asked()) {
		size_t want = to - from < CHUNK + n ? to - from : CHUNK + n;
		ssize_t got = pread(fd, buf, want, (off_t)from);

		if (got < (ssize_t)n + 1)
			break;
		for (unsigned i = 0; i < arch->hook.n_calls && rc == 0; i++)
			rc = search_chunk(f, arch, arch->hook.calls[i], buf, (size_t)got, from,
					  object);
		for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]) && rc == 0; i++)
			rc = search_tracing(f, arch, calls[i], buf, (size_t)got, from, object);
		if (has_kinds && rc == 0)
			rc = search_kinds(f, arch, buf, (size_t)got, from, is_first, object);
		is_first = false;
		from += (uint64_t)got - n;
	}
	*ret_is_read = object;
	object_free(object);
	free(buf);
	return rc;
}

/* NULL: there is no memory for it. */
static struct call_file *find_file(struct plant *plant, const struct ubp_arch *arch,
				   const struct mapping *m)
{
	struct call_file *f = plant->call_files;

	while (f && (f->ino != m->ino || f->dev != m->dev || f->arch != arch))
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->arch = arch;
	f->dev = m->dev;
	f->ino = m->ino;
	f->n_unread = 1; /* nobody has tried */
	f->next = plant->call_files;
	plant->call_files = f;
	return f;
}

static int ask_file(struct plant *plant, const struct ubp_arch *arch, struct file_cost *cost,
		    pid_t pid, const struct mapping *m, struct call_file **ret_file)
{
	struct call_file *f = find_file(plant, arch, m);
	bool is_read = false;
	int fd, rc = 0;

	*ret_file = f;
	if (!f)
		return -ENOMEM;
	if (!f->n_unread || f->n_unread > UNREAD_MAX)
		return 0;
	if (!file_cost_begin(cost, f->is_costly))
		return -ETIME;
	/* Not to be had now: the process may be in the middle of an exec. */
	fd = open_mapped(pid, m);
	if (fd >= 0) {
		/* What was found before is found again. */
		f->n = 0;
		f->kinds = 0;
		rc = search(f, arch, fd, m->foffset, m->foffset + (m->end - m->start),
			    !plant->opt.stay && arch->call.kind, &is_read);
		close(fd);
	}
	if (!file_cost_end(cost, &f->is_costly))
		rc = -ETIME;
	if (cancel_is_asked()) {
		plant_note_unread(plant, m->path);
		rc = -EINTR;
	}
	if (rc == -ETIME || rc == -EINTR)
		f->n = 0;
	else if (rc == 0 && fd >= 0)
		f->n_unread = is_read ? 0 : f->n_unread + 1;
	return rc;
}

int sigaction_each(struct plant *plant, const struct ubp_arch *arch, struct file_cost *cost,
		   pid_t pid, const struct maps *maps,
		   int (*each)(void *ctx, const struct mapping *m, uint64_t vaddr,
			       unsigned watches),
		   void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < maps->n && rc == 0 && arch->guard.code; i++) {
		const struct mapping *m = &maps->v[i];
		struct call_file *f;

		if (!m->exec || !m->ino || !m->read)
			continue;
		if (cancel_is_asked())
			return -EINTR;
		rc = ask_file(plant, arch, cost, pid, m, &f);
		for (size_t k = 0; rc == 0 && f && k < f->n; k++)
			if (f->calls[k].foffset >= m->foffset &&
			    f->calls[k].foffset - m->foffset < m->end - m->start &&
			    is_wanted(plant, f->calls[k].watches))
				rc = each(ctx, m, m->start + (f->calls[k].foffset - m->foffset),
					  f->calls[k].watches);
	}
	return rc;
}

/* It has a function for any call, and bells in front of those that count. */
static bool is_c_library(const struct call_file *f)
{
	const unsigned both = 1u << UBP_CALL_PRCTL | 1u << UBP_CALL_ANY;

	return (f->kinds & both) == both;
}

static const char *why_unseen(const struct call_file *f, const struct mapping *m,
			      bool is_trusted, bool (*stands)(void *ctx, uint64_t vaddr),
			      void *ctx)
{
	if (f->n_unread || f->n == CALLS_MAX)
		return "a probe follows pointers, and some of its code could not be read";
	if (f->kinds & 1u << UBP_CALL_UNKNOWN && !is_trusted)
		return "a probe follows pointers, and code of it may call the kernel in any "
		       "way";
	for (size_t k = 0; k < f->n; k++)
		if (f->calls[k].watches & WATCH_FILTERS && f->calls[k].foffset >= m->foffset &&
		    f->calls[k].foffset - m->foffset < m->end - m->start &&
		    !stands(ctx, m->start + (f->calls[k].foffset - m->foffset)))
			return "a probe follows pointers, and a call that may filter others "
			       "has no jump";
	return NULL;
}

const char *sigaction_why_filters(struct plant *plant, const struct ubp_arch *arch,
				  struct file_cost *cost, pid_t pid, const struct maps *maps,
				  const struct mapping *loader,
				  bool (*stands)(void *ctx, uint64_t vaddr), void *ctx)
{
	const char *why = NULL;

	for (size_t i = 0; i < maps->n && !why; i++) {
		const struct mapping *m = &maps->v[i];
		bool is_loader = loader && loader->ino == m->ino && loader->dev == m->dev;
		bool is_program = m->ino == maps->v[0].ino && m->dev == maps->v[0].dev;
		struct call_file *f;

		if (!m->exec || !m->ino || strncmp(m->path, "/memfd:ubp", 10) == 0)
			continue;
		if (!m->read || ask_file(plant, arch, cost, pid, m, &f) < 0)
			return "a probe follows pointers, and some of its code cannot be read";
		why = why_unseen(f, m, is_loader || (!is_program && is_c_library(f)), stands,
				 ctx);
	}
	return why;
}

void sigaction_free(struct plant *plant)
{
	while (plant->call_files) {
		struct call_file *next = plant->call_files->next;

		free(plant->call_files->calls);
		free(plant->call_files);
		plant->call_files = next;
	}
}
