/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The tracer: one thread that seized others and looks after their stops. It
 * knows threads, address spaces and signals, but no probe: what a breakpoint
 * means is asked of its owner through struct tracer_ops.
 *
 *   space    one address space; shared by processes that were born with CLONE_VM
 *   process  one thread group
 *   tracee   one thread, seized
 *
 * All functions are for the tracing thread alone, because ptrace belongs to the
 * thread that seized, except tracer_wake().
 *
 * Stops are looked at with WNOWAIT and never consumed when they carry a signal:
 * a consumed signal is lost if the tracer dies (docs/architecture.md).
 */

#ifndef UBP_TRACE_TRACER_H
#define UBP_TRACE_TRACER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "engine/base/map.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"

/* What tracees are seized with. TRACESYSGOOD: without it a syscall-stop turns into
 * a SIGTRAP if the tracer dies. */
#define TRACER_OPTIONS                                                                         \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |                    \
	 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEVFORKDONE)

struct ubp_err;
struct plant_space;
struct process;
struct process_probes;
struct reaper;
struct thread_probes;
struct tracee;

struct space {
	unsigned refs;             /* processes that live in it */
	struct process *processes; /* these */
	struct trace_mem mem;
	struct mem_care care; /* .mem's */
	const struct ubp_arch *arch;
	struct plant_space
		*plant; /* the owner's (engine/plant/space.h); NULL until it sets it */
	/* Where the frames of remote calls stand, REMOTE_FRAMES of them; 0: each on the stack of
	 * its thread. */
	uint64_t frames;
	unsigned frames_taken; /* a bit for each */
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
	bool is_leaving; /* it is being let go: nothing is to be planted in it any more */
	bool stays;      /* attach_to_wait(): a stop that was asked for holds the thread */
	bool waits;      /* ... and its owner has not seen to it yet */
	bool at_exec;    /* seized by attach_at_exec(): its new image was not seen yet */
	bool exec_comes; /* ... and it ran its old program then: it does not run the new one unseen */
	struct process_probes
		*probes; /* the owner's (engine/plant/thread.h): tracer_ops.process_len */
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
	uint8_t frame;        /* of its space's, that its remote call uses; 0: none */
	bool resumes;         /* behind that, only the rest of a system call is to be made */
	struct ubp_call call; /* that a stop breaks off */
};

/*
 * What a hit wants to know about its thread; filled lazily, kept here so that the hot path looks
 * nothing up. See engine/trace/task.h.
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
	struct thread_probes
		*probes; /* the owner's (engine/plant/thread.h): tracer_ops.thread_len */
};

enum trap_verdict {
	TRAP_OURS,    /* go on, the signal is not delivered */
	TRAP_FOREIGN, /* not our trap: the program gets its SIGTRAP */
};

enum keep_verdict {
	KEEP_TRACING,
	LET_GO, /* nothing of ours is left in it: detach */
};

struct tracer_ops {
	/* Bytes, zeroed, that the owner has with each thread and process. 0: it has none. */
	size_t thread_len, process_len;
	/* SIGTRAP at a thread. One that is parked meanwhile stays where it is, here and below. */
	enum trap_verdict (*trap)(void *ctx, struct tracee *t);
	/* Is @pc where a thread stands whose trap of ours is still pending? */
	bool (*pc_has_trap)(void *ctx, struct tracee *t, uint64_t pc);
	/* A signal is about to be delivered; the pc may be inside a slot. True: it is none
	 * of the program's, and is dropped. */
	bool (*signal)(void *ctx, struct tracee *t, int sig);
	/* A new thread of a known process, stopped before its first instruction; @mother,
	 * which made it, is stopped too. */
	void (*born)(void *ctx, pid_t mother, struct tracee *t);
	/*
	 * @first is a stopped thread: of a new process with a copy of @parent's
	 * memory, or of one that shares it (then always kept until its exec).
	 */
	enum keep_verdict (*forked)(void *ctx, struct process *parent, struct tracee *first,
				    bool shares);
	/* @t is stopped in its new image; its space is new. */
	enum keep_verdict (*execed)(void *ctx, struct tracee *t);
	/* Its vfork() child does not share its memory any more. */
	void (*vfork_done)(void *ctx, struct tracee *t);
	/* It is about to end; its memory is there. Only where tracer.options asks for that. */
	void (*ending)(void *ctx, struct tracee *t);
	void (*tracee_gone)(void *ctx, struct tracee *t);
	void (*process_gone)(void *ctx, struct process *p);
	/* The command ended; wait status as of waitpid(). */
	void (*command_ended)(void *ctx, int status);
	void (*space_gone)(void *ctx, struct space *space);
	/* About to block: nothing hot is expected. */
	void (*idle)(void *ctx);
	/* About to wait for a thread to stop, in the middle of something else: a moment to seize others, and to do no
	 * more than that. */
	void (*meanwhile)(void *ctx);
};

#define TRACER_HOT 8

/* How long targets stood still while they were changed: not for hits. */
struct tracer_stops {
	unsigned depth;
	uint64_t since_ns;
	uint64_t total_ns, longest_ns; /* read by anybody, relaxed */
};

struct tracer {
	const struct tracer_ops *ops;
	void *ctx;
	struct map tracees;    /* tid -> struct tracee */
	struct map processes;  /* pid -> struct process */
	struct map limbo;      /* tid of a new thread whose parent has not reported -> itself */
	struct map unseen;     /* tid of a thread that there was no memory for -> itself */
	bool lost_sight;       /* ... nor for that number */
	unsigned long options; /* of ptrace, for every thread: TRACER_OPTIONS, and more */
	pid_t waker;           /* child that is signalled to wake the tracer */
	int mailed;            /* atomic: tracer_wake() was called */
	int wait_code;         /* errno: stops can't be waited for any more */
	unsigned n_untaken;    /* stops, births of those that there was no memory for */
	struct reaper *reaper; /* NULL: this kernel needs none */
	const int *cancelled;  /* atomic: whoever attaches shall give up; NULL: never */
	struct mem_pokes pokes;
	struct ids_room ids;
	struct stand_in stand_in;
	bool is_draining; /* drain_traps() is at work */
	pid_t command;    /* child of the tracing thread; 0: none */
	unsigned n_parked;
	/* Recently hot threads are asked first (engine/trace/wait.c). */
	struct tracee *hot[TRACER_HOT];
	unsigned n_hot, next_hot, hits_since_sweep;
	size_t sweep_pos;
	struct tracer_stops stops;
	/* Where the tracer runs (engine/trace/follow.c). */
	int cpu, next_cpu, same_cpu;
	void *all_cpus;
};

/* Returns 0 or a negative errno. Must be called on the tracing thread. */
int tracer_init(struct tracer *tracer, const struct tracer_ops *ops, void *ctx,
		struct ubp_err *err);

/*
 * Ends tracing: forgets all. The kernel lets go of every tracee when the tracing
 * thread ends, without stopping it; nothing of ours may be left in them.
 */
void tracer_fini(struct tracer *tracer);

/* Is it to give up what it has begun? Then with -EINTR and this text. */
bool tracer_is_cancelled(const struct tracer *tracer);
int tracer_give_up(struct ubp_err *err);

/*
 * Wait for one stop and handle it. Returns 1, or 0 when tracer_wake() was
 * called or nothing is traced any more. Handles at most @max stops before it
 * returns.
 */
int tracer_run(struct tracer *tracer, unsigned max);

/* Handle the stops that wait, @max at most, and do not wait for more. */
void tracer_poll(struct tracer *tracer, unsigned max);

/*
 * Who has made a remote call and was let go stops once more, on its way out of the system call that it was in
 * (tracee_leave_stub()). Wait for those stops and handle them, for @limit_ms at most.
 */
void tracer_settle(struct tracer *tracer, unsigned limit_ms);

/*
 * @t, which stopped just now, is not let go on, whoever would do so, until tracer_unpark():
 * tracer_run() returns at once, for its owner to do what has to be done first. The stop is
 * consumed: a signal that it carries is dropped. @pid: t->parked_for.
 */
void tracer_park(struct tracer *tracer, struct tracee *t, pid_t pid);
void tracer_unpark(struct tracer *tracer, struct tracee *t);

/* On the tracing thread: do not wait for another stop before tracer_run() returns. */
void tracer_end_turn(struct tracer *tracer);

/* From any thread: make tracer_run() return soon. */
void tracer_wake(struct tracer *tracer);

/*
 * A thread that would run is held, or all are, to change something in its process;
 * and goes on. For the account alone. They nest.
 */
void tracer_stop_begin(struct tracer *tracer);
void tracer_stop_end(struct tracer *tracer);

/*
 * The next stop of @t, waiting at most @limit_ms. Meanwhile threads of its process
 * that ended are reaped: an exec waits for that. Returns as wait_one(); -ESRCH also
 * when @t is no longer traced.
 */
struct stop;
int tracer_await(struct tracer *tracer, struct tracee *t, unsigned limit_ms,
		 struct stop *ret_stop);

/*
 * The threads of an address space, in no order; @t NULL begins. They must not change between
 * two calls: who handles stops in between begins anew, or goes by space_ids().
 */
struct tracee *space_next(const struct space *space, const struct tracee *t);

/* Do several processes live in it? */
bool space_is_shared(const struct space *space);

/*
 * Is the thread that was @tid still traced, and is it @t? To be asked before @t is used again, wherever
 * stops were handled meanwhile.
 */
bool tracer_has(const struct tracer *tracer, const struct tracee *t, pid_t tid);
/* And does it run the same program? @n_execs: what t->n_execs was. */
bool tracer_has_same(const struct tracer *tracer, const struct tracee *t, pid_t tid,
		     unsigned n_execs);

/* --- used by the files of this room ----------------------------------------- */

struct tracee *tracer_add_tracee(struct tracer *tracer, struct process *p, pid_t tid);
void tracer_drop_tracee(struct tracer *tracer, struct tracee *t);
/* Let go of a stopped thread for ever. */
void tracer_detach(struct tracer *tracer, struct tracee *t);
/* NULL: out of memory; @space is gone then if nobody else lives in it. */
struct process *tracer_add_process(struct tracer *tracer, pid_t pid, struct space *space);
/* Its memory is another one from now on: what it had is put. */
void process_move(struct tracer *tracer, struct process *p, struct space *space);
/* One without threads. */
void tracer_drop_process(struct tracer *tracer, struct process *p);
/* @arch NULL: that of the program which runs there. NULL: with a text. */
struct space *space_new(struct tracer *tracer, const struct ubp_arch *arch, pid_t pid,
			struct ubp_err *err);
void space_put(struct tracer *tracer, struct space *space);
/*
 * @tid stands in its exec event: the system call's result, 0, is still to be put into its register.
 * Who saves registers there and has them restored later would undo that.
 */
void space_settle_exec(const struct space *space, pid_t tid);

/* One stop, as waitid() tells it: exited, or signal and event. */
struct stop {
	pid_t tid;
	bool exited;
	int wait_status; /* exited: as of waitpid() */
	int sig, event;
};

/* Handle a stop, or an end, and let the thread go on unless it is held. */
void tracer_dispatch(struct tracer *tracer, const struct stop *stop);

/* Let a stopped thread run; @sig is delivered (0: none). */
void tracee_resume(struct tracee *t, int sig);

/*
 * An event stop may overtake the SIGTRAP of a breakpoint that was just hit, or of
 * a step. Does @t, in such a stop, still have one to report?
 */
bool tracee_has_trap(struct tracer *tracer, struct tracee *t);

/* Consume the stop @t is in, so that waiting does not return it again. Only for
 * stops that carry no signal. */
void tracee_consume(const struct tracee *t);

/* A stopped thread that made a remote call: put its registers back. The kernel makes
 * a system call that was broken off again, or does not, as signals demand. */
void tracee_leave_stub(struct tracee *t);
/* A stopped thread that is about to make its remote call: its registers are put back, nothing else. */
void tracee_put_before(struct tracee *t);

/* It is gone, or has other registers: nobody needs the frame of its remote call any more. */
void tracee_leave_frame(struct tracee *t);

/*
 * @t is in an event stop of kind @sig: SIGTRAP when we asked for it, else a group
 * stop. Consumes it. A system call that it broke off will be made again.
 */
void tracee_event_stop(struct tracee *t, int sig);

/* wait.c: as waitid() says it. */
void wait_fill(struct stop *stop, const siginfo_t *si);
/* wait.c: consume a stop, but not an end that has overtaken it. */
void tracer_consume_stop(pid_t tid);

/* wait.c: the next stop of any thread. False: woken. */
bool wait_any(struct tracer *tracer, struct stop *ret_stop);
/*
 * wait.c: the next stop of one thread, waiting at most @limit_ms. Returns 1, 0 on
 * time-out, -ESRCH when it is gone without a trace.
 */
int wait_one(pid_t tid, unsigned limit_ms, struct stop *ret_stop);
/* wait.c: a stop of any thread that there is already. */
bool wait_poll(struct stop *ret_stop);
/* The same without waiting. */
int wait_look(pid_t tid, struct stop *ret_stop);
/* Between two looks: give the processor away; after a while (*start is when it
 * began, 0: now) sleep. */
void wait_a_little(uint64_t *start);
/* stop_one.c: for struct mem_pokes. @ctx: the tracer; @space: a struct space. */
pid_t stop_one(void *ctx, const void *space);
bool stop_all(void *ctx, const void *space);
/* wait.c: note a hit, so that this thread is asked first. */
void wait_note_hot(struct tracer *tracer, struct tracee *t);
void wait_forget(struct tracer *tracer, const struct tracee *t);

/* children.c */
void children_born(struct tracer *tracer, struct tracee *parent, int event);
void children_unknown(struct tracer *tracer, const struct stop *stop);
/* A thread took the id of a leader that was never ours, by an exec. NULL: none did. */
struct tracee *children_renamed(struct tracer *tracer, pid_t tid);
void children_execed(struct tracer *tracer, struct tracee *t);
void children_orphaned(struct tracer *tracer, struct process *parent);
/*
 * Thread @tid is traced, and there is no memory for its struct tracee: it runs unseen until it stops for
 * something, and is taken up then.
 */
void children_note_unseen(struct tracer *tracer, pid_t tid);
/* Does no such thread live in @space? */
bool children_all_seen(const struct tracer *tracer, const struct space *space);

#endif
