/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/work.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/signals.h"
#include "engine/base/err.h"

/* --- places ----------------------------------------------------------------------- */

struct find {
	uintptr_t address;
	uint64_t offset;
	bool found;
};

/* The first object is the program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct find *find = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t vaddr = find->address - info->dlpi_addr;

		if (p->p_type != PT_LOAD || vaddr < p->p_vaddr ||
		    vaddr - p->p_vaddr >= p->p_filesz)
			continue;
		find->offset = vaddr - p->p_vaddr + p->p_offset;
		find->found = true;
	}
	return 1;
}

int bench_place(const struct bench_first *first, char *path, size_t size, uint64_t *ret_offset,
		struct ubp_err *err)
{
	struct find find = { .address = (uintptr_t)first->fn };
	ssize_t n = readlink("/proc/self/exe", path, size);

	if (n < 0)
		return ubp_fail_sys(err, "/proc/self/exe");
	if ((size_t)n >= size)
		return ubp_fail(err, ENAMETOOLONG, "the path of this program is too long");
	path[n] = '\0';
	if (strpbrk(path, " \t\n:"))
		return ubp_fail(err, EINVAL,
				"%s: definitions take no path with blanks or colons", path);
	(void)dl_iterate_phdr(find_offset, &find);
	if (!find.found)
		return ubp_fail(err, ENOENT, "%s: where is its code?", path);
	*ret_offset = find.offset;
	return 0;
}

uint64_t bench_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* --- the child ---------------------------------------------------------------------- */

int bench_wait(int fd, int signal_fd, const struct bench_meanwhile *meanwhile,
	       struct ubp_err *err)
{
	struct signals_one one;
	struct pollfd p[3] = {
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
		{ .fd = meanwhile ? meanwhile->fd : -1, .events = POLLIN },
	};

	for (;;) {
		/* What has no descriptor, or tells late by it, is asked often enough. */
		if (poll(p, 3, meanwhile ? 10 : -1) < 0 && errno != EINTR)
			return ubp_fail_sys(err, "poll");
		if (p[0].revents && signals_read(signal_fd, &one))
			return ubp_fail(err, EINTR, "ended by signal %d", one.number);
		if (p[1].revents)
			return 0;
		if (meanwhile)
			meanwhile->fn(meanwhile->ctx);
	}
}

int bench_wait_moment(int signal_fd, struct ubp_err *err)
{
	struct pollfd p = { .fd = signal_fd, .events = POLLIN };
	struct signals_one one;

	if (poll(&p, 1, 5) > 0 && signals_read(signal_fd, &one))
		return ubp_fail(err, EINTR, "ended by signal %d", one.number);
	return 0;
}

/* A line of at most @size - 1 bytes, from a pipe that holds no other. */
static int read_line(struct bench_work *work, const struct bench_meanwhile *meanwhile,
		     char *line, size_t size, struct ubp_err *err)
{
	size_t len = 0;

	while (len < size - 1) {
		ssize_t n;
		int rc = bench_wait(work->child.out, work->signal_fd, meanwhile, err);

		if (rc < 0)
			return rc;
		n = read(work->child.out, line + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ubp_fail(err, EPIPE, "the program that is measured has ended");
		len += (size_t)n;
		if (line[len - 1] == '\n')
			break;
	}
	line[len] = '\0';
	return 0;
}

int bench_work_start(struct bench_work *work, unsigned threads, unsigned idle, bool pin,
		     int signal_fd, struct ubp_err *err)
{
	char line[16], n_threads[16], n_idle[16];
	char *const argv[] = { "ubp-bench", BENCH_WORK_WORD, n_threads,
			       n_idle,      pin ? "1" : "0", NULL };
	const struct bench_spawn what = { .file = "/proc/self/exe",
					  .argv = argv,
					  .ignores_keys = true };
	int rc;

	(void)snprintf(n_threads, sizeof(n_threads), "%u", threads);
	(void)snprintf(n_idle, sizeof(n_idle), "%u", idle);
	work->signal_fd = signal_fd;
	rc = bench_spawn(&what, &work->child, err);
	if (rc == 0)
		rc = read_line(work, NULL, line, sizeof(line), err);
	if (rc == 0 && strcmp(line, "ready\n") != 0)
		rc = ubp_fail(err, EPROTO, "the program that is measured does not get ready");
	if (rc < 0) {
		struct ubp_err ignored;

		ubp_err_reset(&ignored);
		(void)bench_work_end(work, &ignored);
	}
	return rc;
}

int bench_work_run(struct bench_work *work, const struct bench_first *first, uint64_t calls,
		   const struct bench_meanwhile *meanwhile, uint64_t *ret_ns,
		   struct ubp_err *err)
{
	char line[32];
	int rc;

	if (dprintf(work->child.in, "%s %" PRIu64 "\n", first->name, calls) < 0)
		return ubp_fail_sys(err, "the program that is measured");
	rc = read_line(work, meanwhile, line, sizeof(line), err);
	if (rc == 0)
		*ret_ns = strtoull(line, NULL, 10);
	return rc;
}

int bench_work_end(struct bench_work *work, struct ubp_err *err)
{
	int status = 0;

	if (work->child.in >= 0)
		(void)close(work->child.in);
	if (work->child.out >= 0)
		(void)close(work->child.out);
	if (work->child.pid > 0) {
		/* In the middle of its work it would read no end of file for a while. */
		if (err->code)
			(void)kill(work->child.pid, SIGKILL);
		while (waitpid(work->child.pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	work->child = (struct bench_spawned){ -1, -1, -1 };
	if (err->code || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return 0;
	if (WIFSIGNALED(status))
		return ubp_fail(err, EPROTO,
				"the program that is measured was killed by signal %d",
				WTERMSIG(status));
	return ubp_fail(err, EPROTO, "the program that is measured ended with %d%s",
			WEXITSTATUS(status),
			WEXITSTATUS(status) == 99 ? ": a call had a wrong result" : "");
}
