/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/live/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/message.h"
#include "cli/common/record.h"
#include "cli/common/trace_options.h"
#include "cli/live/place.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/base/units.h"
#include "engine/ubp.h"

#define SIZE_LEAST   (16ULL << 20) /* of two files: record_set_rotate() */
#define SIZE_DEFAULT (64ULL << 20)
#define THREAD_LEAST (1ULL << 20)
#define PER_THREAD   "/thread"
#define LOOKS        64

int keep_set_size(void *into, const char *arg)
{
	struct live_options *live = &((struct trace_options *)into)->live;
	size_t len = strlen(arg), tail = strlen(PER_THREAD);

	live->keep_per_thread = len > tail && strcmp(arg + len - tail, PER_THREAD) == 0;
	if (live->keep_per_thread)
		len -= tail;
	if (!units_size(arg, len, &live->keep) ||
	    live->keep < (live->keep_per_thread ? THREAD_LEAST : SIZE_LEAST) ||
	    live->keep > UINT64_MAX / 512)
		return cli_usage_error(
			"--keep takes bytes, from 16MiB, as 100MiB or 2GiB, or of each thread, "
			"from 1MiB, as 4MiB/thread, not '%s'",
			arg);
	return CLI_OK;
}

/* As other options are in argv; filled in by the process that records. */
static char path_of_ours[PATH_MAX];

int keep_prepare(struct trace_options *o)
{
	struct record_options *r = &o->to.record;

	if (!o->live.session)
		return cli_usage_error(
			"--keep takes --session: by its name the events are had");
	if (r->path)
		return cli_usage_error("--keep records in memory: it excludes --record");
	if (o->ends.duration || o->ends.count)
		return cli_usage_error(
			"what is kept in memory is gone when tracing ends: with %s, -o or "
			"--record says where events go",
			o->ends.duration ? "-d" : "-n");
	if (!o->live.keep)
		o->live.keep = SIZE_DEFAULT;
	r->path = path_of_ours;
	r->is_kept = true;
	if (o->live.keep_per_thread) {
		r->per_thread = o->live.keep;
		r->rotate = UINT64_MAX; /* by keep_dump() alone */
	} else {
		r->rotate = o->live.keep / 2;
		r->keep = 2;
	}
	return CLI_OK;
}

/* --- its files --------------------------------------------------------------------------- */

/* Names in the folder, oldest first. */
struct files {
	struct dirent **v;
	int n;
};

/* ".SESSION.PID.ubp" is written, those with a number behind that are older. */
static void name_file(char name[NAME_MAX + 1], const struct trace_options *o)
{
	(void)snprintf(name, NAME_MAX + 1, ".%s.%d.ubp", o->live.session, (int)getpid());
}

static const char *prefix; /* for scandirat()'s filter, which takes no more */

static int is_ours(const struct dirent *entry)
{
	return strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
}

/* One that was killed may wait for a parent that never looks. */
static bool has_ended(long pid)
{
	char path[32], text[512];
	const char *state;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (!proc_read(path, text, sizeof(text)))
		return errno == ENOENT;
	state = strrchr(text, ')');
	return state && (state[2] == 'Z' || state[2] == 'X');
}

/* Of a process that has ended. */
static int is_left(const struct dirent *entry)
{
	const char *name = entry->d_name, *end = NULL, *dot;
	long pid;

	/* The last one: a session's name may have it, too. */
	for (const char *p = strstr(name, ".ubp"); p; p = strstr(p + 1, ".ubp"))
		end = p;
	dot = end;

	if (*name != '.' || !end)
		return 0;
	do
		dot--;
	while (dot > name && *dot != '.');
	pid = strtol(dot + 1, NULL, 10);
	return pid > 0 && has_ended(pid);
}

/* 0: the one that is written, which is the newest. */
static unsigned long number_of(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return strtoul(dot + 1, NULL, 10);
}

static int by_age(const struct dirent **pa, const struct dirent **pb)
{
	unsigned long a = number_of(*pa), b = number_of(*pb);

	if (!a || !b)
		return (a == 0) - (b == 0);
	return (a > b) - (a < b);
}

static void find_files(struct files *files, int place, const struct trace_options *o)
{
	char name[NAME_MAX + 1];

	name_file(name, o);
	prefix = name;
	files->n = scandirat(place, ".", &files->v, is_ours, by_age);
	prefix = NULL;
}

static void forget_files(struct files *files)
{
	for (int i = 0; i < files->n; i++)
		free(files->v[i]);
	if (files->n >= 0)
		free(files->v);
}

static void delete_files(struct files *files, int place)
{
	for (int i = 0; i < files->n; i++)
		(void)unlinkat(place, files->v[i]->d_name, 0);
	forget_files(files);
}

int keep_begin(const struct trace_options *o)
{
	char name[NAME_MAX + 1];
	struct files files;
	struct ubp_err err;
	int place;

	if (!o->live.keep)
		return CLI_OK;
	ubp_err_reset(&err);
	place = place_open(true, &err);
	name_file(name, o);
	if (place < 0 || place_path(name, path_of_ours, &err) < 0)
		return cli_error_record(&err);
	files.n = scandirat(place, ".", &files.v, is_left, NULL);
	delete_files(&files, place);
	(void)close(place);
	return CLI_OK;
}

void keep_end(const struct trace_options *o)
{
	struct files files;
	struct ubp_err ignored;
	int place;

	if (!*path_of_ours)
		return;
	ubp_err_reset(&ignored);
	place = place_open(false, &ignored);
	if (place < 0)
		return;
	find_files(&files, place, o);
	delete_files(&files, place);
	(void)close(place);
}

/* --- all of them as one ------------------------------------------------------------------ */

static int copy(int from, int to)
{
	static char bytes[1 << 16];
	ssize_t n;

	while ((n = again_read(from, bytes, sizeof(bytes))) > 0)
		if (again_write(to, bytes, (size_t)n) < 0)
			return -errno;
	return n < 0 ? -errno : 0;
}

/* But for the one that is written. */
static int copy_files(int place, const struct trace_options *o, int to)
{
	struct files files;
	int rc = 0;

	find_files(&files, place, o);
	for (int i = 0; rc == 0 && i < files.n; i++) {
		int from;

		if (number_of(files.v[i]) == 0)
			continue;
		from = openat(place, files.v[i]->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		rc = from < 0 ? -errno : copy(from, to);
		if (from >= 0)
			(void)close(from);
	}
	forget_files(&files);
	return rc;
}

/* But for the one that is written. */
static void delete_done(int place, const struct trace_options *o)
{
	struct files files;

	find_files(&files, place, o);
	for (int i = 0; i < files.n; i++)
		if (number_of(files.v[i]) != 0)
			(void)unlinkat(place, files.v[i]->d_name, 0);
	forget_files(&files);
}

static int no_event(void *ctx, const struct ubp_event *event)
{
	(void)ctx;
	(void)event;
	return 0;
}

/* However fast more of it comes. */
static int take_waiting(struct ubp_session *session, struct ubp_err *err)
{
	int n = 1;

	for (int i = 0; i < LOOKS && n > 0; i++)
		n = ubp_dispatch(session, no_event, NULL, err);
	return n < 0 ? n : 0;
}

/* Of each thread: all that is kept is in the file that is ended, which goes. */
static int copy_threads(struct ubp_session *session, const struct trace_options *o, int place,
			int to)
{
	int rc;

	delete_done(place, o);
	if (record_next(session) != CLI_OK)
		return CLI_FAILED;
	rc = copy_files(place, o, to);
	delete_done(place, o);
	return rc < 0 ? cli_error("--dump: %s", strerror(-rc)) : CLI_OK;
}

/*
 * What was recorded until now is read, and its file is ended. That makes it the older of two, and the one before it goes: so that is copied first.
 */
static int copy_all(struct ubp_session *session, const struct trace_options *o, int to)
{
	struct ubp_err err;
	int rc, place = -1;

	ubp_err_reset(&err);
	if (take_waiting(session, &err) == 0)
		place = place_open(false, &err);
	if (place < 0)
		return cli_error_record(&err);
	if (o->live.keep_per_thread) {
		rc = copy_threads(session, o, place, to);
		(void)close(place);
		return rc;
	}
	rc = copy_files(place, o, to);
	if (rc == 0 && record_next(session) != CLI_OK)
		return CLI_FAILED;
	if (rc == 0)
		rc = copy_files(place, o, to);
	(void)close(place);
	return rc < 0 ? cli_error("--dump: %s", strerror(-rc)) : CLI_OK;
}

int keep_dump(struct ubp_session *session, const struct trace_options *o, const char *path)
{
	int status, to;

	if (!o->live.keep)
		return cli_error("that session keeps no events: it was begun without --keep");
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (to < 0)
		return cli_error("%s: %s", path, strerror(errno));
	status = copy_all(session, o, to);
	if (close(to) < 0 && status == CLI_OK)
		status = cli_error("%s: %s", path, strerror(errno));
	if (status != CLI_OK)
		(void)unlink(path);
	return status;
}
