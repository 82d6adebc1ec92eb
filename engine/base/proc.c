/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/pid_list.h"

/* Part of the kernel's interface (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCU

/* NS_GET_PID_FROM_PIDNS of <linux/nsfs.h>, which not all systems have. */
#define ASK_PID_NAMESPACE _IOR(0xb7, 6, int)

#define OWN_TID    "\nNSpid:"
#define STATUS_END "\nnonvoluntary_ctxt_switches:"

/* A text of no more than so much is not read on for its end. */
#define WHOLE_MAX 2048

/*
 * The kernel gives each of its records as a whole, and as many by one read as a page has room for. So what
 * is that short and ends a line is all there is. @last: what stands in the last line, of a record with several of them;
 * NULL: it has one.
 */
static bool is_whole(const char *text, size_t len, const char *last)
{
	return len > 0 && len <= WHOLE_MAX && text[len - 1] == '\n' &&
	       (!last || strstr(text, last));
}

/* Up to @len bytes, and a NUL behind them. */
static ssize_t read_text(int fd, char *buf, size_t len, const char *last)
{
	ssize_t n = again_read_some(fd, buf, len), rest;

	buf[n > 0 ? n : 0] = '\0';
	if (n <= 0 || (size_t)n == len || is_whole(buf, (size_t)n, last))
		return n;
	rest = again_read(fd, buf + n, len - (size_t)n);
	n += rest > 0 ? rest : 0;
	buf[n] = '\0';
	return n;
}

size_t proc_read(const char *path, char *buf, size_t size)
{
	int fd = again_open(path, O_RDONLY);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read_text(fd, buf, size - 1, NULL);
		close(fd);
	} else {
		buf[0] = '\0';
	}
	return n > 0 ? (size_t)n : 0;
}

int proc_shortage(void)
{
	int fd = again_open("/proc/self/stat", O_RDONLY);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	close(fd);
	return 0;
}

static char *read_all(const char *path, const char *last)
{
	int fd = again_open(path, O_RDONLY);
	size_t size = 2048, len = 0;
	bool full = true;
	char *buf = NULL;
	ssize_t n = 1;

	/* read_text() reads to the end: what leaves room is all. */
	while (fd >= 0 && n > 0 && full) {
		char *bigger = realloc(buf, size *= 2);

		if (!bigger)
			break;
		buf = bigger;
		n = read_text(fd, buf + len, size - len - 1, last);
		len += n > 0 ? (size_t)n : 0;
		full = len + 1 == size;
	}
	if (fd >= 0)
		close(fd);
	/* A part of it is not what was asked for. */
	if (len > 0 && n >= 0 && !full)
		return buf;
	free(buf);
	return NULL;
}

int proc_each(int (*each)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *ent;
	int rc = 0;

	if (!dir)
		return -errno;
	while (rc == 0 && (ent = readdir(dir))) {
		pid_t pid = (pid_t)strtol(ent->d_name, NULL, 10);

		if (pid > 0)
			rc = each(ctx, pid);
	}
	closedir(dir);
	return rc;
}

char *proc_read_all(const char *path)
{
	return read_all(path, NULL);
}

char *proc_read_status(pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	return read_all(path, STATUS_END);
}

long proc_number(const char *status, const char *name)
{
	const char *at = status ? strstr(status, name) : NULL;

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

pid_t proc_own_id(const char *status, const char *name)
{
	const char *at = status ? strstr(status, name) : NULL;
	long number = 0;

	for (at = at ? at + strlen(name) : NULL; at && *at == '\t';) {
		char *end;

		number = strtol(at + 1, &end, 10);
		at = end;
	}
	return (pid_t)number;
}

pid_t proc_own_tid(pid_t tid)
{
	char *status = proc_read_status(tid);
	pid_t own;

	if (!status)
		return 0;
	own = proc_own_id(status, OWN_TID);
	free(status);
	return own ? own : tid;
}

/* There is one number for each namespace from ours on. */
int proc_is_below(pid_t pid)
{
	char *status = proc_read_status(pid);
	const char *at = status ? strstr(status, OWN_TID) : NULL;
	int is = status ? 0 : -1;

	if (at) {
		at += strlen(OWN_TID) + 1;
		is = at[strcspn(at, "\t\n")] == '\t';
	}
	free(status);
	return is;
}

static bool is_own_id(pid_t pid, pid_t tid, pid_t own)
{
	char path[64], *status;
	bool is;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	status = read_all(path, STATUS_END);
	is = status && proc_own_id(status, OWN_TID) == own;
	free(status);
	return is;
}

/* Linux 6.11 tells at once. False: this one does not. */
static bool ask_for_thread(pid_t pid, pid_t own, pid_t *ret_tid)
{
	char path[64];
	long tid = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	fd = again_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	tid = ioctl(fd, ASK_PID_NAMESPACE, own);
	*ret_tid = tid > 0 ? (pid_t)tid : 0;
	close(fd);
	/* It may be another process's thread, if the one that is meant has ended. */
	if (tid > 0 && syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH)
		*ret_tid = 0;
	return tid > 0 || errno == ESRCH;
}

static pid_t look_for_thread(pid_t pid, pid_t own)
{
	struct pid_list tids = { 0 };
	const struct dirent *entry;
	char path[64];
	pid_t found = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			(void)pid_list_add(&tids, (pid_t)strtol(entry->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	/* The youngest are the last ones, and mostly it is one of these. */
	for (size_t i = tids.n; !found && i-- > 0;)
		if (is_own_id(pid, tids.v[i], own))
			found = tids.v[i];
	free(tids.v);
	return found;
}

pid_t proc_find_thread(pid_t pid, pid_t own)
{
	pid_t tid;

	if (ask_for_thread(pid, own, &tid))
		return tid;
	tid = look_for_thread(pid, own);
	/* While others end the list may pass over one that lives. */
	return tid ? tid : look_for_thread(pid, own);
}

bool proc_bits(const char *status, const char *name, uint64_t *ret_bits)
{
	const char *at = status ? strstr(status, name) : NULL;

	if (at)
		*ret_bits = strtoull(at + strlen(name), NULL, 16);
	return at != NULL;
}

uint64_t proc_cpu_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool read_comm(const char *path, char comm[16])
{
	char buf[16 + 1];
	size_t len = proc_read(path, buf, sizeof(buf));

	if (len == 0)
		return false;
	if (buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	memset(comm, 0, 16);
	memcpy(comm, buf, strnlen(buf, 15));
	return true;
}

bool proc_read_comm(pid_t tid, char comm[16])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	return read_comm(path, comm);
}

bool proc_read_thread_comm(pid_t pid, pid_t tid, char comm[16])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	return read_comm(path, comm);
}

static int look_at_namespace(pid_t pid, const char *kind, struct stat *ret_st)
{
	char path[64];

	/* /proc/self is the reader, whichever pid namespace /proc shows. */
	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	else
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, ret_st) < 0 ? -errno : 0;
}

int proc_same_namespace(pid_t a, pid_t b, const char *kind)
{
	struct stat of_a = { 0 }, of_b = { 0 };
	int rc = look_at_namespace(a, kind, &of_a);

	if (rc == 0)
		rc = look_at_namespace(b, kind, &of_b);
	if (rc < 0)
		return rc;
	return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

bool proc_in_first_pid_namespace(void)
{
	struct stat st;

	return look_at_namespace(0, "pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}
