/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Filters: the expression around the predicates, and the successors of each.
 *
 * Short-circuit code in one pass. Until it is known where a predicate goes on
 * an outcome, that exit is kept in a chain with the others that will go to the
 * same place, linked through the successor fields themselves. Groups are a
 * stack of frames, as many as the text has open parentheses at once: hostile
 * nesting costs memory that the text's length bounds, never stack.
 */

#include "engine/spec/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/spec/filter_parse.h"
#include "engine/spec/hint.h"

/* The kernel refuses writes of a page or more. */
#define TEXT_LIMIT 4096

/* The shortest predicate with an operator behind it: "a&1||". */
#define PREDS_MAX(len) ((len) / 5 + 1)

/* Exits are numbered: 2 * predicate, + 1 for "true". */
#define NO_EXIT 0xffff

_Static_assert(2 * PREDS_MAX(TEXT_LIMIT) + 1 < FILTER_DROP, "exits fit their fields");

/* A chain of exits that go to one place, which is not known yet. */
struct exits {
	uint16_t first, last;
};

static const struct exits no_exits = { NO_EXIT, NO_EXIT };

enum joint { JOINT_NONE, JOINT_AND, JOINT_OR };

/* One open group, or the whole expression. */
struct frame {
	bool negated;         /* a '!' stands before the group */
	enum joint joint;     /* the operator read last, its right side is missing */
	struct exits yes, no; /* of the term read last */
	struct exits or_yes;  /* true exits of the terms before a || */
	struct exits and_no;  /* false exits of the terms before a && of this chain */
};

int filter_fail(struct filter_parser *p, int code, const char *message, size_t caret)
{
	ubp_fail(p->err, code, "%s", message);
	ubp_err_caret(p->err, p->text, p->len, (unsigned)caret);
	return -code;
}

/* --- exits ---------------------------------------------------------------- */

static uint16_t *exit_field(struct filter *filter, uint16_t number)
{
	struct filter_pred *pred = &filter->preds[number / 2];

	return number % 2 ? &pred->on_true : &pred->on_false;
}

static struct exits one_exit(struct filter *filter, uint32_t pred, bool outcome)
{
	uint16_t number = (uint16_t)(2 * pred + outcome);

	*exit_field(filter, number) = NO_EXIT;
	return (struct exits){ number, number };
}

static struct exits both_exits(struct filter *filter, struct exits a, struct exits b)
{
	if (a.first == NO_EXIT)
		return b;
	if (b.first == NO_EXIT)
		return a;
	*exit_field(filter, a.last) = b.first;
	return (struct exits){ a.first, b.last };
}

static void lead_exits(struct filter *filter, struct exits exits, uint16_t to)
{
	uint16_t number = exits.first;

	while (number != NO_EXIT) {
		uint16_t *field = exit_field(filter, number);

		number = *field;
		*field = to;
	}
}

/* --- frames --------------------------------------------------------------- */

static void open_frame(struct frame *frame, bool negated)
{
	*frame = (struct frame){
		.negated = negated,
		.yes = no_exits,
		.no = no_exits,
		.or_yes = no_exits,
		.and_no = no_exits,
	};
}

/* A term starts: now it is known where the one before it goes on. */
static void start_term(struct frame *frame, struct filter *filter)
{
	uint16_t here = (uint16_t)filter->n_preds;

	if (frame->joint == JOINT_NONE)
		return;
	frame->and_no = both_exits(filter, frame->and_no, frame->no);
	if (frame->joint == JOINT_AND) {
		lead_exits(filter, frame->yes, here);
	} else {
		lead_exits(filter, frame->and_no, here);
		frame->and_no = no_exits;
		frame->or_yes = both_exits(filter, frame->or_yes, frame->yes);
	}
	frame->joint = JOINT_NONE;
}

static void end_term(struct frame *frame, struct exits yes, struct exits no, bool negated)
{
	frame->yes = negated ? no : yes;
	frame->no = negated ? yes : no;
}

/* The exits of the whole group. An operator without a right side does not count. */
static void close_frame(const struct frame *frame, struct filter *filter, struct exits *ret_yes,
			struct exits *ret_no)
{
	*ret_yes = both_exits(filter, frame->or_yes, frame->yes);
	*ret_no = both_exits(filter, frame->and_no, frame->no);
}

/* --- the text ------------------------------------------------------------- */

/* What a look at quotes and parentheses tells. */
struct outline {
	size_t depth_max;
	size_t depth;     /* parentheses still open at the end */
	size_t last_open; /* where .depth was reached for the last time from below */
	bool has_terms;
};

/*
 * Quotes and parentheses of the whole text are checked before anything else.
 * @depth_end: the depth at the end, for .last_open (known from a first call).
 */
static int draw_outline(struct filter_parser *p, size_t depth_end, struct outline *ret)
{
	size_t quote_at = 0;
	char quote = '\0';

	*ret = (struct outline){ 0 };
	for (size_t i = 0; i < p->len; i++) {
		char c = p->text[i];

		if (quote) {
			if (c == quote)
				quote = '\0';
		} else if (c == '"' || c == '\'') {
			ret->has_terms = true;
			quote = c;
			quote_at = i;
		} else if (c == '(') {
			if (++ret->depth > ret->depth_max)
				ret->depth_max = ret->depth;
			if (ret->depth == depth_end)
				ret->last_open = i;
		} else if (c == ')') {
			if (ret->depth-- == 0)
				return filter_fail(p, EPERM, "Too few '('", i);
		} else if ((c == '&' || c == '|') && p->text[i + 1] == c) {
			/* The second one is looked at again, and may pair with a third. */
			continue;
		} else if (!char_is_space(c)) {
			ret->has_terms = true;
		}
	}
	if (quote)
		return filter_fail(p, ESRCH, "Missing matching quote", quote_at);
	return 0;
}

static int check_outline(struct filter_parser *p, size_t *ret_depth_max)
{
	struct outline outline;
	int rc = draw_outline(p, 0, &outline);

	if (rc < 0)
		return rc;
	if (outline.depth) {
		draw_outline(p, outline.depth, &outline);
		return filter_fail(p, ENOENT, "Too many '('", outline.last_open);
	}
	if (!outline.has_terms)
		return filter_fail(p, EINVAL, "Error", 0);
	*ret_depth_max = outline.depth_max;
	return 0;
}

static size_t skip_blanks(const struct filter_parser *p, size_t at)
{
	while (char_is_space(p->text[at]))
		at++;
	return at;
}

/*
 * Behind a term: close groups, and take the operator. *frame is the innermost
 * open group (@bottom the outermost); *at ends behind the operator or at the
 * end of the text.
 */
static int parse_joint(struct filter_parser *p, size_t *at, struct frame *bottom,
		       struct frame **frame)
{
	for (;;) {
		struct exits yes, no;
		bool negated;
		char c;

		*at = skip_blanks(p, *at);
		c = p->text[*at];
		if (c == '\0')
			return 0;
		if ((c == '&' || c == '|') && p->text[*at + 1] == c) {
			(*frame)->joint = c == '&' ? JOINT_AND : JOINT_OR;
			*at += 2;
			return 0;
		}
		if (c != ')') {
			(void)filter_fail(p, EPERM, "Too many terms in predicate expression",
					  *at);
			hint_operator(p, *at);
			return -EPERM;
		}
		*at += 1;
		/* Quotes can make this differ from the outline only by a malformed term. */
		if (*frame == bottom)
			return filter_fail(p, EPERM, "Too few '('", *at);
		close_frame(*frame, p->filter, &yes, &no);
		negated = (*frame)->negated;
		(*frame)--;
		end_term(*frame, yes, no, negated);
	}
}

static int parse_term(struct filter_parser *p, size_t *at, struct frame *frame, bool negated)
{
	struct filter *filter = p->filter;
	uint32_t number = filter->n_preds;
	bool swapped;
	int rc;

	if (number == PREDS_MAX(p->len))
		return filter_fail(p, EPERM, "Too many terms in predicate expression", *at);
	start_term(frame, filter);
	rc = filter_parse_pred(p, at, &filter->preds[number], &swapped);
	if (rc < 0)
		return rc;
	filter->n_preds++;
	end_term(frame, one_exit(filter, number, true), one_exit(filter, number, false),
		 negated != swapped);
	return 0;
}

static int parse_expression(struct filter_parser *p, struct frame *bottom)
{
	struct frame *frame = bottom;
	struct exits yes, no;
	bool negated = false;
	size_t at = 0;
	int rc;

	open_frame(frame, false);
	while ((at = skip_blanks(p, at)) < p->len) {
		char c = p->text[at], after = p->text[at + 1];

		if (c == '(') {
			start_term(frame, p->filter);
			open_frame(++frame, negated);
			negated = false;
			at++;
		} else if (c == '!' && after != '=' && after != '~') {
			negated = !negated;
			at++;
		} else {
			rc = parse_term(p, &at, frame, negated);
			if (rc == 0)
				rc = parse_joint(p, &at, bottom, &frame);
			if (rc < 0)
				return rc;
			negated = false;
		}
	}
	if (frame != bottom)
		return filter_fail(p, ENOENT, "Too many '('", at);
	if (!p->filter->n_preds)
		return filter_fail(p, EINVAL, "No filter found", at);
	close_frame(frame, p->filter, &yes, &no);
	lead_exits(p->filter, yes, FILTER_PASS);
	lead_exits(p->filter, no, FILTER_DROP);
	return 0;
}

/* Room for everything a text of that length can make. */
static struct filter *new_filter(const char *text, size_t len)
{
	struct filter *filter;
	size_t n_bytes = len + 1;

	for (const char *s = strstr(text, "CPUS"); s; s = strstr(s + 1, "CPUS"))
		n_bytes += FILTER_SET_SIZE(filter_machine_cpus());
	filter = calloc(1, sizeof(*filter) + PREDS_MAX(len) * sizeof(filter->preds[0]));
	if (!filter)
		return NULL;
	filter->bytes = calloc(1, n_bytes);
	filter->text = strdup(text);
	if (!filter->bytes || !filter->text) {
		filter_free(filter);
		return NULL;
	}
	return filter;
}

static int parse_text(struct filter_parser *p, struct filter **ret_filter)
{
	struct frame *frames;
	size_t depth_max;
	int rc;

	rc = check_outline(p, &depth_max);
	if (rc < 0)
		return rc;
	p->filter = new_filter(p->text, p->len);
	frames = calloc(depth_max + 1, sizeof(*frames));
	if (!p->filter || !frames)
		rc = ubp_fail(p->err, ENOMEM, "filter: out of memory");
	else
		rc = parse_expression(p, frames);
	free(frames);
	if (rc < 0) {
		filter_free(p->filter);
		return rc;
	}
	*ret_filter = p->filter;
	return 0;
}

int filter_parse(const char *text, const struct spec_probe *probe, struct filter **ret_filter,
		 struct ubp_err *err)
{
	size_t len = strlen(text), from = 0;
	char copy[TEXT_LIMIT];
	struct filter_parser p = { .text = copy, .probe = probe, .err = err };

	if (len >= TEXT_LIMIT)
		return ubp_fail(err, EINVAL, "filter of %zu bytes: must be less than %d", len,
				TEXT_LIMIT);
	while (len && char_is_space(text[len - 1]))
		len--;
	memcpy(copy, text, len);
	copy[len] = '\0';
	p.len = len;
	while (char_is_space(copy[from]))
		from++;
	if (strcmp(copy + from, "0") == 0) {
		*ret_filter = NULL;
		return 0;
	}
	return parse_text(&p, ret_filter);
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	free(filter->bytes);
	free(filter->text);
	free(filter);
}

const char *filter_text(const struct filter *filter)
{
	return filter ? filter->text : NULL;
}

/* --- two as one ------------------------------------------------------------------- */

/* How many bytes of .bytes its tests refer to. */
static size_t n_bytes(const struct filter *filter)
{
	size_t n = 0;

	for (uint32_t i = 0; i < filter->n_preds; i++) {
		const struct filter_pred *pred = &filter->preds[i];
		size_t len =
			pred->test == FILTER_IN_SET ? (pred->value + 7) / 8 : pred->text_len;

		if (pred->text + len > n)
			n = pred->text + len;
	}
	return n;
}

static uint16_t moved(uint16_t to, uint32_t by, uint16_t pass)
{
	if (to == FILTER_PASS)
		return pass;
	return to == FILTER_DROP ? to : (uint16_t)(to + by);
}

/* Behind what @to has: what passes goes on at @pass. */
static void append(struct filter *to, size_t *n_to_bytes, const struct filter *filter,
		   uint16_t pass)
{
	size_t n = n_bytes(filter);

	for (uint32_t i = 0; i < filter->n_preds; i++) {
		struct filter_pred *pred = &to->preds[to->n_preds + i];

		*pred = filter->preds[i];
		pred->on_true = moved(pred->on_true, to->n_preds, pass);
		pred->on_false = moved(pred->on_false, to->n_preds, pass);
		pred->text += (uint32_t)*n_to_bytes;
	}
	if (n)
		memcpy(to->bytes + *n_to_bytes, filter->bytes, n);
	*n_to_bytes += n;
	to->n_preds += filter->n_preds;
}

int filter_both(const struct filter *a, const struct filter *b, struct filter **ret_filter)
{
	size_t n_preds = (a ? a->n_preds : 0) + (size_t)(b ? b->n_preds : 0), n = 0;
	struct filter *both;

	*ret_filter = NULL;
	if (!n_preds)
		return 0;
	if (n_preds >= FILTER_DROP)
		return -E2BIG;
	both = calloc(1, sizeof(*both) + n_preds * sizeof(both->preds[0]));
	if (both) {
		both->bytes = malloc((a ? n_bytes(a) : 0) + (b ? n_bytes(b) : 0) + 1);
		both->text = a && a->text ? strdup(a->text) : NULL;
	}
	if (!both || !both->bytes || (a && a->text && !both->text)) {
		filter_free(both);
		return -ENOMEM;
	}
	if (a)
		append(both, &n, a, b ? (uint16_t)a->n_preds : FILTER_PASS);
	if (b)
		append(both, &n, b, FILTER_PASS);
	*ret_filter = both;
	return 0;
}
