/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * apart_host apart|here|auto[:ENGINE] CASE PID DEFINITION: a host that a library must not disturb, for apart.sh. It traces PID until that ends, by
 * breakpoints, and says "ready" when it does; then what it found, a line each, and how many events came. With "here" threads of its own trace, with
 * "auto" who does is the library's choice. ENGINE: the option engine.path.
 *
 *	waits     a thread waits for any child, and there are some
 *	signals   it has a handler for SIGCHLD, and no child
 *	limits    what of its limits and descriptors has changed
 *	memory    600 MB of it are written, a session is begun, and all are written again
 *	forks     a child that has all that the host has lives on; it is told
 *	beside    a thread adds a probe of the file "prog", which takes as long as it likes; that 300 events came is told at once
 *	plain     none of these
 */

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/ubp.h"
#include "engine/ubp_event.h"
#include "engine/ubp_live.h"

#define MEMORY ((size_t)600 << 20)

static struct ubp_session *session;
static long n_events;
static atomic_long n_strange, n_signals, n_children;
static atomic_bool is_over;
static bool is_beside;

static int count(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	n_events += ubp_event_probe(event) == 0;
	if (is_beside && n_events == 300) {
		printf("all came\n");
		fflush(stdout);
	}
	return 0;
}

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "warning: %s\n", text);
}

/* Whoever waits for any child gets his own children, and nothing else. */
static void *wait_for_any(void *arg)
{
	(void)arg;
	while (!is_over) {
		pid_t child = fork(), got;
		int status;

		if (child == 0)
			_exit(7);
		while ((got = waitpid(-1, &status, WUNTRACED)) != child || !WIFEXITED(status))
			n_strange += got != child;
		n_children++;
	}
	return NULL;
}

static void *add_beside(void *arg)
{
	const char *texts[] = { "p:late ./prog:greet" };
	struct ubp_err err;

	(void)arg;
	printf("added %d\n", ubp_probes_add(session, texts, 1, NULL, NULL, NULL, &err));
	return NULL;
}

static void on_child(int sig)
{
	(void)sig;
	n_signals++;
}

static long n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* "apart", "here" or "auto", and ":ENGINE" behind it. */
static struct ubp_engine engine_of(const char *text)
{
	const char *path = strchr(text, ':');
	struct ubp_engine engine = { UBP_APART_AUTO, path ? path + 1 : NULL };

	if (strncmp(text, "apart", 5) == 0)
		engine.apart = UBP_APART_YES;
	else if (strncmp(text, "here", 4) == 0)
		engine.apart = UBP_APART_NO;
	return engine;
}

static void start(const char *engine, pid_t pid, const char *definition)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	struct ubp_err err;
	uint64_t begun = now_ns();

	opt.pids = &pid;
	opt.n_pids = 1;
	opt.mode = UBP_MODE_TRAP;
	opt.warn = warn;
	opt.engine = engine_of(engine);
	ubp_err_reset(&err);
	if (ubp_session_new(&opt, &session, &err) < 0 ||
	    ubp_add(session, definition, NULL, &err) < 0 || ubp_start(session, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	fprintf(stderr, "started in %.1f ms\n", (double)(now_ns() - begun) / 1e6);
	printf("ready\n");
	fflush(stdout);
}

static int run(const pthread_t *first)
{
	struct pollfd p = { ubp_fd(session), POLLIN, 0 };
	struct ubp_err err;

	for (;;) {
		int n;

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return 1;
		n = ubp_dispatch(session, count, NULL, &err);
		if (n < 0) {
			printf("dispatch: %s: %s\n", strerrorname_np(err.code), err.text);
			break;
		}
		if (ubp_is_done(session))
			break;
	}
	ubp_stop(session);
	(void)ubp_drain(session, count, NULL, &err);
	if (first)
		pthread_join(*first, NULL);
	printf("done %d failed %d\n", ubp_is_done(session), ubp_has_failed(session));
	ubp_session_free(session);
	printf("events %ld\n", n_events);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit before, after;
	struct sigaction sa = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	struct rusage begin, end;
	pthread_t thread;
	char *memory = NULL;
	long n_before, n_after;
	const char *what = argc == 5 ? argv[2] : "";
	int rc;

	if (argc != 5)
		return 2;
	alarm(60);
	if (strcmp(what, "waits") == 0)
		pthread_create(&thread, NULL, wait_for_any, NULL);
	if (strcmp(what, "signals") == 0)
		sigaction(SIGCHLD, &sa, NULL);
	if (strcmp(what, "memory") == 0) {
		memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		/* Each page is one of its own. */
		madvise(memory, MEMORY, MADV_NOHUGEPAGE);
		memset(memory, 1, MEMORY);
	}
	getrlimit(RLIMIT_NOFILE, &before);
	n_before = n_descriptors();
	start(argv[1], atoi(argv[3]), argv[4]);
	getrlimit(RLIMIT_NOFILE, &after);
	n_after = n_descriptors();
	if (memory) {
		getrusage(RUSAGE_SELF, &begin);
		memset(memory, 2, MEMORY);
		getrusage(RUSAGE_SELF, &end);
		printf("pages %ld\n", end.ru_minflt - begin.ru_minflt);
	}
	if (strcmp(what, "forks") == 0) {
		pid_t child = fork();

		if (child == 0)
			for (;;)
				pause();
		printf("child %d\n", (int)child);
		fflush(stdout);
	}
	is_beside = strcmp(what, "beside") == 0;
	if (is_beside)
		pthread_create(&thread, NULL, add_beside, NULL);
	rc = run(is_beside ? &thread : NULL);
	is_over = true;
	if (strcmp(what, "waits") == 0) {
		pthread_join(thread, NULL);
		printf("children %ld strange %ld\n", (long)n_children, (long)n_strange);
	}
	if (strcmp(what, "signals") == 0)
		printf("signals %ld\n", (long)n_signals);
	if (strcmp(what, "limits") == 0)
		printf("limit %+ld descriptors %s\n", (long)(after.rlim_cur - before.rlim_cur),
		       n_after - n_before <= 4 ? "few" : "many");
	return rc;
}
