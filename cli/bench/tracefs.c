/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Kernel uprobes by tracefs: text events in a group of our own, each with one probe,
 * recorded in a trace instance of our own. Both are named after our pid, so that
 * what a killed run left can be told and taken away; in a pid namespace other than the
 * first one also after that, since tracefs is the same for all. An event is always
 * disabled before it is deleted.
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bench/kernel_priv.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"

#define GROUP    "ubp_bench_"
#define PATH_LEN (PATH_MAX + 128)

struct tracefs {
	char root[PATH_MAX];
	char place
		[16]; /* our pid namespace, as it stands behind pids in names; "": the first */
	char id[32];  /* PID and that */
	char group[48];  /* GROUP and that */
	size_t n_events; /* defined: bID_0, bID_1, ... */
	uint64_t hits;   /* when it was switched on */
	bool is_on;
	int pipe; /* trace_pipe */
	int mark; /* trace_marker */
};

/* --- files -------------------------------------------------------------------------- */

/* One write(2) and no O_TRUNC: that would delete everybody's events. */
static int write_at(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	(void)close(fd);
	return rc;
}

/* A file below tracefs's root. */
__attribute__((format(printf, 3, 0))) static void
format_path(const struct tracefs *t, char path[PATH_LEN], const char *fmt, va_list ap)
{
	int n = snprintf(path, PATH_LEN, "%s/", t->root);

	(void)vsnprintf(path + n, PATH_LEN - (size_t)n, fmt, ap);
}

__attribute__((format(printf, 3, 4))) static int
write_to(const struct tracefs *t, const char *text, const char *fmt, ...)
{
	char path[PATH_LEN];
	va_list ap;

	va_start(ap, fmt);
	format_path(t, path, fmt, ap);
	va_end(ap);
	return write_at(path, text);
}

__attribute__((format(printf, 2, 3))) static FILE *read_from(const struct tracefs *t,
							     const char *fmt, ...)
{
	char path[PATH_LEN];
	va_list ap;

	va_start(ap, fmt);
	format_path(t, path, fmt, ap);
	va_end(ap);
	return fopen(path, "re");
}

static int find_root(struct tracefs *t, struct ubp_err *err)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	bool found = false;
	char path[PATH_LEN];

	while (f && !found && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "tracefs") != 0 ||
		    strlen(m->mnt_dir) >= sizeof(t->root))
			continue;
		(void)snprintf(t->root, sizeof(t->root), "%s", m->mnt_dir);
		found = true;
	}
	if (f)
		(void)endmntent(f);
	if (!found)
		return ubp_fail(err, ENOENT,
				"tracefs is not mounted (mount -t tracefs nodev "
				"/sys/kernel/tracing)");
	(void)snprintf(path, sizeof(path), "%s/uprobe_events", t->root);
	if (access(path, W_OK) < 0)
		return ubp_fail_sys(err, "%s", path);
	return 0;
}

/* --- taking away ---------------------------------------------------------------------- */

/* The events of @group, each as "GROUP/EVENT", one after the other. */
static bool next_event(FILE *f, const char *group, char *name, size_t size)
{
	char line[8192];

	while (fgets(line, sizeof(line), f)) {
		char *at = strchr(line, ':'), *end;

		if (!at || strncmp(at + 1, group, strlen(group)) != 0 ||
		    at[1 + strlen(group)] != '/')
			continue;
		end = strchr(at, ' ');
		if (!end || (size_t)(end - at) > size)
			continue;
		(void)snprintf(name, size, "%.*s", (int)(end - at - 1), at + 1);
		return true;
	}
	return false;
}

/* Disabled wherever it is on; only then deleted, event by event. */
static void remove_group(const struct tracefs *t, const char *group)
{
	char path[PATH_LEN], name[128] = "", text[160];

	(void)write_to(t, "0", "instances/%s/events/%s/enable", group, group);
	for (;;) {
		FILE *f = read_from(t, "uprobe_events");
		bool found = f && next_event(f, group, name, sizeof(name));

		if (f)
			(void)fclose(f);
		(void)snprintf(text, sizeof(text), "-:%s\n", name);
		if (!found || write_to(t, text, "uprobe_events") < 0)
			break;
	}
	(void)snprintf(path, sizeof(path), "%s/instances/%s", t->root, group);
	(void)rmdir(path);
}

static void name_place(struct tracefs *t)
{
	struct stat st;

	if (!proc_in_first_pid_namespace() && stat("/proc/self/ns/pid", &st) == 0)
		(void)snprintf(t->place, sizeof(t->place), "n%u", (unsigned)st.st_ino);
}

/* What killed runs of our pid namespace left behind. */
static void sweep(const struct tracefs *t)
{
	char path[PATH_LEN];
	struct dirent *d;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/instances", t->root);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		const char *digits = d->d_name + strlen(GROUP);
		char *end;
		long pid;

		if (strncmp(d->d_name, GROUP, strlen(GROUP)) != 0 ||
		    !isdigit((unsigned char)*digits))
			continue;
		pid = strtol(digits, &end, 10);
		if (strcmp(end, t->place) == 0 && pid > 0 && kill((pid_t)pid, 0) < 0 &&
		    errno == ESRCH)
			remove_group(t, d->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

static void tracefs_close(void *state)
{
	struct tracefs *t = state;

	if (t->pipe >= 0)
		(void)close(t->pipe);
	if (t->mark >= 0)
		(void)close(t->mark);
	remove_group(t, t->group);
	free(t);
}

/* --- making --------------------------------------------------------------------------- */

static int open_instance(struct tracefs *t, size_t buffer_bytes, struct ubp_err *err)
{
	char path[PATH_LEN], kb[32];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/instances/%s", t->root, t->group);
	if (mkdir(path, 0700) < 0)
		return ubp_fail_sys(err, "%s", path);
	(void)snprintf(kb, sizeof(kb), "%zu", buffer_bytes / 1024 + 1);
	rc = write_to(t, kb, "instances/%s/buffer_size_kb", t->group);
	if (rc == 0)
		rc = write_to(t, "mono", "instances/%s/trace_clock", t->group);
	if (rc < 0)
		return ubp_fail(err, -rc, "%s: %s", path, strerror(-rc));
	(void)snprintf(path, sizeof(path), "%s/instances/%s/trace_pipe", t->root, t->group);
	t->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (t->pipe < 0)
		return ubp_fail_sys(err, "%s", path);
	(void)snprintf(path, sizeof(path), "%s/instances/%s/trace_marker", t->root, t->group);
	t->mark = open(path, O_WRONLY | O_CLOEXEC);
	return t->mark < 0 ? ubp_fail_sys(err, "%s", path) : 0;
}

static int tracefs_open(size_t buffer_bytes, void **ret_state, struct ubp_err *err)
{
	struct tracefs *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return ubp_fail(err, ENOMEM, "out of memory");
	t->pipe = t->mark = -1;
	name_place(t);
	(void)snprintf(t->id, sizeof(t->id), "%d%s", (int)getpid(), t->place);
	(void)snprintf(t->group, sizeof(t->group), GROUP "%s", t->id);
	rc = find_root(t, err);
	if (rc < 0) {
		free(t);
		return rc;
	}
	sweep(t);
	remove_group(t, t->group); /* of an earlier process with our pid */
	rc = open_instance(t, buffer_bytes, err);
	if (rc < 0) {
		tracefs_close(t);
		return rc;
	}
	*ret_state = t;
	return 0;
}

/* The last words of the kernel's error_log, or what @code says. */
static int refused(const struct tracefs *t, int code, struct ubp_err *err)
{
	FILE *f = read_from(t, "error_log");
	char line[512], last[512] = "";

	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, "error: ");

		if (at)
			(void)snprintf(last, sizeof(last), "%s", at + strlen("error: "));
	}
	if (f)
		(void)fclose(f);
	last[strcspn(last, "\n")] = '\0';
	return ubp_fail(err, -code, "the kernel refuses the definition: %s",
			*last && code == -EINVAL ? last : strerror(-code));
}

static int define_one(struct tracefs *t, const struct kernel_probe *p, struct ubp_err *err)
{
	/* uprobe_profile tells no groups: so the pid is in the event's name. */
	char *text;
	int rc;

	if (asprintf(&text, "%c:%s/b%s_%zu %s:0x%" PRIx64 "%s%s\n", probe_kind_letter(p->kind),
		     t->group, t->id, t->n_events, p->path, p->offset,
		     *p->rest && *p->rest != '(' ? " " : "", p->rest) < 0)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = write_to(t, text, "uprobe_events");
	free(text);
	if (rc < 0)
		return refused(t, rc, err);
	t->n_events++;
	if (p->filter)
		rc = write_to(t, p->filter, "instances/%s/events/%s/b%s_%zu/filter", t->group,
			      t->group, t->id, t->n_events - 1);
	if (rc < 0)
		return ubp_fail(err, -rc, "the kernel refuses the filter: %s", strerror(-rc));
	return 0;
}

static int undefine(struct tracefs *t, struct ubp_err *err)
{
	char text[128];

	while (t->n_events > 0) {
		int rc;

		(void)snprintf(text, sizeof(text), "-:%s/b%s_%zu\n", t->group, t->id,
			       t->n_events - 1);
		rc = write_to(t, text, "uprobe_events");
		if (rc < 0)
			return ubp_fail(err, -rc, "uprobe_events: %s", strerror(-rc));
		t->n_events--;
	}
	return 0;
}

static int tracefs_define(void *state, const struct kernel_probe *probes, size_t n,
			  size_t *ret_bad, struct ubp_err *err)
{
	struct tracefs *t = state;
	int rc = undefine(t, err);

	for (size_t i = 0; i < n && rc == 0; i++) {
		*ret_bad = i;
		rc = define_one(t, &probes[i], err);
	}
	return rc;
}

/* --- on, off -------------------------------------------------------------------------- */

/* Hits of all our events so far. */
static uint64_t read_hits(const struct tracefs *t)
{
	FILE *f = read_from(t, "uprobe_profile");
	char line[8192], ours[48];
	uint64_t n = 0;

	(void)snprintf(ours, sizeof(ours), " b%s_", t->id);
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, ours), *digits;

		if (!at)
			continue;
		digits = at + strlen(ours);
		digits += strcspn(digits, " ");
		n += strtoull(digits, NULL, 10);
	}
	if (f)
		(void)fclose(f);
	return n;
}

/* The number by which the kernel knows the process that wrote KERNEL_MARK: "TASK-NUMBER [CPU] ...". */
static int find_mark(const struct tracefs *t, char pid[16])
{
	FILE *f = read_from(t, "instances/%s/trace", t->group);
	char line[512];

	*pid = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *end = strstr(line, " ["), *digits = end;

		if (!end || !strstr(end, ": " KERNEL_MARK))
			continue;
		while (digits > line &&
		       (isdigit((unsigned char)digits[-1]) || digits[-1] == ' '))
			digits--;
		(void)snprintf(pid, 16, "%d\n", atoi(digits));
	}
	if (f)
		(void)fclose(f);
	return *pid ? 0 : -ESRCH;
}

/* Only hits of @target and its children, if it asks for that. */
static int choose_target(const struct tracefs *t, const struct kernel_target *target)
{
	char pid[16];
	int rc;

	if (!target->and_children)
		return 0;
	rc = find_mark(t, pid);
	if (rc == 0)
		rc = write_to(t, "1", "instances/%s/options/event-fork", t->group);
	return rc < 0 ? rc : write_to(t, pid, "instances/%s/set_event_pid", t->group);
}

static int tracefs_on(void *state, const struct kernel_target *target, struct ubp_err *err)
{
	struct tracefs *t = state;
	char path[PATH_LEN];
	int rc = choose_target(t, target), fd;

	if (rc < 0)
		return ubp_fail(err, -rc, "switching kernel uprobes on: %s", strerror(-rc));

	/* Opened with O_TRUNC, the file "trace" empties the buffer, counts and all. */
	(void)snprintf(path, sizeof(path), "%s/instances/%s/trace", t->root, t->group);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return ubp_fail_sys(err, "%s", path);
	(void)close(fd);
	t->hits = read_hits(t);
	t->is_on = true;
	rc = write_to(t, "1", "instances/%s/events/%s/enable", t->group, t->group);
	return rc < 0 ? ubp_fail(err, -rc, "switching kernel uprobes on: %s", strerror(-rc))
		      : 0;
}

static void add_counts(const struct tracefs *t, long cpu, struct kernel_counts *counts)
{
	FILE *f = read_from(t, "instances/%s/per_cpu/cpu%ld/stats", t->group, cpu);
	uint64_t n;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "entries: %" SCNu64, &n) == 1 ||
		    sscanf(line, "read events: %" SCNu64, &n) == 1) {
			counts->recorded += n;
		} else if (sscanf(line, "overrun: %" SCNu64, &n) == 1 ||
			   sscanf(line, "dropped events: %" SCNu64, &n) == 1) {
			counts->recorded += n;
			counts->lost += n;
		}
	}
	if (f)
		(void)fclose(f);
}

static int tracefs_off(void *state, struct kernel_counts *ret_counts, struct ubp_err *err)
{
	struct tracefs *t = state;
	int rc;

	memset(ret_counts, 0, sizeof(*ret_counts));
	if (!t->is_on)
		return 0;
	rc = write_to(t, "0", "instances/%s/events/%s/enable", t->group, t->group);
	if (rc < 0)
		return ubp_fail(err, -rc, "switching kernel uprobes off: %s", strerror(-rc));
	t->is_on = false;
	ret_counts->hits = read_hits(t) - t->hits;
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		add_counts(t, cpu, ret_counts);
	return 0;
}

static int tracefs_mark_fd(const void *state)
{
	return ((const struct tracefs *)state)->mark;
}

static int tracefs_reader_fd(const void *state)
{
	return ((const struct tracefs *)state)->pipe;
}

static void tracefs_read(void *state)
{
	const struct tracefs *t = state;
	char text[65536];

	while (read(t->pipe, text, sizeof(text)) > 0)
		;
}

const struct kernel_ops kernel_tracefs = {
	.name = "tracefs",
	.open = tracefs_open,
	.close = tracefs_close,
	.define = tracefs_define,
	.on = tracefs_on,
	.off = tracefs_off,
	.mark_fd = tracefs_mark_fd,
	.reader_fd = tracefs_reader_fd,
	.read = tracefs_read,
};
