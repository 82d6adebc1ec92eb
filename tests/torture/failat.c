/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Preloaded into uprobe by tests/torture/: counts its calls from the first thread it
 * seizes on, and has the k-th of a phase fail, as a system that is short of something or
 * a disk that is broken would have it; or all from the k-th on. UBP_FAILAT names a file with a
 * struct failat in it, shared with the test, which says when a phase begins.
 */

#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PUBLIC __attribute__((visibility("default")))

/* Kinds of calls: those of the chosen kinds are counted together. */
enum kind {
	MEMORY, /* malloc() and its kin */
	READ,   /* reads of files: /proc, what is probed */
	PEEK,   /* reads of a target's memory */
	POKE,   /* writes to a target's memory */
	WRITE,  /* writes of output, and of what wakes others */
	PTRACE, /* ptrace() but for peeks and pokes */
	WAIT,   /* waitid(), waitpid() */
	OTHER,  /* what makes or opens something */
	KINDS = 8,
};

struct failat {
	uint64_t phase;      /* that counts now */
	uint64_t fail_phase; /* to fail in */
	uint64_t fail_at;    /* this call of it, from 1; 0: never */
	uint64_t times;      /* so many from there on */
	uint64_t kinds;      /* bits: which kinds are to fail */
	uint64_t is_short;   /* reads and writes do half of it instead */
	uint64_t counts[PHASES][KINDS];
	uint64_t failed; /* so many did */
	char last[64];   /* the first that failed */
};

static struct failat *shared;
static pid_t self;
static int started;

extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t n, size_t len);
extern void *__libc_realloc(void *p, size_t len);

/* uprobe crashes: where, for the report. */
static void crashed(int sig)
{
	void *frames[16];

	backtrace_symbols_fd(frames, backtrace(frames, 16), 2);
	signal(sig, SIG_DFL);
	raise(sig);
}

__attribute__((constructor)) static void start(void)
{
	void *frame;

	self = getpid();
	(void)backtrace(&frame, 1); /* the first one loads a library */
	signal(SIGSEGV, crashed);
	shared = preload_page("UBP_FAILAT");
}

/* Is this the one that fails? */
static int fails(enum kind kind, const char *call)
{
	uint64_t phase, n = 0;

	if (!started || preload_inside || getpid() != self)
		return 0;
	phase = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST) % PHASES;
	__atomic_add_fetch(&shared->counts[phase][kind], 1, __ATOMIC_SEQ_CST);
	if (!shared->fail_at || !(shared->kinds >> kind & 1))
		return 0;
	if (phase < shared->fail_phase)
		return 0;
	/* What goes on failing does so in the phases behind, too. */
	if (phase > shared->fail_phase && shared->times == 1)
		return 0;
	for (int i = 0; i < KINDS; i++)
		if (shared->kinds >> i & 1)
			n += __atomic_load_n(&shared->counts[shared->fail_phase][i],
					     __ATOMIC_SEQ_CST);
	if (phase == shared->fail_phase && n < shared->fail_at)
		return 0;
	n = __atomic_add_fetch(&shared->failed, 1, __ATOMIC_SEQ_CST);
	if (n > shared->times)
		return 0;
	if (n == 1)
		strncpy(shared->last, call, sizeof(shared->last) - 1);
	return 1;
}

static int fails_with(enum kind kind, const char *call, int code)
{
	if (!fails(kind, call))
		return 0;
	errno = code;
	return 1;
}

/* --- memory ------------------------------------------------------------------------------- */

PUBLIC void *malloc(size_t len)
{
	return fails_with(MEMORY, "malloc", ENOMEM) ? NULL : __libc_malloc(len);
}

PUBLIC void *calloc(size_t n, size_t len)
{
	return fails_with(MEMORY, "calloc", ENOMEM) ? NULL : __libc_calloc(n, len);
}

PUBLIC void *realloc(void *p, size_t len)
{
	return fails_with(MEMORY, "realloc", ENOMEM) ? NULL : __libc_realloc(p, len);
}

PUBLIC void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t from)
{
	return fails_with(OTHER, "mmap", ENOMEM)
		       ? MAP_FAILED
		       : REAL(mmap)(at, len, prot, flags, fd, from);
}

PUBLIC void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t from)
{
	return fails_with(OTHER, "mmap", ENOMEM)
		       ? MAP_FAILED
		       : REAL(mmap64)(at, len, prot, flags, fd, from);
}

/* --- reads and writes ---------------------------------------------------------------------- */

/* So much of @len is done; -1: none. */
static ssize_t allowed(enum kind kind, const char *call, size_t len, int code)
{
	if (!fails(kind, call))
		return (ssize_t)len;
	errno = code;
	return shared->is_short && len > 1 ? (ssize_t)(len / 2) : -1;
}

PUBLIC ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t n = allowed(READ, "read", len, EIO);

	return n < 0 ? -1 : REAL(read)(fd, buf, (size_t)n);
}

PUBLIC ssize_t write(int fd, const void *buf, size_t len)
{
	ssize_t n = allowed(WRITE, "write", len, EIO);

	return n < 0 ? -1 : REAL(write)(fd, buf, (size_t)n);
}

PUBLIC ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = allowed(PEEK, "pread", len, EIO);

	return n < 0 ? -1 : REAL(pread)(fd, buf, (size_t)n, at);
}

PUBLIC ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	ssize_t n = allowed(PEEK, "pread", len, EIO);

	return n < 0 ? -1 : REAL(pread64)(fd, buf, (size_t)n, at);
}

PUBLIC ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	ssize_t n = allowed(POKE, "pwrite", len, EIO);

	return n < 0 ? -1 : REAL(pwrite)(fd, buf, (size_t)n, at);
}

PUBLIC ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	ssize_t n = allowed(POKE, "pwrite", len, EIO);

	return n < 0 ? -1 : REAL(pwrite64)(fd, buf, (size_t)n, at);
}

/* As the compiler calls them where it knows how large the buffer is. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t at, size_t size);

PUBLIC ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	(void)size;
	return read(fd, buf, len);
}

PUBLIC ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t size)
{
	(void)size;
	return pread(fd, buf, len, at);
}

PUBLIC ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t at, size_t size)
{
	(void)size;
	return pread64(fd, buf, len, at);
}

PUBLIC ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
				const struct iovec *from, unsigned long n_from,
				unsigned long flags)
{
	/* Short is one of several spans. */
	if (fails_with(PEEK, "process_vm_readv", EFAULT)) {
		if (!shared->is_short || n_from < 2)
			return -1;
		n_from /= 2;
	}
	return REAL(process_vm_readv)(pid, to, n_to, from, n_from, flags);
}

PUBLIC ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long n_from,
				 const struct iovec *to, unsigned long n_to,
				 unsigned long flags)
{
	if (fails_with(POKE, "process_vm_writev", EFAULT)) {
		if (!shared->is_short || n_to < 2)
			return -1;
		n_to /= 2;
	}
	return REAL(process_vm_writev)(pid, from, n_from, to, n_to, flags);
}

/* --- what is traced ------------------------------------------------------------------------ */

static enum kind ptrace_kind(int request)
{
	switch (request) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
		return PEEK;
	case PTRACE_POKETEXT:
	case PTRACE_POKEDATA:
		return POKE;
	}
	return PTRACE;
}

PUBLIC long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	long ret;

	if (request == PTRACE_SEIZE)
		started = 1;
	if (fails_with(ptrace_kind((int)request), preload_ptrace_name((int)request),
		       shared->is_short ? ESRCH : EIO))
		return -1;
	va_start(ap, request);
	ret = preload_ptrace(request, ap);
	va_end(ap);
	return ret;
}

static int wait_code(void)
{
	if (shared->times > 1)
		return EIO;
	return shared->is_short ? ECHILD : EINTR;
}

PUBLIC int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (fails_with(WAIT, "waitid", wait_code()))
		return -1;
	return REAL(waitid)(type, id, info, options);
}

PUBLIC pid_t waitpid(pid_t pid, int *status, int options)
{
	if (fails_with(WAIT, "waitpid", wait_code()))
		return -1;
	return REAL(waitpid)(pid, status, options);
}

/* --- what is made or opened ----------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define WORDS(...) __VA_ARGS__
#define OPENS(name, params, args)                                                      \
	PUBLIC int name(params, int flags, ...)                                        \
	{                                                                              \
		va_list ap;                                                            \
		mode_t mode;                                                           \
                                                                                       \
		va_start(ap, flags);                                                   \
		mode = mode_of(flags, ap);                                             \
		va_end(ap);                                                            \
		if (fails_with(OTHER, #name, EMFILE))                                  \
			return -1;                                                     \
		return REAL(name)(args, flags, mode);                                  \
	}

OPENS(open, WORDS(const char *path), WORDS(path))
OPENS(open64, WORDS(const char *path), WORDS(path))
OPENS(openat, WORDS(int folder, const char *path), WORDS(folder, path))
OPENS(openat64, WORDS(int folder, const char *path), WORDS(folder, path))

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

PUBLIC int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

PUBLIC int __open64_2(const char *path, int flags)
{
	return open64(path, flags);
}

PUBLIC DIR *opendir(const char *path)
{
	return fails_with(OTHER, "opendir", EMFILE) ? NULL : REAL(opendir)(path);
}

PUBLIC FILE *fopen(const char *path, const char *mode)
{
	return fails_with(OTHER, "fopen", EMFILE) ? NULL : REAL(fopen)(path, mode);
}

PUBLIC FILE *fopen64(const char *path, const char *mode)
{
	return fails_with(OTHER, "fopen", EMFILE) ? NULL : REAL(fopen64)(path, mode);
}

PUBLIC long syscall(long nr, ...)
{
	long args[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	if (fails_with(OTHER, "syscall", EPERM))
		return -1;
	return REAL(syscall)(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

PUBLIC int eventfd(unsigned int count, int flags)
{
	return fails_with(OTHER, "eventfd", EMFILE) ? -1 : REAL(eventfd)(count, flags);
}

PUBLIC int pipe2(int fds[2], int flags)
{
	return fails_with(OTHER, "pipe2", EMFILE) ? -1 : REAL(pipe2)(fds, flags);
}

PUBLIC int memfd_create(const char *name, unsigned int flags)
{
	return fails_with(OTHER, "memfd_create", EMFILE) ? -1 : REAL(memfd_create)(name, flags);
}

PUBLIC int ftruncate(int fd, off_t len)
{
	return fails_with(OTHER, "ftruncate", ENOSPC) ? -1 : REAL(ftruncate)(fd, len);
}

PUBLIC int ftruncate64(int fd, off64_t len)
{
	return fails_with(OTHER, "ftruncate", ENOSPC) ? -1 : REAL(ftruncate64)(fd, len);
}

PUBLIC pid_t fork(void)
{
	return fails_with(OTHER, "fork", EAGAIN) ? -1 : REAL(fork)();
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	return fails(OTHER, "pthread_create") ? EAGAIN
					      : REAL(pthread_create)(thread, attr, run, arg);
}
