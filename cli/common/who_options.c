/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Options that say whose hits are traced. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/trace_options.h"
#include "cli/common/who.h"
#include "engine/base/err.h"
#include "engine/base/pid_list.h"
#include "engine/base/vec.h"
#include "engine/ubp_whom.h"

#define DIGITS_MAX 15

static int add_pid(struct trace_options *o, pid_t pid)
{
	for (size_t i = 0; i < o->who.n_pids; i++)
		if (o->who.pids[i] == pid)
			return CLI_OK;
	if (VEC_FIT(o->who.pids, o->who.n_pids + 1) < 0)
		return cli_error("out of memory");
	o->who.pids[o->who.n_pids++] = pid;
	return CLI_OK;
}

static int add_called(struct trace_options *o, const char *name, size_t len)
{
	struct pid_list pids;
	int status = who_called(name, len, &pids);

	for (size_t i = 0; status == CLI_OK && i < pids.n; i++)
		status = add_pid(o, pids.v[i]);
	free(pids.v);
	return status;
}

/* A number, or a name. */
static int add_pids(struct trace_options *o, const char *word, size_t len, const char *arg)
{
	char digits[DIGITS_MAX + 1];
	uint64_t pid;

	if (len && strspn(word, "0123456789") < len)
		return add_called(o, word, len);
	(void)snprintf(digits, sizeof(digits), "%.*s",
		       (int)(len < DIGITS_MAX ? len : DIGITS_MAX), word);
	if (!cli_number(digits, 1, INT_MAX, &pid))
		return cli_usage_error("-p takes process ids and names, not '%s'", arg);
	return add_pid(o, (pid_t)pid);
}

int who_set_pids(void *into, const char *arg)
{
	for (const char *p = arg;;) {
		size_t len = strcspn(p, ",");
		int status = add_pids(into, p, len, arg);

		if (status != CLI_OK || !p[len])
			return status;
		p += len + 1;
	}
}

int who_set_tid(void *into, const char *arg)
{
	struct trace_options *o = into;
	uint64_t tid;

	if (!cli_number(arg, 1, INT_MAX, &tid))
		return cli_usage_error("a thread id is a number, not '%s'", arg);
	if (o->who.tid)
		return cli_usage_error("a thread is given twice");
	o->who.tid = (pid_t)tid;
	return CLI_OK;
}

int who_set_user(void *into, const char *arg)
{
	struct target_options *who = &((struct trace_options *)into)->who;
	uint64_t number;

	if (who->of_user)
		return cli_usage_error("a user is given twice");
	who->of_user = true;
	if (cli_number(arg, 0, UINT32_MAX - 1, &number)) {
		who->user = (uid_t)number;
		return CLI_OK;
	}
	return who_user(arg, &who->user) ? CLI_OK : cli_error("no user is called '%s'", arg);
}

int who_set_cgroup(void *into, const char *arg)
{
	struct target_options *who = &((struct trace_options *)into)->who;

	if (who->cgroup)
		return cli_usage_error("a control group or container is given twice");
	who->cgroup = who_cgroup(arg);
	return who->cgroup ? CLI_OK : cli_error("there is no control group '%s'", arg);
}

int who_set_container(void *into, const char *arg)
{
	struct target_options *who = &((struct trace_options *)into)->who;

	if (who->cgroup)
		return cli_usage_error("a control group or container is given twice");
	who->of_container = true;
	return who_container(arg, &who->cgroup, &who->in_container);
}

int who_begin(struct ubp_session *session, const struct trace_options *o)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (o->who.of_user && ubp_only_user(session, o->who.user, &err) < 0)
		return cli_error_record(&err);
	if (o->who.cgroup && ubp_only_cgroup(session, o->who.cgroup, &err) < 0)
		return cli_error_record(&err);
	if (o->who.in_container && ubp_files_as(session, o->who.in_container, &err) < 0)
		return cli_error_record(&err);
	return CLI_OK;
}

/* Of all processes. */
static int check_chosen(const struct trace_options *o)
{
	const char *what = o->who.of_container ? "--container"
			   : o->who.cgroup     ? "--cgroup"
			   : o->who.of_user    ? "-u"
					       : NULL;

	if (what && (o->command || o->who.n_pids || o->who.tid))
		return cli_usage_error(
			"%s is for all processes: it excludes -p, -L and a command", what);
	return CLI_OK;
}

int who_check(const struct trace_options *o)
{
	if (o->command && (o->who.n_pids || o->who.tid))
		return cli_usage_error("a command excludes -p and -L");
	if (o->who.follow && o->who.no_follow)
		return cli_usage_error("--follow excludes --no-follow");
	if (o->who.follow && (o->who.tid || !(o->who.n_pids || o->command)))
		return cli_usage_error("--follow is for -p");
	if (o->who.no_follow && !(o->who.n_pids || o->who.tid || o->command))
		return cli_usage_error("--no-follow is for a command, or -p");
	return check_chosen(o);
}
