/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * libubp: uprobes without the kernel's uprobes. The public interface.
 *
 *   struct ubp_err err;
 *   struct ubp_options opt = UBP_OPTIONS_INIT;
 *   struct ubp_session *s;
 *
 *   ubp_session_new(&opt, &s, &err);
 *   ubp_add(s, "p:bash:readline", NULL, &err);
 *   ubp_start(s, &err);
 *   while (!ubp_is_done(s) && poll(...ubp_fd(s)...) >= 0)
 *           ubp_dispatch(s, on_event, ctx);
 *   ubp_stop(s);
 *   ubp_session_free(s);
 *
 * All functions are called from one thread, the caller's; callbacks run inside
 * ubp_dispatch(), on that thread. Threads of the session's own do the tracing;
 * they have all signals blocked (but SIGCHLD, where the caller has no handler for
 * it), so that the caller's signals stay the caller's.
 * Functions that can fail return 0 or a negative errno and fill *err.
 */

#ifndef UBP_SESSION_UBP_H
#define UBP_SESSION_UBP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/err.h"
#include "engine/base/until.h"

struct ubp_session;
struct ubp_event; /* one hit; valid during the callback only */

enum ubp_mode {
	UBP_MODE_AUTO, /* the best rung that is safe */
	UBP_MODE_JUMP, /* the same, at once: auto spares programs that may end soon the effort */
	UBP_MODE_TRAP, /* breakpoint and boosted copy */
	UBP_MODE_STEP, /* breakpoint and single-stepped copy, where the instruction allows it */
};

/* Are processes traced that a traced one gives birth to? (Its threads always are.) */
enum ubp_follow {
	UBP_FOLLOW_AUTO, /* of a command, and where all processes are traced */
	UBP_FOLLOW_YES,  /* of those in .pids, too: the session goes on until all have ended */
	UBP_FOLLOW_NO,
};

enum ubp_stack {
	UBP_STACK_NONE,
	UBP_STACK_CFI, /* by call frame information: right everywhere; takes a breakpoint */
	UBP_STACK_UNWIND, /* the same by libunwind; programs of another word size: as UBP_STACK_CFI */
	UBP_STACK_FP, /* by frame pointers, without a stop where there is a jump */
};

/* Where symbols and debug information are sought, beside the usual places. */
struct ubp_debug_options {
	const char *dirs;    /* --debug-dir: "DIR:DIR..." */
	const char *symbols; /* --symbols: of the file that has the same build-id, or, where
			      * there is none in it, of the only file that is probed */
};

struct ubp_options {
	const pid_t *pids; /* trace only these processes (thread groups) ... */
	size_t n_pids;
	pid_t tid;     /* ... or only this thread; 0: no choice */
	bool strict;   /* definitions: the kernel's grammar only */
	bool lossless; /* wait for the reader rather than lose records */
	bool force;    /* override refusals where that can make sense */
	/* No jump where a kernel's uprobe that comes later would break it: a breakpoint. */
	bool beside_kernel;
	/* Definitions are only looked at, so they may be for files of other machines, too;
	 * ubp_start() is an error. */
	bool files_only;
	enum ubp_stack stack;
	unsigned frames;  /* of a stack at most; 0: 127 */
	bool stack_raw;   /* print addresses, as the kernel does, not names */
	bool stack_lines; /* source lines and inlined functions, too */
	struct ubp_debug_options debug;
	const char *const
		*exclude;   /* functions that patterns leave out: patterns; NULL-ended */
	bool count_dropped; /* .hits of statistics count what filters drop, in detours too */
	enum ubp_mode mode;
	enum ubp_follow follow;
	const char *clock;  /* "mono" (default, NULL), "mono_raw", "boot", "real" */
	size_t queue_bytes; /* 0: default */
	size_t ring_bytes;  /* of each thread's ring, a power of two from 16384; 0: default */
	/* A warning for the user, e.g. a process that had to be skipped. One line,
	 * no newline. May be NULL. Called on the caller's thread. */
	void (*warn)(void *ctx, const char *text);
	/* The same for what is as it should be, but not known to the user: where a probe was
	 * found that was given without TARGET. */
	void (*tell)(void *ctx, const char *text);
	void *warn_ctx; /* of both */
	/* For a caller who may want ubp_add() and its like to end before they are done, as where a file does
	 * not answer; NULL: they are waited for. See there. */
	const struct ubp_until *until;
};

#define UBP_OPTIONS_INIT                                                                       \
	{                                                                                      \
		.mode = UBP_MODE_AUTO                                                          \
	}

/*
 * A session, to be freed with ubp_session_free(). Strings and lists of @opt stay the caller's and
 * must last as long as the session, but for .pids. Errors: -ESRCH: no such process or thread;
 * -EPERM, -EACCES: it may not be traced; -EINVAL: an option that makes no sense.
 */
int ubp_session_new(const struct ubp_options *opt, struct ubp_session **ret_session,
		    struct ubp_err *err);
/* Stops first if need be. NULL is fine. */
void ubp_session_free(struct ubp_session *session);

/*
 * Add definitions: before ubp_start(). ubp_add() takes one in the perf-tools
 * form, ubp_add_events() text as written to uprobe_events (several lines; with
 * the extended grammar unless .strict). @filter may be NULL and applies to all
 * that this call adds. Everything is parsed, resolved and checked here: file,
 * symbol, instruction boundary. On failure the call adds nothing, and err->line tells
 * the line of the text, if it is one line's fault.
 *
 * -EINTR: .until was over. -EFBIG, among others: a file's debug information takes too long to read. After the first, and after the
 * second where one call of libdw's did not come back, the session can only be freed. A thread
 * of the session's stays until that call ends, or the file answers, or the process ends, and frees the session; what
 * .debug and .exclude of the options point to must last as long.
 */
int ubp_add(struct ubp_session *session, const char *definition, const char *filter,
	    struct ubp_err *err);
int ubp_add_events(struct ubp_session *session, const char *text, size_t len,
		   const char *filter, struct ubp_err *err);

/*
 * Add a static probe (USDT): "[p:[ALIAS] ][TARGET:]PROVIDER:NAME [ARG...]", at all its
 * locations. ARG is a fetch arg in which argN stands for the probe's Nth argument; without any,
 * all arguments are taken as the note types them. Without TARGET it is sought in .pids, else
 * in the program or library of the provider's name, else in all running programs.
 */
int ubp_add_usdt(struct ubp_session *session, const char *definition, const char *filter,
		 struct ubp_err *err);

/* Run a command under the session, from its first instruction; before
 * ubp_start(). @argv ends in NULL. The command gets the signal mask that the
 * caller has now, whatever the caller blocks afterwards. */
int ubp_run_command(struct ubp_session *session, char *const argv[], struct ubp_err *err);

/* What was added. Indexes count probes in order of definition. */
size_t ubp_n_probes(const struct ubp_session *session);
/* The line uprobe_events would list; valid until the next ubp_add. */
const char *ubp_probe_listing(struct ubp_session *session, size_t i);
/* Group, event name and path (owned by the session), and the format file's text. */
const char *ubp_probe_group(const struct ubp_session *session, size_t i);
const char *ubp_probe_event(const struct ubp_session *session, size_t i);
const char *ubp_probe_path(const struct ubp_session *session, size_t i);
bool ubp_probe_is_return(const struct ubp_session *session, size_t i);
const char *ubp_probe_format(struct ubp_session *session, size_t i);
/*
 * The same definition as a kernel takes it: one line, without symbols, variables or extensions. NULL:
 * no kernel takes it; *ret_why then says what for. Both belong to the session.
 */
const char *ubp_probe_definition(struct ubp_session *session, size_t i, const char **ret_why);
/* --explain: which rung the site will get, and why not a better one. One line. */
const char *ubp_probe_explain(struct ubp_session *session, size_t i);

/*
 * Attach and plant. Raises the soft limit of descriptors to the hard one: each
 * process takes one. On failure nothing is left planted and the session can only
 * be freed. Without pids and command: every process that maps a probed file, and
 * those that start later; none yet is no error.
 */
int ubp_start(struct ubp_session *session, struct ubp_err *err);

/*
 * The same for a caller who may want it to end before it is done: many processes, or one that
 * can't be stopped, take their time. When it is over, all that was planted is taken out, and -EINTR is
 * returned. It is asked later on, too, while a file is read for the names of a stack (ubp_event_line() and its like): when
 * it is over, only addresses are given from then on. So it must last as long as these are called.
 */
int ubp_start_until(struct ubp_session *session, const struct ubp_until *until,
		    struct ubp_err *err);

/* Becomes readable when ubp_dispatch() has something to do or ubp_is_done()
 * has become true. */
int ubp_fd(const struct ubp_session *session);

typedef void ubp_event_fn(void *ctx, const struct ubp_event *event);

/*
 * Deliver waiting records, oldest first, to @fn: what waits at the time of the
 * call, so that it ends however fast new ones come. Does not block. Returns the
 * number delivered, or a negative errno if tracing has failed. Of very many some
 * may be left for the next call, with ubp_fd() readable.
 */
int ubp_dispatch(struct ubp_session *session, ubp_event_fn *fn, void *ctx, struct ubp_err *err);

/* Nothing more can come: the command, or all of .pids, have ended. */
bool ubp_is_done(const struct ubp_session *session);

/* Process id of the command; 0: there is none, or it does not run yet. */
pid_t ubp_command_pid(const struct ubp_session *session);

/* Wait status (as waitpid) of the command once it ended; false: it has not.
 * After ubp_stop() too: then this call looks (WNOHANG) and reaps it. */
bool ubp_command_status(const struct ubp_session *session, int *ret_status);

/*
 * Remove all probes, restore every byte, let go of the targets: none is traced any more.
 * Records that still wait can be dispatched afterwards. Does not end the command.
 */
void ubp_stop(struct ubp_session *session);

/*
 * Has something failed until now, though the session started and events came? Told by .warn() (in
 * the next ubp_dispatch()): tracing ended by itself, or something could not be taken out of a
 * target. That does not harm it: what needs the guard keeps it, and the next session that traces
 * the process takes it out. To be asked behind ubp_stop().
 */
bool ubp_has_failed(const struct ubp_session *session);

/* --- events --------------------------------------------------------------- */

/* Number of the probe, or -1 for a gap: ubp_event_lost() records were lost. */
int ubp_event_probe(const struct ubp_event *event);
uint64_t ubp_event_lost(const struct ubp_event *event);
/* When and where: nanoseconds of .clock; ids as the caller's pid namespace has them; the thread's
 * name; the address of the instruction, or where a return goes back to. */
uint64_t ubp_event_time_ns(const struct ubp_event *event);
pid_t ubp_event_pid(const struct ubp_event *event);
pid_t ubp_event_tid(const struct ubp_event *event);
unsigned ubp_event_cpu(const struct ubp_event *event);
const char *ubp_event_comm(const struct ubp_event *event);
uint64_t ubp_event_ip(const struct ubp_event *event);

/*
 * The event as a line, newline included, as the kernel's tracer prints it. Returns its bytes (owned by
 * the session, valid until the next call; strings may hold any byte) and sets *ret_len. Other forms,
 * and whole traces: ubp_sink.h.
 */
const char *ubp_event_line(const struct ubp_event *event, size_t *ret_len);

/* Name and value of argument @i as printed; NULL when there is none such. */
const char *ubp_event_arg_name(const struct ubp_event *event, size_t i);
const char *ubp_event_arg_text(const struct ubp_event *event, size_t i);

/* --- statistics ------------------------------------------------------------ */

struct ubp_probe_stats {
	uint64_t hits;             /* before filtering, as uprobe_profile counts */
	uint64_t stopped;          /* of these, the thread was stopped for: all without jumps */
	uint64_t passed;           /* delivered or lost: the filter said yes */
	uint64_t lost;             /* passed, but the queue was full */
	uint64_t too_big;          /* passed, but over the kernel's record limit */
	uint64_t missed;           /* returns that can't come: the sum of the next six */
	uint64_t missed_skipped;   /* frame left by longjmp, an exception, or thrown away */
	uint64_t missed_thread;    /* the thread ended */
	uint64_t missed_exited;    /* the process ended, or executed another program */
	uint64_t missed_no_room;   /* the return address could not be replaced */
	uint64_t missed_tail_jump; /* at_rets only: left by a jump to another function */
	uint64_t missed_kernel;    /* a uretprobe of the kernel's stands there, too, and it is
				    * left by jumps, or was entered by one */
	/* Hits with arguments or stacks that are not whole: memory was left alone because whoever
	 * reads it might have to wait, for a file server or a userfaultfd. Why, of the last one:
	 * NULL, or a text that lasts. */
	uint64_t unanswered;
	const char *why_unanswered;
	unsigned sites;                              /* places where it is or was planted */
	unsigned jumped, boosted, stepped, in_place; /* rung of these sites */
	/* Of these sites: those behind the first instruction; jumps that begin at it, where a kernel's
	 * uprobe would break them; breakpoints in place of such a jump (beside_kernel); those that
	 * a kernel's uprobe was found to have taken over, at the end: its hits are not seen. */
	unsigned behind, at_first, beside_kernel, hidden;
	const char
		*no_jump; /* why one of them is no jump; NULL: all are. Lasts as the session */
	unsigned hijacked, at_rets; /* return probes: of these sites, entries where the return
				     * address is replaced; breakpoints where one returns */
};

/* Of probe @i until now; at any time, also after ubp_stop(). */
void ubp_probe_stats(const struct ubp_session *session, size_t i,
		     struct ubp_probe_stats *ret_stats);

struct ubp_stats {
	unsigned processes; /* traced at any time */
	unsigned skipped;   /* not allowed to attach */
	unsigned too_late; /* ran probed code, and had ended when they were to be attached to */
	uint64_t not_known; /* new ones that had ended before it could be told what they run */
	unsigned held;      /* seized while they executed a probed program, or loaded a probed
			* library, so that they ran none of it before its probes stood */
	/* Executed or loaded such a file and went on before ubp had them, as it did not answer in time, or the
	 * kernel asked too late (scripts): they may have run some of it. */
	uint64_t early;
	unsigned unguarded; /* would die with ubp (.force) */
	/* How long processes stood still to have probes planted: in all, and at most at once. */
	uint64_t stopped_ns, longest_stop_ns;
	/* How long all of them waited for memory of one that did not answer, in all; and for any that may
	 * not answer, at most at once. */
	uint64_t unanswered_ns, longest_answer_ns;
	uint64_t
		requests; /* for memory that may not answer: each costs two switches of process */
	uint64_t ring_lost; /* records that threads had no room for; of which probe, is known
			     * if there is but one */
	/* Stacks that were unwound: frames found by libdw's rows of call frame information, by
	 * libunwind, by frame pointers where neither knew any. */
	bool has_unwound;
	uint64_t frames_by_rows, frames_by_libunwind, frames_by_frame_pointer;
	const char *
		finder; /* how later processes are found: "proc connector", "scan of /proc", with
			  * ", fanotify" where those who execute a probed program are held */
};

/* Of the whole session; may be asked at any time, as ubp_probe_stats(). */
void ubp_stats(const struct ubp_session *session, struct ubp_stats *ret_stats);

/*
 * --- files ------------------------------------------------------------------
 *
 * These take no session. Strings that @each gets are good during the call; what it returns, if not 0,
 * ends the listing and is returned. Errors: -ENOENT: no such file, function or place, with near names;
 * -ENOEXEC: no ELF file, or a corrupt one; -ENODATA: no debug information, the text says what was looked for.
 */

/* What a listing is about. Zero-initialise. */
struct ubp_target {
	/* A path, program or library; NULL: all that .pid maps (functions and USDT). With wildcards:
	 * each such file (functions). */
	const char *name;
	pid_t pid; /* 0, or as that process sees it */
	struct ubp_debug_options debug;
	const char *pattern;        /* of names, as fnmatch(3) has it; NULL: all */
	const char *const *exclude; /* patterns, NULL-ended; may be NULL */
	bool explain;               /* tell how each place can be probed */
};

/*
 * List functions, sorted, each name once, with "PATH:" before it if .name is NULL or has wildcards; C++ and Rust names demangled, by which .pattern
 * finds them too. @explain: "jump", "breakpoint: WHY", "refused: WHY"; NULL if not asked for.
 */
int ubp_list_functions(const struct ubp_target *target,
		       int (*each)(void *ctx, const char *name, uint64_t offset,
				   const char *explain),
		       void *ctx, struct ubp_err *err);

/* A location of a static probe. Strings are good during the callback. */
struct ubp_usdt {
	const char *path;
	const char *provider, *name;
	const char *args;             /* as in the note: "-4@%edi 8@-16(%rbp)" */
	uint64_t location, semaphore; /* elf_vaddrs; semaphore 0: none */
	uint64_t base;                /* of the note, as it stands in the file */
	uint64_t offset;              /* of the location, in the file; UINT64_MAX: none */
	size_t n_args;
	const char *explain; /* as for functions */
	struct object *file; /* the library's own */
};

/* Those whose "provider:name" matches .pattern, file by file in the order of the notes. */
int ubp_list_usdt(const struct ubp_target *target,
		  int (*each)(void *ctx, const struct ubp_usdt *usdt), void *ctx,
		  struct ubp_err *err);
/*
 * Argument @i (from 0) of @usdt, in words: "s32 %di", as fetch args write it. False: there is none, or
 * nobody can read it, then @text says why.
 */
bool ubp_usdt_arg(const struct ubp_usdt *usdt, size_t i, char *text, size_t size);

/*
 * Text for --lines-of FUNCTION and --vars PLACE, as perf probe -L and -V print it. PLACE is
 * FUNCTION, FUNCTION:LINE or FILE:LINE. @each gets lines without newline.
 */
int ubp_list_lines(const struct ubp_target *target, const char *function,
		   int (*each)(void *ctx, const char *line), void *ctx, struct ubp_err *err);
int ubp_list_variables(const struct ubp_target *target, const char *place,
		       int (*each)(void *ctx, const char *line), void *ctx,
		       struct ubp_err *err);

/* How many places of a file a jump can stand at. */
struct ubp_coverage_counts {
	uint64_t n;
	uint64_t one, several; /* a jump, in the place of so many instructions */
	uint64_t beside; /* of those, beside which a kernel's uprobe may come and go, ... */
	uint64_t beside_args; /* ... whatever arguments are asked for */
	uint64_t breakpoint;  /* a breakpoint only */
	uint64_t refused;     /* no probe */
	uint64_t why[16];     /* of the last two: ubp_coverage_why() tells what each is */
};

struct ubp_coverage {
	struct ubp_coverage_counts entries; /* of functions, each address once */
	struct ubp_coverage_counts usdt;    /* static probes */
	struct ubp_coverage_counts insns;   /* all instructions, if asked for */
};

/*
 * Count those of TARGET (a path, program or library). @insns: all instructions too, some
 * seconds for each megabyte of code.
 */
int ubp_coverage(const char *target, bool insns, struct ubp_coverage *ret_coverage,
		 struct ubp_err *err);

/* What why[@i] counts, a few words; NULL: nothing. */
const char *ubp_coverage_why(unsigned i);

#endif
