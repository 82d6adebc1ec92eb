/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/task.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/os/untrusted_file.h"

#define FLAG_EXITING 0x4 /* PF_EXITING, of /proc/TID/stat */

/* Number behind "\nNAME:" in /proc/TID/status, or -1. */
static long status_number(pid_t tid, const char *name)
{
	char *status = proc_read_status(tid);
	long number = proc_number(status, name);

	free(status);
	return number;
}

static pid_t status_pid(pid_t tid, const char *name)
{
	long value = status_number(tid, name);

	return value > 0 ? (pid_t)value : 0;
}

pid_t task_tgid(pid_t tid)
{
	return status_pid(tid, "\nTgid:");
}

pid_t task_ppid(pid_t tid)
{
	return status_pid(tid, "\nPPid:");
}

pid_t task_tracer(pid_t tid)
{
	return status_pid(tid, "\nTracerPid:");
}

long task_seccomp(pid_t tid, long *ret_n_filters)
{
	char *status = proc_read_status(tid ? tid : gettid());
	long mode = proc_number(status, "\nSeccomp:");

	*ret_n_filters = proc_number(status, "\nSeccomp_filters:");
	free(status);
	return mode;
}

bool task_asleep(pid_t tid, uint64_t *ret_pc, uint64_t *ret_sp)
{
	long ignored;

	return task_asleep_in(tid, ret_pc, ret_sp, &ignored);
}

bool task_asleep_in(pid_t tid, uint64_t *ret_pc, uint64_t *ret_sp, long *ret_nr)
{
	char path[64], buf[512], *at;
	siginfo_t si = { .si_pid = 0 };

	/* One of ours that is in a stop sleeps, too, but it has something to tell. */
	if (waitid(P_PID, (id_t)tid, &si,
		   WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) < 0
		    ? !strchr("SD", task_state(tid))
		    : si.si_pid != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	if (!proc_read(path, buf, sizeof(buf)) || buf[0] == 'r')
		return false;
	*ret_nr = strtol(buf, NULL, 10);
	/* "running", or a number, arguments, and these two at the end. */
	at = strrchr(buf, ' ');
	if (!at)
		return false;
	*ret_pc = strtoull(at + 1, NULL, 16);
	*at = '\0';
	at = strrchr(buf, ' ');
	if (!at)
		return false;
	*ret_sp = strtoull(at + 1, NULL, 16);
	return *ret_pc && *ret_sp;
}

bool task_locks_memory(pid_t tid)
{
	return status_number(tid, "\nVmLck:") > 0;
}

uint64_t task_room_left(pid_t pid)
{
	static const char name[] = "Max address space";
	char path[64], text[4096], *at;
	uint64_t limit, used;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	at = proc_read(path, text, sizeof(text)) ? strstr(text, name) : NULL;
	if (!at)
		return UINT64_MAX;
	at += strspn(at + sizeof(name) - 1, " ") + sizeof(name) - 1;
	if (*at < '0' || *at > '9') /* "unlimited" */
		return UINT64_MAX;
	limit = strtoull(at, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!proc_read(path, text, sizeof(text)))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return used < limit ? limit - used : 0;
}

char task_state(pid_t tid)
{
	char path[64], buf[512], *at;

	/* Not /proc/TID/stat: that is the sum over all threads, which takes as long. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!proc_read(path, buf, sizeof(buf)))
		return 0;
	at = strrchr(buf, ')');
	return at && at[1] == ' ' ? at[2] : 0;
}

bool task_is_ending(pid_t tid)
{
	char path[64], buf[512], *at;
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!proc_read(path, buf, sizeof(buf)))
		return true;
	at = strrchr(buf, ')');
	return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & FLAG_EXITING;
}

int task_shares_memory(pid_t a, pid_t b)
{
	long rc = syscall(SYS_kcmp, a, b, KCMP_VM, 0UL, 0UL);

	return rc < 0 ? -errno : rc == 0;
}

int task_compare_memory(pid_t a, pid_t b)
{
	long rc = syscall(SYS_kcmp, a, b, KCMP_VM, 0UL, 0UL);

	return rc == 1 ? -1 : rc == 2;
}

static bool is_live(pid_t tid)
{
	char state = task_state(tid);

	return state && state != 'Z' && state != 'X';
}

pid_t task_live_thread(pid_t pid)
{
	struct dirent *ent;
	char path[64];
	pid_t tid = 0;
	DIR *dir;

	if (is_live(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !tid && (ent = readdir(dir))) {
		tid = (pid_t)strtol(ent->d_name, NULL, 10);
		if (tid > 0 && !is_live(tid))
			tid = 0;
	}
	if (dir)
		closedir(dir);
	return tid;
}

const struct ubp_arch *task_arch(pid_t pid, struct ubp_err *err)
{
	const struct ubp_arch *arch = NULL;
	Elf32_Ehdr ehdr; /* up to e_machine both classes are alike */
	char path[64];
	ssize_t got;
	int fd;

	/* The program may lie on a file system that does not answer. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = file_open_head(path);
	if (fd < 0) {
		(void)ubp_fail(err, -fd, "cannot look at the program of process %d: %s",
			       (int)pid, file_error(fd));
		return NULL;
	}
	got = again_pread(fd, &ehdr, sizeof(ehdr), 0);
	close(fd);
	/* Of a machine with both byte orders, one is known. */
	if (got == (ssize_t)sizeof(ehdr) && ehdr.e_ident[EI_DATA] == ELFDATA2LSB)
		arch = ubp_arch_find(ehdr.e_machine, ehdr.e_ident[EI_CLASS]);
	if (arch && ubp_host_traces(arch))
		return arch;
	(void)ubp_fail(err, ENOTSUP, TASK_OTHER_KIND, (int)pid);
	return NULL;
}

/* Of 32-bit programs it has 32-bit words: the first entry's value makes them tell apart. */
uint64_t task_auxv(pid_t pid, uint64_t type)
{
	uint32_t words[512];
	char path[64];
	size_t n, step, at;
	int fd;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = again_open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	got = again_read(fd, words, sizeof(words));
	close(fd);
	n = got > 0 ? (size_t)got / sizeof(words[0]) : 0;
	/* Types are small and not 0: the upper half of one is 0, a value in its place is not. */
	step = n > 1 && words[1] == 0 ? 2 : 1;
	for (at = 0; at + 2 * step <= n && words[at] != AT_NULL; at += 2 * step)
		if (words[at] == type)
			return step == 2 ? words[at + 2] | (uint64_t)words[at + 3] << 32
					 : words[at + 1];
	return 0;
}

pid_t task_own_pid(pid_t pid)
{
	char *status = proc_read_status(pid);
	pid_t own;

	if (!status)
		return 0;
	own = proc_own_id(status, "\nNStgid:");
	free(status);
	return own ? own : pid; /* as on a kernel without pid namespaces */
}

bool task_has_hidden_tracer(pid_t pid, pid_t tid)
{
	char path[64], *text, *end;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	text = proc_read_all(path);
	for (char *at = text; at && !found; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		found = !task_tracer(child) && task_shares_memory(pid, child) == 1;
	}
	free(text);
	return found;
}

int task_get_mask(pid_t tid, uint64_t *ret_mask)
{
	return again_ptrace(PTRACE_GETSIGMASK, tid, sizeof(*ret_mask), ret_mask) < 0 ? -errno
										     : 0;
}

int task_set_mask(pid_t tid, uint64_t mask)
{
	return again_ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0 ? -errno : 0;
}

struct signals {
	uint64_t blocked, pending, caught, ignored;
};

static bool read_signals(pid_t tid, struct signals *s)
{
	char *status = proc_read_status(tid);
	bool has_all = proc_bits(status, "\nSigPnd:", &s->pending) &&
		       proc_bits(status, "\nSigBlk:", &s->blocked) &&
		       proc_bits(status, "\nSigCgt:", &s->caught) &&
		       proc_bits(status, "\nSigIgn:", &s->ignored);

	free(status);
	return has_all;
}

/* Field @field, from 4 on, of /proc/TID/stat. 0: it is gone. */
static uint64_t stat_number(pid_t tid, int field)
{
	char path[64], buf[512], *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!proc_read(path, buf, sizeof(buf)))
		return 0;
	/* The state behind the name is field 3. */
	at = strrchr(buf, ')');
	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t task_begun(pid_t tid)
{
	return stat_number(tid, 22);
}

unsigned task_n_threads(pid_t pid)
{
	return (unsigned)stat_number(pid, 20);
}

uint64_t task_blocked(pid_t tid)
{
	return stat_number(tid, 32);
}

bool task_blocks_trap(pid_t tid)
{
	return task_blocked(tid) & TASK_SIG_BIT(SIGTRAP);
}

bool task_ignores(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && ((s.blocked | s.ignored) & TASK_SIG_BIT(sig));
}

bool task_catches(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && (s.caught & TASK_SIG_BIT(sig));
}

uint64_t task_caught(pid_t tid)
{
	struct signals s;

	return read_signals(tid, &s) ? s.caught : 0;
}

bool task_has_default(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && !((s.caught | s.ignored) & TASK_SIG_BIT(sig));
}

bool task_signal_pending(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && (s.pending >> (sig - 1) & 1);
}

bool task_signal_ignored(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && (s.ignored >> (sig - 1) & 1);
}

void task_comm(pid_t tid, char comm[16])
{
	if (!proc_read_comm(tid, comm))
		memcpy(comm, "<...>", sizeof("<...>"));
}
