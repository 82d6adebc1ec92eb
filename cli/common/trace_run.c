/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Order of the end, whatever the reason: probes out first, then what waits in
 * the queue, then the last words, then the command if there is one. Once the
 * probes are out a second signal ends the wait for a slow reader or command.
 */

#include "cli/common/trace_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/banner.h"
#include "cli/common/busy.h"
#include "cli/common/clock.h"
#include "cli/common/control.h"
#include "cli/common/form.h"
#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/notes_run.h"
#include "cli/common/output.h"
#include "cli/common/pictures.h"
#include "cli/common/signals.h"
#include "cli/common/stats.h"
#include "cli/common/triggers.h"
#include "cli/common/tui.h"
#include "cli/hosts/hosts.h"
#include "cli/live/detach.h"
#include "cli/live/keep.h"
#include "cli/live/serve.h"
#include "engine/base/again.h"
#include "engine/ubp_event.h"
#include "engine/ubp_record.h"
#include "engine/ubp_stats.h"

#define BATCH_BYTES  (64 * 1024)          /* written at once, at most about this much */
#define COLLECTOR_NS (30 * 1000000000ULL) /* at the end a collector is waited for no longer */
#define FLUSH_NS                                                                               \
	(100 * 1000000ULL) /* behind the last event what waits for the next is written */
#define HOLD_BYTES (64 * 1024 * 1024) /* -d: text kept in memory */

struct run {
	const struct trace_options *opt;
	struct ubp_session *session;
	struct output out;
	struct ubp_sink *sink;
	struct pictures pictures;
	struct tui *tui; /* shown in place of lines; NULL: not */
	int signal_fd;
	struct control control;
	struct live_serve *serve; /* others ask by it; NULL: nobody can */
	struct hosts hosts;
	uint64_t deadline_ns; /* 0: none */
	struct notes notes;
	struct tally_print tally;
	bool tally_is_away; /* the last table was taken from the terminal, for events */
	uint64_t tally_ns;  /* when what is counted is printed next; 0: at the end */
	uint64_t delay_ns;  /* when probes that are off are switched on; 0: no more */
	uint64_t flush_ns;  /* when what waits for the next event is written; 0: nothing does */
	uint64_t n_events;
	uint64_t n_dropped; /* over HOLD_BYTES */
	bool ending;        /* asked to end by a signal */
	bool reopen;        /* asked to go on in another file */
	int signal;         /* that is to be handed on to the command, 0: none */
	bool failed;        /* said so; the exit status will tell */
};

/* --- what is printed -------------------------------------------------------- */

/* What the trace itself has no place for. */
static void tell_untold(struct run *run)
{
	uint64_t n = ubp_sink_untold(run->sink);
	char text[80];

	if (ubp_sink_is_short(run->sink))
		cli_warn(NULL, run->opt->form.needs_stack
				       ? "out of memory: some stacks are not counted"
				       : "out of memory: some events are not printed");
	if (!n)
		return;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " event%s lost and not counted", n,
		       n == 1 ? " was" : "s were");
	cli_warn(NULL, text);
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	struct run *run = ctx;
	const char *line;
	size_t len;

	if (run->opt->ends.count && run->n_events == run->opt->ends.count)
		return 0;
	if (ubp_event_probe(event) != -1)
		run->n_events++;
	pictures_event(&run->pictures, event);
	hosts_event(&run->hosts, event);
	if (run->tui)
		tui_event(run->tui, event);
	if (run->out.error || run->tui)
		return 0;
	line = ubp_sink_event(run->sink, event, &len);
	if (len && tally_make_way(&run->tally, &run->out))
		run->tally_is_away = true;
	if (run->out.hold && run->out.len + len > HOLD_BYTES) {
		run->n_dropped += ubp_event_probe(event) != -1 ? 1 : ubp_event_lost(event);
		return 0;
	}
	hosts_text(&run->hosts, line, len);
	if (output_pending(&run->out) >= BATCH_BYTES)
		(void)output_flush(&run->out);
	return 0;
}

static bool has_count(const struct run *run)
{
	return run->opt->ends.count && run->n_events >= run->opt->ends.count;
}

/* Take what waits. False: tracing has failed, which is said here. */
static int take_events(struct run *run)
{
	struct ubp_err err;
	int n;

	ubp_err_reset(&err);
	n = ubp_dispatch(run->session, on_event, run, &err);
	if (n < 0 && !run->failed) {
		run->failed = true;
		(void)cli_error_record(&err);
	}
	return n;
}

/* --- waiting ---------------------------------------------------------------- */

static bool is_reopened(const struct trace_options *o)
{
	return o->to.append || o->to.record.rotate;
}

/* False: there is nothing to go on with. */
static bool reopen(struct run *run)
{
	struct ubp_err err;

	run->reopen = false;
	if (run->opt->to.record.path && record_next(run->session) != CLI_OK) {
		run->failed = true;
		return false;
	}
	ubp_err_reset(&err);
	if (output_reopen(&run->out, &err) < 0)
		cli_warn(NULL, err.text);
	return true;
}

static void take_signals(struct run *run)
{
	struct signals_one one = { 0 };

	while (signals_read(run->signal_fd, &one)) {
		/* Keys are the command's business: it may be a shell. */
		if (run->opt->command && one.from_terminal &&
		    (one.number == SIGINT || one.number == SIGQUIT))
			continue;
		/* A terminal that goes away has no log rotated. */
		if (one.number == SIGHUP && !one.from_terminal && is_reopened(run->opt)) {
			run->reopen = true;
			continue;
		}
		run->ending = true;
		if (!one.from_terminal)
			run->signal = one.number;
	}
	if (!one.failed)
		return;
	if (!run->failed)
		cli_warn(NULL, "signals cannot be read: tracing ends");
	run->ending = run->failed = true;
}

/*
 * Wait for a signal, our reader, @fd (-1: none) or @timeout_ms (-1: for ever).
 * Nothing new is taken while the reader is behind by more than a batch.
 */
static void wait_for_something(struct run *run, int fd, int timeout_ms)
{
	size_t pending = output_pending(&run->out);
	struct pollfd p[8] = {
		{ .fd = run->signal_fd, .events = POLLIN },
		{ .fd = run->out.can_vanish ? run->out.fd : -1,
		  .events = pending ? POLLOUT : 0 },
		{ .fd = pending < BATCH_BYTES ? fd : -1, .events = POLLIN },
		{ .fd = run->control.fd, .events = POLLIN },
		{ .fd = prometheus_fd(&run->hosts.prometheus), .events = POLLIN },
		{ .fd = otlp_fd(&run->hosts.otlp), .events = POLLIN },
		{ .fd = tui_fd(run->tui), .events = POLLIN },
		{ .fd = live_serve_fd(run->serve), .events = POLLIN },
	};

	if (run->out.error)
		p[1].fd = -1;
	if (poll(p, 8, timeout_ms) <= 0)
		return;
	if (p[0].revents)
		take_signals(run);
	if (p[1].revents)
		output_polled(&run->out, p[1].revents);
	if ((p[3].revents && control_take(&run->control, run->session)) ||
	    (p[6].revents && tui_keys(run->tui)) ||
	    (p[7].revents && live_serve_take(run->serve)))
		run->ending = true;
	if (p[4].revents)
		prometheus_take(&run->hosts.prometheus);
	if (p[5].revents)
		(void)otlp_is_done(&run->hosts.otlp);
}

/* -1: for ever. */
static int time_left_ms(uint64_t until_ns)
{
	uint64_t now = cli_now_ns();

	if (!until_ns)
		return -1;
	if (now >= until_ns)
		return 0;
	if (until_ns - now > 3600 * 1000000000ULL)
		return 3600 * 1000;
	return (int)((until_ns - now + 999999) / 1000000);
}

/* Probes are switched on if their time has come; else, how long that takes. */
static int look_at_delay(struct run *run)
{
	int left = time_left_ms(run->delay_ns);

	if (left != 0)
		return left;
	run->delay_ns = 0;
	if (control_enable_all(run->session, true) != CLI_OK)
		run->failed = true;
	return -1;
}

/* The same of what is counted. */
static int look_at_tally(struct run *run)
{
	int left = time_left_ms(run->tally_ns);

	if (left != 0 && !run->tally_is_away)
		return left;
	tally_print(&run->tally, &run->out, false);
	run->tally_is_away = false;
	if (left != 0)
		return left;
	while (run->tally_ns <= cli_now_ns())
		run->tally_ns += run->opt->tally.every_ns;
	return time_left_ms(run->tally_ns);
}

/* What waits for the next event, if there is none soon. @n: events that have just come. */
static int look_at_waiting(struct run *run, int n)
{
	const char *text;
	size_t len;
	int left;

	if (n > 0 && !run->opt->form.is_data)
		run->flush_ns = cli_now_ns() + FLUSH_NS;
	left = time_left_ms(run->flush_ns);
	if (left != 0)
		return left;
	run->flush_ns = 0;
	text = ubp_sink_flush(run->sink, &len);
	hosts_text(&run->hosts, text, len);
	return -1;
}

/* And of what goes to a collector. */
static int look_at_hosts(struct run *run)
{
	uint64_t left = hosts_look(&run->hosts, run->sink);

	return left ? (int)((left + 999999) / 1000000) : -1;
}

static int sooner(int a, int b)
{
	return a >= 0 && (b < 0 || a < b) ? a : b;
}

static void trace(struct run *run)
{
	int n = 0, left, delay, tally, hosts;

	for (;;) {
		delay = look_at_delay(run);
		n = output_pending(&run->out) < BATCH_BYTES ? take_events(run) : 0;
		if (n < 0)
			return;
		tally = look_at_tally(run);
		hosts = look_at_hosts(run);
		hosts = sooner(hosts, look_at_waiting(run, n));
		hosts = sooner(hosts, notes_look(&run->notes, run->n_events));
		if (run->tui)
			tally = sooner(tally, tui_look(run->tui));
		if (!output_flush(&run->out) || run->ending || has_count(run) ||
		    ubp_record_is_full(run->session))
			return;
		if (run->reopen && !reopen(run))
			return;
		left = time_left_ms(run->deadline_ns);
		if (left == 0 || (ubp_is_done(run->session) && !run->opt->live.keep))
			return;
		wait_for_something(run, ubp_fd(run->session),
				   sooner(hosts, sooner(tally, sooner(delay, left))));
	}
}

/* --- the end ---------------------------------------------------------------- */

/* Write all that waits, as slowly as the reader wants it. False: there is no more
 * use in writing. */
static bool drain(struct run *run)
{
	while (output_flush(&run->out) && output_pending(&run->out) && !run->ending)
		wait_for_something(run, -1, -1);
	return !run->out.error && !output_pending(&run->out);
}

static void add_lost(struct run *run)
{
	size_t len;
	const char *text = ubp_sink_lost(run->sink, run->n_dropped, &len);

	hosts_text(&run->hosts, text, len);
}

static void print_rest(struct run *run)
{
	const char *text;
	size_t len;

	while (!has_count(run) && drain(run) && take_events(run) > 0)
		;
	tui_end(run->tui);
	run->tui = NULL;
	run->out.hold = false;
	if (run->n_dropped)
		add_lost(run);
	text = ubp_sink_end(run->sink, &len);
	hosts_text(&run->hosts, text, len);
	hosts_end(&run->hosts);
	if (tally_is_wanted(&run->opt->tally) && !run->opt->to.otlp)
		tally_print(&run->tally, &run->out, true);
	if (heap_is_wanted(run->opt))
		heap_print(run->session, run->opt, &run->out);
	triggers_print(run->session, run->opt, &run->out);
	tell_untold(run);
	if (run->opt->budget.once)
		cli_tell_once(run->session);
	if (pictures_end(&run->pictures) != CLI_OK)
		run->failed = true;
	if (record_end(run->session, &run->opt->to.record, run->failed) != CLI_OK)
		run->failed = true;
	if (!run->opt->command && !run->opt->live.detach)
		banner_end(&run->out, run->opt);
	(void)drain(run);
}

/* Until all is there, or somebody does not want to wait any more. */
static void wait_for_collector(struct run *run)
{
	uint64_t until = cli_now_ns() + COLLECTOR_NS;

	while (!otlp_is_done(&run->hosts.otlp) && !run->ending && cli_now_ns() < until)
		wait_for_something(run, -1, time_left_ms(until));
}

/*
 * The command goes on without probes; so do we, to have its status. A signal meant
 * for us is handed on to it once; a second one ends the wait.
 */
static int wait_for_command(struct run *run)
{
	pid_t pid = ubp_command_pid(run->session);
	int fd = -1, handed_on = 0, status;

	while (!ubp_command_status(run->session, &status)) {
		if (run->signal && handed_on)
			return 128 + run->signal;
		if (run->signal && pid > 0)
			(void)kill(pid, run->signal);
		handed_on = handed_on ? handed_on : run->signal;
		run->signal = 0;
		if (fd < 0 && pid > 0)
			fd = (int)syscall(SYS_pidfd_open, pid, 0);
		/* No pidfds before Linux 5.3: look now and then. */
		wait_for_something(run, fd, fd < 0 ? 100 : -1);
	}
	if (fd >= 0)
		(void)close(fd);
	if (run->failed)
		return CLI_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void tell_ready(int fd)
{
	static const char text[] = "ready\n";

	if (fd < 0)
		return;
	if (again_write(fd, text, sizeof(text) - 1) < 0)
		cli_warn(NULL, "--ready-fd: could not write");
	(void)close(fd);
}

static int run_started(struct run *run)
{
	const char *text;
	size_t len;

	output_begin(&run->out);
	if (run->opt->to.tui && tui_begin(run->session, &run->out, &run->tui) != CLI_OK)
		run->failed = true;
	if (!run->opt->command && !run->opt->live.detach && !run->tui)
		banner_begin(&run->out, run->opt, run->session);
	text = ubp_sink_begin(run->sink, &len);
	hosts_text(&run->hosts, text, len);
	(void)output_flush(&run->out);
	notes_begin(&run->notes, run->session, run->opt);
	detach_done(run->opt);
	tell_ready(run->opt->steer.ready_fd);
	run->out.hold = run->opt->ends.duration != NULL && !run->tui;
	if (run->opt->ends.duration)
		run->deadline_ns = cli_now_ns() + run->opt->ends.duration_ns;
	if (run->opt->tally.every_ns && !run->opt->to.otlp)
		run->tally_ns = cli_now_ns() + run->opt->tally.every_ns;
	if (run->opt->steer.delay_ns)
		run->delay_ns = cli_now_ns() + run->opt->steer.delay_ns;
	/* A command's own output stays what it is. */
	if (run->out.hold && !run->opt->command)
		busy_begin("recording for %s s, then the result is printed",
			   run->opt->ends.duration);
	trace(run);
	busy_with("ending");
	control_close(&run->control);
	ubp_stop(run->session);
	busy_end();
	run->ending = false;
	print_rest(run);
	if (ubp_has_failed(run->session))
		run->failed = true;
	wait_for_collector(run);
	if (hosts_close(&run->hosts) != CLI_OK)
		run->failed = true;
	if (form_finish(&run->out, &run->opt->form, run->opt->to.output, run->sink) != CLI_OK)
		run->failed = true;
	cli_tell_missed(run->session);
	if (run->opt->stats)
		cli_print_stats(run->session, run->n_dropped);
	if (run->opt->command)
		return wait_for_command(run);
	return run->failed ? CLI_FAILED : CLI_OK;
}

static int no_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	(void)event;
	return 0;
}

/* struct ubp_until: a signal is not for the command alone. */
static bool is_asked_to_end(void *ctx)
{
	struct run *run = ctx;

	take_signals(run);
	return run->ending;
}

static void say_failed_start(const struct run *run, const struct ubp_err *err)
{
	struct ubp_err ignored;

	(void)cli_error_record(err);
	/* What there is to warn of. */
	ubp_err_reset(&ignored);
	(void)ubp_dispatch(run->session, no_event, NULL, &ignored);
}

/* Its output is open. */
static int run_session(struct run *run)
{
	struct ubp_until until = { .is_over = is_asked_to_end, .ctx = run };
	struct ubp_err err;
	int status = CLI_FAILED, rc, lent;

	ubp_err_reset(&err);
	if (run->opt->steer.is_off && control_enable_all(run->session, false) != CLI_OK)
		return CLI_FAILED;
	if (!run->opt->command)
		signals_no_stop();
	run->signal_fd = signals_open(&err);
	until.fd = run->signal_fd;
	busy_begin("planting");
	/* The command comes into being. */
	lent = run->opt->command && trace_options_prints_data(run->opt) ? output_lend() : -1;
	rc = run->signal_fd < 0 ? -1 : ubp_start_until(run->session, &until, &err);
	output_take_back(lent);
	busy_end();
	if (rc < 0)
		say_failed_start(run, &err);
	else
		status = run_started(run);
	if (run->signal_fd >= 0)
		(void)close(run->signal_fd);
	return status;
}

/* The terminal is nothing to one that is detached: it is not even held open. */
static const char *output_path(const struct trace_options *o)
{
	const char *path = hosts_output(o);

	return path || !o->live.detach ? path : "/dev/null";
}

static int run_to(struct run *run)
{
	struct ubp_sink_options how = { .form = run->opt->form.name,
					.header = run->opt->header,
					.service = otlp_service() };
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (form_open(&run->out, &run->opt->form, output_path(run->opt), &err) < 0)
		return cli_error_record(&err);
	output_raw(&run->out, run->opt->strict);
	if (run->opt->to.append)
		output_append(&run->out);
	how.raw = run->out.raw;
	text_apply(&run->opt->to.text, &run->opt->form, run->out.is_tty, &how);
	if (ubp_sink_new(run->session, &how, &run->sink, &err) < 0)
		status = cli_error_record(&err);
	else
		status = pictures_begin(&run->pictures, run->session, &run->opt->to.pictures,
					&run->out);
	if (status == CLI_OK)
		status = run_session(run);
	output_close(&run->out);
	pictures_free(&run->pictures);
	ubp_sink_free(run->sink);
	return status;
}

int trace_run(struct ubp_session *session, const struct trace_options *options)
{
	struct run run = { .opt = options,
			   .session = session,
			   .signal_fd = -1,
			   .tally = { .opt = &options->tally,
				      .session = session,
				      .json = options->form.is_data,
				      .unicode = tally_has_unicode() } };
	int status = control_open(&run.control, options->steer.control);

	if (status == CLI_OK)
		status = live_serve_open(options, session, &run.n_dropped, &run.serve);
	if (status == CLI_OK)
		status = hosts_open(&run.hosts, session, options, &run.out);
	if (status == CLI_OK)
		status = run_to(&run);
	(void)hosts_close(&run.hosts);
	control_close(&run.control);
	/* Before who asked for the end knows of it. */
	keep_end(options);
	detach_end(options);
	live_serve_close(run.serve);
	return status;
}
