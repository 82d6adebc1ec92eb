/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a session; for the files of this folder. */

#ifndef UBP_SESSION_SESSION_H
#define UBP_SESSION_SESSION_H

#include "engine/session/state.h"

/* session.c. Can it still be changed, and be started? -EBUSY: no. */
int session_check_new(const struct ubp_session *s, struct ubp_err *err);

/* define.c */
int define_init(struct ubp_session *s, struct ubp_err *err);
void define_free(struct ubp_session *s);
const struct spec_probe *define_spec(const struct ubp_session *s, size_t i);

/*
 * The table has got probes: make the session's of them, all with @filter (may be NULL). If that
 * fails, those from number @n_before on are forgotten.
 */
int define_take_up(struct ubp_session *s, size_t n_before, const char *filter,
		   struct ubp_err *err);
/* Forget the probes from number @n on. */
void define_forget(struct ubp_session *s, size_t n);

/* add.c: what ubp_add() and ubp_add_events() do, on whatever thread. */
int add_definition(struct ubp_session *s, const char *definition, const char *filter,
		   struct ubp_err *err);
int add_events(struct ubp_session *s, const char *text, size_t len, const char *filter,
	       struct ubp_err *err);
/*
 * adding.c: no more will be added. True: the thread that did so was left behind, and still needs the session. It
 * will free it.
 */
bool adding_end(struct ubp_session *s);

/* Which of its checks a place did not pass. */
enum place_refusal {
	REFUSED_PLACE,
	REFUSED_RETURN,
	REFUSED_SPAWN,
	REFUSED_BOUNDARY,
	REFUSED_INSN,
	REFUSED_EXITS,
	REFUSED_DURATION,
	REFUSED_IFUNC, /* match.c */
	REFUSED_N,
};

/* Can programs of its instruction set be traced here, or is that not the question? -ENOTSUP: no. */
int define_check_arch(const struct ubp_session *s, const struct session_file *file,
		      const char *path, struct ubp_err *err);
/* Whose register names definitions for a file have: struct spec_env. */
const struct ubp_arch *define_arch_of(void *ctx, uint64_t dev, uint64_t ino);
/*
 * Can it be probed? @spec is resolved; @p, zeroed, gets what is known of the place then.
 * *ret_why is good if not.
 */
int define_check(struct ubp_session *s, const struct spec_probe *spec,
		 struct session_file *file, struct session_probe *p,
		 enum place_refusal *ret_why, struct ubp_err *err);
/* plant.find_exits; @ctx is the session. */
void define_find_exits(void *ctx, struct uprobe *probe);
void define_free_probe(struct session_probe *p);

/* match.c: spec_env.match; @ctx is the session. Functions that can't be probed are left
 * out, with a word about that. */
int match_each(void *ctx, const struct spec_probe *pattern,
	       int (*each)(void *each_ctx, const char *symbol, uint64_t offset), void *each_ctx,
	       struct ubp_err *err);

/* files.c. NULL: no definition names such a file. */
struct session_file *files_by_id(struct ubp_session *s, uint64_t dev, uint64_t ino);
/* spec_env.find_file; @ctx is the session. */
int files_find(void *ctx, const char *target, uint64_t *ret_dev, uint64_t *ret_ino,
	       char **ret_path, struct ubp_err *err);
/* The process as which targets are looked up; 0: none. */
pid_t files_view(const struct ubp_session *s);
/* Its debug information; stays the file's. Errors: those of dwarf_open(). */
int files_dwarf(struct session_file *file, struct dwarf **ret_dwarf, struct ubp_err *err);
/* A new call of ours begins: what was found is looked up again, unless that was just now. */
void files_look_again(struct ubp_session *s);
/* .opt.debug.symbols is good for one of the files at least, or there is an error. */
int files_check_symbols(struct ubp_session *s, struct ubp_err *err);
void files_free(struct ubp_session *s);

/* ifunc.c: file offset of the implementation an IFUNC was resolved to. */
int ifunc_choice(struct ubp_session *s, struct session_file *file,
		 const struct object_symbol *symbol, uint64_t *ret_foffset,
		 struct ubp_err *err);

/* spawn.c: -ENOTSUP where a breakpoint can't be guarded: between a child's birth
 * by posix_spawn() and its exec. */
int spawn_check(const struct ubp_session *s, struct session_file *file,
		const struct spec_probe *spec, struct ubp_err *err);

/* exclude.c: pids never to be traced unless named: init, ubp and its ancestors,
 * whoever reads its output. */
int exclude_collect(struct map *ret_excluded);

/* run.c: the tracing thread. */
void *run_thread(void *arg);
/* For that thread alone: plant_update(), and a word about what the user should know. */
int session_plant(struct ubp_session *s, struct tracee *t, const struct ubp_regs *at,
		  struct ubp_err *err);
/* There is nothing left to trace: ubp_dispatch() tells so. */
void session_end(struct ubp_session *s);

/* tracer_ops.c, on the tracing thread: what the tracer asks; its context is the session. */
extern const struct tracer_ops session_tracer_ops;
/* struct hit.loader */
void session_mappings_changed(void *ctx, struct tracee *t, const struct ubp_regs *at);
bool session_has_probes(const struct process *p);
/* Are processes to be kept that a traced one gives birth to? */
bool session_follows_children(const struct ubp_session *s);

/* jumps.c, on that thread: make jumps of breakpoints where that is due; end them all. False: there
 * are more, but it has taken @limit_ns already. */
bool jumps_pass(struct ubp_session *s, uint64_t limit_ns);
/* @is_new: its program has just been started. */
void jumps_due(struct ubp_session *s, struct space *space, bool is_new);
void jumps_end(struct ubp_session *s);
/* A new thread, and who made it (0: not known), both stopped. */
void jumps_born(struct ubp_session *s, pid_t mother, struct tracee *t);
/* struct hit.wants_jumps */
void jumps_wanted(void *ctx, struct space *space);
/* struct hit.wants_rings */
void jumps_want_rings(void *ctx, struct tracee *t, const struct ubp_regs *at);

/* rings.c: without rings these do nothing. */
int rings_init(struct ubp_session *s, struct ubp_err *err);
/* What one call of ubp_dispatch() hands out. */
struct rings_batch {
	void (*deliver)(struct rings_batch *batch, const struct event_record *record);
	struct ubp_session *session;
	ubp_event_fn *fn;
	void *ctx;
	unsigned n; /* out of rings */
};
/* Records of @until at the latest, and gaps; return how many were handed out. */
int rings_deliver(struct ubp_session *s, uint64_t until, struct rings_batch *batch);
int rings_deliver_lost(struct ubp_session *s, struct rings_batch *batch);
/* It was enough for one call. */
bool rings_batch_is_full(const struct rings_batch *batch);
void rings_add_stats(const struct ubp_session *s, size_t i, struct ubp_probe_stats *stats);

/* windows.c */
/* Can a jump stand there, and where does it begin? If it can't that is no error. 0 or -ENOMEM. */
int windows_find(struct ubp_session *s, struct session_probe *p);
/* Once all probes are there: those of one place begin in one place. 0 or -ENOMEM. */
int windows_settle(struct ubp_session *s);
/* hidden.c: before anything is taken out: which places the kernel has, then for each process. */
void hidden_look(const struct ubp_session *s);
void hidden_tell(struct ubp_session *s, const struct process *p);
/* struct plant.find_lead; @ctx: the session. */
void windows_find_lead(void *ctx, struct uprobe *probe);

/* stacks.c */
int stacks_init(struct ubp_session *s, struct ubp_err *err);
void stacks_free(struct ubp_session *s);
/* NULL: stacks are printed as they are. */
const struct sink_resolver *stacks_resolver(const struct ubp_session *s);
/* Once in a while: forget what was mapped in processes that have ended. */
void stacks_tidy(struct ubp_session *s);
/* Entries of a stack at most. */
unsigned stacks_frames(const struct ubp_session *s);
/* Are stacks unwound, at stops, and not walked by frame pointers? */
bool stacks_unwinds(const struct ubp_session *s);
/* On the tracing thread: mappings of a stopped thread's process have changed, or its rings are new. */
void stacks_mapped(struct ubp_session *s, struct tracee *t);

/* On the tracing thread: nobody lives in @space any more. */
void stacks_space_gone(struct ubp_session *s, const struct space *space);

/*
 * release.c, on that thread: processes that cannot be traced any longer. Whoever waits for
 * that is parked (tracer.h) and goes on after the pass.
 */
void release_pass(struct ubp_session *s);
/* @sig is about to be delivered to @t, and would end it if it were not traced: it is parked. */
void release_if_spared(struct ubp_session *s, struct tracee *t, int sig);
/* struct hit.tracing; @ctx: the session. */
void release_for_tracing(void *ctx, struct tracee *t, enum site_watch watch,
			 const struct ubp_regs *at);
/* Take everything out of a process that lives in memory of its own, and let go of it. */
void release_process(struct ubp_session *s, pid_t pid);

/* targets.c, on that thread: attach to what the options ask for. */
int targets_begin(struct ubp_session *s, struct ubp_err *err);
/* Those that map a probed file. What may not be traced is counted and passed over; the list is
 * overwritten. */
void targets_try(struct ubp_session *s, pid_t *pids, size_t n);
/*
 * Seize new process @pid, and have its thread @tid (0: its only one) stop, until targets_try() is told of it.
 * 0 also where it is not to be traced.
 */
int targets_stop_soon(struct ubp_session *s, pid_t pid, pid_t tid);

/* newcomers.c: begin to look for those that start later (finder.h). */
int newcomers_begin(struct ubp_session *s, struct ubp_err *err);
/* The tracing thread has ended: those that it did not come to are counted, if they have. */
void newcomers_end(struct ubp_session *s);
/* On the tracing thread: attach to those that were found; first to those that wait for it. */
void newcomers_take(struct ubp_session *s);
/* Only seize those that wait, and those that may end soon: they are attached to later. */
void newcomers_take_held(struct ubp_session *s);
/* A few of them, in the middle of the work on another. */
void newcomers_meanwhile(struct ubp_session *s);
/* Has it executed a program just now? */
bool newcomers_has_executed(struct ubp_session *s, pid_t pid);
/* Does it map a probed file? */
enum finder_verdict newcomers_wants(void *ctx, pid_t pid);
/* Is it traced, or never to be? */
bool newcomers_is_known(void *ctx, pid_t pid);
/* Is it traced, for the finder of new ones. */
void session_mark_known(struct ubp_session *s, pid_t pid, bool known);
/* It has ended, was traced before: the finder may still come to look at it. */
void session_mark_gone(struct ubp_session *s, pid_t pid);
/* One more was traced, for --stats. */
void session_count_process(struct ubp_session *s);
/* It ran a probed program, and has ended before it was traced. */
void session_count_late(struct ubp_session *s, pid_t pid);

/* tell.c. From any thread: a line for the user, delivered by ubp_dispatch(). */
__attribute__((format(printf, 2, 3))) void session_warn(struct ubp_session *s, const char *fmt,
							...);
/* The same at once, on the caller's thread: of definitions that are being added. */
__attribute__((format(printf, 2, 3))) void session_warn_now(const struct ubp_session *s,
							    const char *fmt, ...);
/* Make ubp_fd() readable. */
void session_news(struct ubp_session *s);
/* ubp_has_failed() from now on. */
void session_mark_failed(struct ubp_session *s);
/* On the tracing thread: what an earlier session had left in a process where probes were planted
 * just now, and what cannot be had there. @was_unguarded: what plant_is_unguarded() said before. */
void tell_planted(struct ubp_session *s, const struct process *p, bool was_unguarded);
/* What could not be taken out of a process, which is a failure. @left: or NULL. */
void tell_left(struct ubp_session *s, pid_t pid, const struct plant_left *left);
/* The same for all processes. */
void tell_all_left(struct ubp_session *s);
/* struct hit.not_stepped; @ctx: the session. */
void tell_not_stepped(void *ctx, const struct tracee *t, uint64_t vaddr);
/* What the tracer had no memory for, which is a failure. */
void tell_untaken(struct ubp_session *s);

#endif
