/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the hosts x86-64 and i386 do alike with a stopped thread. Built on these alone. */

#include "arch/host.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "engine/base/again.h"

#ifdef __x86_64__
#define PC_OFFSET     offsetof(struct user, regs.rip)
#define RESULT_OFFSET offsetof(struct user, regs.rax)
#define NR_OFFSET     offsetof(struct user, regs.orig_rax)
#else
#define PC_OFFSET     offsetof(struct user, regs.eip)
#define RESULT_OFFSET offsetof(struct user, regs.eax)
#define NR_OFFSET     offsetof(struct user, regs.orig_eax)
#endif

/* The kernel's own result: make the call again, or EINTR if a handler runs. */
#define ERESTARTNOHAND 514

bool ubp_host_takes_tags(pid_t tid)
{
	(void)tid;
	return false;
}

int ubp_host_set_call(pid_t tid, const struct ubp_regs *regs)
{
	return ubp_host_set_regs(tid, regs);
}

int ubp_host_get_more(pid_t tid, struct ubp_more *ret_more, struct ubp_err *err)
{
	(void)tid;
	(void)err;
	ret_more->is_known = false; /* the frame needs none, and the kernel keeps all */
	return 0;
}

void ubp_host_put_more(pid_t tid, const struct ubp_more *more)
{
	(void)tid;
	(void)more;
}

int ubp_host_get_pc(pid_t tid, uint64_t *ret_vaddr)
{
	long word;

	errno = 0;
	word = again_ptrace(PTRACE_PEEKUSER, tid, PC_OFFSET, 0);
	if (word == -1 && errno != 0)
		return -errno;
	*ret_vaddr = (unsigned long)word;
	return 0;
}

int ubp_host_set_pc(pid_t tid, uint64_t vaddr)
{
	return again_ptrace(PTRACE_POKEUSER, tid, PC_OFFSET, (unsigned long)vaddr) < 0 ? -errno
										       : 0;
}

int ubp_host_move(pid_t tid, const struct ubp_regs *regs, uint64_t vaddr)
{
	(void)regs;
	return ubp_host_set_pc(tid, vaddr);
}

/* --- system calls that a stop breaks off ---------------------------------------------- */

/* Is it in a system call that is about to return EINTR? Which one? */
static bool returns_eintr(pid_t tid, long *ret_nr)
{
	if (again_ptrace(PTRACE_PEEKUSER, tid, RESULT_OFFSET, 0) != -EINTR)
		return false;
	*ret_nr = again_ptrace(PTRACE_PEEKUSER, tid, NR_OFFSET, 0);
	return *ret_nr >= 0;
}

void ubp_host_note_call(pid_t tid, struct ubp_call *call)
{
	(void)tid;
	(void)call;
}

/* The kernel tells all that is asked for here: no memory is read. */
bool ubp_host_is_broken_off(pid_t tid, const struct ubp_call *call,
			    const struct ubp_memory *memory)
{
	(void)tid;
	(void)call;
	(void)memory;
	return false;
}

void ubp_host_redo_eintr(const struct ubp_arch *arch, pid_t tid, struct ubp_call *call,
			 const struct ubp_memory *memory)
{
	long nr;

	(void)call;
	(void)memory;
	/* close() has closed, whatever it returns. */
	if (returns_eintr(tid, &nr) && nr != arch->call.nr_close)
		(void)again_ptrace(PTRACE_POKEUSER, tid, RESULT_OFFSET, (long)-ERESTARTNOHAND);
}

void ubp_host_keep_eintr(pid_t tid, struct ubp_call *call, const struct ubp_memory *memory)
{
	long nr;

	(void)call;
	(void)memory;
	if (returns_eintr(tid, &nr))
		(void)again_ptrace(PTRACE_POKEUSER, tid, NR_OFFSET, -1L);
}
