/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/end_to_end_ways.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench/work.h"
#include "engine/base/err.h"
#include "engine/ubp_recording.h"

/* --- how many events there are ----------------------------------------------------------- */

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

static uint64_t count_lines(void)
{
	static char text[1 << 16];
	FILE *f = fopen("out", "re");
	uint64_t n = 0;
	size_t len;

	while (f && (len = fread(text, 1, sizeof(text), f)) > 0)
		for (size_t i = 0; i < len; i++)
			n += text[i] == '\n';
	if (f)
		(void)fclose(f);
	return n;
}

/* The number in the last line of what @command prints. */
static uint64_t count_by(const char *command)
{
	FILE *f = popen(command, "re");
	char line[256];
	uint64_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n = strtoull(line, NULL, 10);
	if (f)
		(void)pclose(f);
	return n;
}

static uint64_t count_perf(void)
{
	return count_by("perf report -i out --stats 2>/dev/null | "
			"sed -n 's/^ *SAMPLE events: *\\([0-9]*\\).*/\\1/p' | head -n 1");
}

static uint64_t count_trace_cmd(void)
{
	return count_by("trace-cmd report -i out 2>/dev/null | grep -c ' hit:'");
}

static uint64_t count_uftrace(void)
{
	return count_by("uftrace report -d out -f call 2>/dev/null | "
			"sed -n 's/^ *\\([0-9]*\\) *bench_nop5.*/\\1/p'");
}

static uint64_t count_lttng(void)
{
	return count_by("babeltrace2 out -c sink.utils.counter 2>/dev/null | "
			"sed -n 's/^ *\\([0-9]*\\) Event message.*/\\1/p'");
}

/* --- what others need ----------------------------------------------------------------------- */

static bool is_installed(const char *name)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

/* The kernel's uprobe. */
static bool make_probe(const char *program)
{
	char text[PATH_MAX + 128];

	(void)snprintf(text, sizeof(text),
		       "perf probe -q -x '%s' --add 'ubp_bench:hit=bench_%s %s %s' "
		       ">/dev/null 2>&1",
		       program, bench_firsts[0].name, bench_arg_int, bench_arg_string);
	return system(text) == 0;
}

static void delete_probe(void)
{
	(void)!system("perf probe -q --del ubp_bench:hit >/dev/null 2>&1");
}

static bool begin_trace_cmd(const char *program)
{
	return is_installed("trace-cmd") && make_probe(program);
}

static void end_trace_cmd(void)
{
	(void)rmdir("/sys/kernel/tracing/instances/ubp_bench");
	delete_probe();
}

static bool begin_uftrace(const char *program)
{
	return program && is_installed("uftrace");
}

static bool begin_lttng(const char *program)
{
	return access(program, X_OK) == 0 && is_installed("lttng-sessiond") &&
	       is_installed("babeltrace2");
}

/* The daemons are children, so that their time is counted; the program waits rather than lose events. */
static const char lttng_script[] =
	"trap : USR1\n"
	"export LTTNG_UST_ALLOW_BLOCKING=1\n"
	"lttng-sessiond --no-kernel --sig-parent >/dev/null 2>&1 & daemon=$!\n"
	"wait\n"
	"lttng -q create ubp_bench --output=\"$PWD/out\" &&\n"
	"lttng -q enable-channel -u --subbuf-size=4M --num-subbuf=8 --blocking-timeout=inf c "
	"&&\n"
	"lttng -q enable-event -u -c c ubp_bench:hit &&\n"
	"lttng -q start && \"$0\" \"$@\"; status=$?\n"
	"lttng -q stop; lttng -q destroy\n"
	"kill $daemon; wait $daemon\n"
	"exit $status\n";

const struct bench_way bench_ways[] = {
	{ .name = "record",
	  .argv = { "UPROBE", "--lossless", "--record=out", "-e", "DEFINITION", "--" },
	  .kept = count_recorded },
	{ .name = "record, may lose",
	  .argv = { "UPROBE", "--record=out", "-e", "DEFINITION", "--" },
	  .kept = count_recorded },
	{ .name = "text",
	  .argv = { "UPROBE", "--lossless", "-o", "out", "-e", "DEFINITION", "--" },
	  .kept = count_lines },
	{ .name = "json",
	  .argv = { "UPROBE", "--lossless", "--json", "-o", "out", "-e", "DEFINITION", "--" },
	  .kept = count_lines },
	/* It jumps to its probe from where compilers leave room for that: at such a nop. */
	{ .name = "uftrace record",
	  .argv = { "uftrace", "record", "--no-event", "--no-libcall", "-P", "^bench_nop5$",
		    "-A", "bench_nop5@arg1,arg2/s", "-d", "out" },
	  .first = "nop5",
	  .begin = begin_uftrace,
	  .kept = count_uftrace,
	  .is_other = true },
	{ .name = "LTTng-UST",
	  .argv = { "sh", "-c", lttng_script },
	  .first = "ust",
	  .program = "-ust",
	  .begin = begin_lttng,
	  .kept = count_lttng,
	  .is_other = true },
	{ .name = "perf record",
	  .argv = { "perf", "record", "-q", "-o", "out", "-m", "16M", "-e", "ubp_bench:hit",
		    "--" },
	  .begin = make_probe,
	  .end = delete_probe,
	  .kept = count_perf,
	  .is_other = true },
	{ .name = "trace-cmd record",
	  .argv = { "trace-cmd", "record", "-q", "-d", "-B", "ubp_bench", "-b", "16384", "-o",
		    "out", "-e", "ubp_bench:hit" },
	  .begin = begin_trace_cmd,
	  .end = end_trace_cmd,
	  .kept = count_trace_cmd,
	  .is_other = true },
	{ .name = NULL },
};
