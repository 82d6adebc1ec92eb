/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A line cut into words, and the line that messages show: its words joined by
 * one blank. The words point into that text, so that "where in the message" is
 * a difference of two pointers.
 */

#ifndef UBP_SPEC_WORDS_H
#define UBP_SPEC_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct ubp_err;

/* A piece of a text; not NUL-ended. */
struct spec_span {
	const char *s;
	size_t len;
};

struct spec_words {
	char *text; /* words joined by one blank, NUL-ended */
	size_t len;
	size_t n;
	struct spec_span *word;
};

/*
 * Cut @len bytes without NUL. Returns 0, also when there is no word at all, or
 * -ENOMEM. To be freed with spec_words_free() in any case.
 */
int spec_words_cut(const char *line, size_t len, struct spec_words *ret, struct ubp_err *err);
/* Extended: a name in quotes behind a ':', as in app:"f(int, char*)", may have blanks. */
int spec_words_cut_extended(const char *line, size_t len, struct spec_words *ret,
			    struct ubp_err *err);
/* The bytes of such a name at @s (of @len), quotes included; 0: there is none. */
size_t spec_quoted_len(const char *s, size_t len);
/* The '#' that begins a comment, or NULL; extended: not in such a name, C++ counts with it. */
const char *spec_find_comment(const char *line, size_t len, bool is_extended);
void spec_words_free(struct spec_words *words);

/* First @c in the span, or NULL. */
const char *span_find(struct spec_span span, char c);
/* Last @c in the span, or NULL. */
const char *span_rfind(struct spec_span span, char c);
/*
 * The ':' between a file and a place in it: the last one that is no part of "::" or "[abi:cxx11]",
 * nor of a name in quotes; or NULL.
 */
const char *span_place_colon(struct spec_span span);
/* From @s, which lies in the span or at its end, to the end. */
struct spec_span span_from(struct spec_span span, const char *s);
/* From the start to @end, which is not part of it. */
struct spec_span span_until(struct spec_span span, const char *end);
bool span_is(struct spec_span span, const char *text);
bool span_starts(struct spec_span span, const char *text);
bool span_ends(struct spec_span span, const char *text);
/* Byte @i, or NUL past the end. */
char span_at(struct spec_span span, size_t i);
/* A C identifier, by the kernel's letters. */
bool span_is_identifier(struct spec_span span);

#endif
