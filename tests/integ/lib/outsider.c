/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A program of somebody else's, for outsider.sh: it has the public headers and the library, nothing more, and uses each of
 * them. Both C99 and C++.
 *
 *	outsider FILE PID DEFINITION
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ubp.h>
#include <ubp_err.h>
#include <ubp_event.h>
#include <ubp_files.h>
#include <ubp_sink.h>
#include <ubp_stats.h>
#include <ubp_until.h>

struct outsider {
	struct ubp_session *session;
	struct ubp_sink *sink;
	pid_t pid;
};

static int fail(const struct ubp_err *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

static int print_function(void *ctx, const char *name, uint64_t offset, const char *explain)
{
	(void)ctx;
	printf("function %s%s%s\n", name, offset ? "" : " at 0", explain ? " explained" : "");
	return 0;
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	const struct outsider *o = (const struct outsider *)ctx;
	int probe = ubp_event_probe(event);
	size_t len;
	const char *text = ubp_sink_event(o->sink, event, &len);

	if (probe < 0)
		return 0;
	printf("event %s of %s, %s: %s=%s\n", ubp_probe_event(o->session, (size_t)probe),
	       ubp_event_comm(event),
	       ubp_event_pid(event) == o->pid ? "its pid" : "another pid",
	       ubp_event_arg_name(event, 0), ubp_event_arg_text(event, 0));
	fwrite(text, 1, len, stdout);
	return 0;
}

static int trace(struct outsider *o, struct ubp_err *err)
{
	struct ubp_until until = { -1, never, NULL };
	struct pollfd p = { -1, POLLIN, 0 };
	int rc = ubp_start_until(o->session, &until, err);

	if (rc < 0)
		return rc;
	fprintf(stderr, "ready\n");
	p.fd = ubp_fd(o->session);
	while (rc >= 0 && !ubp_is_done(o->session) && poll(&p, 1, -1) >= 0)
		rc = ubp_dispatch(o->session, on_event, o, err);
	ubp_stop(o->session);
	return rc < 0 ? rc : ubp_dispatch(o->session, on_event, o, err);
}

static int run(struct outsider *o, const char *definition, struct ubp_err *err)
{
	struct ubp_options options = UBP_OPTIONS_INIT;
	struct ubp_sink_options form = {
		"json", false, false, NULL, UBP_SINK_TIME_KERNEL, false
	};
	struct ubp_probe_stats stats;
	int rc;

	options.pids = &o->pid;
	options.n_pids = 1;
	options.limits.max_rate = 1000000000;
	options.limits.max_overhead = 100;
	rc = ubp_session_new(&options, &o->session, err);
	if (rc >= 0)
		rc = ubp_add(o->session, definition, NULL, err);
	if (rc >= 0)
		rc = ubp_sink_new(o->session, &form, &o->sink, err);
	if (rc >= 0)
		rc = trace(o, err);
	if (rc < 0)
		return rc;
	ubp_probe_stats(o->session, 0, &stats);
	printf("hits %u, lost %u%s\n", (unsigned)stats.hits, (unsigned)stats.lost,
	       stats.taken_out == UBP_TAKEN_OUT_NOT ? "" : ", taken out");
	return 0;
}

int main(int argc, char **argv)
{
	struct ubp_target target;
	struct outsider o = { NULL, NULL, 0 };
	struct ubp_err err;
	int rc;

	memset(&target, 0, sizeof(target));
	ubp_err_reset(&err);
	if (argc != 4)
		return 2;
	o.pid = (pid_t)atoi(argv[2]);
	target.name = argv[1];
	target.pattern = "gree*";
	rc = ubp_list_functions(&target, print_function, NULL, &err);
	if (rc >= 0)
		rc = run(&o, argv[3], &err);
	ubp_sink_free(o.sink);
	ubp_session_free(o.session);
	return rc < 0 ? fail(&err) : 0;
}
