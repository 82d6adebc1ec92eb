/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The ./app of the manuals' examples: parse() with variables and lines to be named, static probes, and
 * calls of libc. "app ROUNDS" does so many rounds, a few milliseconds each; 0: until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/sdt.h>

void clear_queue(void);
void next_token(const char *text);

enum state { IDLE, RUNNING, DONE };

struct request {
	char *buf;
	int len;
	enum state state;
	double weight;
	struct request *next;
	char tag[8];
	long v[3];
};

/* The manuals tell a line of it by its number: parse:12 and parse.c:44. */
__attribute__((noinline)) int parse(struct request *req, int flags)
{
	int n = 0, c;
	const char *p = req->buf;
	if (!req->len)
		return 0;
	DTRACE_PROBE3(app, parse__start, req->buf, req->len, flags);
	req->state = RUNNING;
	while ((c = *p++)) {
		if (c == ' ')
			n++;
	}
	req->v[1] += n;
	req->weight += n * 0.25;
	clear_queue();
	next_token(req->buf);
	DTRACE_PROBE2(app, parse__done, req->buf, n);
	return n + 1;
}

/* Some work with libc. */
__attribute__((noinline)) static int load(const char *path, int n)
{
	char *copy = malloc(100 + n);
	FILE *file = fopen(path, "r");

	snprintf(copy, 100, "%d of %s", n, path);
	if (file) {
		fgets(copy, 100, file);
		fclose(file);
	}
	n = (int)strlen(copy) + (getenv("HOME") ? 1 : 0);
	free(copy);
	return n;
}

int main(int argc, char **argv)
{
	struct request req = { .buf = strdup("get index of all"), .len = 16, .tag = "first" };
	const struct timespec pause = { .tv_nsec = 3000000 };
	int sum = 0, rounds = argc > 1 ? atoi(argv[1]) : 5;

	for (int i = 0; !rounds || i < rounds; i++) {
		sum += parse(&req, i & 3);
		sum += load(i & 1 ? "/etc/hosts" : "/etc/hostname", i);
		if (write(STDERR_FILENO, "", 0))
			return 1;
		nanosleep(&pause, NULL);
	}
	printf("%d\n", sum);
	free(req.buf);
	return 0;
}
