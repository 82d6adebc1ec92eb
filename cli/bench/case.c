/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/bench/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/err.h"

const struct bench_case bench_cases[] = {
	{ .name = "count", .about = "entry, no arguments", .entry = true },
	{ .name = "int", .about = "entry, an int", .entry = true, .has_int = true },
	{ .name = "string",
	  .about = "entry, an int and a string of 16 bytes",
	  .entry = true,
	  .has_int = true,
	  .has_string = true,
	  .is_standard = true },
	{ .name = "return", .about = "return, its value", .ret = true },
	{ .name = "both",
	  .about = "entry as in string, and return: two events",
	  .entry = true,
	  .ret = true,
	  .has_int = true,
	  .has_string = true },
	{ .name = "hit",
	  .about = "as string, with a filter that says yes",
	  .entry = true,
	  .has_int = true,
	  .has_string = true,
	  .filter = "a >= 0",
	  .passes = true },
	{ .name = "miss",
	  .about = "as string, with a filter that says no",
	  .entry = true,
	  .has_int = true,
	  .has_string = true,
	  .filter = "a < 0" },
	{ .name = "sample",
	  .about = "as string, left out by sampling",
	  .entry = true,
	  .has_int = true,
	  .has_string = true,
	  .sample = "2147483647" },
	{ .name = "count_event",
	  .about = "entry, counted",
	  .entry = true,
	  .tally = "hist:keys=event" },
	{ .name = "count_key",
	  .about = "entry, counted by an int of 64 values",
	  .entry = true,
	  .has_int = true,
	  .tally = "hist:keys=a.buckets=1048576" },
	{ .name = "count_string",
	  .about = "entry, counted by a string of 16 bytes",
	  .entry = true,
	  .has_string = true,
	  .tally = "hist:keys=s" },
	{ .name = "hist_duration",
	  .about = "entry to return, by powers of two of the time",
	  .ret = true,
	  .has_duration = true,
	  .tally = "hist:keys=arg1.log2" },
	{ .name = "trigger_key",
	  .about = "entry, a histogram of a trigger, by an int of 64 values",
	  .entry = true,
	  .has_int = true,
	  .trigger = "hist:keys=a.buckets=1048576" },
	{ .name = NULL },
};

const struct bench_case *bench_case_by_name(const char *name)
{
	for (const struct bench_case *c = bench_cases; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* As ubp's rings have them, which are a little larger than the kernel's: a head, words, and a
 * string of 16 bytes with its place. */
size_t bench_call_bytes(const struct bench_case *c)
{
	size_t entry = 40 + (c->has_int ? 8 : 0) + (c->has_string ? 24 : 0);

	return (c->entry ? entry : 0) + (c->ret ? 48 : 0);
}

static void add_name(char *text, size_t size, const char *name)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, size - len, "%s%s", len ? " " : "", name);
}

void bench_case_names(char *text, size_t size)
{
	*text = '\0';
	for (const struct bench_case *c = bench_cases; c->name; c++)
		add_name(text, size, c->name);
}

void bench_first_names(char *text, size_t size)
{
	*text = '\0';
	for (const struct bench_first *f = bench_firsts; f->name; f++)
		add_name(text, size, f->name);
}

static void add_probe(struct bench_definitions *d, const struct bench_row *row,
		      enum probe_kind kind, uint64_t offset)
{
	struct kernel_probe *p = &d->probes[d->n_probes];
	char *rest = d->rest[d->n_probes];
	size_t len = strlen(d->text);

	if (kind == PROBE_RETURN)
		(void)snprintf(rest, sizeof(d->rest[0]), "%s",
			       row->c->has_duration ? "$duration" : bench_arg_return);
	else
		(void)snprintf(rest, sizeof(d->rest[0]), "%s%s%s",
			       row->c->has_int ? bench_arg_int : "",
			       row->c->has_int && row->c->has_string ? " " : "",
			       row->c->has_string ? bench_arg_string : "");
	*p = (struct kernel_probe){ .kind = kind,
				    .path = d->path,
				    .offset = offset,
				    .rest = rest,
				    .filter = row->c->filter };
	(void)snprintf(d->text + len, sizeof(d->text) - len,
		       "%c:bench/%s_%s %s:0x%" PRIx64 "%s%s\n", probe_kind_letter(kind),
		       row->first->name, kind == PROBE_RETURN ? "return" : "entry", d->path,
		       offset, *rest ? " " : "", rest);
	d->n_probes++;
}

int bench_define(const struct bench_row *row, struct bench_definitions *ret_definitions,
		 struct ubp_err *err)
{
	uint64_t offset;
	int rc;

	ret_definitions->n_probes = 0;
	ret_definitions->text[0] = '\0';
	rc = bench_place(row->first, ret_definitions->path, sizeof(ret_definitions->path),
			 &offset, err);
	if (rc < 0)
		return rc;
	if (row->c->entry)
		add_probe(ret_definitions, row, PROBE_ENTRY, offset);
	if (row->c->ret)
		add_probe(ret_definitions, row, PROBE_RETURN, offset);
	return 0;
}
