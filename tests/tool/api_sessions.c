/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * api_sessions PID FILE FUNCTION N: a host of the library that has N sessions, one behind the other, on a process that calls FUNCTION all the
 * time: in each of them hits are taken, and a probe comes and goes. Nothing of a session may stay: descriptors and memory of
 * the host are those that the first ones left, and so are the target's mappings.
 */

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"

#define SETTLED 40   /* sessions until all that is made once is there, the allocator's arenas, too */
#define GROWTH  2048 /* pages that it may keep */
#define HITS    3

static const char *definitions[2];

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static void must(int64_t rc, const char *what, const struct ubp_err *err)
{
	if (rc < 0)
		fail(what, err->text);
}

static int on_event(void *ctx, const struct ubp_event *event)
{
	*(unsigned *)ctx += ubp_event_probe(event) >= 0;
	return 0;
}

static void wait_for_hits(struct ubp_session *s, unsigned want)
{
	unsigned n = 0;
	struct ubp_err err;

	while (n < want) {
		struct pollfd p = { .fd = ubp_fd(s), .events = POLLIN };

		if (poll(&p, 1, 60000) <= 0)
			fail("poll", "no event for a minute");
		must(ubp_dispatch(s, on_event, &n, &err), "dispatch", &err);
	}
}

static void one_session(pid_t pid, enum ubp_mode mode)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_session *s;
	struct ubp_err err;
	size_t number;

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = mode;
	must(ubp_session_new(&opt, &s, &err), "new", &err);
	must(ubp_add(s, definitions[0], NULL, &err), "add", &err);
	must(ubp_start(s, &err), "start", &err);
	wait_for_hits(s, HITS);
	must(ubp_probes_add(s, &definitions[1], 1, NULL, &number, NULL, &err), "add live",
	     &err);
	wait_for_hits(s, HITS);
	must(ubp_probes_remove(s, &number, 1, &err), "remove", &err);
	ubp_stop(s);
	ubp_session_free(s);
}

struct size {
	long pages, descriptors, mappings; /* the host's, the host's, the target's */
};

static struct size measure(pid_t pid)
{
	struct size size = { 0 };
	char path[64];
	DIR *d = opendir("/proc/self/fd");
	FILE *f = fopen("/proc/self/statm", "re");
	int c;

	if (!d || !f || fscanf(f, "%*d %ld", &size.pages) != 1)
		fail("/proc", "cannot be read");
	fclose(f);
	while (readdir(d))
		size.descriptors++;
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		fail(path, "cannot be read");
	while ((c = getc(f)) != EOF)
		size.mappings += c == '\n';
	fclose(f);
	return size;
}

/* What is open, to be told with a growth. */
static void print_descriptors(void)
{
	const struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	char path[32], name[256];
	ssize_t n;

	while (d && (e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%.10s", e->d_name);
		n = readlink(path, name, sizeof(name));
		if (n > 0)
			printf("%s -> %.*s\n", e->d_name, (int)n, name);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	static char text[2][4096];
	static const enum ubp_mode modes[] = { UBP_MODE_AUTO, UBP_MODE_TRAP, UBP_MODE_JUMP };
	struct size before = { 0 }, after;
	int n, pid;

	if (argc != 5)
		return 2;
	pid = atoi(argv[1]);
	n = atoi(argv[4]);
	snprintf(text[0], sizeof(text[0]), "p:first %s:%s", argv[2], argv[3]);
	snprintf(text[1], sizeof(text[1]), "r:second %s:%s ret=$retval", argv[2], argv[3]);
	definitions[0] = text[0];
	definitions[1] = text[1];
	for (int i = 0; i < n; i++) {
		one_session(pid, modes[i % 3]);
		if (i == SETTLED)
			before = measure(pid);
	}
	after = measure(pid);
	printf("%d sessions: pages %ld, then %ld; descriptors %ld, %ld; the target's mappings "
	       "%ld, %ld\n",
	       n, before.pages, after.pages, before.descriptors, after.descriptors,
	       before.mappings, after.mappings);
	if (n > SETTLED &&
	    (after.descriptors > before.descriptors || after.mappings > before.mappings + 1 ||
	     after.pages > before.pages + GROWTH)) {
		print_descriptors();
		fail("growth", "see above");
	}
	return 0;
}
