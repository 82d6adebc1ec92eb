/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Part of the public interface: event triggers and histograms, in the language of the kernel (Linux 6.12), whose files
 * "trigger", "hist", "enable" and "synthetic_events" these functions stand for.
 *
 *	ubp_synthetic_add(session, "lat u64 id; u64 ns", &err);
 *	ubp_trigger_write(session, "uprobes:read", "hist:keys=fd:sort=hitcount.descending", &err);
 *	... ubp_start(), ubp_dispatch(), ubp_stop() ...
 *	write(ubp_trigger_hist(session, "uprobes:read", &len))
 *
 * Triggers are carried out by ubp_dispatch(), on each record before it is handed out, and may be written at any time
 * between two calls of it, until ubp_trigger_settle(), by the thread that calls it; also for events of probes that ubp_probes_add() added. They see what the session records: hits that a definition's filter drops, those of probes that are off and those that
 * were lost are none. Differences from a kernel: a stack is the user's (ubp_options.stack), and "snapshot" hands out what came until then: where
 * a session has such a trigger nothing else is handed out. Of several events at one place the one is carried out first that was defined first.
 *
 * In a callback of ubp_dispatch() triggers are being carried out: there what changes them fails with -EBUSY, or does nothing.
 *
 * An event is called "GROUP:EVENT" or "EVENT". Texts that are returned belong to the session and are good until the next call of a function of
 * this header; *ret_len may be NULL. NULL is returned when there is no such event, or no memory.
 */

#ifndef UBP_TRIGGER_H
#define UBP_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ubp.h"
#include "ubp_tally.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * Add a trigger, or remove it ("!" in front), or control a histogram (":pause", ":continue", ":clear"). Errors have the kernel's errno, and its
 * message with a caret where it has one. -ENOENT, too: there is no such event.
 */
int ubp_trigger_write(struct ubp_session *session, const char *event, const char *text,
		      struct ubp_err *err);
/* The event's triggers, a line each; "" where there are none. */
const char *ubp_trigger_list(struct ubp_session *session, const char *event, size_t *ret_len);
/* Its histograms, as the kernel's file "hist" shows them; "" where there are none. */
const char *ubp_trigger_hist(struct ubp_session *session, const char *event, size_t *ret_len);

/* The same as JSON, lines of an object each: see "Triggers" in uprobe(1). */
const char *ubp_trigger_hist_json(struct ubp_session *session, const char *event,
				  size_t *ret_len);

/* One of an event's histograms. */
struct ubp_trigger_hist {
	unsigned number, n; /* the first of two is 0 of 2 */
	const char *name;   /* ":name=..."; events may share it. NULL: it has none */
	uint64_t dropped;   /* hits for whose key there was no room */
};

/*
 * An entry of @hist: keys, hits and sums as they are in ubp_tally.h. A text that names a function, a system call, a thread ("comm-pid") or a stack is
 * UBP_TALLY_STRING. @row is NULL once for each histogram, before its entries. All that is passed is good during the call.
 */
typedef void ubp_trigger_row_fn(void *ctx, const struct ubp_trigger_hist *hist,
				const struct ubp_tally_row *row);

/*
 * The event's histograms as data: @fn is called for each entry, in no order that means something. One that events share is told of with the event
 * that it was written for first. 0, -ENOENT or -ENOMEM: then entries may be missing.
 */
int ubp_trigger_hist_rows(struct ubp_session *session, const char *event,
			  ubp_trigger_row_fn *fn, void *ctx);

/*
 * Are the event's own hits handed out? At first all are, but those of synthetic events. Triggers are carried out in either case;
 * enable_event and disable_event switch the same from hit to hit.
 */
int ubp_trigger_record(struct ubp_session *session, const char *event, bool on,
		       struct ubp_err *err);

/*
 * What the kernel's file "enable" reads: "0" or "1", the event's own hits are handed out or not, with a "*" behind it where triggers decide. A
 * constant text; NULL: there is no such event, or no memory.
 */
const char *ubp_trigger_state(struct ubp_session *session, const char *event);

/*
 * All that was wrong with the last text that ubp_trigger_write() or ubp_synthetic_add() took, of which struct ubp_err has but the first: the
 * entries of the kernel's error_log, at most 8. @where: what is in front of ": error:". Both are good during the call.
 */
typedef void ubp_trigger_error_fn(void *ctx, const char *where, const struct ubp_err *err);
void ubp_trigger_errors(const struct ubp_session *session, ubp_trigger_error_fn *fn, void *ctx);

/*
 * Which of the event's own hits are handed out: those for which @filter holds; NULL: all. Triggers are carried out for the others,
 * too, which is the difference from a filter of a definition. Errors: those of ubp_add() about a filter; -ENOENT, -ENOMEM, -EBUSY.
 */
int ubp_trigger_filter(struct ubp_session *session, const char *event, const char *filter,
		       struct ubp_err *err);

/* As opening the kernel's file "trigger" with O_TRUNC: histograms go, and what pauses them; where others use their variables, nothing. */
int ubp_trigger_clear(struct ubp_session *session, const char *event, struct ubp_err *err);

/*
 * Are hits of events that triggers know handed out? Each event is known that was defined before ubp_start(), or named in a call
 * of this header. "traceoff" ends that, "traceon" begins it again, and so does the second function: 0 or -ENOMEM.
 */
bool ubp_trigger_is_tracing(const struct ubp_session *session);
int ubp_trigger_set_tracing(struct ubp_session *session, bool on);

/*
 * A snapshot hands out what comes in the next @ns nanoseconds, too, as soon as it comes. Times are those of the hits; a snapshot meanwhile makes it
 * longer. 0 or -ENOMEM.
 */
int ubp_trigger_snapshot_after(struct ubp_session *session, uint64_t ns);

/*
 * For who keeps what is handed out himself: all is handed out as it comes, whatever triggers there are, and @fn is called by ubp_dispatch() for each
 * snapshot, between the events that are in it and those that are not. It calls nothing of this session. 0 or -ENOMEM.
 */
typedef void ubp_trigger_snapshot_fn(void *ctx);
int ubp_trigger_on_snapshot(struct ubp_session *session, ubp_trigger_snapshot_fn *fn,
			    void *ctx);

/*
 * No trigger is written any more, and ubp_trigger_record() switches nothing: both fail with -EBUSY from now on. So histograms can be counted in
 * the target, where no record is written; where no code can do that, they are counted from records, of which none is lost then. This
 * is done with a histogram that is all that is asked of its event's hits: they are not handed out, the event has no other trigger, and
 * none switches it. It must have no variables and no actions, and keys and values that are known without a record. What
 * ubp_trigger_hist() tells is the same. Statistics of such probes are of hits that pass the histogram's filter, too.
 * Before ubp_start(). Who does not call this has all triggers carried out when records are handed out.
 */
int ubp_trigger_settle(struct ubp_session *session, struct ubp_err *err);
/* How the histogram of probe @i's event is made, as far as files tell; NULL: it has none. */
const char *ubp_trigger_explain(struct ubp_session *session, size_t i);

/*
 * Traces: a session may have several, as the kernel's trace instances are, each with triggers of its own, which see the hits of its own probes and
 * switch its own events. At first there is one, "", to which all probes belong. Synthetic events are those of all: what one's triggers make happens
 * in each that has it enabled. A histogram's ":name=" is its trace's.
 *
 * All functions of this header are about the trace @name from now on, which is made if there is none. 0, -ENOMEM, or -ENOSPC: there are
 * 1024 beside the first, and the engine is in a process of its own.
 */
int ubp_trigger_trace(struct ubp_session *session, const char *name, struct ubp_err *err);
/*
 * Probe @number, which is there, belongs to that trace, and its event is one of group @group there, whatever its definition calls that. To be called before
 * its events are named. 0, -ENOENT, -ENOMEM.
 */
int ubp_trigger_probe(struct ubp_session *session, size_t number, const char *group,
		      struct ubp_err *err);
/* The trace goes with all its triggers; of its probes hits are handed out as if there were none. Of "", and of one that there is not, nothing. */
void ubp_trigger_trace_end(struct ubp_session *session, const char *name);
/* Of a synthetic event: in which trace it has happened; "" of any other. */
const char *ubp_trigger_event_trace(const struct ubp_event *event);

/* Is it handed out for the stack that a trigger "stacktrace" asked for, and not itself? */
bool ubp_trigger_event_is_stack(const struct ubp_event *event);

/* Define a synthetic event, "NAME TYPE FIELD[; TYPE FIELD]...", or remove it ("!NAME"). Its hits are events of no probe: ubp_event_name(). */
int ubp_synthetic_add(struct ubp_session *session, const char *text, struct ubp_err *err);
/* All go, as by opening the kernel's file with O_TRUNC. -EBUSY: one is in use, and none goes. */
int ubp_synthetic_clear(struct ubp_session *session, struct ubp_err *err);
/* The kernel's file "format" of the synthetic event @name; "": it is none. */
const char *ubp_synthetic_format(struct ubp_session *session, const char *name,
				 size_t *ret_len);
/* All synthetic events, a line each. */
const char *ubp_synthetic_list(struct ubp_session *session, size_t *ret_len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
