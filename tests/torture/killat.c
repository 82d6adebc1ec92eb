/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Preloaded into uprobe by tests/torture/: counts its calls that look at or change a
 * target, and kills it (SIGKILL, by itself, as kill -9 would) before the k-th of a
 * phase. UBP_KILLAT names a file with a struct killat in it, shared with the test,
 * which says when a phase begins.
 */

#include "preload.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>

struct killat {
	uint64_t phase;      /* that counts now */
	uint64_t kill_phase; /* to be killed in */
	uint64_t kill_at;    /* before this call of it, from 1; 0: never */
	uint64_t counts[PHASES];
	char last[32];   /* the call it was killed before */
	uint64_t freeze; /* stopped (SIGSTOP) just before: not one step further; 0: nobody */
	char only[32];   /* the calls that count; empty: all */
	uint64_t changes; /* only calls that change something count: others leave the target as it was */
};

static struct killat *shared;
static pid_t self;

__attribute__((constructor)) static void start(void)
{
	self = getpid();
	shared = preload_page("UBP_KILLAT", sizeof(*shared));
}

static void count(const char *call, bool changes)
{
	uint64_t phase, n;

	if (!shared || getpid() != self || (shared->only[0] && strcmp(shared->only, call) != 0))
		return;
	if (shared->changes && !changes)
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

static bool request_changes(int request)
{
	switch (request) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
#ifdef PT_GETREGS
	case PTRACE_GETREGS:
#endif
	case PTRACE_GETREGSET:
	case PTRACE_GETSIGINFO:
	case PTRACE_GETSIGMASK:
	case PTRACE_GETEVENTMSG:
	case PTRACE_PEEKSIGINFO:
	case PTRACE_GET_SYSCALL_INFO:
		return false;
	}
	return true;
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	long ret;

	count(preload_ptrace_name((int)request), request_changes((int)request));
	va_start(ap, request);
	ret = preload_ptrace(request, ap);
	va_end(ap);
	return ret;
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	count("pwrite", true);
	return REAL(pwrite)(fd, buf, len, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	count("pwrite", true);
	return REAL(pwrite64)(fd, buf, len, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	count("pwritev", true);
	return REAL(pwritev)(fd, iov, n, at);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
			 const struct iovec *from, unsigned long n_from, unsigned long flags)
{
	count("process_vm_readv", false);
	return REAL(process_vm_readv)(pid, to, n_to, from, n_from, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long n_from,
			  const struct iovec *to, unsigned long n_to, unsigned long flags)
{
	count("process_vm_writev", true);
	return REAL(process_vm_writev)(pid, from, n_from, to, n_to, flags);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	count("waitid", !(options & WNOWAIT));
	return REAL(waitid)(type, id, info, options);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	count("waitpid", true);
	return REAL(waitpid)(pid, status, options);
}
