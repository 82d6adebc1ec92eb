/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files that show what was traced, or say how it is kept. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/clock.h"
#include "cli/fs/clock.h"
#include "cli/fs/files.h"
#include "cli/fs/state.h"
#include "cli/fs/text.h"
#include "cli/fs/triggers.h"
#include "engine/ubp_trigger.h"

#define MARKER_MAX 4096

static void read_trace(struct state *state, const struct file_at *at, struct text *out)
{
	state_sync(state);
	(void)pthread_mutex_lock(&state->lock);
	buffer_show(&at->instance->buffer, at->cpu, out);
	(void)pthread_mutex_unlock(&state->lock);
}

/* Only to open it so does something. */
static ssize_t write_trace(struct state *state, const struct file_at *at,
			   const struct file_write *w)
{
	(void)state;
	(void)at;
	return (ssize_t)w->len;
}

static int clear_trace(struct state *state, const struct file_at *at)
{
	state_sync(state);
	(void)pthread_mutex_lock(&state->lock);
	buffer_clear(&at->instance->buffer, at->cpu);
	(void)pthread_mutex_unlock(&state->lock);
	return 0;
}

static void read_stats(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	buffer_stats(&at->instance->buffer, at->cpu,
		     fs_clock_of(at->instance->clock, cli_now_ns()), out);
}

/* --- snapshot ----------------------------------------------------------------- */

/* What the kernel shows where nothing is in it. */
static void show_snapshot_help(const struct instance *instance, int cpu, struct text *out)
{
	text_printf(out,
		    "# tracer: nop\n"
		    "#\n"
		    "#\n# * Snapshot is %s *\n#\n"
		    "# Snapshot commands:\n",
		    instance->has_snapshot ? "allocated" : "freed");
	text_puts(out,
		  cpu == BUFFER_ALL_CPUS
			  ? "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
			    "# echo 1 > snapshot : Allocates snapshot buffer, if not "
			    "already allocated.\n"
			    "#                      Takes a snapshot of the main buffer.\n"
			    "# echo 2 > snapshot : Clears snapshot buffer (but does not "
			    "allocate or free)\n"
			  : "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
			    "# echo 1 > snapshot : Not supported with this kernel.\n"
			    "#                     Must use main snapshot file to allocate.\n"
			    "# echo 2 > snapshot : Clears this cpu's snapshot buffer (but "
			    "does not allocate)\n");
	text_puts(out,
		  "#                      (Doesn't have to be '2' works with any number that\n"
		  "#                       is not a '0' or '1')\n");
}

/* Hits until now may have triggers that take one. */
static void read_snapshot(struct state *state, const struct file_at *at, struct text *out)
{
	const struct instance *instance = at->instance;

	state_sync(state);
	(void)pthread_mutex_lock(&state->lock);
	if (instance->has_snapshot && buffer_has(&instance->snapshot, at->cpu))
		buffer_show(&instance->snapshot, at->cpu, out);
	else
		show_snapshot_help(instance, at->cpu, out);
	(void)pthread_mutex_unlock(&state->lock);
}

/* With the state's lock. */
static int change_snapshot(struct instance *instance, int cpu, unsigned long what)
{
	if (what <= 1 && cpu != BUFFER_ALL_CPUS)
		return -EINVAL;
	if (what == 1)
		return instance_snapshot(instance);
	if (what == 0)
		instance_snapshot_free(instance);
	else if (instance->has_snapshot)
		buffer_clear(&instance->snapshot, cpu);
	return 0;
}

static ssize_t write_snapshot(struct state *state, const struct file_at *at,
			      const struct file_write *w)
{
	unsigned long what;
	int rc = word_number(w->data, w->len, &what);

	if (rc < 0)
		return rc;
	state_sync(state);
	if (fs_triggers_has_snapshots(&state->triggers, at->instance))
		return -EBUSY;
	(void)pthread_mutex_lock(&state->lock);
	rc = change_snapshot(at->instance, at->cpu, what);
	(void)pthread_mutex_unlock(&state->lock);
	state->news(state->news_ctx);
	return rc < 0 ? rc : (ssize_t)w->len;
}

/* --- tracing_on, trace_marker ----------------------------------------------- */

static void read_on(struct state *state, const struct file_at *at, struct text *out)
{
	state_sync(state);
	text_puts(out, at->instance->is_on ? "1\n" : "0\n");
}

/* What was hit before belongs to the time before. */
static ssize_t write_on(struct state *state, const struct file_at *at,
			const struct file_write *w)
{
	unsigned long on;
	int rc = word_number(w->data, w->len, &on);

	if (rc < 0)
		return rc;
	state_sync(state);
	if (fs_triggers_is_in(&state->triggers, at->instance))
		rc = ubp_trigger_set_tracing(
			fs_triggers_session(&state->triggers, at->instance), on);
	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&state->lock);
	at->instance->is_on = on;
	(void)pthread_mutex_unlock(&state->lock);
	state->news(state->news_ctx);
	return (ssize_t)w->len;
}

/* Name and CPU of a thread: field 2 and 39 of its stat file. */
static void look_at_thread(pid_t tid, char name[64], unsigned *ret_cpu)
{
	char path[64], text[1024], *s;
	FILE *file;
	size_t n = 0;

	*ret_cpu = 0;
	(void)snprintf(name, 64, "<...>");
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return;
	n = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[n] = '\0';
	s = strrchr(text, ')');
	if (!s || !strchr(text, '('))
		return;
	*s++ = '\0';
	(void)snprintf(name, 64, "%s", strchr(text, '(') + 1);
	for (int i = 3; i < 39 && s; i++)
		s = strchr(s + 1, ' ');
	if (s)
		*ret_cpu = (unsigned)strtoul(s, NULL, 10);
}

static ssize_t write_marker(struct state *state, const struct file_at *at,
			    const struct file_write *w)
{
	size_t len = w->len < MARKER_MAX ? w->len : MARKER_MAX;
	uint64_t ns = fs_clock_of(at->instance->clock, cli_now_ns()), us = (ns + 500) / 1000;
	struct text line = { 0 };
	char name[64];
	unsigned cpu;

	(void)state;
	if (!at->instance->options[OPTION_MARKERS])
		return -EINVAL;
	if (!at->instance->is_on)
		return -EBADF;
	look_at_thread(w->tid, name, &cpu);
	text_printf(&line,
		    "%16s-%-7d [%03u] ..... %5" PRIu64 ".%06" PRIu64 ": tracing_mark_write: ",
		    name, (int)w->tid, cpu, us / 1000000, us % 1000000);
	text_add(&line, w->data, strnlen(w->data, len));
	if (line.len && line.data[line.len - 1] != '\n')
		text_puts(&line, "\n");
	if (!line.is_short)
		buffer_add(&at->instance->buffer, cpu, ns, line.data, line.len);
	text_free(&line);
	return line.is_short ? -ENOMEM : (ssize_t)len;
}

static void read_cmdlines(struct state *state, const struct file_at *at, struct text *out)
{
	(void)at;
	for (int i = 0; i < STATE_NAMES; i++)
		if (state->names[i].tid)
			text_printf(out, "%d %s\n", (int)state->names[i].tid,
				    state->names[i].name);
}

/* --- the buffer's size ------------------------------------------------------ */

static void read_size(struct state *state, const struct file_at *at, struct text *out)
{
	unsigned long kb = buffer_kb(&at->instance->buffer, at->cpu);

	(void)state;
	if (kb)
		text_printf(out, "%lu\n", kb);
	else
		text_puts(out, "X\n");
}

static void read_total_size(struct state *state, const struct file_at *at, struct text *out)
{
	unsigned long kb = 0;

	for (int i = 0; i < state->n_cpus; i++)
		kb += buffer_kb(&at->instance->buffer, i);
	text_printf(out, "%lu\n", kb);
}

static ssize_t write_size(struct state *state, const struct file_at *at,
			  const struct file_write *w)
{
	unsigned long kb;
	int rc = word_number(w->data, w->len, &kb);

	(void)state;
	if (rc < 0)
		return rc;
	rc = buffer_resize(&at->instance->buffer, at->cpu, kb);
	return rc < 0 ? rc : (ssize_t)w->len;
}

#define RW 0640
#define RO 0440

const struct file files_of_traces[] = {
	{ "trace", RW, IN_BOTH | IN_CPU, .reads_slowly = true, .read = read_trace,
	  .write = write_trace, .truncate = clear_trace },
	{ "trace_pipe", RO, IN_BOTH | IN_CPU, .is_pipe = true },
	{ "stats", RO, IN_CPU, .read = read_stats },
	{ "snapshot", RW, IN_BOTH | IN_CPU, .reads_slowly = true, .writes_slowly = true,
	  .read = read_snapshot, .write = write_snapshot },
	{ "tracing_on", RW, IN_BOTH, .reads_slowly = true, .writes_slowly = true,
	  .read = read_on, .write = write_on },
	{ "trace_marker", 0220, IN_BOTH, .write = write_marker },
	{ "saved_cmdlines", RO, IN_TOP, .read = read_cmdlines },
	{ "buffer_size_kb", RW, IN_BOTH | IN_CPU, .read = read_size, .write = write_size },
	{ "buffer_total_size_kb", RO, IN_BOTH, .read = read_total_size },
};
const size_t n_files_of_traces = sizeof(files_of_traces) / sizeof(*files_of_traces);
