/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is known of those that are traced:
 *
 *   space    one address space; shared by processes that were born with CLONE_VM
 *   process  one thread group
 *   tracee   one thread, seized
 */

#ifndef UBP_TRACE_PROCESS_H
#define UBP_TRACE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "engine/base/credit.h"
#include "engine/base/file_cost.h"
#include "engine/trace/mem.h"

struct plant_space;
struct process_probes;
struct thread_probes;
struct tracee;

struct space {
	unsigned refs; /* processes that live in it, and who keeps it: space_keep() */
	struct process *processes; /* these */
	struct trace_mem mem;
	struct mem_care care;  /* .mem's */
	struct file_cost cost; /* what its files have cost so far */
	struct credit looks;   /* for the looks at what it maps, where it loads libraries */
	bool looks_told;       /* that it waits for them */
	const struct ubp_arch *arch;
	/* The owner's (engine/space/space.h); NULL until it sets it. */
	struct plant_space *plant;
	/* Where the frames of remote calls stand, REMOTE_FRAMES of them; 0: each on the stack of
	 * its thread. */
	uint64_t frames;
	unsigned frames_taken; /* a bit for each */
	uint64_t batch;        /* where its owner has put the code for many calls; 0: nowhere */
};

struct process {
	pid_t pid;
	struct space *space;
	struct process *next, *before_it; /* in its space */
	struct tracee *tracees;           /* its threads */
	unsigned n_tracees;
	pid_t own_pid;   /* its id as it sees itself; 0: not asked */
	pid_t born_of;   /* thread that gave birth to it; 0: not seen */
	bool is_vforked; /* that waits for its exec, or end */
	bool silent;     /* traced for its memory's sake: nobody asked for its hits */
	bool execing;    /* its old image is being forgotten */
	bool is_alone;   /* nobody traces it for now (alone.h) */
	bool is_leaving; /* it is being let go: nothing is to be planted in it any more */
	bool stays;      /* attach_to_wait(): a stop that was asked for holds the thread */
	bool waits;      /* ... and its owner has not seen to it yet */
	bool at_exec;    /* seized by attach_at_exec(): its new image was not seen yet */
	bool exec_comes; /* ... and it ran its old program then: it does not run the new one unseen */
	/* The owner's (engine/space/thread.h): tracer_ops.process_len. */
	struct process_probes *probes;
};

/* A remote call, and what the thread had before it. */
struct tracee_remote {
	bool stops_again; /* let go out of the stub, by a stop that is still to come */
	bool is_in;       /* inside the stub of a remote call: stop at syscalls */
	bool called;      /* stopped behind its remote call: goes on with *before */
	bool at_large;    /* does not come out of its remote call: it is not stopped */
	/* Its registers before a remote call, and what else it had; NULL: there never was one. */
	struct ubp_regs *before;
	struct ubp_more *more;
	uint8_t frame;  /* of its space's, that its remote call uses; 0: none */
	bool resumes;   /* behind that, only the rest of a system call is to be made */
	bool is_batch;  /* it makes calls in a row: no stop at each */
	bool by_signal; /* it stands where the kernel looks for signals, on its way out */
	/* What was found out about it since its stop (remote_facts.h). */
	struct {
		bool are_known;
		bool suspend; /* its seccomp filter, during the calls themselves */
		int sig;      /* that it sends itself; 0: it makes no calls in a row */
		pid_t own_pid, own_tid; /* as it sees itself */
	} facts;
	struct ubp_call call; /* that a stop breaks off */
};

/*
 * What a hit wants to know about its thread; filled lazily, kept here so that the hot path looks
 * nothing up (tracee_task.h).
 */
struct tracee_task {
	char comm[16];
	uint64_t comm_read_ns; /* when; 0: never */
	uint64_t rseq_vaddr;   /* of its struct rseq; 0: not known */
	unsigned rseq_asked;   /* tries so far */
	int one_cpu;           /* the only CPU it may use; -1: several; -2: not asked */
	uint64_t one_cpu_ns;
	int stat_fd; /* /proc/PID/task/TID/stat; -1: not open */
};

struct tracee {
	pid_t tid;
	struct process *process;
	struct tracee *next, *before_it; /* in its process */
	bool held;                       /* stopped, and kept so by us */
	bool parked;           /* kept in its stop, whoever lets it go: tracer_park() */
	bool kept;             /* ... by tracer_keep() */
	pid_t parked_for;      /* process that its owner has to see to first */
	bool asks;             /* parked for another tracer's sake */
	bool listening;        /* in a group stop (job control) */
	bool want_interrupt;   /* a PTRACE_INTERRUPT is waited for */
	bool drained;          /* seen stopped without a trap of ours pending */
	bool is_asked;         /* to stop for that */
	uint8_t left_alone;    /* asleep: who holds the running ones has no use for it ... */
	long asleep_in;        /* ... in this system call */
	bool stepping;         /* resume by single step; a step's trap is expected */
	bool no_seccomp;       /* its filter is suspended (seccomp.h) */
	unsigned long options; /* of ptrace, that it has */
	bool ends;             /* it has stopped for its end: it does not run any more */
	bool execs;            /* it was about to execute a program, lately */
	unsigned n_execs;      /* a new number: nothing known of its memory is true */
	struct tracee_remote remote;
	struct tracee_task task;
	/* The owner's (engine/space/thread.h): tracer_ops.thread_len. */
	struct thread_probes *probes;
};

/*
 * The threads of an address space, in no order; @t NULL begins. They must not change between
 * two calls: who handles stops in between begins anew, or goes by space_ids().
 */
struct tracee *space_next(const struct space *space, const struct tracee *t);

/* Do several processes live in it? */
bool space_is_shared(const struct space *space);

#endif
