/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/trace_session.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/busy.h"
#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/signals.h"
#include "cli/common/trace_run.h"
#include "cli/common/triggers.h"
#include "cli/common/who.h"
#include "cli/live/detach.h"
#include "cli/live/keep.h"
#include "engine/ubp_tally.h"
#include "engine/ubp_trigger.h"

#define TOP_PAD  (1 << 20)
#define MMAP_MIN (32 << 20)

/* Who records wants all of it: a million hits a second fill that in 200 ms. */
#define RECORD_RING_BYTES (16 << 20)
/* Where hits are counted or sampled there is other memory behind each ring, and there are few records. */
#define FEW_RECORDS_BYTES (4 << 20)

static int print_definition(struct output *out, struct ubp_session *session, size_t i)
{
	const char *why, *line = ubp_probe_definition(session, i, &why);

	if (!line)
		return cli_error("no kernel takes this definition: %s", why);
	output_line(out, "%s", line);
	return CLI_OK;
}

static void tell_tracing(struct ubp_session *session)
{
	const char *perhaps, *why = ubp_explain_tracing(session, &perhaps);
	const char *how = "only while something changes in them";
	char text[256];

	if (why)
		how = "all the time: ";
	else if (perhaps)
		how = "only while something changes in them, but for those in which memory "
		      "that jumps need is not free: ";
	(void)snprintf(text, sizeof(text), "processes are traced %s%s", how,
		       why       ? why
		       : perhaps ? perhaps
				 : "");
	cli_tell(NULL, text);
}

static void print_trigger(struct output *out, const struct trace_options *o)
{
	char *text = tally_text(&o->tally);

	output_line(out, "trigger: %s", text ? text : "");
	free(text);
}

static int describe(struct ubp_session *session, const struct trace_options *o)
{
	struct output out;
	struct ubp_err err;
	int status = CLI_OK;

	ubp_err_reset(&err);
	signals_no_pipe();
	if (output_open(&out, o->to.output, &err) < 0)
		return cli_error_record(&err);
	output_raw(&out, o->strict);
	if (o->to.append)
		output_append(&out);
	output_begin(&out);
	for (size_t i = 0; i < ubp_n_probes(session); i++) {
		if (o->only.check)
			output_line(&out, "%s", ubp_probe_listing(session, i));
		if (o->only.format)
			output_printf(&out, "%s", ubp_probe_format(session, i));
		if (o->only.definition)
			status |= print_definition(&out, session, i);
		if (o->only.explain)
			output_line(&out, "%s", ubp_probe_explain(session, i));
		if (o->only.explain && ubp_probe_sample(session, i))
			output_line(&out, "  %s", ubp_probe_sample(session, i));
		if (o->only.explain && ubp_tally_explain(session, i))
			output_line(&out, "  %s", ubp_tally_explain(session, i));
		if (o->only.explain && o->triggers.n && ubp_trigger_explain(session, i))
			output_line(&out, "  %s", ubp_trigger_explain(session, i));
	}
	if (o->only.explain && tally_is_wanted(&o->tally))
		print_trigger(&out, o);
	if (o->only.explain)
		tell_tracing(session);
	return output_wait(&out) == CLI_OK ? status : CLI_FAILED;
}

/* Names are looked for on a server, if there is one. */
static const char *server_text(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[0] ? ", at DEBUGINFOD_URLS (DEBUGINFOD_TIMEOUT limits that)" : "";
}

static int define(struct ubp_session *session, const struct trace_options *o,
		  trace_session_add_fn *add)
{
	int status = CLI_OK;

	busy_begin("looking for what is to be probed%s", server_text());
	for (size_t i = 0; i < o->n_definitions && status == CLI_OK; i++) {
		struct trace_definition *d = &o->definitions[i];
		struct ubp_err err;

		ubp_err_reset(&err);
		busy_with("looking for %s%s", d->text, server_text());
		ubp_sample_next(session, !d->frees);
		d->first = ubp_n_probes(session);
		if (add(session, d, &err) < 0)
			status = cli_error_record(&err);
		d->n_probes = ubp_n_probes(session) - d->first;
		if (status == CLI_OK)
			status = heap_begin(session, d);
	}
	busy_end();
	return status;
}

/* A call without its return is not known to be over. */
static int check_tree(struct ubp_session *session, const struct trace_options *o)
{
	size_t n = ubp_n_probes(session), i = 0;

	if (strcmp(o->form.name, "tree") != 0)
		return CLI_OK;
	while (i < n && !ubp_probe_is_return(session, i))
		i++;
	return i < n || !n
		       ? CLI_OK
		       : cli_error("--tree needs the return of a function (-e r:...) beside "
				   "its entry (-e p:...)");
}

static int use_session(struct ubp_session *session, const struct trace_options *o,
		       trace_session_add_fn *add)
{
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	/* First: definitions without a target may be about it. */
	if (o->command && ubp_run_command(session, o->command, &err) < 0)
		return cli_error_record(&err);
	if (who_begin(session, o) != CLI_OK)
		return CLI_FAILED;
	status = define(session, o, add);
	if (status != CLI_OK)
		return status;
	if (ubp_n_probes(session) == 0 && !o->live.session)
		return cli_error("no definition is given");
	if (check_tree(session, o) != CLI_OK)
		return CLI_FAILED;
	if (tally_is_wanted(&o->tally) && tally_begin(session, &o->tally) != CLI_OK)
		return CLI_FAILED;
	status = triggers_write(session, o);
	if (status != CLI_OK)
		return status;
	if (o->only.check || o->only.format || o->only.explain || o->only.definition)
		return describe(session, o);
	if (keep_begin(o) != CLI_OK)
		return CLI_FAILED;
	if (record_begin(session, &o->to.record, o->to.append) != CLI_OK)
		return CLI_FAILED;
	if (o->steer.ready_fd >= 0)
		(void)fcntl(o->steer.ready_fd, F_SETFD, FD_CLOEXEC);
	return trace_run(session, o);
}

/* 0: as the engine has it. */
static size_t ring_bytes(const struct trace_options *o)
{
	bool has_areas = o->budget.sample || tally_is_wanted(&o->tally) || o->triggers.n;

	/* Threads that wait for room need no more than caches hold. */
	if (o->budget.ring_bytes || !o->to.record.path || o->lossless)
		return o->budget.ring_bytes;
	return has_areas ? FEW_RECORDS_BYTES : RECORD_RING_BYTES;
}

static enum ubp_stack stack_kind(const struct trace_options *o)
{
	if (o->stacks.kind != UBP_STACK_NONE)
		return o->stacks.kind;
	return o->stacks.asked || o->stacks.raw || o->stacks.lines || o->stacks.frames ||
			       o->form.needs_stack || pictures_want_stacks(o) ||
			       tally_needs_stacks(&o->tally) || heap_is_wanted(o)
		       ? UBP_STACK_CFI
		       : UBP_STACK_NONE;
}

/*
 * Definitions by the ten thousand are made by a thread, whose memory the C library would have from the kernel page by page;
 * that of the first thread comes in larger pieces. No thread of ours allocates while a target waits for it.
 */
static void prepare_memory(void)
{
#ifdef M_ARENA_MAX
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_TOP_PAD, TOP_PAD);
	/* To set one of these sets all: what was freed once is not fetched page by page again. */
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_MIN);
	(void)mallopt(M_TRIM_THRESHOLD, 2 * MMAP_MIN);
#endif
}

int trace_session(const struct trace_options *o, trace_session_add_fn *add)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	struct ubp_err err;
	int status;

	if (detach_begin(o, &status))
		return status;
	prepare_memory();
	opt.pids = o->who.pids;
	opt.n_pids = o->who.n_pids;
	opt.tid = o->who.tid;
	opt.strict = o->strict;
	opt.stay = o->stay;
	/* A block whose end is lost would live for ever. */
	opt.lossless = o->lossless || heap_is_wanted(o);
	opt.room.ring_bytes = ring_bytes(o);
	/* One with a name may be asked for statistics at any time. */
	opt.count_dropped = o->stats || o->live.session;
	opt.force = o->force;
	opt.beside_kernel = o->beside_kernel;
	opt.stack = stack_kind(o);
	opt.frames = (unsigned)o->stacks.frames;
	opt.stack_raw = o->stacks.raw;
	opt.stack_lines = o->stacks.lines;
	opt.debug = (struct ubp_debug_options){ o->debug.dirs, o->debug.symbols };
	opt.exclude = o->exclude.v;
	opt.files_only =
		o->only.check || o->only.format || o->only.explain || o->only.definition;
	opt.limits.max_rate = o->budget.rate;
	opt.limits.max_overhead = (unsigned)o->budget.overhead;
	opt.once = o->budget.once;
	opt.sample = o->budget.sample;
	opt.mode = o->mode;
	opt.follow = o->who.follow      ? UBP_FOLLOW_YES
		     : o->who.no_follow ? UBP_FOLLOW_NO
					: UBP_FOLLOW_AUTO;
	opt.clock = o->clock;
	opt.engine.apart = UBP_APART_NO;
	opt.warn = cli_warn;
	opt.tell = cli_tell;
	ubp_err_reset(&err);
	if (ubp_session_new(&opt, &session, &err) < 0)
		return cli_error_record(&err);
	status = use_session(session, o, add);
	ubp_session_free(session);
	return status;
}

struct ubp_target trace_session_target(const struct trace_options *o, const char *name)
{
	return (struct ubp_target){
		.name = name,
		.pid = o->who.n_pids ? o->who.pids[0] : o->who.in_container,
		.debug = { o->debug.dirs, o->debug.symbols },
		.pattern = o->lists.pattern,
		.exclude = o->exclude.v,
		.explain = o->only.explain,
	};
}

int trace_session_list(const struct trace_options *o, trace_session_list_fn *list,
		       const struct ubp_target *target, const void *what)
{
	struct output out;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	signals_no_pipe();
	if (output_open(&out, o->to.output, &err) < 0)
		return cli_error_record(&err);
	output_raw(&out, o->strict);
	busy_begin("reading %s%s", target->name ? target->name : "what is mapped",
		   server_text());
	rc = list(&out, target, what, &err);
	busy_end();
	if (rc < 0) {
		output_close(&out);
		return cli_error_record(&err);
	}
	if (o->to.append)
		output_append(&out);
	output_begin(&out);
	return output_wait(&out);
}

/*
 * Where a standard descriptor is closed, the next file opened would take its number,
 * and messages would be written into it. What holds the place fails when it is used,
 * and is closed again for a command of ours.
 */
void trace_session_hold_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int trace_session_end(int status)
{
	bool failed = ferror(stdout);

	if (fflush(stdout) == 0 && !failed)
		return status;
	return errno == EPIPE ? status : cli_error("standard output: %s", strerror(errno));
}
