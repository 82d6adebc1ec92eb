/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/spec/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/err.h"
#include "engine/spec/chars.h"

static size_t skip_spaces(const char *line, size_t len, size_t at)
{
	while (at < len && char_is_space(line[at]))
		at++;
	return at;
}

size_t spec_quoted_len(const char *s, size_t len)
{
	const char *end = len > 1 && s[0] == '"' ? memchr(s + 1, '"', len - 1) : NULL;

	return end ? (size_t)(end + 1 - s) : 0;
}

const char *spec_find_comment(const char *line, size_t len, bool is_extended)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '#')
			return line + i;
		if (is_extended && line[i] == ':')
			i += spec_quoted_len(line + i + 1, len - i - 1);
	}
	return NULL;
}

/* Behind the ')' of the '(' at @at, or @at if there is none, or what is in it is a number, a reference counter. */
static size_t skip_braces(const char *line, size_t len, size_t at)
{
	size_t depth = 0, inner = skip_spaces(line, len, at + 1);

	if (inner < len && char_is_digit(line[inner]))
		return at;
	for (size_t i = at; i < len; i++) {
		depth += line[i] == '(';
		if (line[i] == ')' && --depth == 0)
			return i + 1;
	}
	return at;
}

/* Behind " const", which follows the parameters of such a method. */
static size_t skip_const(const char *line, size_t len, size_t at)
{
	static const char word[] = " const";
	size_t end = at + sizeof(word) - 1;

	return end <= len && memcmp(line + at, word, sizeof(word) - 1) == 0 &&
			       (end == len || char_is_space(line[end]))
		       ? end
		       : at;
}

/* Parameters of a function, which stand behind a place, may have blanks: "app:ns::f(int, char *) const". */
static size_t skip_word(const char *line, size_t len, size_t at, bool is_extended)
{
	bool is_place = false;

	while (at < len && !char_is_space(line[at])) {
		bool may_quote = is_extended && line[at] == ':';

		size_t behind = is_place && line[at] == '(' ? skip_braces(line, len, at) : at;

		if (behind > at) {
			at = skip_const(line, len, behind);
			continue;
		}
		is_place |= may_quote;
		at++;
		if (may_quote)
			at += spec_quoted_len(line + at, len - at);
	}
	return at;
}

static int cut(const char *line, size_t len, bool is_extended, struct spec_words *ret,
	       struct ubp_err *err)
{
	size_t at = 0;

	*ret = (struct spec_words){ .text = malloc(len + 1) };
	/* Each word takes two bytes at least, but for the last. */
	ret->word = calloc(len / 2 + 1, sizeof(*ret->word));
	if (!ret->text || !ret->word)
		return ubp_fail(err, ENOMEM, "out of memory");
	while ((at = skip_spaces(line, len, at)) < len) {
		size_t end = skip_word(line, len, at, is_extended);

		if (ret->n > 0)
			ret->text[ret->len++] = ' ';
		ret->word[ret->n++] = (struct spec_span){ ret->text + ret->len, end - at };
		memcpy(ret->text + ret->len, line + at, end - at);
		ret->len += end - at;
		at = end;
	}
	ret->text[ret->len] = '\0';
	return 0;
}

int spec_words_cut(const char *line, size_t len, struct spec_words *ret, struct ubp_err *err)
{
	return cut(line, len, false, ret, err);
}

int spec_words_cut_extended(const char *line, size_t len, struct spec_words *ret,
			    struct ubp_err *err)
{
	return cut(line, len, true, ret, err);
}

void spec_words_free(struct spec_words *words)
{
	free(words->text);
	free(words->word);
	*words = (struct spec_words){ 0 };
}

const char *span_find(struct spec_span span, char c)
{
	return span.len > 0 ? memchr(span.s, c, span.len) : NULL;
}

const char *span_rfind(struct spec_span span, char c)
{
	return span.len > 0 ? memrchr(span.s, c, span.len) : NULL;
}

const char *span_place_colon(struct spec_span span)
{
	const char *found = NULL;

	for (size_t i = 0, n; i < span.len; i += n) {
		n = 1;
		if (span.s[i] != ':')
			continue;
		while (span_at(span, i + n) == ':')
			n++;
		if (n % 2 && !(i >= 4 && memcmp(span.s + i - 4, "[abi", 4) == 0))
			found = span.s + i;
		n += spec_quoted_len(span.s + i + n, span.len - i - n);
	}
	return found;
}

struct spec_span span_from(struct spec_span span, const char *s)
{
	return (struct spec_span){ s, span.len - (size_t)(s - span.s) };
}

struct spec_span span_until(struct spec_span span, const char *end)
{
	return (struct spec_span){ span.s, (size_t)(end - span.s) };
}

bool span_is(struct spec_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.s, text, span.len) == 0;
}

bool span_starts(struct spec_span span, const char *text)
{
	size_t len = strlen(text);

	return span.len >= len && memcmp(span.s, text, len) == 0;
}

bool span_ends(struct spec_span span, const char *text)
{
	size_t len = strlen(text);

	return span.len >= len && memcmp(span.s + span.len - len, text, len) == 0;
}

char span_at(struct spec_span span, size_t i)
{
	return i < span.len ? span.s[i] : '\0';
}

bool span_is_identifier(struct spec_span span)
{
	if (span.len == 0 || char_is_digit(span.s[0]))
		return false;
	for (size_t i = 0; i < span.len; i++)
		if (!char_is_name(span.s[i]))
			return false;
	return true;
}
