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
#include "engine/base/nearest.h"
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

struct functions {
	struct output *out;
	size_t n;
	struct nearest near;
};

static int print_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	struct functions *functions = ctx;

	(void)offset;
	functions->n++;
	output_line(functions->out, "%s%s%s", name, explain ? "  " : "",
		    explain ? explain : "");
	return 0;
}

static int count_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	(void)name;
	(void)offset;
	(void)explain;
	((struct functions *)ctx)->n++;
	return 0;
}

static int offer_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	struct functions *functions = ctx;

	(void)offset;
	(void)explain;
	nearest_offer(&functions->near, name);
	return 0;
}

/* An empty list may be a surprise. */
static void tell_none(const struct ubp_target *target, struct functions *functions)
{
	const char *where = target->name ? target->name : "what the process maps";
	char text[1024], near[NEAREST_TEXT_MAX] = "";
	struct ubp_target all = *target;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (!target->pattern) {
		(void)snprintf(text, sizeof(text), "no functions%s in %s",
			       target->exclude ? ", or all are left out," : "", where);
		cli_tell(NULL, text);
		return;
	}
	all.pattern = NULL;
	all.explain = false;
	nearest_init(&functions->near, target->pattern, strlen(target->pattern), NEAREST_EDITS);
	if (!strpbrk(target->pattern, "*?[") && target->name &&
	    ubp_list_functions(&all, offer_function, functions, &ignored) == 0)
		nearest_text(&functions->near, near, sizeof(near));
	(void)snprintf(text, sizeof(text), "no function '%.200s' in %.200s%s", target->pattern,
		       where, near);
	cli_tell(NULL, text);
}

/* One that names nothing leaves nothing out. */
static int check_exclude(const struct ubp_target *target, const char *pattern,
			 struct ubp_err *err)
{
	struct functions functions = { 0 };
	struct ubp_target one = *target;
	char text[512];
	int rc;

	one.pattern = pattern;
	one.exclude = NULL;
	one.explain = false;
	rc = ubp_list_functions(&one, count_function, &functions, err);
	if (rc < 0 || functions.n)
		return rc;
	(void)snprintf(text, sizeof(text), "--exclude=%.200s: no function has such a name",
		       pattern);
	cli_warn(NULL, text);
	return 0;
}

static int list_functions(struct output *out, const struct ubp_target *target, const void *what,
			  struct ubp_err *err)
{
	struct functions functions = { .out = out };
	int rc = ubp_list_functions(target, print_function, &functions, err);

	(void)what;
	for (size_t i = 0; rc == 0 && target->exclude && target->exclude[i]; i++)
		rc = check_exclude(target, target->exclude[i], err);
	if (rc == 0 && !functions.n)
		tell_none(target, &functions);
	return rc;
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
