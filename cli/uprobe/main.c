/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* uprobe: trace functions of running programs. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/read_fd.h"
#include "cli/common/trace_session.h"
#include "cli/live/ask.h"
#include "cli/uprobe/options.h"
#include "engine/base/err.h"
#include "engine/ubp_files.h"

#define FILE_MAX (16 * 1024 * 1024)

const char cli_program[] = "uprobe";

/* --- definitions ------------------------------------------------------------ */

static int add_file(struct ubp_session *session, const struct trace_definition *d,
		    struct ubp_err *err)
{
	bool is_stdin = strcmp(d->text, "-") == 0;
	const char *name = is_stdin ? "standard input" : d->text;
	int rc, fd = is_stdin ? STDIN_FILENO : open(d->text, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;

	/* To strace -f is to follow children. */
	if (fd < 0 && errno == ENOENT && strchr(name, ':'))
		return ubp_fail(err, ENOENT,
				"%s: there is no such file (a definition needs no -f; "
				"--follow traces children, too)",
				name);
	if (fd < 0)
		return ubp_fail_sys(err, "%s", name);
	rc = read_fd(fd, FILE_MAX, &text, &len);
	if (rc == -EFBIG || rc == -ENOMEM) {
		rc = ubp_fail(err, ENOMEM, "too long for definitions");
	} else if (rc < 0) {
		errno = -rc;
		rc = ubp_fail_sys(err, "read");
	}
	if (!is_stdin)
		(void)close(fd);
	if (rc == 0)
		rc = ubp_add_events(session, text, len, d->filter, err);
	free(text);
	if (rc < 0 && err->line)
		return ubp_context(err, "%s:%u", name, err->line);
	return rc < 0 ? ubp_context(err, "%s", name) : 0;
}

static int add(struct ubp_session *session, const struct trace_definition *d,
	       struct ubp_err *err)
{
	switch (d->kind) {
	case DEFINITION_WORD:
		return ubp_add(session, d->text, d->filter, err);
	case DEFINITION_EVENTS:
		return ubp_add_events(session, d->text, strlen(d->text), d->filter, err);
	case DEFINITION_FILE:
		break;
	}
	return add_file(session, d, err);
}

/* --- what only prints -------------------------------------------------------- */

static int print_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	struct output *out = ctx;

	(void)offset;
	output_line(out, "%s%s%s", name, explain ? "  " : "", explain ? explain : "");
	return 0;
}

static int list_functions(struct output *out, const struct ubp_target *target, const void *what,
			  struct ubp_err *err)
{
	(void)what;
	return ubp_list_functions(target, print_function, out, err);
}

static int print_line(void *ctx, const char *line)
{
	struct output *out = ctx;

	output_line(out, "%s", line);
	return 0;
}

static int list_lines(struct output *out, const struct ubp_target *target, const void *what,
		      struct ubp_err *err)
{
	return ubp_list_lines(target, what, print_line, out, err);
}

static int list_variables(struct output *out, const struct ubp_target *target, const void *what,
			  struct ubp_err *err)
{
	return ubp_list_variables(target, what, print_line, out, err);
}

static int run(const struct uprobe_options *o)
{
	struct ubp_target target;

	if (o->trace.live.ask)
		return live_ask(&o->trace, "uprobe");
	if (o->lines_of) {
		target = trace_session_target(&o->trace, o->trace.definitions[0].text);
		return trace_session_list(&o->trace, list_lines, &target, o->lines_of);
	}
	if (o->vars) {
		target = trace_session_target(&o->trace, o->trace.definitions[0].text);
		return trace_session_list(&o->trace, list_variables, &target, o->vars);
	}
	if (!o->trace.lists.is_list)
		return trace_session(&o->trace, add);
	target = trace_session_target(&o->trace, o->trace.lists.list);
	return trace_session_list(&o->trace, list_functions, &target, NULL);
}

int main(int argc, char **argv)
{
	struct uprobe_options options;
	bool done;
	int status;

	trace_session_hold_descriptors();
	status = uprobe_options_parse(argc, argv, &options, &done);
	if (!done)
		status = run(&options);
	uprobe_options_free(&options);
	return trace_session_end(status);
}
