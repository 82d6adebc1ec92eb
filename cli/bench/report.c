/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "engine/base/err.h"
#include "engine/base/escape.h"
#include "engine/ubp.h"

/* --- the table ---------------------------------------------------------------------- */

/* By name: those the kernel does something against, or nothing. */
static void print_vulnerabilities(FILE *f, const struct bench_machine *m, const char *title,
				  bool mitigated)
{
	const char *before = title;

	for (size_t i = 0; i < m->n_mitigations; i++) {
		if ((strncmp(m->mitigations[i].state, "Mitigation", 10) == 0) != mitigated)
			continue;
		fprintf(f, "%s%s", before, m->mitigations[i].name);
		before = ", ";
	}
	if (before != title)
		fprintf(f, "\n");
}

static void print_machine(FILE *f, const struct bench_machine *m, const struct bench *b)
{
	const struct bench_options *o = b->opt;

	fprintf(f, "ubp " UBP_VERSION ", %s\n", m->time);
	fprintf(f, "machine      %s, %ld CPUs, %s, hypervisor: %s\n", m->cpu, m->n_cpus,
		m->arch, *m->hypervisor ? m->hypervisor : "none seen");
	fprintf(f, "kernel       %s, clock source %s\n", m->kernel, m->clock_source);
	print_vulnerabilities(f, m, "mitigated    ", true);
	print_vulnerabilities(f, m, "vulnerable   ", false);
	fprintf(f, "beside       ");
	if (b->kernel)
		fprintf(f, "kernel uprobes by %s%s%s\n", kernel_name(b->kernel),
			*kernel_why(b->kernel) ? ": " : "", kernel_why(b->kernel));
	else
		fprintf(f, "nothing (--kernel none)\n");
	if (o->command)
		fprintf(f, "runs         %u rounds, alternating\n", o->rounds);
	else
		fprintf(f,
			"runs         %u rounds of %" PRIu64 " calls, alternating, %s, %u idle "
			"threads\n",
			o->rounds, o->hits,
			o->pin ? "callers each on one CPU" : "callers not pinned", o->idle);
}

static const char columns[] = "%-8s %10s %10s %10s %10s   %-24s %10s %8s  %s";

int bench_report_open(struct bench_report *report, const struct bench *bench, FILE *out)
{
	const struct bench_options *o = bench->opt;
	struct bench_machine m;
	json_t *mitigations = json_object();

	bench_machine_look(&m);
	*report = (struct bench_report){ .opt = o, .out = out };
	report->no_table = o->json && strcmp(o->json, "-") == 0;
	if (!report->no_table) {
		print_machine(out, &m, bench);
		fprintf(out, "\n");
		fprintf(out, columns, o->command ? "s" : "ns/hit", "median", "min", "max",
			"over bare", "than the kernel", o->command ? "events/run" : "hits/run",
			"lost", "sites");
		fprintf(out, "\n");
		(void)fflush(out);
	}
	for (size_t i = 0; i < m.n_mitigations; i++)
		(void)json_object_set_new(mitigations, m.mitigations[i].name,
					  json_string(m.mitigations[i].state));
	report->json = json_pack(
		"{s:s, s:s, s:s, s:{s:s, s:I, s:s, s:s, s:s?, s:s, s:o}, s:{s:i, s:I, s:b, "
		"s:i, "
		"s:s?, s:s}, s:[], s:[]}",
		"schema", "ubp-bench/1", "version", UBP_VERSION, "time", m.time, "machine",
		"cpu", m.cpu, "cpus", (json_int_t)m.n_cpus, "arch", m.arch, "kernel", m.kernel,
		"hypervisor", *m.hypervisor ? m.hypervisor : NULL, "clock_source",
		m.clock_source, "mitigations", mitigations, "settings", "rounds",
		(int)o->rounds, "hits", (json_int_t)o->hits, "pinned", (int)o->pin, "idle",
		(int)o->idle, "kernel", bench->kernel ? kernel_name(bench->kernel) : NULL,
		"kernel_why", bench->kernel ? kernel_why(bench->kernel) : "", "results",
		"commands");
	return report->json ? CLI_OK : cli_error("out of memory");
}

/* Three digits. */
static const char *three(double x, char text[24])
{
	(void)snprintf(text, 24, "%.*f", x < 10 ? 2 : x < 100 ? 1 : 0, x);
	return text;
}

/* "27.9x less (25.0-30.1)", "7.90x more": medians and extremes of the rounds. */
static void ratio_text(const struct bench_series *ratio, char *text, size_t size)
{
	char a[24], b[24], c[24];
	double mid, low, high;

	*text = '\0';
	if (!ratio->n)
		return;
	mid = bench_median(ratio);
	low = bench_min(ratio);
	high = bench_max(ratio);
	if (mid > 1)
		(void)snprintf(text, size, "%sx more (%s-%s)", three(mid, a), three(low, b),
			       three(high, c));
	else
		(void)snprintf(text, size, "%sx less (%s-%s)", three(1 / mid, a),
			       three(1 / high, b), three(1 / low, c));
}

/* "jump", "2 jumps, 1 breakpoint": how the places were probed. */
static void sites_text(const struct bench_figures *f, char *text, size_t size)
{
	const struct {
		const char *name;
		unsigned n;
	} kinds[] = {
		{ "jump", f->sites.jumped },
		{ "breakpoint", f->sites.boosted },
		{ "step", f->sites.stepped },
		{ "in place", f->sites.in_place },
	};
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].n && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%u %s%s",
						len ? ", " : "", kinds[i].n, kinds[i].name,
						i < 3 && kinds[i].n > 1 ? "s" : "");
}

/* A row's figures are nanoseconds; a command's are shown as seconds, and its events instead of
 * hits: others may use the files, too, and the kernel counts their hits. */
static void print_series(FILE *f, const char *name, const struct bench_series *s,
			 const struct bench_figures *figures, bool is_row)
{
	double unit = is_row ? 1 : 1e9;
	char median[24], min[24], max[24], over[24] = "", ratio[80] = "", n[24] = "",
					   sites[96] = "", lost[24] = "";
	char line[256];
	size_t len;
	const char *fmt = is_row ? "%.1f" : "%.3f";

	(void)snprintf(median, sizeof(median), fmt, bench_median(s) / unit);
	(void)snprintf(min, sizeof(min), fmt, bench_min(s) / unit);
	(void)snprintf(max, sizeof(max), fmt, bench_max(s) / unit);
	if (figures) {
		(void)snprintf(over, sizeof(over), fmt, bench_median(&figures->over) / unit);
		ratio_text(&figures->ratio, ratio, sizeof(ratio));
		(void)snprintf(n, sizeof(n), "%" PRIu64,
			       (is_row ? figures->hits : figures->recorded) / figures->total.n);
		(void)snprintf(lost, sizeof(lost), "%" PRIu64, figures->lost);
		sites_text(figures, sites, sizeof(sites));
	}
	len = (size_t)snprintf(line, sizeof(line), columns, name, median, min, max, over, ratio,
			       n, lost, sites);
	while (len > 0 && line[len - 1] == ' ')
		len--;
	fprintf(f, "%.*s\n", (int)len, line);
}

/* Text with names in it that others chose. */
static void print_shown(FILE *f, const char *before, const char *text, const char *behind)
{
	char *shown = escape_line(text);

	fprintf(f, "%s%s%s", before, shown ? shown : "", behind);
	free(shown);
}

static void print_result(const struct bench_report *report, const struct bench_result *r)
{
	FILE *f = report->out;

	if (r->row) {
		fprintf(f, "\n%s: %s; %s, %u thread%s%s\n", r->row->c->name, r->row->c->about,
			r->row->first->name, r->row->threads, r->row->threads == 1 ? "" : "s",
			r->reader ? ", live reader" : "");
	} else {
		print_shown(f, "\n", report->opt->command[0], r->reader ? ", live reader" : "");
		fprintf(f, ", exit status %d\n", r->status);
	}
	print_series(f, "bare", &r->bare, NULL, r->row);
	if (r->kernel.total.n)
		print_series(f, "kernel", &r->kernel.total, &r->kernel, r->row);
	else
		print_shown(f, "kernel   ", r->why, "\n");
	for (size_t i = 0; i < r->n_ubp; i++)
		print_series(f, r->ubp[i].name, &r->ubp[i].total, &r->ubp[i], r->row);
	(void)fflush(f);
}

/* --- JSON --------------------------------------------------------------------------- */

/* NULL for no figures: jansson makes a null of it. */
json_t *bench_series_json(const struct bench_series *s)
{
	json_t *values;

	if (!s->n)
		return json_null();
	values = json_array();
	for (size_t i = 0; i < s->n; i++)
		(void)json_array_append_new(values, json_real(s->values[i]));
	return json_pack("{s:f, s:f, s:f, s:o}", "median", bench_median(s), "min", bench_min(s),
			 "max", bench_max(s), "rounds", values);
}

static json_t *figures_json(const struct bench_figures *f, bool is_ubp)
{
	json_t *o = json_pack("{s:s, s:o, s:o, s:I, s:I, s:I}", "name", f->name, "total_ns",
			      bench_series_json(&f->total), "over_ns",
			      bench_series_json(&f->over), "hits", (json_int_t)f->hits,
			      "events", (json_int_t)f->recorded, "lost", (json_int_t)f->lost);

	if (!is_ubp)
		return o;
	(void)json_object_set_new(o, "ratio", bench_series_json(&f->ratio));
	(void)json_object_set_new(
		o, "sites",
		json_pack("{s:i, s:i, s:i, s:i}", "jumped", (int)f->sites.jumped, "boosted",
			  (int)f->sites.boosted, "stepped", (int)f->sites.stepped, "in_place",
			  (int)f->sites.in_place));
	return o;
}

static json_t *command_json(char *const *argv)
{
	json_t *words = json_array();

	for (; *argv; argv++) {
		json_t *word = json_string(*argv);

		/* Not UTF-8: that there is a word is all that can be said. */
		(void)json_array_append_new(words, word ? word : json_string("?"));
	}
	return words;
}

static json_t *result_json(const struct bench_report *report, const struct bench_result *r)
{
	json_t *ubp = json_array(), *o;

	for (size_t i = 0; i < r->n_ubp; i++)
		(void)json_array_append_new(ubp, figures_json(&r->ubp[i], true));
	o = json_pack("{s:b, s:o, s:o, s:o}", "reader", (int)r->reader, "bare_ns",
		      bench_series_json(&r->bare), "kernel",
		      r->kernel.total.n ? figures_json(&r->kernel, false) : json_null(), "ubp",
		      ubp);
	if (!r->kernel.total.n)
		(void)json_object_set_new(o, "kernel_why", json_string(r->why));
	if (!r->row) {
		(void)json_object_set_new(o, "command", command_json(report->opt->command));
		(void)json_object_set_new(o, "status", json_integer(r->status));
		return o;
	}
	(void)json_object_set_new(o, "case", json_string(r->row->c->name));
	(void)json_object_set_new(o, "first", json_string(r->row->first->name));
	(void)json_object_set_new(o, "threads", json_integer(r->row->threads));
	return o;
}

int bench_report_add(struct bench_report *report, const struct bench_result *result)
{
	json_t *list = json_object_get(report->json, result->row ? "results" : "commands");

	if (!report->no_table)
		print_result(report, result);
	if (json_array_append_new(list, result_json(report, result)) < 0)
		return cli_error("out of memory");
	return CLI_OK;
}

int bench_json_write(json_t *json, const char *path, FILE *out)
{
	FILE *f = strcmp(path, "-") == 0 ? out : fopen(path, "we");
	bool good;

	if (!f)
		return cli_error("%s: %s", path, strerror(errno));
	good = json_dumpf(json, f, JSON_INDENT(1)) == 0 && fputc('\n', f) != EOF &&
	       fflush(f) == 0;
	if (!good)
		(void)cli_error("%s: %s", path, strerror(errno));
	if (f != out && fclose(f) != 0 && good)
		return cli_error("%s: %s", path, strerror(errno));
	return good ? CLI_OK : CLI_FAILED;
}

int bench_report_finish(struct bench_report *report)
{
	const char *path = report->opt->json;

	return path ? bench_json_write(report->json, path, report->out) : CLI_OK;
}

void bench_report_close(struct bench_report *report)
{
	json_decref(report->json);
	report->json = NULL;
}
