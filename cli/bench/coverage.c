/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/coverage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/report.h"
#include "cli/common/message.h"
#include "engine/base/escape.h"
#include "engine/ubp.h"
#include "engine/ubp_files.h"

#define N_WHY (sizeof((struct ubp_coverage_counts){ 0 }.why) / sizeof(uint64_t))

/* --- as text ------------------------------------------------------------------------ */

struct columns {
	const struct ubp_coverage_counts *counts[3];
	size_t n;
};

/* "3590  97.79 %" for each column. */
static void print_line(const struct columns *c, const char *name,
		       uint64_t (*get)(const struct ubp_coverage_counts *c, unsigned i),
		       unsigned i)
{
	printf("%-36s", name);
	for (size_t k = 0; k < c->n; k++) {
		uint64_t n = get(c->counts[k], i), all = c->counts[k]->n;

		printf(" %9" PRIu64 " %6.2f %%", n, all ? 100.0 * (double)n / (double)all : 0);
	}
	printf("\n");
}

static uint64_t get_why(const struct ubp_coverage_counts *c, unsigned i)
{
	return c->why[i];
}

/* How a place is probed at best. */
static const char *const rungs[] = {
	"jump",
	"  in the place of one instruction",
	"    by a short jump to another",
	"  in the place of several",
	"  by a part of a jump",
	"  beside a kernel's uprobe",
	"    whatever is asked for",
	"breakpoint",
	"no probe",
};

static uint64_t get_rung(const struct ubp_coverage_counts *c, unsigned i)
{
	const uint64_t counts[] = { c->one + c->several, c->one,        c->by_short,
				    c->several,          c->by_punned,  c->beside,
				    c->beside_args,      c->breakpoint, c->refused };

	return counts[i];
}

static bool has_why(const struct columns *c, unsigned i)
{
	bool has = false;

	for (size_t k = 0; k < c->n; k++)
		has = has || c->counts[k]->why[i];
	return has && ubp_coverage_why(i);
}

static void print_coverage(const char *file, const struct ubp_coverage *coverage, bool insns)
{
	struct columns c = { { &coverage->entries, &coverage->usdt, &coverage->insns },
			     insns ? 3 : 2 };
	char *shown = escape_line(file);

	printf("%-36s %18s %18s%s\n", shown ? shown : "", "function entries", "static probes",
	       insns ? "   all instructions" : "");
	free(shown);
	printf("%-36s", "places");
	for (size_t k = 0; k < c.n; k++)
		printf(" %*" PRIu64, k ? 18 : 9, c.counts[k]->n);
	printf("\n");
	for (unsigned i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++)
		print_line(&c, rungs[i], get_rung, i);
	printf("no jump, because\n");
	for (unsigned i = 0; i < N_WHY; i++) {
		char name[64];

		if (!has_why(&c, i))
			continue;
		(void)snprintf(name, sizeof(name), "  %s", ubp_coverage_why(i));
		print_line(&c, name, get_why, i);
	}
	printf("\n");
}

/* --- JSON --------------------------------------------------------------------------- */

static json_t *counts_json(const struct ubp_coverage_counts *c)
{
	json_t *why = json_object();

	for (unsigned i = 0; i < N_WHY; i++)
		if (c->why[i] && ubp_coverage_why(i))
			(void)json_object_set_new(why, ubp_coverage_why(i),
						  json_integer((json_int_t)c->why[i]));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "places",
			 (json_int_t)c->n, "jump_one", (json_int_t)c->one, "jump_several",
			 (json_int_t)c->several, "jump_short", (json_int_t)c->by_short,
			 "jump_punned", (json_int_t)c->by_punned, "beside_kernel",
			 (json_int_t)c->beside, "beside_kernel_any", (json_int_t)c->beside_args,
			 "breakpoint", (json_int_t)c->breakpoint, "refused",
			 (json_int_t)c->refused, "no_jump_because", why);
}

static json_t *coverage_json(const char *file, const struct ubp_coverage *coverage, bool insns)
{
	json_t *name = json_string(file);

	return json_pack("{s:o, s:o, s:o, s:o}", "file", name ? name : json_string("?"),
			 "entries", counts_json(&coverage->entries), "usdt",
			 counts_json(&coverage->usdt), "instructions",
			 insns ? counts_json(&coverage->insns) : json_null());
}

/* --- all of it ---------------------------------------------------------------------- */

int bench_coverage(const struct bench_options *opt)
{
	bool no_text = opt->json && strcmp(opt->json, "-") == 0;
	json_t *list = json_array();
	json_t *json = json_pack("{s:s, s:s, s:o}", "schema", "ubp-bench/1", "version",
				 UBP_VERSION, "coverage", list);
	int status = CLI_OK;

	for (size_t i = 0; i < opt->n_coverage && status == CLI_OK; i++) {
		struct ubp_coverage coverage;
		struct ubp_err err;

		if (ubp_coverage(opt->coverage[i], opt->all, &coverage, &err) < 0) {
			status = cli_error_record(&err);
			break;
		}
		if (!no_text)
			print_coverage(opt->coverage[i], &coverage, opt->all);
		(void)json_array_append_new(
			list, coverage_json(opt->coverage[i], &coverage, opt->all));
	}
	if (status == CLI_OK && opt->json)
		status = bench_json_write(json, opt->json, stdout);
	json_decref(json);
	return status;
}
