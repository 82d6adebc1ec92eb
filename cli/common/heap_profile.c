/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* From options to a profile of memory. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/heap.h"
#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/tally_part.h"
#include "cli/common/trace_options.h"
#include "cli/common/unit.h"
#include "engine/ubp_heap.h"

#define PIECE  65536 /* bytes that are written at a time */
#define INDENT 40

/* --- options ------------------------------------------------------------------------------ */

static int set(struct trace_options *o, const char *option, const char *arg, bool frees)
{
	struct trace_definition *last;

	if (o->n_definitions == 0)
		return cli_usage_error("--%s comes after the definition it is for", option);
	last = &o->definitions[o->n_definitions - 1];
	if (last->memory)
		return cli_usage_error("more than one of --allocates and --frees for '%s'",
				       last->text);
	last->memory = arg;
	last->frees = frees;
	return CLI_OK;
}

int heap_set_allocates(void *into, const char *arg)
{
	return set(into, "allocates", arg, false);
}

int heap_set_frees(void *into, const char *arg)
{
	return set(into, "frees", arg, true);
}

bool heap_is_wanted(const struct trace_options *o)
{
	for (size_t i = 0; i < o->n_definitions; i++)
		if (o->definitions[i].memory)
			return true;
	return false;
}

int heap_check(const struct trace_options *o)
{
	bool allocates = false;

	if (!heap_is_wanted(o))
		return CLI_OK;
	for (size_t i = 0; i < o->n_definitions; i++)
		allocates |= o->definitions[i].memory && !o->definitions[i].frees;
	if (!allocates)
		return cli_usage_error("--frees is for blocks of --allocates");
	if (o->form.is_whole)
		return cli_usage_error("--%s is for events: it excludes --allocates",
				       o->form.name);
	if (o->ends.count)
		return cli_usage_error("-n is for events: it excludes --allocates");
	if (tally_is_wanted(&o->tally) || o->triggers.n || o->budget.once || o->to.record.path)
		return cli_usage_error("--allocates excludes --count, --hist, --sum, "
				       "--trigger, --once, --record, --flame and --heat");
	return CLI_OK;
}

int heap_begin(struct ubp_session *session, const struct trace_definition *d)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	for (size_t i = d->first; d->memory && i < d->first + d->n_probes; i++)
		if ((d->frees ? ubp_heap_frees : ubp_heap_allocates)(session, i, d->memory,
								     &err) < 0)
			return cli_error_record(&err);
	return CLI_OK;
}

/* --- what is printed ---------------------------------------------------------------------- */

/* What lives most first; then what was allocated most, then by stack. */
static int by_live(const void *one, const void *other)
{
	const struct ubp_heap_row *a = one, *b = other;

	if (a->live != b->live)
		return a->live < b->live ? 1 : -1;
	if (a->allocated != b->allocated)
		return a->allocated < b->allocated ? 1 : -1;
	return strcmp(a->stack, b->stack);
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct ubp_heap_row *)a)->stack,
		      ((const struct ubp_heap_row *)b)->stack);
}

static void print_row(struct output *out, const struct ubp_heap_row *row)
{
	char live[UNIT_TEXT_MAX], allocated[UNIT_TEXT_MAX];
	const char *functions = row->stack + strcspn(row->stack, ";");
	struct tally_frames rest = { functions + (*functions != '\0'), 0 }, frame;
	bool any = false;

	rest.len = strlen(rest.text);
	unit_text(live, row->live, false, UNIT_BYTES);
	unit_text(allocated, row->allocated, false, UNIT_BYTES);
	output_printf(out, "%12s %12s %12" PRIu64 "  ", live, allocated, row->n_allocated);
	while (tally_next_frame(&rest, &frame)) {
		output_printf(out, "%*s%.*s\n", any ? INDENT + 1 : 0, "", (int)frame.len,
			      frame.text);
		any = true;
	}
	if (!any)
		output_printf(out, "[no stack]\n");
}

static void print_json(struct ubp_session *session, struct output *out,
		       const struct ubp_heap_row *row)
{
	size_t len;
	const char *text = ubp_heap_json(session, row, &len);

	output_add(out, text ? text : "", text ? len : 0);
}

void heap_print(struct ubp_session *session, const struct trace_options *o, struct output *out)
{
	size_t n = ubp_heap_n(session);
	struct ubp_heap_row *rows = calloc(n + 1, sizeof(*rows));
	bool folded = o->form.needs_stack, json = o->form.is_data && !folded;

	if (!rows || ubp_heap_is_short(session))
		cli_warn(NULL, "out of memory: some blocks are not told of");
	for (size_t i = 0; rows && i < n; i++)
		ubp_heap_row(session, i, &rows[i]);
	if (rows)
		qsort(rows, n, sizeof(*rows), folded ? by_stack : by_live);
	if (rows && n && !folded && !json)
		output_printf(out, "%12s %12s %12s  %s\n", "LIVE", "ALLOCATED", "HITS",
			      "USTACK");
	for (size_t i = 0; rows && i < n; i++) {
		if (json)
			print_json(session, out, &rows[i]);
		else if (!folded)
			print_row(out, &rows[i]);
		else if (rows[i].live)
			output_printf(out, "%s %" PRIu64 "\n", rows[i].stack, rows[i].live);
		if (output_pending(out) >= PIECE)
			(void)output_flush(out);
	}
	free(rows);
}
