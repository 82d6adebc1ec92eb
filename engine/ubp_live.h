/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: probes that come, go and change while a session runs.
 *
 * A probe has a number, which is what ubp.h calls its index: those that were defined before ubp_start() have the first ones, in that order,
 * and whatever is added later the next. No number is ever used again, so they have gaps once probes were removed. All that takes an index,
 * ubp_probe_listing(), ubp_probe_stats(), ubp_probe_enable() and so on, takes such a number at any time.
 *
 * Any thread may call the functions of this header, and these: ubp_probe_enable(), ubp_probe_is_enabled(), what ubp.h tells of a probe, and ubp_stats.h.
 * Texts that they return last until the probe is removed. Only ubp_dispatch(), ubp_drain(), ubp_stop() and ubp_session_free() are for one thread,
 * and nobody may be in a call when the session is freed.
 *
 * A change is done when the call returns. Meanwhile the threads of targets go on, but for the moments in which code is changed. If nobody is in
 * ubp_dispatch() the call takes the records that come, at most 64 MiB, so that nobody has to wait for it; the next ubp_dispatch() hands them out.
 * In a callback of ubp_dispatch() these functions do not wait: the change is on its way when they return, what can't be done in the end is told by
 * ubp_options.warn, and events of a removed probe come no more all the same.
 */

#ifndef UBP_LIVE_H
#define UBP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ubp.h"
#include "ubp_handler.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum ubp_form {
	UBP_FORM_DEFINITION, /* as for ubp_add() */
	UBP_FORM_EVENTS,     /* text as for ubp_add_events(): lines, comments */
	UBP_FORM_USDT,       /* as for ubp_add_usdt() */
};

/* To begin with UBP_PROBE_OPTIONS_INIT, which sets .size. */
struct ubp_probe_options {
	/* Of this structure, as the caller knows it. */
#ifdef __cplusplus
	size_t size = sizeof(ubp_probe_options);
#else
	size_t size;
#endif
	enum ubp_form form; /* of the texts */
	const char *filter; /* or NULL */
	bool disabled;      /* planted, and switched off: ubp_probe_enable() */
	void *cookie;       /* what ubp_event_cookie() tells of its events; the caller's */
	ubp_handler_fn *
		handler; /* runs at each hit, while the thread stands still (ubp_handler.h); or NULL */
	bool may_change; /* that may change registers and memory of the program */
};

#ifdef __cplusplus
#define UBP_PROBE_OPTIONS_INIT                                                                 \
	{                                                                                      \
	}
#else
#define UBP_PROBE_OPTIONS_INIT                                                                 \
	{                                                                                      \
		.size = sizeof(struct ubp_probe_options)                                       \
	}
#endif

/*
 * Add what @n texts define to a session that runs, all in one change: each process has all of it, or, for a moment, nothing yet. @opt may be NULL, and is for
 * all of them. *ret_first, which may be NULL, is the number of the first probe, and the others follow: *ret_n in all (one
 * definition may stand for several). Texts and filter are the caller's again when the call returns.
 *
 * Where nothing maps the file, nothing is planted, and what comes later is found. A process in which the probes can't be planted is told of by
 * ubp_options.warn, and the others have them; but if one of ubp_options.pids is such a process, nothing is added, and -EIO returned.
 *
 * Errors, with nothing added: those of ubp_add() and ubp_add_events(), also where what is there is in the way: -EEXIST: the event has probes of another kind
 * or with other arguments, or the very same one; -EINVAL: the session does not run, or an option makes no sense; -E2BIG: an option
 * is set that this library does not know; -EBUSY: a process cannot be traced now; -ENOSPC: 1048576 numbers
 * were given, of which each change of a filter takes one, too; -EAGAIN, in a callback alone: too many changes are on their way.
 * -ETIMEDOUT: a process has a thread that cannot be stopped for now, or there were too many records: the probes have their numbers, and will be there.
 */
int ubp_probes_add(struct ubp_session *session, const char *const *texts, size_t n,
		   const struct ubp_probe_options *opt, size_t *ret_first, size_t *ret_n,
		   struct ubp_err *err);

/*
 * Remove probes, all in one change, whenever they were defined. When this returns no event of theirs is handed out, nor
 * will one be: what waited of them is not, and is counted (ubp_untold()). So their cookies may be freed. Who wants all that they
 * recorded switches them off first, and lets ubp_dispatch() hand it out. It waits for a callback that has an event of theirs,
 * unless it is called in that: such a callback must not wait for who is in here.
 *
 * Errors, with nothing removed: -EINVAL: the session does not run; -ENOENT: there is no probe with one of the numbers; -EBUSY, -EAGAIN, -ENOMEM. -ETIMEDOUT: as of
 * ubp_probes_add(): no event comes any more, but some process has the probes for a while.
 */
int ubp_probes_remove(struct ubp_session *session, const size_t *numbers, size_t n,
		      struct ubp_err *err);

/*
 * Another filter for probe @number; NULL: none. No hit is lost meanwhile, nor told twice: each goes by the old one or the new one. Number, cookie and
 * what was counted stay. Errors: those of ubp_probes_remove(); -EINVAL: what ubp_add() says of a filter.
 */
int ubp_probe_set_filter(struct ubp_session *session, size_t number, const char *filter,
			 struct ubp_err *err);

/* As it was written; lasts until the probe has another, or is removed. NULL: it has none, or there is no such probe. */
const char *ubp_probe_filter(const struct ubp_session *session, size_t number);

/*
 * Trace process @pid, too, or no more, in a session that was made with ubp_options.pids. A new one gets all probes that there are. One that is removed has
 * none when the call returns, and goes on unharmed; what it recorded before is handed out. When the last one has
 * ended, or was removed, ubp_is_done() is true, and the session traces no more: whoever wants to go on adds another one first. In a callback: see above.
 *
 * Errors: -EINVAL: the session does not run, or was not made with .pids; -ESRCH: there is no such process, or it is none of those that are
 * traced; -EEXIST: it is traced already; -EPERM, -EACCES: it may not be traced; -EBUSY: it shares its memory with another one that is traced, or
 * one cannot be traced now; what ubp_start() says of planting: then the process is let go of.
 */
int ubp_add_pid(struct ubp_session *session, pid_t pid, struct ubp_err *err);
int ubp_remove_pid(struct ubp_session *session, pid_t pid, struct ubp_err *err);

/*
 * The first number from @from on that a probe has now; SIZE_MAX: there is none. So all are listed by
 * for (size_t i = ubp_probe_next(s, 0); i != SIZE_MAX; i = ubp_probe_next(s, i + 1)).
 */
size_t ubp_probe_next(const struct ubp_session *session, size_t from);

enum ubp_probe_state {
	UBP_PROBE_NONE,      /* there is no probe with this number (any more) */
	UBP_PROBE_DEFINED,   /* the session has not started */
	UBP_PROBE_THERE,     /* it is planted, or will be, where its file is mapped */
	UBP_PROBE_TAKEN_OUT, /* limits, or .once, have taken it out: ubp_probe_stats.taken_out */
};

enum ubp_probe_state ubp_probe_state(const struct ubp_session *session, size_t number);

/* What ubp_event_cookie() tells of its events from now on, also of one that was defined before the start. -ENOENT: there is no such probe; -ENOMEM. */
int ubp_probe_set_cookie(struct ubp_session *session, size_t number, void *cookie,
			 struct ubp_err *err);
/* NULL: it has none, or there is no such probe. */
void *ubp_probe_cookie(const struct ubp_session *session, size_t number);

/* Hits of probes that were removed before they could be handed out. */
uint64_t ubp_untold(const struct ubp_session *session);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
