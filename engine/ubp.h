/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * libubp: uprobes without the kernel's uprobes. The public interface: sessions and their probes.
 *
 *   struct ubp_err err;
 *   struct ubp_options opt = UBP_OPTIONS_INIT;
 *   struct ubp_session *s;
 *
 *   ubp_session_new(&opt, &s, &err);
 *   ubp_add(s, "p:bash:readline", NULL, &err);
 *   ubp_start(s, &err);
 *   while (!ubp_is_done(s) && poll(...ubp_fd(s)...) >= 0)
 *           ubp_dispatch(s, on_event, ctx, &err);
 *   ubp_stop(s);
 *   ubp_drain(s, on_event, ctx, &err);
 *   ubp_session_free(s);
 *
 * All functions are called from one thread, the caller's, but for those that ubp_live.h tells of; callbacks run inside
 * ubp_dispatch(), on that thread. Threads of the session's own do the tracing, if no process of its own does (ubp_options.engine);
 * they have all signals blocked (but SIGCHLD, where the caller has no handler for
 * it), so that the caller's signals stay the caller's. While a process is attached to,
 * one real-time signal whose action is the default one has an action of ubp's, and the
 * tracing thread lets it in during one system call: the highest that is free. It has the
 * default action again behind that. If the caller waits for that signal he gets it.
 * Functions that can fail return 0 or a negative errno and fill *err.
 *
 * The other public headers, which need this one:
 *
 *   ubp_options.h  what a session is made with; ubp.h has it, too
 *   ubp_event.h  what can be asked of an event: its probe, when and where, values, a line of text
 *   ubp_whom.h   which of all processes are traced, where not all are
 *   ubp_live.h   probes that come, go and change while a session runs
 *   ubp_handler.h  functions that run at a hit, and may change what the program goes on with
 *   ubp_sink.h   whole traces as text, JSON or counted stacks
 *   ubp_trigger.h event triggers and histograms
 *   ubp_record.h, ubp_recording.h  events to a file, and from it
 *   ubp_stats.h  what was counted
 *   ubp_files.h  functions, static probes, lines, variables of files: takes no session
 *
 * They include each other and the system's headers, nothing else of the library, so they can be put into any folder.
 */

#ifndef UBP_H
#define UBP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp_err.h"
#include "ubp_options.h"
#include "ubp_until.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define UBP_VERSION "0.1"
/* What libubp.so's name ends in, too: a program that was built with another one has to be built anew. */
#define UBP_API_VERSION 1
/* UBP_API_VERSION of the library that is there. */
unsigned ubp_version(void);

struct ubp_session;
struct ubp_event; /* one hit; valid during the callback only: ubp_event.h */

/*
 * A session, to be freed with ubp_session_free(). Strings and lists of @opt stay the caller's and
 * must last as long as the session, but for .pids. Errors: -ESRCH: no such process or thread;
 * -EPERM, -EACCES: it may not be traced; -EINVAL: an option that makes no sense, or .size is none; -E2BIG: an option is set that this
 * library does not know.
 */
int ubp_session_new(const struct ubp_options *opt, struct ubp_session **ret_session,
		    struct ubp_err *err);
/* Stops first if need be. NULL is fine. In a child of fork(): ubp_session_forget(). */
void ubp_session_free(struct ubp_session *session);

/*
 * In a child of fork(), of a session that its parent has started: the child has no tracing thread, and can do nothing else with it. Descriptors by which it might
 * disturb the parent's are closed, and the child's memory of records is freed; nothing that is shared is touched: the parent's session goes on. What
 * the tracing thread had at that moment cannot be known from outside: its memory, and a few descriptors for each traced process, stay until
 * the child ends or executes a program. All descriptors of a session close at that, so such a child, or one that just ends, needs not call this.
 * In the process that has started the session, or where nobody has, this is ubp_session_free(). NULL is fine.
 */
void ubp_session_forget(struct ubp_session *session);

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
 * of the session's stays until that call ends, or the file answers, or the process ends, and frees what was defined; what
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

/*
 * What was added. Indexes count probes in order of definition, those that were added later (ubp_live.h) behind that: they are numbers, of which
 * some may be no probe's any more. There NULL, or false, is returned. One more than the last of them: */
size_t ubp_n_probes(const struct ubp_session *session);
/* The line uprobe_events would list, its path raw; valid until the next ubp_add(). */
const char *ubp_probe_listing(struct ubp_session *session, size_t i);
/* Group, event name and path (owned by the session), and the format file's text. */
const char *ubp_probe_group(const struct ubp_session *session, size_t i);
const char *ubp_probe_event(const struct ubp_session *session, size_t i);
const char *ubp_probe_path(const struct ubp_session *session, size_t i);
bool ubp_probe_is_return(const struct ubp_session *session, size_t i);
const char *ubp_probe_format(struct ubp_session *session, size_t i);
/*
 * Which argument of probe @i has this name: what ubp_event_arg() takes for its events, so it is asked once, not for each event. It stays
 * when the probe gets another filter. Errors: -ENOENT: none has it, or there is no such probe; -EINVAL: @name is NULL.
 */
int ubp_probe_arg_index(const struct ubp_session *session, size_t i, const char *name);
/*
 * The same definition as a kernel takes it: one line, without symbols, variables or extensions. NULL:
 * no kernel takes it; *ret_why then says what for. Both belong to the session.
 */
const char *ubp_probe_definition(struct ubp_session *session, size_t i, const char **ret_why);
/* --explain: which rung the site will get, and why not a better one. One line. NULL: it was added later; ubp_probe_stats() tells how it is. */
const char *ubp_probe_explain(struct ubp_session *session, size_t i);
/* -EINVAL: @text is no ubp_options.sample. */
int ubp_sample_check(const char *text, struct ubp_err *err);
/* Are the hits of what is added from now on sampled? At first they are. Without ubp_options.sample it means nothing. */
void ubp_sample_next(struct ubp_session *session, bool on);
/* --explain: which hits of probe @i are told of, and who decides. Valid until the next call; NULL: all are. */
const char *ubp_probe_sample(struct ubp_session *session, size_t i);
/*
 * --explain: why processes with all these probes will be traced all the time, as far as files and options tell (a constant text).
 * NULL: once their probes record by themselves, nobody traces them. *ret_perhaps, another such text, or NULL: but for those in which memory that
 * their jumps need is not free. Asked before the session starts.
 */
const char *ubp_explain_tracing(struct ubp_session *session, const char **ret_perhaps);

/*
 * Attach and plant. Once for each session: -EBUSY behind that, whatever came of it. Raises the soft limit of descriptors to the hard one: each
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

/*
 * Switch probe @i off, or on again: before ubp_start(), so that tracing begins without it, or at any time while the session
 * runs. It stays planted. No thread is stopped for it, and nothing is written to the code of any process: a word in memory
 * that is shared with all targets says whether it records, those that are not traced any more (.let_go) included. Probes at one place
 * are switched each by itself.
 *
 * While a probe is off its hits are not recorded and not counted, its filter is not looked at, and no return address
 * is replaced for it. A return is recorded if the probe is on when the function is entered and when it returns. What was
 * recorded before is delivered all the same, perhaps with the hits that threads are amid recording during the call. A breakpoint stops
 * its thread as before; a reference counter stays as it is.
 *
 * Errors: -EINVAL: there is no probe @i; -EBUSY: the session was given up; -ENOMEM.
 */
int ubp_probe_enable(struct ubp_session *session, size_t i, bool on, struct ubp_err *err);
/* Is it on? */
bool ubp_probe_is_enabled(const struct ubp_session *session, size_t i);

/* Becomes readable when ubp_dispatch() has something to do or ubp_is_done()
 * has become true. */
int ubp_fd(const struct ubp_session *session);

/*
 * How soon that is behind a hit: a caller who dispatches whenever ubp_fd() is readable is handed each event @max_ns after it was recorded, at
 * the latest. What a breakpoint records is told at once. What a jump records is not: it makes no call of the kernel, so a timer
 * asks for a look at the rings. Without this call looks are 0.1 s apart where little happens, and less where much does; larger values mean
 * the same. Below 3 ms, with 0, too, they are 0.2 ms apart, and events come some 1.2 ms behind their hits: younger ones
 * may have to wait for older ones.
 *
 * Each look is a call of ubp_dispatch(), whether there was a hit or not, of tens of microseconds: 5 ms cost about 1 % of a CPU, 0 some 10 %.
 * Targets do not notice. Any thread may call this, at any time.
 */
void ubp_set_latency(struct ubp_session *session, uint64_t max_ns);

/* Not 0: no more of them, until the next call. This one has been delivered. */
typedef int ubp_event_fn(void *ctx, const struct ubp_event *event);

/*
 * Deliver waiting records, oldest first, to @fn: what waits at the time of the
 * call, so that it ends however fast new ones come. Does not block. Returns the
 * number delivered, or a negative errno if tracing has failed. Of very many some
 * may be left for the next call, with ubp_fd() readable; so are those behind an event at which @fn did not return 0.
 */
int ubp_dispatch(struct ubp_session *session, ubp_event_fn *fn, void *ctx, struct ubp_err *err);

/*
 * The same until nothing is left, however many calls that would be: behind ubp_stop() all that was recorded. While the session
 * runs, events that are recorded faster than @fn takes them keep it from ending.
 */
int64_t ubp_drain(struct ubp_session *session, ubp_event_fn *fn, void *ctx,
		  struct ubp_err *err);

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

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
