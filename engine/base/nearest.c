/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/base/nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Scores: 0 other case, 2 one edit, 3 the word and then some, 4 two edits, 6 three
 * edits. A word too short says nothing about longer names.
 */
#define SCORE_PREFIX   3u
#define SCORE_NONE     100u
#define PREFIX_LEN_MIN 3

void nearest_init(struct nearest *nearest, const char *word, size_t len, unsigned max_edits)
{
	unsigned cutoff = len < 5 ? 1 : len < 9 ? 2 : 3;

	nearest->n = 0;
	nearest->len = len < NEAREST_NAME_MAX ? len : 0;
	nearest->cutoff = cutoff < max_edits ? cutoff : max_edits;
	memcpy(nearest->word, word, nearest->len);
	nearest->word[nearest->len] = '\0';
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Edits (insert, drop, replace, swap of neighbours) from @a to @b, or more than
 * @cutoff as soon as that is certain. Three rows of the usual table.
 */
static unsigned edits(const char *a, size_t len_a, const char *b, size_t len_b, unsigned cutoff)
{
	unsigned rows[3][NEAREST_NAME_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	for (size_t j = 0; j <= len_b; j++)
		last[j] = before[j] = (unsigned)j;
	for (size_t i = 1; i <= len_a; i++) {
		unsigned least = row[0] = (unsigned)i;

		for (size_t j = 1; j <= len_b; j++) {
			unsigned cost = a[i - 1] != b[j - 1];

			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
			least = row[j] < least ? row[j] : least;
		}
		if (least > cutoff)
			return cutoff + 1;
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[len_b];
}

static unsigned score_of(const struct nearest *nearest, const char *name, size_t len)
{
	size_t apart = len > nearest->len ? len - nearest->len : nearest->len - len;
	unsigned score = SCORE_NONE, n;

	if (apart == 0 && strcasecmp(name, nearest->word) == 0)
		return 0;
	if (nearest->len >= PREFIX_LEN_MIN && len > nearest->len &&
	    memcmp(name, nearest->word, nearest->len) == 0)
		score = SCORE_PREFIX;
	if (apart > nearest->cutoff)
		return score;
	n = edits(nearest->word, nearest->len, name, len, nearest->cutoff);
	if (n <= nearest->cutoff && 2 * n < score)
		score = 2 * n;
	return score;
}

/* Is (@score, @len, @name) nearer than what stands at @i? */
static int is_nearer(const struct nearest *nearest, size_t i, unsigned score, size_t len,
		     const char *name)
{
	const char *other = nearest->best[i].name;
	size_t other_len = strlen(other);

	if (score != nearest->best[i].score)
		return score < nearest->best[i].score;
	if (len != other_len)
		return len < other_len;
	return strcmp(name, other) < 0;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	size_t len = strnlen(name, NEAREST_NAME_MAX), at, last;
	unsigned score;

	if (len == 0 || len >= NEAREST_NAME_MAX || nearest->len == 0)
		return;
	score = score_of(nearest, name, len);
	if (score == SCORE_NONE)
		return;
	for (at = 0; at < nearest->n && !is_nearer(nearest, at, score, len, name); at++)
		if (strcmp(nearest->best[at].name, name) == 0)
			return;
	if (at == NEAREST_NAMES ||
	    (at < nearest->n && strcmp(nearest->best[at].name, name) == 0))
		return;
	if (nearest->n < NEAREST_NAMES)
		nearest->n++;
	last = nearest->n - 1;
	memmove(&nearest->best[at + 1], &nearest->best[at],
		(last - at) * sizeof(nearest->best[0]));
	memcpy(nearest->best[at].name, name, len + 1);
	nearest->best[at].score = score;
}

void nearest_text_of(const struct nearest *nearest, const char *prefix, char *text, size_t len)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < nearest->n; i++) {
		const char *joint = i == 0               ? "; did you mean "
				    : i + 1 < nearest->n ? ", "
							 : " or ";
		int n = snprintf(text + at, len - at, "%s'%s%s'", joint, prefix,
				 nearest->best[i].name);

		if (n < 0 || (size_t)n >= len - at)
			return;
		at += (size_t)n;
	}
	if (nearest->n != 0)
		snprintf(text + at, len - at, "?");
}

void nearest_text(const struct nearest *nearest, char *text, size_t len)
{
	nearest_text_of(nearest, "", text, len);
}
