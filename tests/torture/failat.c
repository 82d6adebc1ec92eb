/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Preloaded into uprobe by tests/torture/: counts its calls from the first thread it
 * seizes on, and has the k-th of a phase fail, as a system that is short of something or
 * a disk that is broken would have it; or all from the k-th on. UBP_FAILAT names a file with a
 * struct failat in it, shared with the test, which says when a phase begins.
 *
 * A chain is the way by which a call is come to: its kind and all return addresses on the stack. The test
 * may have chains noted, and the k-th call of one of them fail.
 */

#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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

#define FRAMES  32
#define CHAINS  4096
#define MODULES 64

struct chain {
	uint64_t key; /* a hash; 0: none */
	uint64_t kind;
	uint64_t counts[PHASES];
	uint64_t where[FRAMES]; /* in the program: from where it is called, innermost first */
};

struct failat {
	uint64_t phase;      /* that counts now */
	uint64_t fail_phase; /* to fail in */
	uint64_t fail_at;    /* this call of it, from 1; 0: never */
	uint64_t times;      /* so many from there on */
	uint64_t kinds;      /* bits: which kinds are to fail */
	uint64_t is_short;   /* reads and writes do half of it instead */
	uint64_t fail_chain; /* calls of this chain are counted, and fail; 0: of all chains */
	uint64_t notes;      /* 1: all chains are noted */
	uint64_t counts[PHASES][KINDS];
	uint64_t failed;        /* so many did */
	char last[64];          /* the first that failed */
	uint64_t where[FRAMES]; /* in the program: from where it was called, innermost first */
	uint64_t in_chain;      /* so many calls of .fail_chain in .fail_phase */
	/* Of all kinds but waits: how many while one thread stood that was asked to stop; the most. */
	uint64_t stood[PHASES];
	struct chain chains[CHAINS];
};

static struct failat *shared;
static pid_t self;
static int started;

/* What is loaded, the program first. */
static struct module {
	uint64_t start, end;
} modules[MODULES];
static size_t n_modules, own_module;

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

static int note_module(struct dl_phdr_info *info, size_t len, void *ctx)
{
	uint64_t end = 0;

	(void)len;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	if (n_modules < MODULES)
		modules[n_modules++] =
			(struct module){ info->dlpi_addr, info->dlpi_addr + end };
	return 0;
}

static size_t module_of(uint64_t at)
{
	size_t i = 0;

	while (i < n_modules && at - modules[i].start >= modules[i].end - modules[i].start)
		i++;
	return i;
}

__attribute__((constructor)) static void start(void)
{
	void *frame;

	self = getpid();
	(void)backtrace(&frame, 1); /* the first one loads a library */
	(void)dl_iterate_phdr(note_module, NULL);
	own_module = module_of((uint64_t)(uintptr_t)start);
	signal(SIGSEGV, crashed);
	shared = preload_page("UBP_FAILAT", sizeof(*shared));
}

/* Addresses in files but this one, the same in each run. Those of the program itself go to @ret_own, too. */
static uint64_t hash_chain(enum kind kind, uint64_t *ret_own)
{
	void *frames[FRAMES];
	uint64_t hash = kind + 1;
	size_t own = 0;
	int n;

	preload_inside++;
	n = backtrace(frames, FRAMES);
	preload_inside--;
	for (int i = 0; i < n; i++) {
		uint64_t at = (uint64_t)(uintptr_t)frames[i];
		size_t k = module_of(at);

		if (k == own_module)
			continue;
		at = k < n_modules ? at - modules[k].start : 0;
		hash = (hash ^ (at + k)) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
		if (k == 0 && ret_own)
			ret_own[own++] = at;
	}
	return hash ? hash : 1;
}

static void note_chain(enum kind kind, uint64_t phase)
{
	uint64_t where[FRAMES] = { 0 };
	uint64_t key = hash_chain(kind, where);

	for (uint64_t i = 0; i < CHAINS; i++) {
		struct chain *c = &shared->chains[(key + i) % CHAINS];
		uint64_t was = 0;

		if (!__atomic_compare_exchange_n(&c->key, &was, key, 0, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST) &&
		    was != key)
			continue;
		c->kind = kind;
		memcpy(c->where, where, sizeof(where));
		__atomic_add_fetch(&c->counts[phase], 1, __ATOMIC_SEQ_CST);
		return;
	}
	abort(); /* more than there is room for */
}

/* How many calls there were in the phase to fail in, of those that are counted, this one among them. */
static uint64_t count(enum kind kind)
{
	uint64_t n = 0;

	if (shared->fail_chain) {
		if (hash_chain(kind, NULL) != shared->fail_chain)
			return 0;
		return __atomic_add_fetch(&shared->in_chain, 1, __ATOMIC_SEQ_CST);
	}
	for (int i = 0; i < KINDS; i++)
		if (shared->kinds >> i & 1)
			n += __atomic_load_n(&shared->counts[shared->fail_phase][i],
					     __ATOMIC_SEQ_CST);
	return n;
}

/* Is this the one that fails? */
static int fails(enum kind kind, const char *call)
{
	uint64_t phase, n;

	if (!started || preload_inside || getpid() != self)
		return 0;
	phase = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST) % PHASES;
	__atomic_add_fetch(&shared->counts[phase][kind], 1, __ATOMIC_SEQ_CST);
	if (shared->notes)
		note_chain(kind, phase);
	if (!shared->fail_at || !(shared->kinds >> kind & 1))
		return 0;
	if (phase < shared->fail_phase)
		return 0;
	/* What goes on failing does so in the phases behind, too. */
	if (phase > shared->fail_phase && shared->times == 1)
		return 0;
	if (!__atomic_load_n(&shared->failed, __ATOMIC_SEQ_CST) &&
	    phase == shared->fail_phase && count(kind) < shared->fail_at)
		return 0;
	n = __atomic_add_fetch(&shared->failed, 1, __ATOMIC_SEQ_CST);
	if (n > shared->times)
		return 0;
	if (n == 1) {
		(void)hash_chain(kind, shared->where);
		strncpy(shared->last, call, sizeof(shared->last) - 1);
	}
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
	return fails_with(OTHER, "mmap", ENOMEM) ? MAP_FAILED
						 : REAL(mmap)(at, len, prot, flags, fd, from);
}

PUBLIC void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t from)
{
	return fails_with(OTHER, "mmap", ENOMEM) ? MAP_FAILED
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

/* Who was asked to stop, and how many calls there were by then. The tracing thread's alone. */
static struct {
	pid_t tid;
	uint64_t since;
} standing[64];

static uint64_t count_calls(void)
{
	uint64_t n = 0;

	for (int phase = 0; phase < PHASES; phase++)
		for (int kind = 0; kind < KINDS; kind++)
			n += kind == WAIT ? 0 : shared->counts[phase][kind];
	return n;
}

static void note_standing(int request, pid_t tid)
{
	uint64_t *most = &shared->stood[shared->phase % PHASES];
	bool stops = request == PTRACE_INTERRUPT;
	int free_at = -1, at = -1;

	if (!stops && request != PTRACE_CONT && request != PTRACE_DETACH &&
	    request != PTRACE_LISTEN)
		return;
	for (int i = 0; i < (int)(sizeof(standing) / sizeof(standing[0])); i++) {
		at = standing[i].tid == tid ? i : at;
		free_at = standing[i].tid == 0 ? i : free_at;
	}
	if (stops && at < 0 && free_at >= 0) {
		standing[free_at].tid = tid;
		standing[free_at].since = count_calls();
	} else if (!stops && at >= 0) {
		uint64_t n = count_calls() - standing[at].since;

		*most = n > *most ? n : *most;
		standing[at].tid = 0;
	}
}

PUBLIC long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	pid_t tid;
	long ret;

	if (request == PTRACE_SEIZE)
		started = 1;
	if (fails_with(ptrace_kind((int)request), preload_ptrace_name((int)request),
		       shared->is_short ? ESRCH : EIO))
		return -1;
	va_start(ap, request);
	tid = va_arg(ap, pid_t);
	va_end(ap);
	va_start(ap, request);
	ret = preload_ptrace(request, ap);
	va_end(ap);
	if (ret == 0)
		note_standing((int)request, tid);
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
#define OPENS(name, params, args)                                                              \
	PUBLIC int name(params, int flags, ...)                                                \
	{                                                                                      \
		va_list ap;                                                                    \
		mode_t mode;                                                                   \
                                                                                               \
		va_start(ap, flags);                                                           \
		mode = mode_of(flags, ap);                                                     \
		va_end(ap);                                                                    \
		if (fails_with(OTHER, #name, EMFILE))                                          \
			return -1;                                                             \
		return REAL(name)(args, flags, mode);                                          \
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
