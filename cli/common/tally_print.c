/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What was counted, as a table, as bars, or as JSON. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli/common/message.h"
#include "cli/common/output.h"
#include "cli/common/tally.h"
#include "cli/common/tally_part.h"
#include "cli/common/unit.h"
#include "engine/ubp_tally.h"

#define BAR   40
#define PIECE 65536 /* bytes that are written at a time */
/* To a terminal: lines are cut at its edge, or go on in the next one. */
#define NO_WRAP "\033[?7l"
#define WRAP    "\033[?7h"

#define GAP_MOST 128 /* so many empty rows of a histogram are printed, no more */

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
	uint64_t most;    /* hits of a row */
	bool is_short;    /* there was no memory for some rows */
	size_t max_lines; /* 0: any number */
};

/* --- values ------------------------------------------------------------------------------- */

enum unit tally_unit(struct ubp_session *session, const char *name)
{
	static const char *const bytes[] = { "size", "bytes", "len", "length", "nbytes" };
	const char *listing = ubp_probe_listing(session, 0);
	char text[128];

	(void)snprintf(text, sizeof(text), " %s=$duration", name);
	if (listing && strstr(listing, text))
		return UNIT_NS;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (strcmp(name, bytes[i]) == 0)
			return UNIT_BYTES;
	return UNIT_NONE;
}

static void part_text(struct ubp_session *session, char *text, size_t size,
		      const struct ubp_tally_part *part)
{
	char value[UNIT_TEXT_MAX];

	if (part->kind == UBP_TALLY_STRING) {
		(void)snprintf(text, size, "%s", part->text);
	} else if (part->kind == UBP_TALLY_PROBE) {
		(void)snprintf(text, size, "%s", ubp_probe_event(session, part->number));
	} else if (tally_part_is_range(part)) {
		unit_text(value, ubp_tally_last(part), part->is_signed,
			  tally_unit(session, part->name));
		(void)snprintf(text, size, "%s", value);
	} else {
		unit_text(value, part->number, part->kind == UBP_TALLY_SIGNED,
			  tally_unit(session, part->name));
		(void)snprintf(text, size, "%s", value);
	}
}

/* --- lines -------------------------------------------------------------------------------- */

/* One more is to be printed. False: a terminal where the next table is to take its place has no room for it. */
static bool has_room(struct table *t)
{
	if (t->max_lines && t->p->n_lines >= t->max_lines)
		return false;
	t->p->n_lines++;
	return true;
}

static void line(struct table *t, const char *text)
{
	if (has_room(t))
		output_line(t->out, "%s", text);
}

/* --- stacks ------------------------------------------------------------------------------- */

/* A line each, the first one behind @begin. They were escaped when they were named. */
static void print_frames(struct table *t, const struct ubp_tally_part *part, const char *begin,
			 int indent)
{
	struct tally_frames rest = tally_part_frames(part), frame;
	bool any = false;

	while (tally_next_frame(&rest, &frame)) {
		if (has_room(t))
			output_printf(t->out, "%-*s%.*s\n", indent, any ? "" : begin,
				      (int)frame.len, frame.text);
		any = true;
	}
	if (!any && has_room(t))
		output_printf(t->out, "%-*s[no stack]\n", indent, begin);
}

/* The key that is a stack; NULL: none is. */
static const struct ubp_tally_part *stack_of(const struct ubp_tally_row *row, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (row->keys[i].kind == UBP_TALLY_STACK)
			return &row->keys[i];
	return NULL;
}

/* --- order --------------------------------------------------------------------------------- */

static int compare_parts(const struct ubp_tally_part *a, const struct ubp_tally_part *b)
{
	if (a->kind == UBP_TALLY_STRING || a->kind == UBP_TALLY_STACK)
		return strcmp(a->text ? a->text : "", b->text ? b->text : "");
	if (tally_part_is_range(a) && tally_part_is_negative(a) != tally_part_is_negative(b))
		return tally_part_is_negative(a) ? -1 : 1;
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
	enum unit unit = tally_unit(t->p->session, part->name);
	char bar[4 * BAR + 8], from[UNIT_TEXT_MAX], to[UNIT_TEXT_MAX];

	bar_text(t, bar, sizeof(bar), hits);
	unit_text(from, ubp_tally_first(part), part->is_signed, unit);
	unit_text(to, ubp_tally_last(part), part->is_signed, unit);
	if (part->kind == UBP_TALLY_LOG2 && tally_part_is_negative(part))
		from[0] = '\0'; /* all that are less than 0 */
	if (has_room(t))
		output_printf(t->out, "%12s ..%12s %12" PRIu64 " |%s\n", from, to, hits, bar);
}

static void print_group(struct table *t, const struct ubp_tally_row *row)
{
	const struct ubp_tally_part *stack = stack_of(row, row->n_keys - 1);
	char text[320], all[1024] = "";
	size_t len = 0;

	for (unsigned i = 0; i + 1 < row->n_keys; i++) {
		if (&row->keys[i] == stack)
			continue;
		part_text(t->p->session, text, sizeof(text), &row->keys[i]);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", len ? ", " : "",
					text);
	}
	if (len)
		line(t, all);
	if (stack)
		print_frames(t, stack, "", 0);
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

	if (part->number - before->number > GAP_MOST ||
	    tally_part_is_negative(part) != tally_part_is_negative(before))
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

/* The keys of a row, or their names; of a stack, which stands last, only that, since it has several lines. */
static size_t add_columns(struct table *t, const struct ubp_tally_row *row, bool is_title,
			  char *all, size_t size, size_t len)
{
	const struct ubp_tally_part *stack = stack_of(row, row->n_keys);
	unsigned n = row->n_keys - (stack != NULL), done = 0;
	char text[320];

	for (unsigned i = 0; i < row->n_keys; i++) {
		if (&row->keys[i] == stack)
			continue;
		if (is_title)
			(void)title(row->keys[i].name, text, sizeof(text));
		else
			part_text(t->p->session, text, sizeof(text), &row->keys[i]);
		len += (size_t)snprintf(all + len, size - len, "%s%-*s", done ? " " : "  ",
					done + 1 < n || stack ? 24 : 0, text);
		done++;
	}
	if (stack)
		len += (size_t)snprintf(all + len, size - len, "%s%s", done ? " " : "  ",
					is_title ? title(stack->name, text, sizeof(text)) : "");
	return len;
}

static void print_titles(struct table *t, const struct ubp_tally_row *row)
{
	char all[512];
	size_t len = (size_t)snprintf(all, sizeof(all), "%12s", "HITS");

	if (row->n_values)
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s %12s %12s %12s",
					"SUM", "MIN", "MAX", "MEAN");
	add_columns(t, row, true, all, sizeof(all), len);
	line(t, all);
}

static void print_row(struct table *t, const struct ubp_tally_row *row)
{
	char all[1600], value[UNIT_TEXT_MAX];
	size_t len = (size_t)snprintf(all, sizeof(all), "%12" PRIu64, row->hits);

	for (unsigned i = 0; i < row->n_values; i++) {
		const struct ubp_tally_part *v = &row->values[i];

		unit_text(value, v->number, v->kind == UBP_TALLY_SIGNED,
			  tally_unit(t->p->session, v->name));
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s", value);
	}
	if (row->n_values) {
		const struct ubp_tally_part *sum = &row->values[0];
		bool is_signed = sum->kind == UBP_TALLY_SIGNED;
		uint64_t mean = is_signed
					? (uint64_t)((int64_t)sum->number / (int64_t)row->hits)
					: sum->number / row->hits;

		unit_text(value, mean, is_signed, tally_unit(t->p->session, sum->name));
		len += (size_t)snprintf(all + len, sizeof(all) - len, " %12s", value);
	}
	len = add_columns(t, row, false, all, sizeof(all), len);
	if (stack_of(row, row->n_keys))
		print_frames(t, stack_of(row, row->n_keys), all, (int)len);
	else
		line(t, all);
}

static void print_json(struct table *t, const struct ubp_tally_row *row)
{
	size_t len;
	const char *text = ubp_tally_json(t->p->session, row, &len);

	if (text)
		output_add(t->out, text, len);
	t->is_short |= !text;
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

	qsort_r(t->places, t->n, sizeof(*t->places), o->hist ? by_keys : by_most, t);
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

/* Of a terminal, less the one that the cursor is in; 0: not known. */
static size_t lines_of(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row - 1U : 0;
}

bool tally_make_way(struct tally_print *p, struct output *out)
{
	size_t n = p->n_lines;

	p->n_lines = 0;
	if (!n || !out->is_tty)
		return false;
	output_printf(out, "\033[%zuA\033[J", n);
	return true;
}

void tally_print(struct tally_print *p, struct output *out, bool is_last)
{
	const struct ubp_tally *tally = ubp_tally_take(p->session);
	struct table t = { .p = p, .out = out, .tally = tally };
	char text[80];
	bool in_place;

	if (!tally || !fill(&t)) {
		cli_warn(NULL, "out of memory: what was counted is not printed");
		return;
	}
	(void)tally_make_way(p, out);
	p->n_lines = 0;
	in_place = out->is_tty && !is_last && !p->json;
	t.max_lines = in_place ? lines_of(out->fd) : 0;
	if (in_place)
		output_printf(out, NO_WRAP);
	if (p->opt->hist && !p->json)
		print_hist(&t);
	else
		print_table(&t);
	if (in_place)
		output_printf(out, WRAP);
	if (t.is_short)
		cli_warn(NULL, "out of memory: not all that was counted is printed");
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
