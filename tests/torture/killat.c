/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Preloaded into uprobe by tests/torture/: counts its calls that look at or change a
 * target, and kills it (SIGKILL, by itself, as kill -9 would) before the k-th of a
 * phase. UBP_KILLAT names a file with a struct killat in it, shared with the test,
 * which says when a phase begins.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PHASES = 4 };

struct killat {
	uint64_t phase;      /* that counts now */
	uint64_t kill_phase; /* to be killed in */
	uint64_t kill_at;    /* before this call of it, from 1; 0: never */
	uint64_t counts[PHASES];
	char last[32];   /* the call it was killed before */
	uint64_t freeze; /* stopped (SIGSTOP) just before: not one step further; 0: nobody */
};

static struct killat *shared;
static pid_t self;

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("UBP_KILLAT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	self = getpid();
	if (fd < 0)
		abort();
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		abort();
	close(fd);
	/* A command that uprobe runs is no uprobe. */
	unsetenv("LD_PRELOAD");
	unsetenv("UBP_KILLAT");
}

static void count(const char *call)
{
	uint64_t phase, n;

	if (!shared || getpid() != self)
		return;
	phase = __atomic_load_n(&shared->phase, __ATOMIC_SEQ_CST) % PHASES;
	n = __atomic_add_fetch(&shared->counts[phase], 1, __ATOMIC_SEQ_CST);
	if (!shared->kill_at || phase != shared->kill_phase || n != shared->kill_at)
		return;
	strncpy(shared->last, call, sizeof(shared->last) - 1);
	if (shared->freeze)
		kill((pid_t)shared->freeze, SIGSTOP);
	kill(self, SIGKILL);
	for (;;)
		pause();
}

#define REAL(name) ((typeof(name) *)dlsym(RTLD_NEXT, #name))

static const char *ptrace_name(int request)
{
	switch (request) {
	case PTRACE_SEIZE:
		return "PTRACE_SEIZE";
	case PTRACE_INTERRUPT:
		return "PTRACE_INTERRUPT";
	case PTRACE_CONT:
		return "PTRACE_CONT";
	case PTRACE_SYSCALL:
		return "PTRACE_SYSCALL";
	case PTRACE_SINGLESTEP:
		return "PTRACE_SINGLESTEP";
	case PTRACE_DETACH:
		return "PTRACE_DETACH";
	case PTRACE_LISTEN:
		return "PTRACE_LISTEN";
#ifdef PT_GETREGS /* newer machines have but the others */
	case PTRACE_GETREGS:
#endif
	case PTRACE_GETREGSET:
		return "PTRACE_GETREGS";
#ifdef PT_SETREGS
	case PTRACE_SETREGS:
#endif
	case PTRACE_SETREGSET:
		return "PTRACE_SETREGS";
	case PTRACE_PEEKUSER:
		return "PTRACE_PEEKUSER";
	case PTRACE_POKEUSER:
		return "PTRACE_POKEUSER";
	case PTRACE_SETSIGMASK:
		return "PTRACE_SETSIGMASK";
	}
	return "ptrace";
}

long ptrace(enum __ptrace_request request, ...)
{
	pid_t pid;
	void *addr, *data;
	va_list ap;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	count(ptrace_name((int)request));
	return REAL(ptrace)(request, pid, addr, data);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	count("pwrite");
	return REAL(pwrite)(fd, buf, len, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	count("pwrite");
	return REAL(pwrite64)(fd, buf, len, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	count("pwritev");
	return REAL(pwritev)(fd, iov, n, at);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
			 const struct iovec *from, unsigned long n_from, unsigned long flags)
{
	count("process_vm_readv");
	return REAL(process_vm_readv)(pid, to, n_to, from, n_from, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long n_from,
			  const struct iovec *to, unsigned long n_to, unsigned long flags)
{
	count("process_vm_writev");
	return REAL(process_vm_writev)(pid, from, n_from, to, n_to, flags);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	count("waitid");
	return REAL(waitid)(type, id, info, options);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	count("waitpid");
	return REAL(waitpid)(pid, status, options);
}
