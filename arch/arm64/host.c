/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * arm64's half that needs an arm64 kernel: registers by ptrace(2), the clock, what this
 * processor can do.
 */

#include "arch/host.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/arm64/stub.h"
#include "engine/base/again.h"
#include "engine/base/err.h"

/* Not in every C library's header. */
#ifndef NT_ARM_SSVE
#define NT_ARM_SSVE 0x40b
#endif
#ifndef NT_ARM_GCS
#define NT_ARM_GCS 0x410
#endif
#ifndef NT_ARM_TAGGED_ADDR_CTRL
#define NT_ARM_TAGGED_ADDR_CTRL 0x409
#endif
#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#endif

/* x0-x30, sp, pc, pstate: what NT_PRSTATUS has, and struct ubp_regs begins with. */
#define GENERAL_LEN sizeof(struct user_pt_regs)

_Static_assert(offsetof(struct user_pt_regs, pc) == ARM64_PC * sizeof(uint64_t), "regs.h");

_Static_assert(GENERAL_LEN <= sizeof(struct ubp_regs), "registers fit");

const struct ubp_arch *ubp_host_arch(void)
{
	return ubp_arch_find(EM_AARCH64, ELFCLASS64);
}

bool ubp_host_traces(const struct ubp_arch *arch)
{
	return arch->e_machine == EM_AARCH64;
}

static int get_set(int request, pid_t tid, int set, void *buf, size_t len)
{
	/* cppcheck-suppress ctuuninitvar ; the kernel writes it */
	struct iovec iov = { buf, len };

	return again_ptrace(request, tid, set, &iov) < 0 ? -errno : 0;
}

/* Is the kernel's clock made of the counter that programs can read? */
bool ubp_host_can_jump(const char **ret_why)
{
	char name[40] = "";
	FILE *f =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	*ret_why = "this machine's clock is not made of the generic timer's counter";
	if (!f)
		return false;
	if (fgets(name, sizeof(name), f) && strcmp(name, "arch_sys_counter\n") == 0)
		*ret_why = NULL;
	(void)fclose(f);
	return !*ret_why;
}

unsigned ubp_host_code_has(void)
{
	return 0;
}

int ubp_host_get_regs(pid_t tid, struct ubp_regs *ret_regs)
{
	return get_set(PTRACE_GETREGSET, tid, NT_PRSTATUS, ret_regs->r, GENERAL_LEN);
}

int ubp_host_get_vectors(pid_t tid, struct ubp_vectors *ret_vectors)
{
	const size_t max = sizeof(ret_vectors->v) / sizeof(ret_vectors->v[0]);
	struct user_fpsimd_state fp;
	int rc = get_set(PTRACE_GETREGSET, tid, NT_PRFPREG, &fp, sizeof(fp));

	for (size_t i = 0; rc == 0 && i < max && i < sizeof(fp.vregs) / sizeof(fp.vregs[0]);
	     i++)
		ret_vectors->v[i] = (uint64_t)fp.vregs[i];
	return rc;
}

int ubp_host_get_thread_pointer(const struct ubp_arch *arch, pid_t tid,
				const struct ubp_regs *regs, uint64_t *ret_tp)
{
	(void)arch;
	(void)regs;
	return get_set(PTRACE_GETREGSET, tid, NT_ARM_TLS, ret_tp, sizeof(*ret_tp));
}

bool ubp_host_takes_tags(pid_t tid)
{
	uint64_t control = 0;

	/* PR_TAGGED_ADDR_ENABLE */
	return get_set(PTRACE_GETREGSET, tid, NT_ARM_TAGGED_ADDR_CTRL, &control,
		       sizeof(control)) == 0 &&
	       (control & 1);
}

static int set_general(pid_t tid, const struct ubp_regs *regs)
{
	struct user_pt_regs general;

	memcpy(&general, regs->r, sizeof(general));
	return get_set(PTRACE_SETREGSET, tid, NT_PRSTATUS, &general, sizeof(general));
}

static int set_call(pid_t tid, int nr)
{
	return get_set(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &nr, sizeof(nr));
}

/*
 * The number last: in front of a system call the thread would leave it out, with registers that
 * are not those it should have then.
 */
int ubp_host_set_regs(pid_t tid, const struct ubp_regs *regs)
{
	int rc = set_general(tid, regs);

	return rc == 0 ? set_call(tid, -1) : rc;
}

int ubp_host_set_call(pid_t tid, const struct ubp_regs *regs)
{
	int rc = set_general(tid, regs);

	return rc == 0 ? set_call(tid, (int)regs->r[ARM64_X8]) : rc;
}

int ubp_host_get_pc(pid_t tid, uint64_t *ret_vaddr)
{
	struct ubp_regs regs;
	int rc = ubp_host_get_regs(tid, &regs);

	if (rc == 0)
		*ret_vaddr = regs.r[ARM64_PC];
	return rc;
}

/* Only the whole set can be written, or its beginning. */
int ubp_host_set_pc(pid_t tid, uint64_t vaddr)
{
	struct ubp_regs regs;
	int rc = ubp_host_get_regs(tid, &regs);

	return rc == 0 ? ubp_host_move(tid, &regs, vaddr) : rc;
}

int ubp_host_move(pid_t tid, const struct ubp_regs *regs, uint64_t vaddr)
{
	struct ubp_regs moved = *regs;

	moved.r[ARM64_PC] = vaddr;
	return set_general(tid, &moved);
}

/* --- what a frame of the stub keeps, and a system call does not --------------------- */

/* Its SVE state, if it has more than the vector registers; *len is 0 if not. */
static int get_sve(pid_t tid, uint8_t *buf, size_t max, size_t *len, struct ubp_err *err)
{
	struct iovec iov = { buf, max };
	struct user_sve_header head;

	*len = 0;
	if (again_ptrace(PTRACE_GETREGSET, tid, NT_ARM_SVE, &iov) < 0)
		return errno == ESRCH ? ubp_fail(err, ESRCH, "thread %d is gone", (int)tid) : 0;
	memcpy(&head, buf, sizeof(head));
	if ((head.flags & SVE_PT_REGS_MASK) != SVE_PT_REGS_SVE || head.size <= sizeof(head))
		return 0;
	if (head.size > max)
		return ubp_fail(err, EOPNOTSUPP, "thread %d has vectors of %u bytes", (int)tid,
				head.vl);
	*len = head.size;
	return 0;
}

/* States that only the kernel's own frames keep, or nothing. */
static int check_modes(pid_t tid, struct ubp_err *err)
{
	uint64_t gcs[3] = { 0 };
	struct user_sve_header head = { 0 };

	if (get_set(PTRACE_GETREGSET, tid, NT_ARM_SSVE, &head, sizeof(head)) == 0 &&
	    (head.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE)
		return ubp_fail(err, EBUSY, "thread %d is in SME's streaming mode", (int)tid);
	if (get_set(PTRACE_GETREGSET, tid, NT_ARM_GCS, gcs, sizeof(gcs)) == 0 && (gcs[0] & 1))
		return ubp_fail(err, EOPNOTSUPP,
				"thread %d has a guarded control stack, which cannot be kept "
				"through a remote system call",
				(int)tid);
	return 0;
}

int ubp_host_get_more(pid_t tid, struct ubp_more *ret_more, struct ubp_err *err)
{
	struct arm64_more *more = (struct arm64_more *)ret_more->bytes;
	int rc;

	_Static_assert(sizeof(*more) <= sizeof(ret_more->bytes), "fits");
	ret_more->is_known = false;
	rc = check_modes(tid, err);
	if (rc < 0)
		return rc;
	if (again_ptrace(PTRACE_GETSIGMASK, tid, sizeof(more->mask), &more->mask) < 0)
		return ubp_fail(err, errno, "signal mask of thread %d: %s", (int)tid,
				strerror(errno));
	rc = get_set(PTRACE_GETREGSET, tid, NT_PRFPREG, &more->fp, sizeof(more->fp));
	if (rc < 0)
		return ubp_fail(err, -rc, "vector registers of thread %d: %s", (int)tid,
				strerror(-rc));
	rc = get_sve(tid, more->sve, sizeof(more->sve), &more->sve_len, err);
	ret_more->is_known = rc == 0;
	return rc;
}

void ubp_host_put_more(pid_t tid, const struct ubp_more *more)
{
	const struct arm64_more *m = (const struct arm64_more *)more->bytes;
	struct iovec iov = { (void *)(uintptr_t)m->sve, m->sve_len };

	if (more->is_known && m->sve_len)
		(void)again_ptrace(PTRACE_SETREGSET, tid, NT_ARM_SVE, &iov);
}

/* --- the clock ------------------------------------------------------------------------ */

uint64_t ubp_host_ticks(void)
{
	uint64_t ticks;

	/* Not before what comes in front of it is done, and done before what follows. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}

/* --- system calls that a stop breaks off ---------------------------------------------- */

/*
 * When a thread stops, the kernel has already made up its mind: a call that it will make again
 * by itself has its pc back at the instruction, one that will not has EINTR in x0, and which
 * call that was is forgotten. What stood in x0 the kernel knows for as long as the thread makes no
 * other call: see ask_arg(). That such a one was rt_sigreturn(), behind a handler, and EINTR
 * what it gave back, nothing tells but the handler's frame. So where the stop is ours, the call is
 * noted before it, too.
 */

static bool is_call_at(const struct ubp_memory *memory, pid_t tid, uint64_t vaddr)
{
	bool is_known;
	uint32_t insn;

	return memory->read(memory->ctx, tid, vaddr, &insn, sizeof(insn), true, &is_known) &&
	       insn == ARM64_SVC;
}

/* /proc/TID/syscall: "NUMBER ARG... SP PC". False: it is in none. */
static bool read_call(pid_t tid, struct ubp_call *ret_call)
{
	unsigned long long arg, sp, pc;
	char path[40];
	long nr;
	int n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fscanf(f, "%ld 0x%llx %*x %*x %*x %*x %*x 0x%llx 0x%llx", &nr, &arg, &sp, &pc);
	(void)fclose(f);
	if (n != 4 || nr < 0)
		return false;
	ret_call->nr = (uint64_t)nr;
	ret_call->arg = arg;
	ret_call->sp = sp;
	ret_call->pc = pc;
	return true;
}

void ubp_host_note_call(pid_t tid, struct ubp_call *call)
{
	call->is_known = read_call(tid, call);
	if (call->is_known && call->pc == call->own_pc && call->sp == call->own_sp)
		call->own_pc = 0; /* it makes it again */
}

/* Stopped behind a system call that returns EINTR? */
static bool has_eintr(const struct ubp_memory *memory, pid_t tid, struct ubp_regs *regs)
{
	return ubp_host_get_regs(tid, regs) == 0 && (int64_t)regs->r[0] == -EINTR &&
	       is_call_at(memory, tid, regs->r[ARM64_PC] - ARM64_INSN);
}

/* Has it been put back to its call, and not gone on since? */
static bool is_redone(const struct ubp_call *call, const struct ubp_regs *regs)
{
	return call->redo_pc && regs->r[ARM64_PC] == call->redo_pc &&
	       regs->r[ARM64_SP] == call->sp;
}

bool ubp_host_is_broken_off(pid_t tid, const struct ubp_call *call,
			    const struct ubp_memory *memory)
{
	struct ubp_regs regs;

	return has_eintr(memory, tid, &regs) || (call->redo_pc && is_redone(call, &regs));
}

/*
 * What stood in x0 in front of the thread's last call. The kernel tells arguments of a stop by
 * seccomp, and takes for one what the signal's information says is one: which a tracer may write.
 */
static bool ask_arg(pid_t tid, uint64_t *ret_arg)
{
	struct __ptrace_syscall_info info = { 0 };
	siginfo_t real, other;
	bool told;

	if (again_ptrace(PTRACE_GETSIGINFO, tid, 0, &real) < 0)
		return false;
	other = real;
	other.si_code = SIGTRAP | PTRACE_EVENT_SECCOMP << 8;
	if (again_ptrace(PTRACE_SETSIGINFO, tid, 0, &other) < 0)
		return false;
	told = again_ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_SECCOMP;
	(void)again_ptrace(PTRACE_SETSIGINFO, tid, 0, &real);
	if (told)
		*ret_arg = info.seccomp.args[0];
	return told;
}

/* The same on kernels that cannot be asked. Where the number is they tell the arguments. */
static bool read_arg(pid_t tid, const struct ubp_regs *regs, uint64_t *ret_arg)
{
	struct ubp_call now = { 0 };
	bool found;

	if (set_call(tid, (int)regs->r[ARM64_X8]) < 0)
		return false;
	found = read_call(tid, &now) && now.arg != regs->r[0];
	(void)set_call(tid, -1);
	*ret_arg = now.arg;
	return found;
}

/*
 * The signals that the process has handlers for, a bit each, or all if it cannot be read. The guard's
 * do not count: they run at a breakpoint or a fault, where no call is broken off.
 */
static uint64_t handlers(pid_t tid)
{
	const uint64_t guards =
		1ULL << (SIGTRAP - 1) | 1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1);
	unsigned long long caught = ~0ULL;
	char line[128];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)tid);
	f = fopen(line, "re");
	if (!f)
		return caught;
	while (fgets(line, sizeof(line), f) && sscanf(line, "SigCgt: %llx", &caught) != 1)
		;
	(void)fclose(f);
	return caught & ~guards;
}

/* Is @arg a descriptor such as system call @nr waits for? */
static bool is_waited_for(pid_t tid, uint64_t nr, uint64_t arg)
{
	const char *kind = "socket:[";
	char path[48], file[32];
	ssize_t n;

	switch (nr) {
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		kind = "anon_inode:[eventpoll]";
		break;
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmmsg:
	case SYS_recvmsg:
	case SYS_sendmmsg:
	case SYS_sendmsg:
	case SYS_sendto:
	case SYS_write:
	case SYS_writev:
		break;
	default:
		return false;
	}
	/* What a handler often leaves in x0 tells nothing. */
	if (arg <= STDERR_FILENO || arg > INT32_MAX)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, (int)arg);
	n = readlink(path, file, sizeof(file));
	return n >= (ssize_t)strlen(kind) && memcmp(file, kind, strlen(kind)) == 0;
}

/* Is the frame whose sp is kept at @at one that we left, of a remote call? */
static bool is_stubs(const struct ubp_memory *memory, pid_t tid, uint64_t at)
{
	uint32_t mode = 0;
	bool is_known;

	return memory->read(memory->ctx, tid, at - ARM64_STUB_MODE_BEFORE_SP, &mode,
			    sizeof(mode), false, &is_known) &&
	       mode == ARM64_STUB_MODE;
}

/* Does a handler's frame below its stack pointer say what its registers say now? */
static bool is_behind_handler(const struct ubp_memory *memory, pid_t tid,
			      const struct ubp_regs *regs)
{
	enum { PAGE = 0x1000, DEEP = 0x18000 }; /* with all of SVE's and SME's registers */
	uint64_t sp = regs->r[ARM64_SP], words[PAGE / sizeof(uint64_t)];
	uint64_t from = sp & -(uint64_t)PAGE, end = sp;
	bool is_known = true;

	for (; sp - from < DEEP; end = from, from -= PAGE) {
		if (end > from &&
		    !memory->read(memory->ctx, tid, from, words, end - from, false, &is_known))
			return !is_known; /* it ends where the stack does */
		for (size_t i = 0; i + 1 < (end - from) / sizeof(words[0]); i += 2)
			if (words[i] == sp && words[i + 1] == regs->r[ARM64_PC] &&
			    !is_stubs(memory, tid, from + i * sizeof(words[0])))
				return true;
	}
	return false;
}

/*
 * May the thread come from a handler, and @arg be its rt_sigreturn()'s? What ran before the thread
 * was watched may have had a stack of its own, where its frame is not found: but not the C
 * library's, and behind it x0 would hardly be such a descriptor as the call before had.
 */
static bool may_be_handled(const struct ubp_memory *memory, pid_t tid,
			   const struct ubp_call *call, const struct ubp_regs *regs,
			   uint64_t arg)
{
	const uint64_t c_library = 3ULL << (__SIGRTMIN - 1);
	uint64_t caught = handlers(tid);

	if (!caught)
		return false;
	if (is_behind_handler(memory, tid, regs))
		return true;
	return !call->is_watched && (caught & ~c_library) &&
	       !is_waited_for(tid, regs->r[ARM64_X8], arg);
}

/* Sets @call's arg. @is_noted: @call is from just before this stop. */
static bool find_arg(const struct ubp_memory *memory, pid_t tid, struct ubp_call *call,
		     const struct ubp_regs *regs, bool is_noted)
{
	bool is_same = is_noted && call->nr == regs->r[ARM64_X8] &&
		       call->sp == regs->r[ARM64_SP] && call->pc == regs->r[ARM64_PC];
	uint64_t arg;

	if (!ask_arg(tid, &arg) && (is_same || !read_arg(tid, regs, &arg)))
		return is_same;
	if (!(is_same && arg == call->arg) && may_be_handled(memory, tid, call, regs, arg))
		return false;
	call->arg = arg;
	return true;
}

static void keep(struct ubp_call *call, const struct ubp_regs *regs)
{
	call->redo_pc = 0;
	call->own_pc = regs->r[ARM64_PC];
	call->own_sp = regs->r[ARM64_SP];
}

void ubp_host_redo_eintr(const struct ubp_arch *arch, pid_t tid, struct ubp_call *call,
			 const struct ubp_memory *memory)
{
	bool is_noted = call->is_known, found;
	struct ubp_regs regs;

	/* At the next stop it may be in another such call, with another argument. */
	call->is_known = false;
	if (!has_eintr(memory, tid, &regs)) {
		call->is_watched = true;
		return;
	}
	/* close() has closed, whatever it returns. */
	if (regs.r[ARM64_X8] == (uint64_t)arch->call.nr_close ||
	    regs.r[ARM64_X8] == SYS_rt_sigreturn)
		return;
	if (call->own_pc == regs.r[ARM64_PC] && call->own_sp == regs.r[ARM64_SP])
		return;
	found = find_arg(memory, tid, call, &regs, is_noted);
	call->is_watched = true;
	if (!found) {
		/* Later the kernel may tell of a call of ours. */
		keep(call, &regs);
		return;
	}
	regs.r[0] = call->arg;
	regs.r[ARM64_PC] -= ARM64_INSN;
	call->sp = regs.r[ARM64_SP];
	call->redo_pc = regs.r[ARM64_PC];
	if (set_general(tid, &regs) < 0)
		call->redo_pc = 0;
}

void ubp_host_keep_eintr(pid_t tid, struct ubp_call *call, const struct ubp_memory *memory)
{
	struct ubp_regs regs;

	call->is_known = false;
	call->is_watched = true;
	if (!has_eintr(memory, tid, &regs)) {
		if (!call->redo_pc || !is_redone(call, &regs))
			return;
		regs.r[0] = (uint64_t)-EINTR;
		regs.r[ARM64_PC] += ARM64_INSN;
		(void)set_general(tid, &regs);
	}
	keep(call, &regs);
}
