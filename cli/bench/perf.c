/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Kernel uprobes by perf_event_open(), as perf record uses them: for each probe and thread
 * (or each CPU) an event that writes samples into a ring of its own.
 * Events of uprobes cannot be inherited by children (fork() fails: their attribute points to a
 * path in our memory), so with children everybody's hits are recorded.
 * An argument is a register of the sample; strings and filters are not to be had this way.
 */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench/kernel_priv.h"
#include "cli/bench/work.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/vec.h"

#define PMU "/sys/bus/event_source/devices/uprobe/"

struct event {
	int fd;
	struct perf_event_mmap_page *ring; /* NULL: it only counts */
};

struct perf {
	unsigned type, return_bit;
	size_t ring_bytes;
	const struct kernel_probe *probes; /* borrowed until the next definition */
	size_t n_probes;
	struct event *events;
	size_t n_events;
	bool has_lost; /* read() tells losses */
};

static int read_unsigned(const char *path, const char *fmt, unsigned *ret_value)
{
	FILE *f = fopen(path, "re");
	int n = f ? fscanf(f, fmt, ret_value) : 0;

	if (f)
		(void)fclose(f);
	return n == 1 ? 0 : -ENOENT;
}

static void drop_events(struct perf *p)
{
	for (size_t i = 0; i < p->n_events; i++) {
		if (p->events[i].ring)
			(void)munmap(p->events[i].ring, PAGE + p->ring_bytes);
		(void)close(p->events[i].fd);
	}
	free(p->events);
	p->events = NULL;
	p->n_events = 0;
}

static void perf_close(void *state)
{
	struct perf *p = state;

	drop_events(p);
	free(p);
}

/* What a sample can hold: nothing, or one register. */
static bool can_record(const struct kernel_probe *p)
{
	if (p->filter)
		return false;
	return !*p->rest || strcmp(p->rest, bench_arg_int) == 0 ||
	       (p->kind == PROBE_RETURN && strcmp(p->rest, bench_arg_return) == 0);
}

static int perf_define(void *state, const struct kernel_probe *probes, size_t n,
		       size_t *ret_bad, struct ubp_err *err)
{
	struct perf *p = state;

	for (size_t i = 0; i < n; i++) {
		*ret_bad = i;
		if (!can_record(&probes[i]))
			return ubp_fail(err, EOPNOTSUPP,
					"perf_event_open() has no such arguments or filters");
	}
	p->probes = probes;
	p->n_probes = n;
	return 0;
}

static int open_event(const struct perf *p, const struct kernel_probe *probe, pid_t tid,
		      int cpu)
{
	struct perf_event_attr a = {
		.type = p->type,
		.size = sizeof(a),
		.config = probe->kind == PROBE_RETURN ? 1ULL << p->return_bit : 0,
		.config1 = (uint64_t)(uintptr_t)probe->path,
		.config2 = probe->offset,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = p->has_lost ? PERF_FORMAT_LOST : 0,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = (unsigned)(p->ring_bytes / 2),
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	if (*probe->rest) {
		a.sample_type |= PERF_SAMPLE_REGS_USER;
		a.sample_regs_user = 1ULL
				     << (probe->kind == PROBE_RETURN ? bench_perf_reg_return
								     : bench_perf_reg_int);
	}
	return (int)syscall(SYS_perf_event_open, &a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* May we at all? Tried on ourselves. */
static int may_open(const struct perf *p, struct ubp_err *err)
{
	char path[PATH_MAX];
	struct kernel_probe probe = { .path = path, .rest = "" };
	int fd, rc = bench_place(&bench_firsts[0], path, sizeof(path), &probe.offset, err);

	if (rc < 0)
		return rc;
	fd = open_event(p, &probe, 0, -1);
	if (fd < 0)
		return ubp_fail_sys(err, "perf_event_open");
	(void)close(fd);
	return 0;
}

static int perf_open_pmu(size_t buffer_bytes, void **ret_state, struct ubp_err *err)
{
	struct perf *p = calloc(1, sizeof(*p));

	if (!p)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (read_unsigned(PMU "type", "%u", &p->type) < 0 ||
	    read_unsigned(PMU "format/retprobe", "config:%u", &p->return_bit) < 0) {
		free(p);
		return ubp_fail(err, ENOENT, "perf_event_open() has no uprobes here");
	}
	p->ring_bytes = PAGE;
	if (may_open(p, err) < 0) {
		free(p);
		return -err->code;
	}
	for (p->ring_bytes = PAGE; p->ring_bytes < buffer_bytes;)
		p->ring_bytes *= 2;
	*ret_state = p;
	return 0;
}

static int add_event(struct perf *p, const struct kernel_probe *probe, pid_t tid, int cpu,
		     struct ubp_err *err)
{
	void *ring;
	int fd;

	if (VEC_FIT(p->events, p->n_events + 1) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	p->has_lost = true;
	fd = open_event(p, probe, tid, cpu);
	if (fd < 0 && errno == EINVAL) { /* Linux before 6.0 */
		p->has_lost = false;
		fd = open_event(p, probe, tid, cpu);
	}
	if (fd < 0)
		return ubp_fail_sys(err, "perf_event_open");
	ring = mmap(NULL, PAGE + p->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p->events[p->n_events++] =
		(struct event){ .fd = fd, .ring = ring == MAP_FAILED ? NULL : ring };
	return ring == MAP_FAILED ? ubp_fail_sys(err, "ring of perf_event_open") : 0;
}

/* Of each thread there is now: idle ones have events, too. */
static int add_threads(struct perf *p, const struct kernel_probe *probe, pid_t pid,
		       struct ubp_err *err)
{
	char path[32];
	struct dirent *d;
	int rc = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return ubp_fail_sys(err, "%s", path);
	while (rc == 0 && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			rc = add_event(p, probe, (pid_t)atoi(d->d_name), -1, err);
	(void)closedir(dir);
	return rc;
}

static int perf_on(void *state, const struct kernel_target *target, struct ubp_err *err)
{
	struct perf *p = state;
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = 0;

	drop_events(p);
	for (size_t i = 0; i < p->n_probes && rc == 0; i++) {
		if (!target->and_children) {
			rc = add_threads(p, &p->probes[i], target->pid, err);
			continue;
		}
		for (int cpu = 0; cpu < n_cpus && rc == 0; cpu++)
			rc = add_event(p, &p->probes[i], -1, cpu, err);
	}
	for (size_t i = 0; i < p->n_events && rc == 0; i++)
		if (ioctl(p->events[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			rc = ubp_fail_sys(err, "switching kernel uprobes on");
	return rc;
}

static int perf_off(void *state, struct kernel_counts *ret_counts, struct ubp_err *err)
{
	struct perf *p = state;
	int rc = 0;

	memset(ret_counts, 0, sizeof(*ret_counts));
	for (size_t i = 0; i < p->n_events && rc == 0; i++) {
		uint64_t values[2] = { 0 };

		(void)ioctl(p->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(p->events[i].fd, values, sizeof(values)) < 0)
			rc = ubp_fail_sys(err, "reading a perf event");
		ret_counts->hits += values[0];
		ret_counts->recorded += values[0];
		ret_counts->lost += values[1];
	}
	drop_events(p);
	return rc;
}

/* Its pids are those of our namespace. */
static int perf_mark_fd(const void *state)
{
	(void)state;
	return -1;
}

static int perf_reader_fd(const void *state)
{
	(void)state;
	return -1; /* one for each event: asked in turn */
}

/* All that is there is taken, as a copy would be. */
static void perf_read(void *state)
{
	const struct perf *p = state;

	for (size_t i = 0; i < p->n_events; i++) {
		struct perf_event_mmap_page *ring = p->events[i].ring;
		const volatile char *data = (const char *)ring + PAGE;
		uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
		char sink = 0;

		for (uint64_t at = ring->data_tail; at < head; at += 64)
			sink ^= data[at % p->ring_bytes];
		(void)sink;
		__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	}
}

const struct kernel_ops kernel_perf = {
	.name = "perf",
	.open = perf_open_pmu,
	.close = perf_close,
	.define = perf_define,
	.on = perf_on,
	.off = perf_off,
	.mark_fd = perf_mark_fd,
	.reader_fd = perf_reader_fd,
	.read = perf_read,
};
