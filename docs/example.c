/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tracer on libubp alone: ./example PID DEFINITION, until the process ends. After make install:
 *	cc -o example docs/example.c $(pkg-config --cflags --libs ubp) */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <ubp.h>
#include <ubp_event.h>

static int on_event(void *ctx, const struct ubp_event *event)
{
	size_t len;
	const char *line = ubp_event_line(event, &len);

	fwrite(line, 1, len, ctx);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s = NULL;
	struct ubp_err err;

	opt.pids = &pid;
	opt.n_pids = 1;
	ubp_err_reset(&err);
	if (argc != 3 || ubp_session_new(&opt, &s, &err) < 0 ||
	    ubp_add(s, argv[2], NULL, &err) < 0 || ubp_start(s, &err) < 0)
		return fprintf(stderr, "%s\n", argc == 3 ? err.text : "example PID DEFINITION"),
		       1;
	fprintf(stderr, "ready\n");
	for (struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN }; !ubp_is_done(s);)
		if (poll(&p, 1, -1) > 0)
			ubp_dispatch(s, on_event, stdout, &err);
	ubp_stop(s);
	ubp_drain(s, on_event, stdout, &err); /* what came last */
	ubp_session_free(s);
}
