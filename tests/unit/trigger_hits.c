/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/trigger_hits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/session/event.h"
#include "engine/ubp.h"
#include "tests/unit/temp.h"

#define FUNCTIONS_MAX 64
#define BASE          0x400000

struct run {
	struct run *next;
	char *name; /* definitions, parts, number */
	struct hits hits;
};

static struct run *runs;
static char folder[TEMP_LEN], target[TEMP_LEN + 16];
static struct {
	char name[32];
	uint64_t address;
} functions[FUNCTIONS_MAX];
static size_t n_functions;

static void read_functions(void)
{
	char command[256], line[512];
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s", target);
	nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm))
		if (n_functions < FUNCTIONS_MAX &&
		    sscanf(line, "%" SCNx64 " T %31s", &functions[n_functions].address,
			   functions[n_functions].name) == 2 &&
		    strncmp(functions[n_functions].name, "pt_", 3) == 0)
			n_functions++;
	assert_int_equal(pclose(nm), 0);
}

void hits_begin(const char *program)
{
	const char *src = getenv("UBP_SRC") ? getenv("UBP_SRC") : ".";
	char command[4096];
	cpu_set_t one;

	/* The rows were recorded with one processor. */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	temp_folder(folder);
	snprintf(target, sizeof(target), "%s/trigtgt", folder);
	snprintf(command, sizeof(command),
		 "gcc -O1 -fno-pie -no-pie -static -pthread -I%s -o %s %s/%s", src, target, src,
		 program);
	assert_int_equal(system(command), 0);
	read_functions();
}

void hits_end(void)
{
	for (struct run *each = runs, *next; each; each = next) {
		next = each->next;
		for (size_t i = 0; i < each->hits.n; i++)
			free(each->hits.records[i]);
		free(each->hits.records);
		free(each->name);
		free(each);
	}
	runs = NULL;
	n_functions = 0;
	unlink(target);
	rmdir(folder);
}

uint64_t hits_address(const char *function)
{
	for (size_t i = 0; i < n_functions; i++)
		if (strcmp(functions[i].name, function) == 0)
			return functions[i].address;
	fail_msg("there is no function %s", function);
	return 0;
}

/* @BIN@ and @OFF(function)@ */
static void put_places(const char *def, char *ret, size_t size)
{
	const char *bin = strstr(def, "@BIN@:@OFF("), *end;
	char function[64];

	assert_non_null(bin);
	end = strstr(bin, ")@");
	assert_non_null(end);
	snprintf(function, sizeof(function), "%.*s", (int)(end - bin - 11), bin + 11);
	snprintf(ret, size, "%.*s%s:0x%" PRIx64 "%s\n", (int)(bin - def), def, target,
		 hits_address(function) - BASE, end + 2);
}

static int keep(void *ctx, const struct ubp_event *event)
{
	const struct event_record *record = event->record;
	struct hits *hits = ctx;

	assert_int_equal(record->kind, EVENT_HIT);
	hits->records = realloc(hits->records, (hits->n + 1) * sizeof(*hits->records));
	assert_non_null(hits->records);
	hits->records[hits->n] = malloc(record->size);
	assert_non_null(hits->records[hits->n]);
	memcpy(hits->records[hits->n++], record, record->size);
	return 0;
}

static void check(int rc, const struct ubp_err *err)
{
	if (rc < 0)
		fail_msg("%s", err->text);
}

/* "T0 4242 trigtgt" */
static void read_tasks(int fd, struct hits *hits)
{
	FILE *file = fdopen(fd, "r");
	char line[256];
	unsigned i;
	int tid;

	assert_non_null(file);
	rewind(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "T%u %d", &i, &tid) == 2 && i < HITS_TASKS_MAX) {
			hits->tasks[i] = tid;
			hits->n_tasks = i + 1 > hits->n_tasks ? i + 1 : hits->n_tasks;
		}
	fclose(file);
}

static void add_all(struct ubp_session *session, json_t *defs)
{
	struct ubp_err err;
	json_t *def;
	size_t i;

	json_array_foreach(defs, i, def)
	{
		char line[4096];

		put_places(json_string_value(def), line, sizeof(line));
		check(ubp_add_events(session, line, strlen(line), NULL, &err), &err);
	}
}

static void start(struct ubp_session *session, json_t *parts, int out)
{
	char *argv[32] = { target };
	struct ubp_err err;
	int own = dup(1);
	json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) argv[i + 1] = (char *)json_string_value(part);
	fflush(stdout);
	dup2(out, 1);
	check(ubp_run_command(session, argv, &err), &err);
	check(ubp_start(session, &err), &err);
	dup2(own, 1);
	close(own);
}

static bool is_same_hit(const struct event_record *a, const struct event_record *b)
{
	return a->tid == b->tid && a->ip == b->ip && a->func == b->func && a->probe < b->probe;
}

/* Of several events at one place the kernel runs the one first that was defined last; the engine the one that was defined first. */
static void order_as_the_kernel(struct hits *hits)
{
	for (size_t from = 0, to; from < hits->n; from = to) {
		to = from + 1;
		while (to < hits->n && is_same_hit(hits->records[to - 1], hits->records[to]))
			to++;
		for (size_t i = from, k = to - 1; i < k; i++, k--) {
			struct event_record *record = hits->records[i];

			hits->records[i] = hits->records[k];
			hits->records[k] = record;
		}
	}
}

static void run(json_t *defs, json_t *parts, struct hits *hits)
{
	struct ubp_options opt = UBP_OPTIONS_INIT;
	int out = memfd_create("tasks", MFD_CLOEXEC);
	struct ubp_session *session;
	struct ubp_err err;
	int n;

	opt.strict = true;
	opt.lossless = true;
	opt.mode = UBP_MODE_TRAP; /* hits are microseconds apart, as the kernel's are */
	opt.follow = UBP_FOLLOW_YES;
	check(ubp_session_new(&opt, &session, &err), &err);
	add_all(session, defs);
	start(session, parts, out);
	while (!ubp_is_done(session)) {
		struct pollfd fd = { .fd = ubp_fd(session), .events = POLLIN };

		poll(&fd, 1, -1);
		n = ubp_dispatch(session, keep, hits, &err);
		check(n, &err);
	}
	ubp_stop(session);
	while ((n = ubp_dispatch(session, keep, hits, &err)) > 0)
		;
	check(n, &err);
	ubp_session_free(session);
	read_tasks(out, hits);
	order_as_the_kernel(hits);
}

const struct hits *hits_of(json_t *defs, json_t *parts, unsigned number)
{
	json_t *both = json_pack("[O,O,i]", defs, parts, (int)number);
	char *name = json_dumps(both, 0);
	struct run *each;

	assert_non_null(name);
	json_decref(both);
	for (each = runs; each && strcmp(each->name, name) != 0;)
		each = each->next;
	if (each) {
		free(name);
		return &each->hits;
	}
	each = calloc(1, sizeof(*each));
	assert_non_null(each);
	*each = (struct run){ .next = runs, .name = name };
	runs = each;
	run(defs, parts, &each->hits);
	return &each->hits;
}
