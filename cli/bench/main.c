/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* ubp-bench: what a probe costs, with ubp and with the kernel's uprobes. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/command.h"
#include "cli/bench/coverage.h"
#include "cli/bench/end_to_end.h"
#include "cli/bench/hot.h"
#include "cli/bench/report.h"
#include "cli/common/message.h"
#include "cli/common/signals.h"
#include "engine/base/err.h"

#define COMMAND_BUFFER (16UL * 1024 * 1024)

const char cli_program[] = "ubp-bench";

static int measure_row(struct bench *bench, struct bench_report *report,
		       const struct bench_row *row, bool reader)
{
	struct bench_result result;
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (bench_measure(bench, row, reader, &result, &err) < 0)
		status = cli_error("%s, %s, %u threads: %s", row->c->name, row->first->name,
				   row->threads, err.text);
	else
		status = bench_report_add(report, &result);
	bench_result_free(&result);
	return status;
}

static int measure_command(struct bench *bench, struct bench_report *report, bool reader)
{
	struct bench_result result;
	struct ubp_err err;
	int status;

	ubp_err_reset(&err);
	if (bench_measure_command(bench, reader, &result, &err) < 0)
		status = cli_error_record(&err);
	else
		status = bench_report_add(report, &result);
	bench_result_free(&result);
	return status;
}

static int measure_all(struct bench *bench, struct bench_report *report)
{
	const struct bench_options *o = bench->opt;
	int status = CLI_OK;

	for (int reader = 0; reader <= (o->reader ? 1 : 0) && status == CLI_OK; reader++) {
		if (o->command)
			status = measure_command(bench, report, reader);
		for (size_t i = 0; i < o->n_rows && status == CLI_OK; i++)
			/* Of the selection one case is enough. */
			if (!reader || !o->is_selection || o->rows[i].c->is_standard)
				status = measure_row(bench, report, &o->rows[i], reader);
	}
	return status;
}

/* For the kernel: all events of a run, and more. */
static size_t buffer_bytes(const struct bench_options *o)
{
	size_t bytes = o->hits * 5 / 4 * BENCH_CALL_BYTES_MAX;

	return o->command ? COMMAND_BUFFER : bytes + 65536;
}

/*
 * What a command prints would stand between our lines, over and over: it has /dev/null
 * for standard input and output, and we have a copy of ours.
 */
static FILE *put_aside(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR);
	FILE *out = fd < 0 || null < 0 ? NULL : fdopen(fd, "w");

	if (out && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		out = NULL;
	if (null > STDERR_FILENO)
		(void)close(null);
	return out;
}

static int run(const struct bench_options *o)
{
	FILE *out = o->command ? put_aside() : stdout;
	struct bench bench = { .opt = o };
	struct bench_report report = { 0 };
	struct ubp_err err;
	int status;

	if (!out)
		return cli_error("standard output: %s", strerror(errno));
	ubp_err_reset(&err);
	bench.signal_fd = signals_open(&err);
	if (bench.signal_fd >= 0 && o->end_to_end)
		return bench_end_to_end(o, out);
	if (bench.signal_fd >= 0 && o->hot)
		return bench_hot(o, bench.signal_fd, out);
	if (bench.signal_fd < 0 ||
	    kernel_open(o->kernel, buffer_bytes(o), &bench.kernel, &err) < 0)
		return cli_error_record(&err);
	status = bench_report_open(&report, &bench, out);
	if (status == CLI_OK)
		status = measure_all(&bench, &report);
	kernel_close(bench.kernel);
	if (status == CLI_OK)
		status = bench_report_finish(&report);
	bench_report_close(&report);
	(void)close(bench.signal_fd);
	if (fflush(out) != 0 && errno != EPIPE)
		status = cli_error("standard output: %s", strerror(errno));
	return status;
}

int main(int argc, char **argv)
{
	struct bench_options options;
	bool done;
	int status;

	if (argc > 1 && strcmp(argv[1], BENCH_WORK_WORD) == 0)
		return bench_work_main(argc, argv);
	status = bench_options_parse(argc, argv, &options, &done);
	if (!done)
		status = options.coverage ? bench_coverage(&options) : run(&options);
	bench_options_free(&options);
	if (fflush(stdout) != 0 && errno != EPIPE)
		status = cli_error("standard output: %s", strerror(errno));
	return status;
}
