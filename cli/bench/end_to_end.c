/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/end_to_end.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/figures.h"
#include "cli/bench/report.h"
#include "cli/bench/work.h"
#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/ubp_recording.h"

#define ARGS_MAX 24

/* A run writes to the file "out" in a folder of its own. */
struct end_to_end {
	const struct bench_options *opt;
	FILE *out;
	char program[PATH_MAX], uprobe[PATH_MAX + 8];
	char definition[PATH_MAX + 128];
	char folder[32];
	json_t *rows;
};

struct way {
	const char *name;
	/* Up to NULL; "UPROBE", "DEFINITION" and "PROBE" stand for what is known then. */
	const char *argv[ARGS_MAX];
	uint64_t (*kept)(void); /* events in the file */
	bool is_perf;
};

static uint64_t count_recorded(void)
{
	struct ubp_recording_info info = { 0 };
	struct ubp_recording *recording;
	struct ubp_err err;

	ubp_err_reset(&err);
	if (ubp_recording_open("out", &recording, &err) < 0)
		return 0;
	ubp_recording_info(recording, &info);
	ubp_recording_free(recording);
	return info.records;
}

static uint64_t count_lines_of(FILE *f)
{
	static char text[1 << 16];
	uint64_t n = 0;
	size_t len;

	while (f && (len = fread(text, 1, sizeof(text), f)) > 0)
		for (size_t i = 0; i < len; i++)
			n += text[i] == '\n';
	return n;
}

static uint64_t count_lines(void)
{
	FILE *f = fopen("out", "re");
	uint64_t n = count_lines_of(f);

	if (f)
		(void)fclose(f);
	return n;
}

static uint64_t count_perf(void)
{
	FILE *f = popen("perf script -i out -F comm 2>/dev/null", "re");
	uint64_t n = count_lines_of(f);

	if (f)
		(void)pclose(f);
	return n;
}

static const struct way ways[] = {
	{ "record",
	  { "UPROBE", "--lossless", "--record=out", "-e", "DEFINITION", "--" },
	  count_recorded,
	  false },
	{ "record, may lose",
	  { "UPROBE", "--record=out", "-e", "DEFINITION", "--" },
	  count_recorded,
	  false },
	{ "text",
	  { "UPROBE", "--lossless", "-o", "out", "-e", "DEFINITION", "--" },
	  count_lines,
	  false },
	{ "json",
	  { "UPROBE", "--lossless", "--json", "-o", "out", "-e", "DEFINITION", "--" },
	  count_lines,
	  false },
	{ "perf record",
	  { "perf", "record", "-q", "-o", "out", "-m", "16M", "-e", "PROBE", "--" },
	  count_perf,
	  true },
};

/* --- a run ------------------------------------------------------------------------------- */

struct took {
	double wall, cpu, target; /* ns */
	int status;
};

static double cpu_ns(void)
{
	struct rusage u = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &u);
	return 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static _Noreturn void become(char *const argv[], const int in[2], const int out[2])
{
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0 &&
	    dup2(null, STDERR_FILENO) >= 0)
		(void)execvp(argv[0], argv);
	_exit(127);
}

/* The child says "ready", and nanoseconds for the line that it is given. */
static double talk(int in, int out, uint64_t calls)
{
	FILE *f = fdopen(out, "r");
	char line[64];
	double ns = 0;

	if (dprintf(in, "%s %" PRIu64 "\n", bench_firsts[0].name, calls) > 0)
		(void)close(in);
	while (f && fgets(line, sizeof(line), f))
		if (line[0] >= '0' && line[0] <= '9')
			ns = strtod(line, NULL);
	if (f)
		(void)fclose(f);
	return ns;
}

static int run(char *const argv[], uint64_t calls, struct took *ret, struct ubp_err *err)
{
	double cpu = cpu_ns();
	uint64_t begin = bench_now_ns();
	int in[2], out[2], status = 0;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0)
		return ubp_fail_sys(err, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return ubp_fail_sys(err, "pipe");
	}
	pid = fork();
	if (pid == 0)
		become(argv, in, out);
	(void)close(in[0]);
	(void)close(out[1]);
	ret->target = pid > 0 ? talk(in[1], out[0], calls) : 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return ubp_fail_sys(err, "fork");
	ret->wall = (double)(bench_now_ns() - begin);
	ret->cpu = cpu_ns() - cpu;
	ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* --- perf: the kernel's uprobe has to be made first ----------------------------------------- */

static bool perf_probe(const struct end_to_end *e, bool is_made)
{
	char text[PATH_MAX + 128];

	if (is_made)
		(void)snprintf(text, sizeof(text),
			       "perf probe -q -x '%s' --add 'ubp_bench:hit=bench_%s %s %s' "
			       ">/dev/null 2>&1",
			       e->program, bench_firsts[0].name, bench_arg_int,
			       bench_arg_string);
	else
		(void)snprintf(text, sizeof(text),
			       "perf probe -q --del ubp_bench:hit >/dev/null 2>&1");
	return system(text) == 0;
}

/* --- a way --------------------------------------------------------------------------------- */

static void fill(const struct end_to_end *e, const struct way *way, unsigned threads,
		 char number[16], const char *argv[ARGS_MAX + 6])
{
	size_t n = 0;

	for (; way->argv[n]; n++)
		argv[n] = strcmp(way->argv[n], "UPROBE") == 0       ? e->uprobe
			  : strcmp(way->argv[n], "DEFINITION") == 0 ? e->definition
			  : strcmp(way->argv[n], "PROBE") == 0      ? "ubp_bench:hit"
								    : way->argv[n];
	(void)snprintf(number, 16, "%u", threads);
	argv[n++] = e->program;
	argv[n++] = BENCH_WORK_WORD;
	argv[n++] = number;
	argv[n++] = "0"; /* idle, and not pinned: the tracer needs room, too */
	argv[n++] = "0";
	argv[n] = NULL;
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

/* Each figure less what a run of one hit takes. */
static int measure(struct end_to_end *e, const struct way *way, unsigned threads,
		   struct ubp_err *err)
{
	uint64_t hits = e->opt->hits / threads * threads, kept = UINT64_MAX;
	struct bench_series figures[3] = { { 0 } };
	const char *argv[ARGS_MAX + 6];
	char number[16];
	int rc = 0;

	fill(e, way, threads, number, argv);
	for (unsigned i = 0; rc == 0 && i < e->opt->rounds; i++) {
		struct took none = { 0 }, all = { 0 };
		double n = (double)hits;

		(void)unlink("out");
		rc = run((char *const *)argv, threads, &none, err);
		(void)unlink("out");
		rc = rc < 0 ? rc : run((char *const *)argv, hits, &all, err);
		if (rc == 0 && all.status != 0)
			rc = ubp_fail(err, EPROTO, "%s: ended with %d", argv[0], all.status);
		if (rc == 0 && way->kept() < kept)
			kept = way->kept();
		rc = rc < 0 ? rc : bench_series_add(&figures[0], all.target / n, err);
		rc = rc < 0 ? rc
			    : bench_series_add(&figures[1], (all.wall - none.wall) / n, err);
		rc = rc < 0 ? rc : bench_series_add(&figures[2], (all.cpu - none.cpu) / n, err);
	}
	if (rc == 0 && tell(e, way->name, threads, figures, hits, kept) < 0)
		rc = ubp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < 3; i++)
		bench_series_free(&figures[i]);
	return rc;
}

static int measure_all(struct end_to_end *e, const struct way *way, struct ubp_err *err)
{
	static const unsigned one = 1;
	const unsigned *threads = e->opt->n_threads ? e->opt->threads : &one;
	size_t n = e->opt->n_threads ? e->opt->n_threads : 1;
	int rc = 0;

	if (way->is_perf && !perf_probe(e, true)) {
		cli_tell(NULL, "perf is left out: it is not installed, or may make no uprobes");
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = measure(e, way, threads[i], err);
	if (way->is_perf)
		(void)perf_probe(e, false);
	return rc;
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
	for (size_t i = 0; rc == 0 && i < sizeof(ways) / sizeof(ways[0]); i++)
		rc = measure_all(&e, &ways[i], &err);
	(void)unlink("out");
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
