/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a session is made of. */

#ifndef UBP_SESSION_STATE_H
#define UBP_SESSION_STATE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/mailbox.h"
#include "engine/base/pid_list.h"
#include "engine/base/spare.h"
#include "engine/event/queue.h"
#include "engine/event/ring.h"
#include "engine/hit/hit.h"
#include "engine/session/alarm.h"
#include "engine/session/event.h"
#include "engine/session/whom.h"
#include "engine/sink/buf.h"
#include "engine/sink/frame.h"
#include "engine/space/state.h"
#include "engine/trace/command.h"
#include "engine/trace/finder.h"
#include "engine/trace/tracer.h"
#include "engine/ubp.h"

struct apart;
struct budget_place;
struct budget_seen;
struct definitions;
struct number_chunk;
struct served_hits;
struct spec_probe;
struct ubp_err;

#define WARNING_MAX 1024
#define WAITING_MAX 256 /* newcomers that are stopped until their turn comes */

struct warning {
	struct warning *next;
	char text[];
};

/* The command that is run. */
struct session_command {
	char *const *argv;
	struct inherited inherited; /* by the command */
	bool limit_raised;          /* of descriptors: to be lowered again */
	int status;
	bool has_ended;
	pid_t pid;
	int fd;
};

/* The tracing thread: how it is started. */
struct session_tracing {
	struct apart
		*apart; /* the engine, which is another process: apart.h. NULL: it is here */
	struct served_hits *
		hits; /* atomic; this is the engine of a host that has the handlers: serve_hits.h. NULL: they are here */
	pthread_t id;
	pid_t tid;
	pid_t owner; /* the process that has started it */
	bool is_there;
	bool was_there; /* it was started, ever */
	bool is_ready, start_failed, has_ended;
	int started_fd; /* written to when one of the first two is true */
	struct ubp_err err;
};

/* What became of processes that were found. Under the session's lock. */
struct session_found {
	struct map known;    /* pids that are traced */
	struct map gone;     /* pids that were, until (ms) */
	struct map executed; /* pids that have executed a program, when (ms) */
	struct map young;    /* pids that are new in any way, since when (ms) */
	uint64_t tidied_ms;
	struct map given_up; /* pids that could not be attached to */
	struct map late;     /* pids that kept us waiting, left alone until (ms) */
};

/* What is told at the end. Under the session's lock. */
struct session_counts {
	unsigned n_processes, n_skipped, n_unguarded;
	unsigned n_late;             /* of those skipped: they kept us waiting */
	char why_skipped[WARNING_MAX]; /* the first of them: which, and why */
	unsigned n_too_late;         /* processes that were to be traced, and had ended */
	struct finder_counts finder; /* the finder's, in the end */
};

/* What waits to be told to the user. Under the session's lock. */
struct session_warnings {
	struct warning *first, **last;
	bool has_failed;         /* something that was told */
	char spare[WARNING_MAX]; /* one that there was no memory for */
};

/* How processes that come later are found, and held until their turn. */
struct session_newcomers {
	struct finder *finder;
	uint64_t own_dev, own_ino; /* newcomers.c: of the program that we are; 0: not known */
	struct exec_hold *hold;    /* NULL: who executes a probed file is not held */
	bool holds_all;            /* every probed file is held */
	/* Taken from the mailbox (mail.h), by the tracing thread: */
	struct pid_list candidates; /* found, not yet attached to */
	struct pid_list executors;  /* threads that are held while they execute a probed file */
	struct pid_list loaders;    /* ... or open a probed library */
	pid_t waiting[WAITING_MAX]; /* newcomers in the order of their turn; most are stopped */
	size_t n_waiting;
	pid_t *trying; /* those whose turn it is (targets_try()); 0: it has ended, and was counted */
	size_t n_trying;
	bool is_seizing;         /* ... one more of them is just being seized */
	unsigned n_held;         /* processes that were seized so, before they ran it */
	const char *finder_kind; /* how later processes are found; NULL: not at all */
	struct whom whom;        /* of all, these alone */
};

/* Processes that nobody traces while they record: letting_go.c. */
struct session_letting {
	struct alarm_clock alarm;
	uint64_t next_ns;    /* when those that are traced are looked at next */
	const char *why;     /* why one is traced; NULL: none is, or nobody has looked */
	unsigned n_alone;    /* so often one was let go of */
	const char *refused; /* why the last one could not be, once it was asked */
	pid_t pid;           /* that has executed a program, and is planted in; 0: none */
	bool is_bound; /* who may be traced once may be refused later: Yama asks whose child it is */
};

/* Looks at what is mapped, where libraries are loaded: loader.c. */
struct session_loader {
	struct pid_list kept; /* threads that wait for credit */
	uint64_t looked_ns;   /* processor time of all looks */
	struct alarm_clock alarm;
};

/* Probes that are taken out when they were hit: once.h. */
struct session_once {
	uint64_t n_due; /* that were, ever; the delivering thread's, atomic */
	/* The tracing thread's. */
	uint64_t n_done; /* .n_due, when all these were taken out */
	struct alarm_turns turns;
};

/* What probes cost: budget.h. All zero: there are no limits. */
struct session_budget {
	bool is_on;
	bool was_over; /* all together, at the last look */
	uint64_t begun_ns, looked_ns;
	uint64_t drained_ns;       /* rings, behind which their counters were seen */
	uint64_t lost;             /* records without room, of all rings, then */
	uint64_t stop_ns, n_stops; /* since the last look: how long they were dealt with */
	struct budget_seen *seen;  /* by a probe's number: its counters at the last look */
	size_t n_seen;
	struct budget_place *places;
	size_t n_places;
	struct alarm_turns looks;
	struct session_once once;
};

/* Who is in which call: calls.h. */
struct session_calls {
	pthread_mutex_t change; /* held by who makes a change, until it is on its way */
	pthread_mutex_t
		consume; /* held by who takes records: in ubp_dispatch(), or while he waits for an answer */
	pthread_t dispatcher; /* .is_dispatching: who is in ubp_dispatch() */
	bool is_dispatching;  /* atomic */
	pthread_mutex_t news_lock;
	pthread_cond_t
		news; /* an answer has come, or an event was handed out that somebody waits for */
	unsigned n_waiting; /* atomic: for that event */
	pthread_t handler;  /* .handling: who is in a handler */
	unsigned handling;  /* atomic: the id of the probe whose handler runs, and 1; 0: none */
	unsigned
		now; /* atomic: the probe's id whose event is just handed out, and 1; 0: none */
};

/* Records that were taken while a call had to wait, for the next ubp_dispatch(): put_off.h. */
struct session_put_off {
	unsigned char *v;
	size_t at, n, cap; /* bytes; the next record, behind the last, room */
	uint64_t n_lost;   /* that there was no memory for */
};

/* Which processes are events of their own: processes.h. The tracing thread's. */
struct session_processes {
	bool are_told;   /* ubp_tell_processes() */
	struct map told; /* pids: that they have begun */
};

/* Records on their way to the caller. */
struct session_out {
	struct event_queue *queue;
	struct ring_set *rings; /* what detours record into; NULL: no jumps */
	/* Written by the caller's thread, relaxed: */
	uint64_t ring_lost;  /* records that did not fit in there */
	uint64_t drained_ns; /* when rings were read last, CLOCK_MONOTONIC */
	long rest_ns;        /* until rings are looked at again */
	uint64_t latency_ns; /* ubp_set_latency(); 0: nobody has asked; any thread's, atomic */
	int poll_fd, news_fd, timer_fd;
	struct event_texts texts;
	struct session_counting *counting; /* counting.c; NULL: all hits are events */
	struct session_tally *tally;       /* tally.c; NULL: that was not asked for */
	struct session_heap *heap;         /* heap.c; NULL: no hits are about memory */
	struct session_record *record;     /* record.c; NULL: nothing goes to a file */
	struct sample_text *sample;        /* sample.c; NULL: all hits are told of */
	struct session_triggers
		*triggers;          /* of the caller's thread; NULL: none was asked for */
	struct session_calls calls; /* who takes them */
	struct session_put_off put_off;
	struct session_processes processes;
	uint64_t
		n_untold; /* hits of probes that were removed before they were handed out; atomic */
};

/* Names for stacks. */
struct session_stacks {
	struct stack_maps_set *maps;     /* NULL: no stacks */
	struct stack_unwinder *unwinder; /* the tracing thread's; NULL: not by CFI */
	struct symboliser *symboliser;   /* NULL: addresses are wanted */
	struct sink_resolver resolver;   /* that */
	uint64_t tidied_ns;
};

/* A change that is on its way, or answered and not looked at. */
struct session_asked {
	uint64_t ticket; /* 0: none */
	unsigned first;  /* of the numbers that it brings */
	unsigned n;
	bool is_left; /* nobody waits for it: ubp_dispatch() looks for its answer */
};

/* Probes by number: numbers.h. */
struct session_numbers {
	pthread_mutex_t
		lock; /* of all that is told of them, held for moments; .n is read without */
	struct number_chunk **chunks;
	size_t n;                      /* numbers that were given; atomic */
	size_t n_there;                /* of these, that are not gone */
	unsigned *leaving;             /* retired, and not gone */
	size_t n_leaving, cap_leaving; /* the first is read without the lock */
	size_t n_asked;                /* changes whose answer was not looked at; the same */
	uint64_t nudged_ns; /* when the tracing thread was asked to try again; atomic */
	struct session_asked asked[MAILBOX_QUESTIONS];
};

/* The change that the tracing thread is at. */
struct session_change {
	uint64_t ticket; /* 0: none */
	uint64_t since_ns;
	pid_t pid; /* process where it is just being planted, that stays whatever comes of it; 0: none */
	unsigned n_failed; /* processes where what is new could not be planted ... */
	char why[256];     /* ... and why, in the first of them */
};

struct ubp_session {
	struct ubp_options opt;
	struct ubp_until until; /* of ubp_start_until(), while the session is there */
	pid_t *pids;
	enum event_clock clock;
	pthread_mutex_t lock; /* of .found, .count, .warning, .tracing and the command's end */
	struct mailbox *mail; /* what others want of the tracing thread: mail.h */
	/* The tracing thread's. */
	struct tracer tracer;
	struct hit hit;
	struct plant plant;
	size_t n_wanted;      /* of .pids, still alive */
	bool is_ending;       /* breakpoints are being taken out everywhere */
	unsigned n_released;  /* processes let go because others trace them */
	unsigned n_unseen;    /* not even allowed to look at, at the start */
	struct map excluded;  /* never attached to unless named */
	const char *no_jumps; /* .out.rings is NULL for this reason */
	struct session_change change;
	struct session_numbers numbers;
	struct definitions *defined; /* what is to be probed */
	struct session_command command;
	struct session_tracing tracing;
	struct session_found found;
	struct session_counts count;
	struct session_warnings warning;
	struct session_newcomers newcomer;
	struct session_loader loader;
	struct session_budget budget; /* the tracing thread's */
	struct session_letting letting;
	struct spare spare; /* to trace again, and to take out, what is planted */
	struct session_out out;
	struct session_stacks stacks;
};

#endif
