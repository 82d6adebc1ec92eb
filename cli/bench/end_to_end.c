/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/end_to_end.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/end_to_end_ways.h"
#include "cli/bench/figures.h"
#include "cli/bench/report.h"
#include "cli/bench/work.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/ubp.h"

struct end_to_end {
	const struct bench_options *opt;
	FILE *out;
	char program[PATH_MAX], uprobe[PATH_MAX + 8];
	char definition[PATH_MAX + 128];
	char folder[32];
	json_t *rows;
};

/* --- a run ------------------------------------------------------------------------------- */

struct took {
	double wall, cpu, target; /* ns */
	int status;
};

/* A file, or a folder of files. */
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_out(void)
{
	(void)nftw("out", remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static double cpu_ns(void)
{
	struct rusage u = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &u);
	return 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The child says "ready", and nanoseconds for the line that it is given. */
static double talk(int in, int out, const char *first, uint64_t calls)
{
	FILE *f = fdopen(out, "r");
	char line[64];
	double ns = 0;

	if (dprintf(in, "%s %" PRIu64 "\n", first, calls) > 0)
		(void)close(in);
	while (f && fgets(line, sizeof(line), f))
		if (line[0] >= '0' && line[0] <= '9')
			ns = strtod(line, NULL);
	if (f)
		(void)fclose(f);
	return ns;
}

static int run(char *const argv[], const char *first, uint64_t calls, struct took *ret,
	       struct ubp_err *err)
{
	const struct bench_spawn what = { .file = argv[0], .argv = argv, .is_silent = true };
	double cpu = cpu_ns();
	uint64_t begin = bench_now_ns();
	struct bench_spawned child;
	int status = 0, rc;

	remove_out();
	rc = bench_spawn(&what, &child, err);
	if (rc < 0)
		return rc;
	ret->target = talk(child.in, child.out, first, calls);
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		;
	ret->wall = (double)(bench_now_ns() - begin);
	ret->cpu = cpu_ns() - cpu;
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* --- a way --------------------------------------------------------------------------------- */

struct command {
	const char *argv[BENCH_WAY_ARGS + 6];
	char program[PATH_MAX + 8], n_threads[16];
	const char *first;
};

static void fill(const struct end_to_end *e, const struct bench_way *way, unsigned threads,
		 struct command *ret)
{
	size_t n = 0;

	for (; way->argv[n]; n++)
		ret->argv[n] = strcmp(way->argv[n], "UPROBE") == 0       ? e->uprobe
			       : strcmp(way->argv[n], "DEFINITION") == 0 ? e->definition
									 : way->argv[n];
	(void)snprintf(ret->program, sizeof(ret->program), "%s%s", e->program,
		       way->program ? way->program : "");
	(void)snprintf(ret->n_threads, sizeof(ret->n_threads), "%u", threads);
	ret->first = way->first ? way->first : bench_firsts[0].name;
	ret->argv[n++] = ret->program;
	ret->argv[n++] = BENCH_WORK_WORD;
	ret->argv[n++] = ret->n_threads;
	ret->argv[n++] = "0"; /* idle, and not pinned: the tracer needs room, too */
	ret->argv[n++] = "0";
	ret->argv[n] = NULL;
}

static int tell(struct end_to_end *e, const char *name, unsigned threads,
		const struct bench_series figures[3], uint64_t hits, uint64_t kept)
{
	double target = bench_min(&figures[0]), wall = bench_min(&figures[1]),
	       cpu = bench_min(&figures[2]);

	if (!e->opt->json || strcmp(e->opt->json, "-") != 0)
		fprintf(e->out, "%-18s %7u %10" PRIu64 " %10" PRIu64 " %8.1f %10.1f %8.1f\n",
			name, threads, hits, kept, target, wall, cpu);
	return json_array_append_new(e->rows, json_pack("{s:s, s:i, s:I, s:I, s:f, s:f, s:f}",
							"way", name, "threads", (int)threads,
							"hits", (json_int_t)hits, "kept",
							(json_int_t)kept, "target_ns", target,
							"wall_ns", wall, "cpu_ns", cpu));
}

/* Another tracer may not work on this machine. */
static bool works(const struct bench_way *way, const struct command *command, struct took *none)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	return run((char *const *)command->argv, command->first, 1, none, &err) == 0 &&
	       none->status == 0 && way->kept() == 1;
}

static int measure_round(struct end_to_end *e, const struct bench_way *way,
			 const struct command *command, unsigned threads,
			 struct bench_series figures[3], uint64_t *kept, struct ubp_err *err)
{
	uint64_t hits = e->opt->hits / threads * threads, n_kept;
	char *const *argv = (char *const *)command->argv;
	struct took none = { 0 }, all = { 0 };
	int rc = run(argv, command->first, threads, &none, err);
	double n = (double)hits;

	rc = rc < 0 ? rc : run(argv, command->first, hits, &all, err);
	if (rc == 0 && all.status != 0)
		rc = ubp_fail(err, EPROTO, "%s: ended with %d", argv[0], all.status);
	if (rc < 0)
		return rc;
	n_kept = way->kept();
	*kept = n_kept < *kept ? n_kept : *kept;
	rc = bench_series_add(&figures[0], all.target / n, err);
	rc = rc < 0 ? rc : bench_series_add(&figures[1], (all.wall - none.wall) / n, err);
	return rc < 0 ? rc : bench_series_add(&figures[2], (all.cpu - none.cpu) / n, err);
}

/* Each figure less what a run of one hit takes. */
static int measure(struct end_to_end *e, const struct bench_way *way, unsigned threads,
		   struct ubp_err *err)
{
	uint64_t hits = e->opt->hits / threads * threads, kept = UINT64_MAX;
	struct bench_series figures[3] = { { 0 } };
	struct took none = { 0 };
	struct command command;
	int rc = 0;

	fill(e, way, threads, &command);
	if (way->is_other && threads == 1 && !works(way, &command, &none)) {
		char text[128];

		(void)snprintf(text, sizeof(text),
			       "%s is left out: it kept no event of one hit here", way->name);
		cli_tell(NULL, text);
		return -ENOTSUP;
	}
	for (unsigned i = 0; rc == 0 && i < e->opt->rounds; i++)
		rc = measure_round(e, way, &command, threads, figures, &kept, err);
	if (rc == 0 && tell(e, way->name, threads, figures, hits, kept) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < 3; i++)
		bench_series_free(&figures[i]);
	return rc;
}

static int measure_all(struct end_to_end *e, const struct bench_way *way, struct ubp_err *err)
{
	static const unsigned one = 1;
	const unsigned *threads = e->opt->n_threads ? e->opt->threads : &one;
	size_t n = e->opt->n_threads ? e->opt->n_threads : 1;
	char program[PATH_MAX + 8];
	int rc = 0;

	(void)snprintf(program, sizeof(program), "%s%s", e->program,
		       way->program ? way->program : "");
	if (way->begin && !way->begin(program)) {
		char text[128];

		(void)snprintf(text, sizeof(text),
			       "%s is left out: it is not installed, or may not trace here",
			       way->name);
		cli_tell(NULL, text);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = measure(e, way, threads[i], err);
	if (way->end)
		way->end();
	return rc == -ENOTSUP ? 0 : rc;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int prepare(struct end_to_end *e, struct ubp_err *err)
{
	uint64_t offset;
	char *slash;
	int rc = bench_place(&bench_firsts[0], e->program, sizeof(e->program), &offset, err);

	if (rc < 0)
		return rc;
	slash = strrchr(e->program, '/');
	(void)snprintf(e->uprobe, sizeof(e->uprobe), "%.*s/uprobe", (int)(slash - e->program),
		       e->program);
	if (access(e->uprobe, X_OK) < 0)
		return ubp_fail_sys(err, "%s", e->uprobe);
	(void)snprintf(e->definition, sizeof(e->definition), "p:end %s:0x%" PRIx64 " %s %s",
		       e->program, offset, bench_arg_int, bench_arg_string);
	(void)snprintf(e->folder, sizeof(e->folder), "/tmp/ubp-bench-XXXXXX");
	if (!mkdtemp(e->folder) || chdir(e->folder) < 0)
		return ubp_fail_sys(err, "%s", e->folder);
	e->rows = json_array();
	return e->rows ? 0 : ubp_fail(err, ENOMEM, "out of memory");
}

int bench_end_to_end(const struct bench_options *opt, FILE *out)
{
	struct end_to_end e = { .opt = opt, .out = out };
	int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), status = CLI_OK;
	struct ubp_err err;
	json_t *json;
	int rc;

	ubp_err_reset(&err);
	rc = prepare(&e, &err);
	if (rc == 0 && (!opt->json || strcmp(opt->json, "-") != 0))
		fprintf(out, "%-18s %7s %10s %10s %8s %10s %8s\n", "ns a hit", "threads",
			"hits", "kept", "target", "until done", "all CPU");
	for (const struct bench_way *way = bench_ways; rc == 0 && way->name; way++)
		rc = measure_all(&e, way, &err);
	remove_out();
	if (back >= 0 && fchdir(back) == 0 && e.folder[0])
		(void)rmdir(e.folder);
	json = json_pack("{s:s, s:s, s:O?}", "schema", "ubp-bench/1", "version", UBP_VERSION,
			 "end_to_end", e.rows);
	if (rc < 0)
		status = cli_error_record(&err);
	else if (opt->json)
		status = bench_json_write(json, opt->json, out);
	json_decref(json);
	json_decref(e.rows);
	if (back >= 0)
		(void)close(back);
	return status;
}
