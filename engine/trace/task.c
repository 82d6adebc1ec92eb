/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/task.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/tracer.h"

#define FRESH_NS   10000000ULL /* how long names and affinities are believed */
#define RSEQ_TRIES 64          /* a thread registers its rseq soon or never */

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

static size_t read_small(const char *path, char *buf, size_t size)
{
	int fd = again_open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = again_read(fd, buf, size - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/*
 * All of /proc/TID/status, which is long where a process has many groups; free() it.
 * The name in it is the program's own, but has no newline: the kernel escapes that.
 */
static char *read_status(pid_t tid)
{
	size_t size = 4096, len = 0;
	char path[64], *buf = NULL;
	bool full = true;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = again_open(path, O_RDONLY);
	/* It is made at once: what leaves room is all. */
	while (fd >= 0 && n > 0 && full) {
		char *bigger = buf && len + 1 < size ? buf : realloc(buf, size *= 2);

		if (!bigger)
			break;
		buf = bigger;
		n = again_read(fd, buf + len, size - len - 1);
		len += n > 0 ? (size_t)n : 0;
		buf[len] = '\0';
		full = len + 1 == size;
	}
	if (fd >= 0)
		close(fd);
	if (len > 0)
		return buf;
	free(buf);
	return NULL;
}

/* The number behind "\nNAME:" in such a text (NULL: none), or -1. */
static long number_in(const char *status, const char *name)
{
	const char *at = status ? strstr(status, name) : NULL;

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* Number behind "NAME:" in /proc/TID/status, or -1. */
static long status_number(pid_t tid, const char *name)
{
	char *status = read_status(tid);
	long number = number_in(status, name);

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
	char *status = read_status(tid ? tid : gettid());
	long mode = number_in(status, "\nSeccomp:");

	*ret_n_filters = number_in(status, "\nSeccomp_filters:");
	free(status);
	return mode;
}

bool task_asleep(pid_t tid, uint64_t *ret_pc, uint64_t *ret_sp)
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
	if (!read_small(path, buf, sizeof(buf)) || buf[0] == 'r')
		return false;
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
	at = read_small(path, text, sizeof(text)) ? strstr(text, name) : NULL;
	if (!at)
		return UINT64_MAX;
	at += strspn(at + sizeof(name) - 1, " ") + sizeof(name) - 1;
	if (*at < '0' || *at > '9') /* "unlimited" */
		return UINT64_MAX;
	limit = strtoull(at, NULL, 10);
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!read_small(path, text, sizeof(text)))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return used < limit ? limit - used : 0;
}

char task_state(pid_t tid)
{
	char path[64], buf[512], *at;

	/* Not /proc/TID/stat: that is the sum over all threads, which takes as long. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!read_small(path, buf, sizeof(buf)))
		return 0;
	at = strrchr(buf, ')');
	return at && at[1] == ' ' ? at[2] : 0;
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

#define OTHER_KIND "process %d runs a program of a kind that this ubp does not trace"

const struct ubp_arch *task_arch(pid_t pid, struct ubp_err *err)
{
	const struct ubp_arch *arch = NULL;
	Elf32_Ehdr ehdr; /* up to e_machine both classes are alike */
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = again_open(path, O_RDONLY);
	if (fd < 0) {
		(void)ubp_fail(err, errno, "cannot look at the program of process %d: %s",
			       (int)pid, strerror(errno));
		return NULL;
	}
	got = again_pread(fd, &ehdr, sizeof(ehdr), 0);
	close(fd);
	/* Of a machine with both byte orders, one is known. */
	if (got == (ssize_t)sizeof(ehdr) && ehdr.e_ident[EI_DATA] == ELFDATA2LSB)
		arch = ubp_arch_find(ehdr.e_machine, ehdr.e_ident[EI_CLASS]);
	if (arch && ubp_host_traces(arch))
		return arch;
	(void)ubp_fail(err, ENOTSUP, OTHER_KIND, (int)pid);
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
	char *status = read_status(pid), *at, *end;
	pid_t own = pid; /* as on a kernel without pid namespaces */

	if (!status)
		return 0;
	at = strstr(status, "\nNStgid:");
	end = at ? strchr(at + 1, '\n') : NULL;
	if (end) {
		*end = '\0';
		own = (pid_t)strtol(strrchr(at, '\t') ? strrchr(at, '\t') : end, NULL, 10);
	}
	free(status);
	return own;
}

bool task_same_pid_namespace(pid_t a, pid_t b)
{
	struct stat of_a, of_b;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)a);
	if (stat(path, &of_a) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)b);
	return stat(path, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

bool task_has_hidden_tracer(pid_t pid, pid_t tid)
{
	char path[64], *end, text[4096] = "";
	FILE *file;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fgets(text, sizeof(text), file);
	fclose(file);
	for (char *at = text; !found; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		found = !task_tracer(child) && task_shares_memory(pid, child) == 1;
	}
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
	unsigned long long blocked, pending, caught, ignored;
};

/* The set of signals behind "\nNAME:". */
static bool take_set(const char *status, const char *name, unsigned long long *ret_set)
{
	const char *at = strstr(status, name);

	if (at)
		*ret_set = strtoull(at + strlen(name), NULL, 16);
	return at != NULL;
}

static bool read_signals(pid_t tid, struct signals *s)
{
	char *status = read_status(tid);
	bool has_all = status && take_set(status, "\nSigPnd:", &s->pending) &&
		       take_set(status, "\nSigBlk:", &s->blocked) &&
		       take_set(status, "\nSigCgt:", &s->caught) &&
		       take_set(status, "\nSigIgn:", &s->ignored);

	free(status);
	return has_all;
}

bool task_blocks(pid_t tid, int sig)
{
	struct signals s;

	return read_signals(tid, &s) && (s.blocked & TASK_SIG_BIT(sig));
}

bool task_blocks_trap(pid_t tid)
{
	char path[64], buf[512], *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	if (!read_small(path, buf, sizeof(buf)))
		return false;
	at = strrchr(buf, ')');
	/* Field 32, the lower half of the mask; the state behind the name is field 3. */
	for (int field = 2; at && field < 32; field++)
		at = strchr(at + 1, ' ');
	return at && (strtoul(at, NULL, 10) & TASK_SIG_BIT(SIGTRAP));
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
	char path[64], buf[32];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	len = read_small(path, buf, sizeof(buf));
	if (len == 0) {
		memcpy(comm, "<...>", sizeof("<...>"));
		return;
	}
	if (buf[len - 1] == '\n')
		len--;
	if (len > 15)
		len = 15;
	memcpy(comm, buf, len);
	comm[len] = '\0';
}

const char *task_comm_cached(struct tracee *t, uint64_t now_ns)
{
	if (t->comm_read_ns == 0 || now_ns - t->comm_read_ns > FRESH_NS) {
		task_comm(t->tid, t->comm);
		t->comm_read_ns = now_ns;
	}
	return t->comm;
}

void task_forget(struct tracee *t)
{
	t->comm_read_ns = 0;
	t->rseq_vaddr = 0;
	t->rseq_asked = 0;
	t->one_cpu = -2;
	/* The thread behind this id may be another one now. */
	if (t->stat_fd >= 0)
		close(t->stat_fd);
	t->stat_fd = -1;
}

uint64_t task_rseq_cpu_vaddr(struct tracee *t)
{
	struct {
		uint64_t vaddr;
		uint32_t size, signature, flags, pad;
	} conf = { 0 };

	if (t->rseq_vaddr == 0 && t->rseq_asked < RSEQ_TRIES) {
		t->rseq_asked++;
		if (again_ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(conf), &conf) >
		    0)
			t->rseq_vaddr = conf.vaddr;
	}
	return t->rseq_vaddr ? t->rseq_vaddr + 4 : 0; /* struct rseq: cpu_id */
}

bool task_in_rseq(struct tracee *t)
{
	struct {
		uint32_t version, flags;
		uint64_t start, len, abort;
	} cs;
	uint64_t cpu = task_rseq_cpu_vaddr(t), at, pc;

	/* struct rseq: cpu_id at 4, rseq_cs at 8. It stays set behind the sequence. */
	return cpu && mem_read(t->tid, cpu + 4, &at, sizeof(at)) == sizeof(at) && at &&
	       mem_read(t->tid, at, &cs, sizeof(cs)) == sizeof(cs) &&
	       ubp_host_get_pc(t->tid, &pc) == 0 && pc - cs.start < cs.len;
}

int task_one_cpu(struct tracee *t, uint64_t now_ns)
{
	cpu_set_t set;

	if (t->one_cpu != -2 && now_ns - t->one_cpu_ns < FRESH_NS)
		return t->one_cpu;
	t->one_cpu = -1;
	t->one_cpu_ns = now_ns;
	/* Fails on machines with over 1024 CPUs: then the CPU is read at each hit. */
	if (sched_getaffinity(t->tid, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				t->one_cpu = i;
	return t->one_cpu;
}

unsigned task_cpu_from_proc(struct tracee *t)
{
	char path[64], buf[1024], *at;
	ssize_t n;

	if (t->stat_fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)t->process->pid,
			 (int)t->tid);
		t->stat_fd = again_open(path, O_RDONLY);
	}
	n = again_pread(t->stat_fd, buf, sizeof(buf) - 1, 0);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	at = strrchr(buf, ')');
	/* Field 39; the state behind the name is field 3. */
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

int task_yama_scope(void)
{
	char buf[16];

	return read_small("/proc/sys/kernel/yama/ptrace_scope", buf, sizeof(buf)) ? atoi(buf)
										  : 0;
}

/* The three ids behind "Uid:" or "Gid:" are all @id. */
static bool has_ids(const char *status, const char *name, unsigned id)
{
	const char *at = strstr(status, name);
	unsigned ids[3];

	if (!at || sscanf(at + strlen(name), "%u %u %u", &ids[0], &ids[1], &ids[2]) != 3)
		return false;
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

static unsigned long long capabilities(const char *status)
{
	const char *at = strstr(status, "\nCapPrm:");

	return at ? strtoull(at + 8, NULL, 16) : 0;
}

/* Is CAP_SYS_PTRACE in effect? */
static bool may_trace_all(const char *status)
{
	const char *at = strstr(status, "\nCapEff:");

	return at && strtoull(at + 8, NULL, 16) >> CAP_SYS_PTRACE & 1;
}

/* In the namespace of all users: what it may do it may do to all. */
static bool is_in_first_namespace(void)
{
	unsigned inside, outside, n;
	char map[256];

	return read_small("/proc/self/uid_map", map, sizeof(map)) &&
	       sscanf(map, "%u %u %u", &inside, &outside, &n) == 3 && inside == 0 &&
	       outside == 0 && n == UINT_MAX;
}

/* The kernel gives the files of what may be dumped to its user, of the rest to root. */
static bool is_dumpable(pid_t pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return stat(path, &st) == 0 && st.st_uid != 0 && st.st_uid == geteuid();
}

static bool same_user_namespace(pid_t pid)
{
	struct stat own, other;
	char path[64];

	/* What may not be looked at need not be another one. */
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &own) < 0 || stat(path, &other) < 0 ||
	       (own.st_ino == other.st_ino && own.st_dev == other.st_dev);
}

static void collect_facts(pid_t pid, pid_t tid, struct refusal *r)
{
	char own[4096], path[64], status[4096];

	*r = (struct refusal){ .pid = pid,
			       .state = task_state(tid),
			       .tracer = task_tracer(tid) };
	if (r->tracer)
		task_comm(r->tracer, r->tracer_comm);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!read_small(path, status, sizeof(status)) ||
	    !read_small("/proc/self/status", own, sizeof(own)))
		return;
	r->is_kernel = status_number(pid, "\nKthread:") == 1;
	r->is_self = pid == getpid();
	r->same_user =
		has_ids(status, "\nUid:", getuid()) && has_ids(status, "\nGid:", getgid());
	r->is_root = geteuid() == 0;
	r->lacks_caps = (capabilities(status) & ~capabilities(own)) != 0;
	r->other_namespace = !same_user_namespace(pid);
	r->is_allowed = (may_trace_all(own) && is_in_first_namespace()) ||
			(r->same_user && !r->lacks_caps && is_dumpable(pid));
	r->yama = task_yama_scope();
}

static int explain_permission(const struct refusal *r, int code, struct ubp_err *err)
{
	int pid = (int)r->pid;

	if (r->yama > 2)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: kernel.yama.ptrace_scope is %d, "
			"which forbids all tracing",
			pid, r->yama);
	/* Yama was asked, or has nothing against it. */
	if (r->is_allowed && (r->is_root || r->yama == 0))
		return ubp_fail(
			err, code,
			"no permission to trace process %d: a security module (landlock, "
			"SELinux, AppArmor, ...) forbids it",
			pid);
	if (r->is_root)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: root lacks CAP_SYS_PTRACE here%s",
			pid, r->other_namespace ? ", or in that process's user namespace" : "");
	if (!r->same_user)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: it belongs to another user; run "
			"as the same user, or as root (CAP_SYS_PTRACE)",
			pid);
	if (r->lacks_caps)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: it has capabilities that ubp has "
			"not; run as root (CAP_SYS_PTRACE)",
			pid);
	if (r->yama > 0)
		return ubp_fail(
			err, code,
			"no permission to trace process %d: kernel.yama.ptrace_scope is %d; "
			"run as root (CAP_SYS_PTRACE)%s",
			pid, r->yama,
			r->yama == 1 ? ", or start the program as a command of ubp" : "");
	return ubp_fail(
		err, code,
		"no permission to trace process %d: it is not dumpable (a setuid program, "
		"unreadable, or by prctl()); run as root (CAP_SYS_PTRACE)",
		pid);
}

int task_refusal(const struct refusal *r, int code, struct ubp_err *err)
{
	int pid = (int)r->pid;

	if (code == ESRCH || r->state == 0)
		return ubp_fail(err, ESRCH, "no process %d", pid);
	if (r->state == 'Z' || r->state == 'X')
		return ubp_fail(
			err, ESRCH,
			"process %d is a zombie: it has ended, its parent has not noticed",
			pid);
	if (r->tracer)
		return ubp_fail(err, EPERM, "process %d is already traced by process %d (%s)",
				pid, (int)r->tracer, r->tracer_comm);
	if (r->is_kernel)
		return ubp_fail(err, EPERM, "process %d is a kernel thread", pid);
	if (r->is_self)
		return ubp_fail(err, EPERM, "process %d is ubp itself", pid);
	if (code == EPERM || code == EACCES)
		return explain_permission(r, code, err);
	if (code == ENOTSUP) /* task_arch() said so */
		return ubp_fail(err, code, OTHER_KIND, pid);
	return ubp_fail(err, code, "cannot trace process %d: %s", pid, strerror(code));
}

int task_no_ptrace(int yama, int code, struct ubp_err *err)
{
	if (yama < 2 || (code != EPERM && code != EACCES))
		return ubp_fail(err, code,
				"cannot use ptrace at all: PTRACE_SEIZE of an own child: %s",
				strerror(code));
	return ubp_fail(
		err, code,
		"no permission to trace any process: kernel.yama.ptrace_scope is %d%s", yama,
		yama == 2 ? "; run as root (CAP_SYS_PTRACE)" : ", which forbids all tracing");
}

int task_explain_refusal(pid_t pid, pid_t tid, int code, struct ubp_err *err)
{
	struct refusal r;

	collect_facts(pid, tid, &r);
	return task_refusal(&r, code, err);
}

int task_check_access(pid_t pid, struct ubp_err *err)
{
	char path[64], to[16];

	/* Some kernels are freer with /proc/PID/maps than with the rest. */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, to, sizeof(to)) >= 0 || (errno != EPERM && errno != EACCES))
		return 0;
	return task_explain_refusal(pid, pid, errno, err);
}
