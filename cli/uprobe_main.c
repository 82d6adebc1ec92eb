/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* uprobe: trace functions of running programs. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/uprobe_options.h"
#include "cli/uprobe_run.h"

#define FILE_MAX (16 * 1024 * 1024)

const char cli_program[] = "uprobe";

/* --- definitions ------------------------------------------------------------ */

/* All of @fd, allocated. */
static int read_all(int fd, char **ret_text, size_t *ret_len, struct ubp_err *err)
{
	size_t len = 0, cap = 0;
	char *text = NULL;

	for (;;) {
		ssize_t n;

		if (len == cap) {
			char *more = NULL;

			cap = cap ? 2 * cap : 4096;
			if (cap <= FILE_MAX)
				more = realloc(text, cap);
			if (!more) {
				free(text);
				return ubp_fail(err, ENOMEM, "too long for definitions");
			}
			text = more;
		}
		n = read(fd, text + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(text);
			return ubp_fail_sys(err, "read");
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

static int add_file(struct ubp_session *session, const struct uprobe_definition *d,
		    struct ubp_err *err)
{
	bool is_stdin = strcmp(d->text, "-") == 0;
	const char *name = is_stdin ? "standard input" : d->text;
	int rc, fd = is_stdin ? STDIN_FILENO : open(d->text, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;

	if (fd < 0)
		return ubp_fail_sys(err, "%s", name);
	rc = read_all(fd, &text, &len, err);
	if (!is_stdin)
		(void)close(fd);
	if (rc == 0)
		rc = ubp_add_events(session, text, len, d->filter, err);
	free(text);
	if (rc < 0 && err->line)
		return ubp_context(err, "%s:%u", name, err->line);
	return rc < 0 ? ubp_context(err, "%s", name) : 0;
}

static int add_definitions(struct ubp_session *session, const struct uprobe_options *o,
			   struct ubp_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < o->n_definitions && rc == 0; i++) {
		const struct uprobe_definition *d = &o->definitions[i];

		switch (d->kind) {
		case DEFINITION_PERF_TOOLS:
			rc = ubp_add(session, d->text, d->filter, err);
			break;
		case DEFINITION_EVENTS:
			rc = ubp_add_events(session, d->text, strlen(d->text), d->filter, err);
			break;
		case DEFINITION_FILE:
			rc = add_file(session, d, err);
			break;
		}
	}
	if (rc == 0 && ubp_n_probes(session) == 0)
		return ubp_fail(err, EINVAL, "no definition is given");
	return rc;
}

/* --- what only prints -------------------------------------------------------- */

static int print_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	struct output *out = ctx;

	(void)offset;
	(void)explain;
	output_add(out, name, strlen(name));
	output_add(out, "\n", 1);
	return 0;
}

static int list(const struct uprobe_options *o)
{
	struct ubp_target target = { .name = o->list, .pid = o->n_pids ? o->pids[0] : 0 };
	struct output out;
	struct ubp_err err;

	ubp_err_reset(&err);
	signals_no_pipe();
	if (output_open(&out, o->output, &err) < 0)
		return cli_error_record(&err);
	if (ubp_list_functions(&target, print_function, &out, &err) < 0) {
		output_close(&out);
		return cli_error_record(&err);
	}
	return output_wait(&out);
}

static int describe(struct ubp_session *session, const struct uprobe_options *o)
{
	struct output out;
	struct ubp_err err;

	ubp_err_reset(&err);
	signals_no_pipe();
	if (output_open(&out, o->output, &err) < 0)
		return cli_error_record(&err);
	for (size_t i = 0; i < ubp_n_probes(session); i++) {
		if (o->check)
			output_printf(&out, "%s\n", ubp_probe_listing(session, i));
		if (o->format)
			output_printf(&out, "%s", ubp_probe_format(session, i));
		if (o->explain)
			output_printf(&out, "%s\n", ubp_probe_explain(session, i));
	}
	return output_wait(&out);
}

/* --- the trace --------------------------------------------------------------- */

static int use_session(struct ubp_session *session, const struct uprobe_options *o)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (add_definitions(session, o, &err) < 0)
		return cli_error_record(&err);
	if (o->check || o->format || o->explain)
		return describe(session, o);
	if (o->ready_fd >= 0)
		(void)fcntl(o->ready_fd, F_SETFD, FD_CLOEXEC);
	if (o->command && ubp_run_command(session, o->command, &err) < 0)
		return cli_error_record(&err);
	return uprobe_run(session, o);
}

static int run(const struct uprobe_options *o)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *session;
	struct ubp_err err;
	int status;

	if (o->list)
		return list(o);
	opt.pids = o->pids;
	opt.n_pids = o->n_pids;
	opt.tid = o->tid;
	opt.strict = o->strict;
	opt.lossless = o->lossless;
	opt.ring_bytes = o->ring_bytes;
	opt.count_dropped = o->stats;
	opt.force = o->force;
	opt.stack = o->stack ? UBP_STACK_FP : UBP_STACK_NONE;
	opt.mode = o->mode;
	opt.clock = o->clock;
	opt.warn = cli_warn;
	ubp_err_reset(&err);
	if (ubp_session_new(&opt, &session, &err) < 0)
		return cli_error_record(&err);
	status = use_session(session, o);
	ubp_session_free(session);
	return status;
}

/*
 * Where a standard descriptor is closed, the next file opened would take its number,
 * and messages would be written into it. What holds the place fails when it is used,
 * and is closed again for a command of ours.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct uprobe_options options;
	bool done;
	int status;

	hold_standard_descriptors();
	status = uprobe_options_parse(argc, argv, &options, &done);
	if (!done)
		status = run(&options);
	uprobe_options_free(&options);
	/* What --help printed may not have found room. */
	if (fflush(stdout) != 0 && errno != EPIPE)
		status = cli_error("standard output: %s", strerror(errno));
	return status;
}
