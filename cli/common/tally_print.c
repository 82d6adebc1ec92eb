/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was counted, as a table, as bars, or as JSON. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/tally.h"
#include "engine/ubp_tally.h"

#define BAR       40
#define VALUE_MAX 64
#define PIECE     65536 /* bytes that are written at a time */
#define GAP_MOST  128   /* so many empty rows of a histogram are printed, no more */

/* Of many rows little is kept: what orders most of them. */
struct place {
	uint64_t most;
	uint32_t i;
};

struct table {
	struct tally_print *p;
	struct output *out;
	const struct ubp_tally *tally;
	struct place *places;
	size_t n;
	uint64_t most; /* hits of a row */
};

/* --- values ------------------------------------------------------------------------------- */

enum tally_unit tally_unit(struct ubp_session *session, const char *name)
{
	static const char *const bytes[] = { "size", "bytes", "len", "length", "nbytes" };
	const char *listing = ubp_probe_listing(session, 0);
	char text[128];

	(void)snprintf(text, sizeof(text), " %s=$duration", name);
	if (listing && strstr(listing, text))
		return TALLY_NS;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (strcmp(name, bytes[i]) == 0)
			return TALLY_BYTES;
	return TALLY_PLAIN;
}

/* Three digits that count, and a unit. */
static void scaled(char *text, double value, double step, const char *const *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && value >= step) {
		value /= step;
		i++;
	}
	if (i == 0)
		(void)snprintf(text, VALUE_MAX, "%.0f%s", value, units[i]);
	else
		(void)snprintf(text, VALUE_MAX, "%.*f%s",
			       value < 10    ? 2
			       : value < 100 ? 1
					     : 0,
			       value, units[i]);
}

static void number_text(char *text, uint64_t number, bool is_signed, enum tally_unit unit)
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const sizes[] = { "", "KiB", "MiB", "GiB", "TiB" };

	if (unit == TALLY_NS)
		scaled(text, (double)number, 1000, times, 4);
	else if (unit == TALLY_BYTES && !(is_signed && (int64_t)number < 0))
		scaled(text, (double)number, 1024, sizes, 5);
	else if (is_signed)
		(void)snprintf(text, VALUE_MAX, "%" PRId64, (int64_t)number);
	else
		(void)snprintf(text, VALUE_MAX, "%" PRIu64, number);
}

bool tally_is_scaled(const struct ubp_tally_part *part)
{
	return part->kind == UBP_TALLY_LOG2 || part->kind == UBP_TALLY_BUCKETS;
}

uint64_t tally_last_of(const struct ubp_tally_part *part)
{
	if (!tally_is_scaled(part))
		return part->number;
	if (part->kind == UBP_TALLY_LOG2)
		return part->number > 63 ? UINT64_MAX : 1ULL << part->number;
	return part->number * part->width + part->width - 1;
}

/* Values of its key are from that on. */
static uint64_t first_of(const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_LOG2)
		return part->number ? (1ULL << ((part->number - 1) & 63)) + 1 : 0;
	return part->number * part->width;
}

static void part_text(struct ubp_session *session, char *text, size_t size,
		      const struct ubp_tally_part *part)
{
	char value[VALUE_MAX];

	if (part->kind == UBP_TALLY_STRING) {
		(void)snprintf(text, size, "%s", part->text);
	} else if (part->kind == UBP_TALLY_PROBE) {
		(void)snprintf(text, size, "%s", ubp_probe_event(session, part->number));
	} else if (tally_is_scaled(part)) {
		number_text(value, tally_last_of(part), false, tally_unit(session, part->name));
		(void)snprintf(text, size, "%s", value);
	} else {
		number_text(value, part->number, part->kind == UBP_TALLY_SIGNED,
			    tally_unit(session, part->name));
		(void)snprintf(text, size, "%s", value);
	}
}

/* --- order --------------------------------------------------------------------------------- */

static int compare_parts(const struct ubp_tally_part *a, const struct ubp_tally_part *b)
{
	if (a->kind == UBP_TALLY_STRING)
		return strcmp(a->text, b->text);
	if (a->kind == UBP_TALLY_SIGNED)
		return (int64_t)a->number < (int64_t)b->number   ? -1
		       : (int64_t)a->number > (int64_t)b->number ? 1
								 : 0;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_keys(const struct ubp_tally_row *a, const struct ubp_tally_row *b)
{
	int order = 0;

	for (unsigned i = 0; i < a->n_keys && order == 0; i++)
		order = compare_parts(&a->keys[i], &b->keys[i]);
	return order;
}

static int by_keys(const void *one, const void *other, void *ctx)
{
	const struct table *t = ctx;
	struct ubp_tally_row a, b;

	ubp_tally_row(t->tally, ((const struct place *)one)->i, &a);
	ubp_tally_row(t->tally, ((const struct place *)other)->i, &b);
	return compare_keys(&a, &b);
}

/* The most first. */
static int by_most(const void *one, const void *other, void *ctx)
{
	const struct place *a = one, *b = other;

	if (a->most != b->most)
		return a->most < b->most ? 1 : -1;
	return by_keys(one, other, ctx);
}

/* Of the sum, where there is one, else of the hits. */
static uint64_t most_of(const struct ubp_tally_row *row)
{
	if (!row->n_values)
		return row->hits;
	return row->values[0].kind == UBP_TALLY_SIGNED ? row->values[0].number ^ 1ULL << 63
						       : row->values[0].number;
}

static void row_at(const struct table *t, size_t place, struct ubp_tally_row *ret_row)
{
	ubp_tally_row(t->tally, t->places[place].i, ret_row);
}

/* --- text ---------------------------------------------------------------------------------- */

static void line(struct table *t, const char *text)
{
	output_line(t->out, "%s", text);
	t->p->n_lines++;
}

static void bar_text(const struct table *t, char *text, size_t size, uint64_t hits)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned eighths =
		t->most ? (unsigned)((double)hits / (double)t->most * BAR * 8 + 0.5) : 0;

	const char *last = t->p->unicode ? parts[eighths % 8] : "";
	size_t len = 0;

	if (hits && !eighths)
		last = t->p->unicode ? parts[1] : "#";
	for (unsigned i = 0; i < eighths / 8; i++)
		len += (size_t)snprintf(text + len, size - len, "%s",
					t->p->unicode ? "█" : "#");
	(void)snprintf(text + len, size - len, "%s", !len && eighths && !*last ? "#" : last);
}

bool tally_has_unicode(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

/* Bars go to the output as they are: output_line() would escape them. */
static void print_bar(struct table *t, const struct ubp_tally_part *part, uint64_t hits)
{
	enum tally_unit unit = tally_unit(t->p->session, part->name);
	char bar[4 * BAR + 8], from[VALUE_MAX], to[VALUE_MAX];

	bar_text(t, bar, sizeof(bar), hits);
	number_text(from, first_of(part), false, unit);
	number_text(to, tally_last_of(part), false, unit);
	output_printf(t->out, "%12s ..%12s %12" PRIu64 " |%s\n", from, to, hits, bar);
	t->p->n_lines++;
}

static void print_group(struct table *t, const struct ubp_tally_row *row)
{
	char text[320], all[1024] = "";
	size_t len = 0;

	for (unsigned i = 0; i + 1 < row->n_keys; i++) {
		part_text(t->p->session, text, sizeof(text), &row->keys[i]);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", len ? ", " : "",
					text);
	}
	if (len)
		line(t, all);
}

static bool is_same_group(const struct ubp_tally_row *a, const struct ubp_tally_row *b)
{
	for (unsigned i = 0; i + 1 < a->n_keys; i++)
		if (compare_parts(&a->keys[i], &b->keys[i]) != 0)
			return false;
	return true;
}

/* What lies between two rows of a group. */
static void print_gap(struct table *t, const struct ubp_tally_part *before,
		      const struct ubp_tally_part *part)
{
	struct ubp_tally_part gap = *part;

	if (part->number - before->number > GAP_MOST)
		return;
	for (gap.number = before->number + 1; gap.number < part->number; gap.number++)
		print_bar(t, &gap, 0);
}

static void print_hist(struct table *t)
{
	struct ubp_tally_row row, before = { 0 };

	qsort_r(t->places, t->n, sizeof(*t->places), by_keys, t);
	for (size_t i = 0; i < t->n; i++) {
		row_at(t, i, &row);
		if (row.hits > t->most)
			t->most = row.hits;
	}
	for (size_t i = 0; i < t->n; i++, before = row) {
		row_at(t, i, &row);
		if (i == 0 || !is_same_group(&before, &row))
			print_group(t, &row);
		else
			print_gap(t, &before.keys[row.n_keys - 1], &row.keys[row.n_keys - 1]);
		print_bar(t, &row.keys[row.n_keys - 1], row.hits);
	}
}

static const char *title(const char *name, char *text, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		text[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
	text[i] = '\0';
	return text;
}

static void print_titles(struct table *t, const struct ubp_tally_row *row)
{
	char all[512], text[64];
	size_t len = (size_t)snprintf(all, sizeof(all), "%12s", "HITS");

	if (row->n_values)
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s %12s %12s %12s",
					"SUM", "MIN", "MAX", "MEAN");
	for (unsigned i = 0; i < row->n_keys; i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%-*s", i ? " " : "  ",
					i + 1 < row->n_keys ? 24 : 0,
					title(row->keys[i].name, text, sizeof(text)));
	line(t, all);
}

static void print_row(struct table *t, const struct ubp_tally_row *row)
{
	char all[1600], text[320], value[VALUE_MAX];
	size_t len = (size_t)snprintf(all, sizeof(all), "%12" PRIu64, row->hits);

	for (unsigned i = 0; i < row->n_values; i++) {
		const struct ubp_tally_part *v = &row->values[i];

		number_text(value, v->number, v->kind == UBP_TALLY_SIGNED,
			    tally_unit(t->p->session, v->name));
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s", value);
	}
	if (row->n_values) {
		const struct ubp_tally_part *sum = &row->values[0];
		bool is_signed = sum->kind == UBP_TALLY_SIGNED;
		uint64_t mean = is_signed
					? (uint64_t)((int64_t)sum->number / (int64_t)row->hits)
					: sum->number / row->hits;

		number_text(value, mean, is_signed, tally_unit(t->p->session, sum->name));
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s", value);
	}
	for (unsigned i = 0; i < row->n_keys; i++) {
		part_text(t->p->session, text, sizeof(text), &row->keys[i]);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%-*s", i ? " " : "  ",
					i + 1 < row->n_keys ? 24 : 0, text);
	}
	line(t, all);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void json_string(struct output *out, const char *text)
{
	output_add(out, "\"", 1);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			output_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			output_printf(out, "\\u%04x", c);
		else
			output_add(out, text, 1);
	}
	output_add(out, "\"", 1);
}

static void json_number(struct output *out, const struct ubp_tally_part *part)
{
	if (part->kind == UBP_TALLY_SIGNED)
		output_printf(out, "%" PRId64, (int64_t)part->number);
	else
		output_printf(out, "%" PRIu64, part->number);
}

static void json_part(struct table *t, const struct ubp_tally_part *part)
{
	json_string(t->out, part->name);
	output_add(t->out, ":", 1);
	if (part->kind == UBP_TALLY_STRING)
		json_string(t->out, part->text);
	else if (part->kind == UBP_TALLY_PROBE)
		json_string(t->out, ubp_probe_event(t->p->session, part->number));
	else if (tally_is_scaled(part))
		output_printf(t->out, "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}",
			      first_of(part), tally_last_of(part));
	else
		json_number(t->out, part);
}

static void print_json(struct table *t, const struct ubp_tally_row *row)
{
	static const char *const names[] = { "sum", "min", "max" };

	output_printf(t->out, "{\"key\":{");
	for (unsigned i = 0; i < row->n_keys; i++) {
		output_printf(t->out, "%s", i ? "," : "");
		json_part(t, &row->keys[i]);
	}
	output_printf(t->out, "},\"hits\":%" PRIu64, row->hits);
	for (unsigned i = 0; i < row->n_values && i < UBP_TALLY_VALUES; i++) {
		output_printf(t->out, ",\"%s\":", names[i]);
		json_number(t->out, &row->values[i]);
	}
	output_printf(t->out, "}\n");
}

/* --- a block ------------------------------------------------------------------------------- */

static bool fill(struct table *t)
{
	struct ubp_tally_row row;

	t->n = ubp_tally_n(t->tally);
	t->places = malloc((t->n + 1) * sizeof(*t->places));
	for (size_t i = 0; t->places && i < t->n; i++) {
		ubp_tally_row(t->tally, i, &row);
		t->places[i] = (struct place){ most_of(&row), (uint32_t)i };
	}
	return t->places;
}

static void print_table(struct table *t)
{
	const struct tally_options *o = t->p->opt;
	size_t n = o->top && o->top < t->n ? (size_t)o->top : t->n;
	struct ubp_tally_row row;

	qsort_r(t->places, t->n, sizeof(*t->places), by_most, t);
	for (size_t i = 0; i < n; i++) {
		row_at(t, i, &row);
		if (i == 0 && !t->p->json)
			print_titles(t, &row);
		if (t->p->json)
			print_json(t, &row);
		else
			print_row(t, &row);
		if (output_pending(t->out) >= PIECE)
			(void)output_flush(t->out);
	}
}

void tally_print(struct tally_print *p, struct output *out, bool is_last)
{
	const struct ubp_tally *tally = ubp_tally_take(p->session);
	struct table t = { .p = p, .out = out, .tally = tally };
	char text[80];

	if (!tally || !fill(&t)) {
		cli_warn(NULL, "out of memory: what was counted is not printed");
		return;
	}
	if (p->n_lines && out->is_tty)
		output_printf(out, "\033[%zuA\033[J", p->n_lines);
	p->n_lines = 0;
	if (p->opt->hist && !p->json)
		print_hist(&t);
	else
		print_table(&t);
	if (ubp_tally_dropped(tally)) {
		(void)snprintf(text, sizeof(text),
			       "%" PRIu64 " hits had no room for their keys",
			       ubp_tally_dropped(tally));
		cli_warn(NULL, text);
	}
	if (!is_last && !p->json && !out->is_tty)
		line(&t, "");
	free(t.places);
}
