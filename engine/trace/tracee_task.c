/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/tracee_task.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"

#define FRESH_NS   10000000ULL /* how long names and affinities are believed */
#define RSEQ_TRIES 64          /* a thread registers its rseq soon or never */

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

const char *task_comm_cached(struct tracee *t, uint64_t now_ns)
{
	if (t->task.comm_read_ns == 0 || now_ns - t->task.comm_read_ns > FRESH_NS) {
		task_comm(t->tid, t->task.comm);
		t->task.comm_read_ns = now_ns;
	}
	return t->task.comm;
}

void task_forget(struct tracee *t)
{
	t->task.comm_read_ns = 0;
	t->task.rseq_vaddr = 0;
	t->task.rseq_asked = 0;
	t->task.one_cpu = -2;
	/* The thread behind this id may be another one now. */
	if (t->task.stat_fd >= 0)
		close(t->task.stat_fd);
	t->task.stat_fd = -1;
}

uint64_t task_rseq_cpu_vaddr(struct tracee *t)
{
	struct {
		uint64_t vaddr;
		uint32_t size, signature, flags, pad;
	} conf = { 0 };

	if (t->task.rseq_vaddr == 0 && t->task.rseq_asked < RSEQ_TRIES) {
		t->task.rseq_asked++;
		if (again_ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(conf), &conf) >
		    0)
			t->task.rseq_vaddr = conf.vaddr;
	}
	return t->task.rseq_vaddr ? t->task.rseq_vaddr + 4 : 0; /* struct rseq: cpu_id */
}

bool task_in_rseq(struct tracee *t)
{
	struct {
		uint32_t version, flags;
		uint64_t start, len, abort;
	} cs;
	uint64_t cpu = task_rseq_cpu_vaddr(t), at, pc;

	/* struct rseq: cpu_id at 4, rseq_cs at 8. It stays set behind the sequence. */
	return cpu &&
	       mem_read(&t->process->space->mem, t->tid, cpu + 4, &at, sizeof(at)) ==
		       sizeof(at) &&
	       at &&
	       mem_read(&t->process->space->mem, t->tid, at, &cs, sizeof(cs)) == sizeof(cs) &&
	       ubp_host_get_pc(t->tid, &pc) == 0 && pc - cs.start < cs.len;
}

int task_one_cpu(struct tracee *t, uint64_t now_ns)
{
	cpu_set_t set;

	if (t->task.one_cpu != -2 && now_ns - t->task.one_cpu_ns < FRESH_NS)
		return t->task.one_cpu;
	t->task.one_cpu = -1;
	t->task.one_cpu_ns = now_ns;
	/* Fails on machines with over 1024 CPUs: then the CPU is read at each hit. */
	if (sched_getaffinity(t->tid, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				t->task.one_cpu = i;
	return t->task.one_cpu;
}

unsigned task_cpu_from_proc(struct tracee *t)
{
	char path[64], buf[1024], *at;
	ssize_t n;

	if (t->task.stat_fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)t->process->pid,
			 (int)t->tid);
		t->task.stat_fd = again_open(path, O_RDONLY);
	}
	n = again_pread(t->task.stat_fd, buf, sizeof(buf) - 1, 0);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	at = strrchr(buf, ')');
	/* Field 39; the state behind the name is field 3. */
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}
