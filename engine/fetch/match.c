/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The interpreter of filters. See engine/base/filter_program.h. */

#include "engine/fetch/match.h"

#include <string.h>

#include "engine/base/filter_program.h"
#include "engine/base/float_bits.h"

/* --- numbers -------------------------------------------------------------- */

/* @size little-endian bytes of the record's data; bytes that are not there are 0. */
static uint64_t load_data(const struct event_record *record, uint32_t at, unsigned size)
{
	uint64_t value = 0;

	if (at > record->data_len || record->data_len - at < size)
		return 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)record->data[at + i] << (8 * i);
	return value;
}

static uint64_t load_number(const struct filter_pred *pred, const struct event_record *record)
{
	switch ((enum filter_source)pred->source) {
	case FILTER_FROM_DATA:
		return load_data(record, pred->at, pred->size);
	case FILTER_FROM_IP:
		return record->ip;
	case FILTER_FROM_FUNC:
		return record->func;
	case FILTER_FROM_TID:
		return (uint32_t)record->tid;
	case FILTER_FROM_CPU:
		return record->cpu;
	case FILTER_FROM_COMM:
	case FILTER_FROM_NOWHERE:
		break;
	}
	return 0;
}

/* Both sides are extended from the same size, so only order asks for the sign. */
static bool is_less(const struct filter_pred *pred, uint64_t a, uint64_t b)
{
	return pred->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static bool is_in_set(const struct filter *filter, const struct filter_pred *pred,
		      uint64_t value)
{
	return value < pred->value &&
	       (filter->bytes[pred->text + value / 8] >> (value % 8) & 1);
}

static bool test_number(const struct filter *filter, const struct filter_pred *pred,
			const struct event_record *record)
{
	uint64_t value = filter_extend(load_number(pred, record), pred->size, pred->is_signed);

	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		return value == pred->value;
	case FILTER_LT:
		return is_less(pred, value, pred->value);
	case FILTER_LE:
		return !is_less(pred, pred->value, value);
	case FILTER_AND:
		return value & pred->value;
	case FILTER_IS_CPU:
		return value < pred->value;
	case FILTER_IN_SET:
		return is_in_set(filter, pred, value);
	default:
		return false;
	}
}

static bool test_float(const struct filter_pred *pred, const struct event_record *record)
{
	double a = float_of_bits(load_number(pred, record), pred->size);
	double b = float_of_bits(pred->value, 8);

	switch ((enum filter_test)pred->test) {
	case FILTER_FLOAT_EQ:
		return a >= b && a <= b;
	case FILTER_FLOAT_LT:
		return a < b;
	case FILTER_FLOAT_LE:
		return a <= b;
	case FILTER_FLOAT_GT:
		return a > b;
	case FILTER_FLOAT_GE:
		return a >= b;
	default:
		return false;
	}
}

/* --- strings -------------------------------------------------------------- */

struct text {
	const char *s;
	size_t len; /* without NUL */
	bool failed;
};

/* A string that could not be read, or does not lie in the data, is empty and failed. */
static struct text load_text(const struct filter_pred *pred, const struct event_record *record)
{
	uint32_t word, at, len;
	const char *s;

	if (pred->source == FILTER_FROM_COMM)
		return (struct text){ record->comm, strnlen(record->comm, sizeof(record->comm)),
				      false };
	word = (uint32_t)load_data(record, pred->at, sizeof(word));
	at = word & 0xffff;
	len = word >> 16;
	if (!len || at > record->data_len || record->data_len - at < len)
		return (struct text){ "", 0, true };
	s = (const char *)record->data + at;
	return (struct text){ s, strnlen(s, len), false };
}

static bool is_in_span(unsigned char first, unsigned char last, unsigned char c)
{
	return first <= c && c <= last;
}

/*
 * Match @c against the class at @pat, behind its '['. Returns the bytes of the
 * class including its ']', or 0 if it is not closed: then the '[' is literal. A
 * ']' in front is a member, '-' in front or at the end, too.
 */
static size_t match_class(const char *pat, size_t len, char c, bool *ret_matches)
{
	size_t i = 0, start;
	bool inverted = len && pat[0] == '!', found = false;

	i += inverted;
	for (start = i; i < len; i++) {
		char first = pat[i], last = pat[i];

		if (first == ']' && i > start) {
			*ret_matches = found != inverted;
			return i + 1;
		}
		if (i + 1 < len && pat[i + 1] == '-' && (i + 2 == len || pat[i + 2] != ']')) {
			if (i + 2 == len)
				return 0;
			last = pat[i + 2];
			i += 2;
		}
		if (is_in_span((unsigned char)first, (unsigned char)last, (unsigned char)c))
			found = true;
	}
	return 0;
}

/* Does the pattern's next element (not a '*') match @c? *ret_used: its bytes. */
static bool match_element(const char *pat, size_t len, char c, size_t *ret_used)
{
	bool matches;

	*ret_used = 1;
	if (pat[0] == '?')
		return true;
	if (pat[0] == '[') {
		size_t used = match_class(pat + 1, len - 1, c, &matches);

		if (used) {
			*ret_used = 1 + used;
			return matches;
		}
	} else if (pat[0] == '\\' && len > 1) {
		*ret_used = 2;
		return pat[1] == c;
	} else if (pat[0] == '\\') {
		return false; /* escapes the end of the pattern: see is_at_end() */
	}
	return pat[0] == c;
}

/* Nothing left that would need a byte; a lone backslash at the end is nothing. */
static bool is_at_end(const char *pat, size_t len)
{
	while (len && *pat == '*') {
		pat++;
		len--;
	}
	return len == 0 || (len == 1 && *pat == '\\');
}

/*
 * Only the last '*' ever needs another try: what is in front of it has already
 * matched as early as it could. So the time is at most pattern times text.
 */
static bool match_glob(const char *pat, size_t pat_len, const char *s, size_t len)
{
	size_t p = 0, i = 0, retry_p = 0, retry_i = 0, used;
	bool has_star = false;

	for (;;) {
		if (p < pat_len && pat[p] == '*') {
			has_star = true;
			retry_p = ++p;
			retry_i = i;
			continue;
		}
		if (i == len)
			return is_at_end(pat + p, pat_len - p);
		if (p < pat_len && match_element(pat + p, pat_len - p, s[i], &used)) {
			p += used;
			i++;
			continue;
		}
		if (!has_star)
			return false;
		p = retry_p;
		i = ++retry_i;
	}
}

static bool test_text(const struct filter *filter, const struct filter_pred *pred,
		      const struct event_record *record)
{
	const char *want = (const char *)filter->bytes + pred->text;
	size_t len = pred->text_len;
	struct text text = load_text(pred, record);

	switch ((enum filter_test)pred->test) {
	case FILTER_SAME:
		return text.len == len && memcmp(text.s, want, len) == 0;
	case FILTER_PREFIX:
		return text.len >= len && memcmp(text.s, want, len) == 0;
	case FILTER_SUFFIX:
		return !text.failed && text.len >= len &&
		       memcmp(text.s + text.len - len, want, len) == 0;
	case FILTER_MIDDLE:
		return memmem(text.s, text.len, want, len) != NULL;
	case FILTER_GLOB:
		return match_glob(want, len, text.s, text.len);
	default:
		return false;
	}
}

bool filter_match(const struct filter *filter, const struct event_record *record)
{
	uint16_t next = 0;

	if (!filter)
		return true;
	while (next < filter->n_preds) {
		const struct filter_pred *pred = &filter->preds[next];
		bool outcome = false;

		if (pred->test >= FILTER_SAME)
			outcome = test_text(filter, pred, record);
		else if (filter_is_float(pred))
			outcome = test_float(pred, record);
		else if (pred->test != FILTER_NEVER)
			outcome = test_number(filter, pred, record);
		next = outcome ? pred->on_true : pred->on_false;
	}
	return next == FILTER_PASS;
}
