/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* ubp-report: what was recorded, printed. */

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/clock.h"
#include "cli/common/form.h"
#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/signals.h"
#include "cli/hosts/otlp.h"
#include "cli/report/options.h"
#include "engine/base/err.h"
#include "engine/ubp_recording.h"

const char cli_program[] = "ubp-report";

#define BATCH_BYTES 65536
#define PROGRESS_NS 200000000

struct progress {
	bool is_wanted, is_told;
	uint64_t n, n_all; /* events; of how many, 0: nobody knows */
	uint64_t next_ns;
};

#define COLLECTOR_MS 30000

struct report {
	const struct report_options *opt;
	struct ubp_recording *recording;
	struct ubp_sink *sink;
	struct output out;
	struct otlp otlp;
	struct progress progress;
};

static void put(struct report *r, const char *text, size_t len)
{
	if (r->opt->otlp)
		otlp_lines(&r->otlp, &r->out, text, len);
	else
		output_add(&r->out, text, len);
}

/* --- what is said of the file -------------------------------------------------------------- */

static void tell_part(struct report *r, const struct ubp_recording_info *info)
{
	char when[64] = "an unknown time";
	struct tm tm;
	time_t t = (time_t)(info->real_ns / 1000000000);

	if (info->real_ns && gmtime_r(&t, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	output_line(&r->out, "recorded on %s (%s, Linux %s), from %s",
		    info->host ? info->host : "an unknown host",
		    info->machine ? info->machine : "unknown machine",
		    info->kernel ? info->kernel : "unknown", when);
	if (info->is_whole)
		output_line(&r->out, "%" PRIu64 " events, %" PRIu64 " lost", info->records,
			    info->lost);
	else
		output_line(&r->out, "recording did not end as it should");
}

static void tell_info(struct report *r)
{
	size_t n = ubp_recording_n_parts(r->recording);
	struct ubp_recording_info info;

	for (size_t i = 0; i < n; i++) {
		ubp_recording_part_info(r->recording, i, &info);
		if (n > 1)
			output_line(&r->out, "%s:", info.path);
		tell_part(r, &info);
	}
}

/* Returns CLI_OK, or CLI_FAILED: not all could be read. */
static int tell_damage(const struct report *r)
{
	struct ubp_recording_damage damage;
	struct ubp_recording_info info;
	char text[256];

	ubp_recording_info(r->recording, &info);
	ubp_recording_damage(r->recording, &damage);
	/* --info has it in its lines. */
	if (!info.is_whole && !r->opt->info)
		cli_warn(NULL, "recording did not end as it should: the last events may be "
			       "missing");
	if (damage.files) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " file%s of a rotated recording %s missing",
			       damage.files, damage.files == 1 ? "" : "s",
			       damage.files == 1 ? "is" : "are");
		cli_warn(NULL, text);
	}
	if (damage.twice) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " recording%s given twice: events count twice",
			       damage.twice, damage.twice == 1 ? " is" : "s are");
		cli_warn(NULL, text);
	}
	if (damage.copies) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " block%s in the file once more: what is there again "
			       "is left out",
			       damage.copies, damage.copies == 1 ? " stands" : "s stand");
		cli_warn(NULL, text);
	}
	if (!damage.bytes && !damage.blocks && !damage.records)
		return CLI_OK;
	(void)snprintf(text, sizeof(text),
		       "the file is damaged: %" PRIu64 " bytes cannot be read, %" PRIu64
		       " blocks are missing, %" PRIu64 " records make no sense",
		       damage.bytes, damage.blocks, damage.records);
	cli_warn(NULL, text);
	return CLI_FAILED;
}

/* --- a report -------------------------------------------------------------------------------- */

/* How far it is, to a person who waits and sees nothing else. */
static void tell_progress(struct report *r, bool is_over)
{
	struct progress *p = &r->progress;
	uint64_t now = p->is_wanted ? cli_now_ns() : 0;

	if (!p->is_wanted || (is_over && !p->is_told) || (!is_over && now < p->next_ns))
		return;
	if (is_over)
		(void)fputs("\r\033[K", stderr);
	else if (p->n_all)
		(void)fprintf(stderr, "\r%s: %3.0f %% of %" PRIu64 " events\033[K", cli_program,
			      100.0 * (double)p->n / (double)p->n_all, p->n_all);
	else
		(void)fprintf(stderr, "\r%s: %" PRIu64 " events\033[K", cli_program, p->n);
	(void)fflush(stderr);
	p->is_told = !is_over;
	p->next_ns = now + PROGRESS_NS;
}

static void begin_progress(struct report *r)
{
	struct ubp_recording_info info;

	ubp_recording_info(r->recording, &info);
	r->progress = (struct progress){
		.is_wanted = isatty(STDERR_FILENO) && !r->out.is_tty,
		.n_all = info.is_whole ? info.records : 0,
		.next_ns = cli_now_ns() + 5 * PROGRESS_NS,
	};
}

static int on_text(void *ctx, const char *text, size_t len, uint64_t n_events)
{
	struct report *r = ctx;

	put(r, text, len);
	r->progress.n += n_events;
	tell_progress(r, false);
	/* output_wait() says why, if it must be said. */
	return output_pending(&r->out) >= BATCH_BYTES && !output_drain(&r->out);
}

static int print_events(struct report *r)
{
	struct ubp_err err;
	size_t len;
	const char *text = ubp_sink_begin(r->sink, &len);
	int rc;

	ubp_err_reset(&err);
	put(r, text, len);
	begin_progress(r);
	rc = ubp_recording_print(r->recording, r->sink, on_text, r, &err);
	tell_progress(r, true);
	text = ubp_sink_end(r->sink, &len);
	put(r, text, len);
	if (rc < 0)
		return cli_error_record(&err);
	if (r->opt->form.needs_stack && r->progress.n && !len)
		cli_warn(NULL, "no event has a stack: uprobe -s records them");
	return ubp_sink_is_short(r->sink)
		       ? cli_error("out of memory: what is written is not all")
		       : CLI_OK;
}

/* All that is sent is there, or the collector has not taken anything for so long. */
static int send_rest(struct report *r, int status)
{
	struct pollfd p = { .fd = otlp_fd(&r->otlp), .events = POLLIN };

	while (!otlp_is_done(&r->otlp) && poll(&p, 1, COLLECTOR_MS) > 0)
		;
	return otlp_close(&r->otlp) == CLI_OK ? status : CLI_FAILED;
}

/* What is asked for of the events. */
static int choose(struct report *r)
{
	const struct report_options *opt = r->opt;
	struct ubp_err err;

	ubp_err_reset(&err);
	ubp_recording_choose_time(r->recording, &opt->from, &opt->to);
	for (size_t i = 0; i < opt->n_rules; i++)
		if (ubp_recording_choose(r->recording, opt->rules[i].event,
					 opt->rules[i].filter, &err) < 0)
			return cli_error_record(&err);
	if (ubp_recording_choose_pids(r->recording, opt->pids, opt->n_pids, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

static int make_sink(struct report *r)
{
	struct ubp_sink_options how = { .form = r->opt->form.name,
					.header = r->opt->header,
					.service = otlp_service() };
	struct ubp_recording_info info;
	struct ubp_err err;

	ubp_err_reset(&err);
	ubp_recording_info(r->recording, &info);
	output_raw(&r->out, info.strict);
	how.raw = r->out.raw;
	text_apply(&r->opt->text, &r->opt->form, r->out.is_tty, &how);
	if (ubp_recording_sink(r->recording, &how, &r->sink, &err) < 0)
		return cli_error_record(&err);
	return choose(r);
}

static int print(struct report *r)
{
	int status = make_sink(r);

	if (status != CLI_OK)
		return status;
	output_begin(&r->out);
	if (r->opt->info) {
		tell_info(r);
		return tell_damage(r);
	}
	if (r->opt->otlp && otlp_open(&r->otlp, r->opt->otlp, true) != CLI_OK)
		return CLI_FAILED;
	status = send_rest(r, print_events(r));
	if (status == CLI_OK)
		status = form_write_beside(&r->opt->form, r->opt->output, r->sink);
	return status == CLI_OK ? tell_damage(r) : status;
}

static int report(const struct report_options *opt)
{
	struct ubp_recording_align align = { .ns = opt->shifts };
	struct report r = { .opt = opt };
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (ubp_recording_open_all(opt->files, opt->n_files, opt->is_aligned ? &align : NULL,
				   &r.recording, &err) < 0)
		return cli_error_record(&err);
	if (form_open(&r.out, &opt->form,
		      opt->otlp && !otlp_is_url(opt->otlp) ? opt->otlp : opt->output,
		      &err) < 0) {
		ubp_recording_free(r.recording);
		return cli_error_record(&err);
	}
	status = print(&r);
	if (output_wait(&r.out) != CLI_OK)
		status = CLI_FAILED;
	ubp_sink_free(r.sink);
	ubp_recording_free(r.recording);
	return status;
}

/* All of one file into a sink, nothing of it printed. */
static int count_all(struct report *r, const char *path)
{
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (ubp_recording_open(path, &r->recording, &err) < 0)
		return cli_error_record(&err);
	status = make_sink(r);
	if (status == CLI_OK)
		status = print_events(r);
	r->out.len = 0;
	return status == CLI_OK ? tell_damage(r) : status;
}

static int print_diff(struct report *old, struct report *new)
{
	const char *text;
	size_t len;
	int status = count_all(old, old->opt->files[0]);

	if (status == CLI_OK)
		status = count_all(new, new->opt->files[1]);
	if (status != CLI_OK)
		return status;
	text = ubp_sink_diff(old->sink, new->sink, &len);
	output_begin(&new->out);
	output_add(&new->out, text, len);
	return CLI_OK;
}

static int diff(const struct report_options *opt)
{
	struct report old = { .opt = opt, .out.fd = -1 }, new = { .opt = opt };
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (output_open(&new.out, opt->output, &err) < 0)
		return cli_error_record(&err);
	status = print_diff(&old, &new);
	output_close(&old.out);
	if (output_wait(&new.out) != CLI_OK)
		status = CLI_FAILED;
	ubp_sink_free(old.sink);
	ubp_sink_free(new.sink);
	ubp_recording_free(old.recording);
	ubp_recording_free(new.recording);
	return status;
}

int main(int argc, char **argv)
{
	struct report_options opt;
	bool done;
	int status = report_options_parse(argc, argv, &opt, &done);

	signals_no_pipe();
	if (!done)
		status = opt.diff ? diff(&opt) : report(&opt);
	report_options_free(&opt);
	return status;
}
