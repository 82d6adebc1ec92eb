/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/common/tui.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/clock.h"
#include "cli/common/message.h"
#include "cli/common/tally.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/ubp_meter.h"

#define FRAME_NS   500000000ULL
#define LINES_KEPT 64
#define LINES_A_FRAME                                                                          \
	32 /* the first of each: making all of them would cost more than counting */
#define LINE_MAX_  480
#define SPARK_MAX  24
#define NAME_WIDTH 28

enum order { BY_RATE, BY_HITS, BY_P99, BY_NAME, ORDERS };

struct shown {
	struct ubp_meter_row row;
	double rate; /* hits a second, in the last frame */
};

struct tui {
	struct ubp_meter *meter;
	struct output *out;
	struct termios before;
	uint64_t start_ns, drawn_ns;
	uint64_t *hits; /* of each row, when it was drawn last */
	size_t n_hits;
	struct shown *rows;
	size_t n_rows;
	char lines[LINES_KEPT][LINE_MAX_];
	unsigned n_lines, in_frame;
	enum order order;
	bool paused, unicode, is_asked; /* .is_asked: a key wants it drawn now */
	unsigned octave, n_octaves;     /* that the sparklines show */
};

/* --- what is kept ------------------------------------------------------------------------------- */

/* What one line of the screen can show: what is behind its first newline (a stack) is left out. */
static void keep_line(struct tui *t, const struct ubp_event *event)
{
	char *to = t->lines[t->n_lines++ % LINES_KEPT];
	size_t len;
	const char *line = ubp_event_line(event, &len), *end = memchr(line, '\n', len);

	len = end ? (size_t)(end - line) : len;
	len = len < LINE_MAX_ - 1 ? len : LINE_MAX_ - 1;
	memcpy(to, line, len);
	to[len] = '\0';
}

void tui_event(struct tui *t, const struct ubp_event *event)
{
	ubp_meter_event(t->meter, event);
	if (ubp_event_probe(event) != -1 && t->in_frame++ < LINES_A_FRAME)
		keep_line(t, event);
}

/* --- rows ------------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b, void *ctx)
{
	const struct shown *x = a, *y = b;
	const enum order *order = ctx;
	double p = 0, q = 0;

	switch (*order) {
	case BY_RATE:
		p = x->rate;
		q = y->rate;
		break;
	case BY_HITS:
		p = (double)x->row.hits;
		q = (double)y->row.hits;
		break;
	case BY_P99:
		p = (double)x->row.p99_ns;
		q = (double)y->row.p99_ns;
		break;
	default:
		break;
	}
	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->row.name, y->row.name);
}

/* All rows with their rates since they were drawn last; false: memory is short, and they are as they were. */
static bool take_rows(struct tui *t, uint64_t since_ns)
{
	size_t n = ubp_meter_n(t->meter);

	if (VEC_FIT(t->rows, n + 1) < 0 || VEC_FIT(t->hits, n + 1) < 0)
		return false;
	for (; t->n_hits < n; t->n_hits++)
		t->hits[t->n_hits] = 0;
	for (size_t i = 0; i < n; i++) {
		ubp_meter_row(t->meter, i, &t->rows[i].row);
		t->rows[i].rate = since_ns ? 1e9 * (double)(t->rows[i].row.hits - t->hits[i]) /
						     (double)since_ns
					   : 0;
		t->hits[i] = t->rows[i].row.hits;
	}
	t->n_rows = n;
	qsort_r(t->rows, n, sizeof(t->rows[0]), compare, &t->order);
	return true;
}

/* The octaves that any row has: all sparklines have the same scale. */
static void find_octaves(struct tui *t)
{
	unsigned lo = UBP_METER_OCTAVES, hi = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		for (unsigned k = 0; k < UBP_METER_OCTAVES; k++)
			if (t->rows[i].row.octaves[k]) {
				lo = k < lo ? k : lo;
				hi = k > hi ? k : hi;
			}
	t->octave = lo < UBP_METER_OCTAVES ? lo : 0;
	t->n_octaves = lo < UBP_METER_OCTAVES ? hi - lo + 1 : 0;
	if (t->n_octaves > SPARK_MAX) { /* the slow end is what one looks for */
		t->octave += t->n_octaves - SPARK_MAX;
		t->n_octaves = SPARK_MAX;
	}
}

/* --- text ------------------------------------------------------------------------------------------ */

static const char *ns_text(uint64_t ns, char buf[24])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double v = (double)ns;
	unsigned i = 0;

	for (; i < 3 && v >= 1000; i++)
		v /= 1000;
	if (ns)
		(void)snprintf(buf, 24, "%.3g %s", v, units[i]);
	else
		buf[0] = '\0';
	return buf;
}

static const char *rate_text(double rate, char buf[24])
{
	if (rate >= 1e6)
		(void)snprintf(buf, 24, "%.2fM", rate / 1e6);
	else if (rate >= 1e4)
		(void)snprintf(buf, 24, "%.1fk", rate / 1e3);
	else
		(void)snprintf(buf, 24, "%.0f", rate);
	return buf;
}

/* Eight heights; of what is there at least the lowest. */
static void put_spark(struct tui *t, const struct ubp_meter_row *row)
{
	static const char *const bars[] = { " ",
					    "\342\226\201",
					    "\342\226\202",
					    "\342\226\203",
					    "\342\226\204",
					    "\342\226\205",
					    "\342\226\206",
					    "\342\226\207",
					    "\342\226\210" };
	static const char plain[] = " .:-=+*#@";
	uint64_t most = 1;

	for (unsigned k = 0; k < t->n_octaves; k++)
		most = row->octaves[t->octave + k] > most ? row->octaves[t->octave + k] : most;
	for (unsigned k = 0; k < t->n_octaves; k++) {
		uint64_t n = row->octaves[t->octave + k];
		unsigned height = n ? 1 + (unsigned)(7 * (double)n / (double)most) : 0;

		output_printf(t->out, "%.*s", t->unicode ? 4 : 1,
			      t->unicode ? bars[height] : plain + height);
	}
}

/* Bytes of @text that take at most @columns, and no character is cut; *ret_columns: how many they take, one for each character. */
static int cut(const char *text, unsigned columns, unsigned *ret_columns)
{
	unsigned n = 0;
	size_t i = 0;

	while (text[i] && n < columns) {
		for (i++; ((unsigned char)text[i] & 0xc0) == 0x80; i++)
			;
		n++;
	}
	*ret_columns = n;
	return (int)i;
}

static void put_cut(struct tui *t, const char *text, unsigned columns, bool fill)
{
	unsigned n;
	int len = cut(text, columns, &n);

	output_printf(t->out, "%.*s%*s", len, text, fill ? (int)(columns - n) : 0, "");
}

static void put_row(struct tui *t, const struct shown *s, unsigned columns)
{
	char rate[24], p50[24], p99[24], max[24];

	put_cut(t, s->row.name, NAME_WIDTH, true);
	output_printf(t->out, " %9s %12" PRIu64, rate_text(s->rate, rate), s->row.hits);
	if (columns >= NAME_WIDTH + 24 + 30)
		output_printf(t->out, " %9s %9s %9s", ns_text(s->row.p50_ns, p50),
			      ns_text(s->row.p99_ns, p99), ns_text(s->row.max_ns, max));
	if (columns >= NAME_WIDTH + 24 + 30 + 2 + t->n_octaves) {
		output_printf(t->out, "  ");
		put_spark(t, &s->row);
	}
}

static void put_heads(struct tui *t, unsigned columns)
{
	char lo[24], hi[24];

	output_printf(t->out, "%-*s %9s %12s", NAME_WIDTH, "EVENT", "HITS/S", "HITS");
	if (columns >= NAME_WIDTH + 24 + 30)
		output_printf(t->out, " %9s %9s %9s", "P50", "P99", "MAX");
	if (t->n_octaves && columns >= NAME_WIDTH + 24 + 30 + 24)
		output_printf(t->out, "  %s..%s", ns_text(1ULL << t->octave, lo),
			      ns_text((1ULL << (t->octave + t->n_octaves - 1)) * 2 - 1, hi));
}

static void put_head(struct tui *t, uint64_t now)
{
	static const char *const orders[ORDERS] = { "hits/s", "hits", "p99", "name" };
	uint64_t lost = ubp_meter_lost(t->meter);

	output_printf(t->out, "ubp  %.1f s  %zu function%s  by %s",
		      (double)(now - t->start_ns) / 1e9, t->n_rows, t->n_rows == 1 ? "" : "s",
		      orders[t->order]);
	if (lost)
		output_printf(t->out, "  %" PRIu64 " LOST", lost);
	output_printf(t->out, "%s   q: end  s: sort  p: pause", t->paused ? "  PAUSED" : "");
}

/* --- the screen ---------------------------------------------------------------------------------------- */

#define NEXT_LINE "\033[K\r\n"

static void put_lines(struct tui *t, unsigned rows, unsigned columns)
{
	unsigned n = t->n_lines < LINES_KEPT ? t->n_lines : LINES_KEPT;

	n = n < rows ? n : rows;
	for (unsigned i = 0; i < n; i++) {
		put_cut(t, t->lines[(t->n_lines - n + i) % LINES_KEPT], columns, false);
		output_printf(t->out, i + 1 < n ? NEXT_LINE : "\033[K");
	}
}

static void draw(struct tui *t, uint64_t now)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	unsigned rows, columns, table;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 4 || size.ws_col < 20)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	rows = size.ws_row;
	columns = size.ws_col;
	/* A third of the screen is for lines, or what the table leaves. */
	table = (unsigned)t->n_rows < rows - 3 - rows / 3 ? (unsigned)t->n_rows
							  : rows - 3 - rows / 3;
	output_printf(t->out, "\033[H");
	put_head(t, now);
	output_printf(t->out, NEXT_LINE "\033[7m");
	put_heads(t, columns);
	output_printf(t->out, "\033[0m" NEXT_LINE);
	for (unsigned i = 0; i < table; i++) {
		put_row(t, &t->rows[i], columns);
		output_printf(t->out, NEXT_LINE);
	}
	if (table < t->n_rows)
		output_printf(t->out, "and %zu more", t->n_rows - table);
	output_printf(t->out, NEXT_LINE);
	put_lines(t, rows - 3 - table, columns);
	output_printf(t->out, "\033[J");
	(void)output_flush(t->out);
}

int tui_look(struct tui *t)
{
	uint64_t now = cli_now_ns(), next = t->drawn_ns + FRAME_NS;

	if (t->is_asked && !output_pending(t->out)) {
		t->is_asked = false;
		qsort_r(t->rows, t->n_rows, sizeof(t->rows[0]), compare, &t->order);
		draw(t, now);
	}
	if (now < next)
		return (int)((next - now + 999999) / 1000000);
	if (!t->paused && !output_pending(t->out) && take_rows(t, now - t->drawn_ns)) {
		t->drawn_ns = now;
		find_octaves(t);
		draw(t, now);
		t->in_frame = 0;
	}
	return (int)(FRAME_NS / 1000000);
}

int tui_fd(const struct tui *t)
{
	return t ? STDIN_FILENO : -1;
}

bool tui_keys(struct tui *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	for (ssize_t i = 0; i < n; i++)
		switch (keys[i]) {
		case 'q':
			return true;
		case 's':
			t->order = (t->order + 1) % ORDERS;
			break;
		case 'p':
			t->paused = !t->paused;
			break;
		default:
			break;
		}
	t->is_asked = n > 0;
	return n == 0;
}

bool tui_has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* --- life ------------------------------------------------------------------------------------------------ */

int tui_begin(struct ubp_session *session, struct output *out, struct tui **ret_tui)
{
	struct termios raw;
	struct ubp_err err;
	struct tui *t;

	ubp_err_reset(&err);
	t = calloc(1, sizeof(*t));
	if (!t)
		return cli_error("out of memory");
	if (ubp_meter_new(session, &t->meter, &err) < 0) {
		free(t);
		return cli_error_record(&err);
	}
	t->out = out;
	t->unicode = tally_has_unicode();
	t->start_ns = t->drawn_ns = cli_now_ns();
	(void)tcgetattr(STDIN_FILENO, &t->before);
	raw = t->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	output_printf(out, "\033[?1049h\033[?25l\033[2J");
	*ret_tui = t;
	return CLI_OK;
}

/* What stays: rates are those of the whole time. */
static void put_end(struct tui *t, uint64_t now)
{
	uint64_t lost = ubp_meter_lost(t->meter);

	for (size_t i = 0; i < t->n_hits; i++)
		t->hits[i] = 0;
	t->order = BY_HITS;
	if (take_rows(t, now - t->start_ns)) {
		find_octaves(t);
		put_heads(t, 200);
		for (size_t i = 0; i < t->n_rows; i++) {
			output_printf(t->out, "\n");
			put_row(t, &t->rows[i], 200);
		}
		output_printf(t->out, "\n");
	}
	if (lost)
		output_printf(t->out, "%" PRIu64 " event%s lost, and not counted\n", lost,
			      lost == 1 ? " was" : "s were");
}

void tui_end(struct tui *t)
{
	if (!t)
		return;
	output_printf(t->out, "\033[?25h\033[?1049l");
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	put_end(t, cli_now_ns());
	ubp_meter_free(t->meter);
	free(t->rows);
	free(t->hits);
	free(t);
}
