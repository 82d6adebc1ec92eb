/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Files that say how it is traced, and what else there is. */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fs/clock.h"
#include "cli/fs/files.h"
#include "cli/fs/state.h"
#include "cli/fs/text.h"
#include "cli/fs/triggers.h"
#include "engine/base/vec.h"

/* --- trace_clock ------------------------------------------------------------ */

static void read_clock(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	for (unsigned i = 0; fs_clocks[i].name; i++)
		text_printf(out, i == at->instance->clock ? "%s[%s]" : "%s%s", i ? " " : "",
			    fs_clocks[i].name);
	text_puts(out, "\n");
}

/* Times of two clocks can't stand side by side: what was traced goes. */
static ssize_t write_clock(struct state *state, const struct file_at *at,
			   const struct file_write *w)
{
	struct word name = word_trim(w->data, w->len);
	unsigned i = 0;

	while (fs_clocks[i].name && !word_is(name, fs_clocks[i].name))
		i++;
	if (!fs_clocks[i].name)
		return -EINVAL;
	state_sync(state);
	(void)pthread_mutex_lock(&state->lock);
	at->instance->clock = i;
	instance_clear(at->instance);
	(void)pthread_mutex_unlock(&state->lock);
	return (ssize_t)w->len;
}

/* --- tracers, options ------------------------------------------------------- */

static void read_tracer(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	(void)at;
	text_puts(out, "nop\n");
}

static ssize_t write_tracer(struct state *state, const struct file_at *at,
			    const struct file_write *w)
{
	(void)state;
	(void)at;
	return word_is(word_trim(w->data, w->len), "nop") ? (ssize_t)w->len : -EINVAL;
}

static void read_options(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	for (unsigned i = 0; i < OPTIONS; i++)
		text_printf(out, "%s%s\n", at->instance->options[i] ? "" : "no",
			    instance_option_names[i]);
}

/* Where stacks are told from now on, or not any more, all that is traced begins anew. */
static int set_option(struct state *state, struct instance *instance, struct word name, bool on)
{
	bool before = instance->options[OPTION_USERSTACKTRACE];
	struct ubp_err err;
	int rc;

	(void)pthread_mutex_lock(&state->lock);
	rc = instance_set_option(instance, name.s, name.len, on);
	(void)pthread_mutex_unlock(&state->lock);
	if (rc < 0 || instance->options[OPTION_USERSTACKTRACE] == before)
		return rc;
	ubp_err_reset(&err);
	rc = state_trace(state, &err);
	(void)pthread_mutex_lock(&state->lock);
	if (rc < 0)
		instance->options[OPTION_USERSTACKTRACE] = before;
	(void)pthread_mutex_unlock(&state->lock);
	return rc;
}

static ssize_t write_options(struct state *state, const struct file_at *at,
			     const struct file_write *w)
{
	struct word name = word_trim(w->data, w->len);
	bool off = name.len > 2 && memcmp(name.s, "no", 2) == 0;
	int rc;

	if (off) {
		name.s += 2;
		name.len -= 2;
	}
	rc = set_option(state, at->instance, name, !off);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static void read_option(const struct file_at *at, enum instance_option option, struct text *out)
{
	text_puts(out, at->instance->options[option] ? "1\n" : "0\n");
}

static ssize_t write_option(struct state *state, const struct file_at *at,
			    enum instance_option option, const struct file_write *w)
{
	struct word name = { instance_option_names[option],
			     strlen(instance_option_names[option]) };
	unsigned long on;
	int rc = word_number(w->data, w->len, &on);

	if (rc < 0 || on > 1)
		return rc < 0 ? rc : -EINVAL;
	rc = set_option(state, at->instance, name, on);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static void read_overwrite(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	read_option(at, OPTION_OVERWRITE, out);
}

static ssize_t write_overwrite(struct state *state, const struct file_at *at,
			       const struct file_write *w)
{
	return write_option(state, at, OPTION_OVERWRITE, w);
}

static void read_markers(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	read_option(at, OPTION_MARKERS, out);
}

static ssize_t write_markers(struct state *state, const struct file_at *at,
			     const struct file_write *w)
{
	return write_option(state, at, OPTION_MARKERS, w);
}

static void read_userstacktrace(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	read_option(at, OPTION_USERSTACKTRACE, out);
}

static ssize_t write_userstacktrace(struct state *state, const struct file_at *at,
				    const struct file_write *w)
{
	return write_option(state, at, OPTION_USERSTACKTRACE, w);
}

/* --- set_event_pid ---------------------------------------------------------- */

static void read_pids(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	for (size_t i = 0; i < at->instance->n_pids; i++)
		text_printf(out, "%lu\n", at->instance->pids[i]);
}

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

static int add_pid(unsigned long **pids, size_t *n, unsigned long pid)
{
	if (VEC_FIT(*pids, *n + 1) < 0)
		return -ENOMEM;
	(*pids)[(*n)++] = pid;
	return 0;
}

/* All words of @w, behind those that are there: white space alone changes nothing. */
static int parse_pids(const struct instance *instance, const struct file_write *w,
		      unsigned long **pids, size_t *n)
{
	struct word all = { w->data, strnlen(w->data, w->len) }, word;
	size_t pos = 0;
	unsigned long pid;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < instance->n_pids; i++)
		rc = add_pid(pids, n, instance->pids[i]);
	while (rc == 0 && word_next(&all, &pos, &word)) {
		if (word_number(word.s, word.len, &pid) < 0 || pid > INT_MAX)
			return -EINVAL;
		rc = add_pid(pids, n, pid);
	}
	return rc;
}

/* Does a trigger need what was recorded, which depends on the thread then? */
static bool has_condition(const struct instance *instance)
{
	for (size_t i = 0; i < instance->n_states; i++)
		if (instance->states[i].is_soft && instance->states[i].has_condition)
			return true;
	return false;
}

/* They count for hits from now on, and for triggers. @pids: the instance's, from now on. */
static int change_pids(struct state *state, struct instance *instance, unsigned long *pids,
		       size_t n)
{
	struct ubp_err err;

	state_sync(state);
	(void)pthread_mutex_lock(&state->lock);
	free(instance->pids);
	instance->pids = pids;
	instance->n_pids = n;
	(void)pthread_mutex_unlock(&state->lock);
	ubp_err_reset(&err);
	return has_condition(instance) ? state_trace(state, &err) : 0;
}

static ssize_t write_pids(struct state *state, const struct file_at *at,
			  const struct file_write *w)
{
	unsigned long *pids = NULL;
	size_t n = 0, kept = 0;
	int rc = parse_pids(at->instance, w, &pids, &n);

	if (rc < 0) {
		free(pids);
		return rc;
	}
	if (n)
		qsort(pids, n, sizeof(*pids), compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || pids[kept - 1] != pids[i])
			pids[kept++] = pids[i];
	rc = change_pids(state, at->instance, pids, kept);
	return rc < 0 ? rc : (ssize_t)w->len;
}

static int clear_pids(struct state *state, const struct file_at *at)
{
	return change_pids(state, at->instance, NULL, 0);
}

/* --- error_log, README ------------------------------------------------------ */

static void read_errors(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	error_log_read(&at->instance->errors, out);
}

static ssize_t write_errors(struct state *state, const struct file_at *at,
			    const struct file_write *w)
{
	(void)state;
	(void)at;
	return (ssize_t)w->len;
}

static int clear_errors(struct state *state, const struct file_at *at)
{
	(void)pthread_mutex_lock(&state->lock);
	error_log_clear(&at->instance->errors);
	(void)pthread_mutex_unlock(&state->lock);
	return 0;
}

static void read_readme(struct state *state, const struct file_at *at, struct text *out)
{
	(void)state;
	(void)at;
	text_puts(out,
		  "This is ubp-fs(1): the files that a kernel has for uprobe events, in user "
		  "space.\n"
		  "\n"
		  "  uprobe_events, dynamic_events\n"
		  "\t\t- Create/append/remove/show the userspace dynamic events, a line each:\n"
		  "\t   Format: p[:[<group>/][<event>]] <place> [<args>]\n"
		  "\t           r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
		  "\t           -:[<group>/][<event>]\n"
		  "\t   place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]\n"
		  "\t     args: <name>=fetcharg[:type]\n"
		  "\t fetcharg: %<register>, @<address>, @+<offset>, $stack<index>, $stack, "
		  "$retval,\n"
		  "\t           $comm, +|-[u]<offset>(<fetcharg>), \\imm-value, "
		  "\\\"imm-string\"\n"
		  "\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, string, ustring,\n"
		  "\t           b<bit-width>@<bit-offset>/<container-size>, "
		  "<type>\\[<array-size>\\]\n"
		  "  error_log\t- What was wrong with the last definitions and filters\n"
		  "  events/.../enable, set_event\n"
		  "\t\t- Events are traced, or not any more\n"
		  "  events/.../filter\n"
		  "\t\t- Only hits are kept for which this is true\n"
		  "  events/.../trigger\n"
		  "\t\t- What a hit makes happen: hist, traceon, traceoff, snapshot, "
		  "enable_event, disable_event, enable_hist, disable_hist\n"
		  "  events/.../hist\n"
		  "\t\t- The event's histograms\n"
		  "  synthetic_events\n"
		  "\t\t- Create/append/remove/show synthetic events, which histograms' actions "
		  "make\n"
		  "  trace\t\t- What was traced; opened with O_TRUNC it is emptied\n"
		  "  snapshot\t- What was traced when it was taken\n"
		  "  trace_pipe\t- The same, each event once; it waits for more\n"
		  "  instances/\t- A folder made here has its own of all that is not about "
		  "definitions\n");
}

#define RW 0640
#define RO 0440

const struct file files_of_settings[] = {
	{ "README", RO, IN_TOP, .read = read_readme },
	{ "error_log", RW, IN_BOTH, .read = read_errors, .write = write_errors,
	  .truncate = clear_errors },
	{ "trace_clock", RW, IN_BOTH, .writes_slowly = true, .read = read_clock,
	  .write = write_clock },
	{ "current_tracer", RW, IN_BOTH, .read = read_tracer, .write = write_tracer },
	{ "available_tracers", RO, IN_BOTH, .read = read_tracer },
	{ "trace_options", RW, IN_BOTH, .writes_slowly = true, .read = read_options,
	  .write = write_options },
	{ "userstacktrace", RW, IN_OPTIONS, .lets_go = true, .writes_slowly = true,
	  .read = read_userstacktrace, .write = write_userstacktrace },
	{ "overwrite", RW, IN_OPTIONS, .lets_go = true, .writes_slowly = true,
	  .read = read_overwrite, .write = write_overwrite },
	{ "markers", RW, IN_OPTIONS, .lets_go = true, .writes_slowly = true,
	  .read = read_markers, .write = write_markers },
	{ "set_event_pid", RW, IN_BOTH, .writes_slowly = true, .read = read_pids,
	  .write = write_pids, .truncate = clear_pids },
};
const size_t n_files_of_settings = sizeof(files_of_settings) / sizeof(*files_of_settings);
