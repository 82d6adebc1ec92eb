/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "cli/fs/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel looks at no more of a number. */
#define NUMBER_MAX 67

static bool has_room(struct text *text, size_t len)
{
	size_t cap = text->cap ? text->cap : 256;
	char *more;

	if (len <= text->cap - text->len)
		return true;
	while (cap - text->len < len)
		cap *= 2;
	more = realloc(text->data, cap);
	if (!more) {
		text->is_short = true;
		return false;
	}
	text->data = more;
	text->cap = cap;
	return true;
}

void text_add(struct text *text, const void *data, size_t len)
{
	if (!len || !has_room(text, len))
		return;
	memcpy(text->data + text->len, data, len);
	text->len += len;
}

void text_puts(struct text *text, const char *s)
{
	text_add(text, s, strlen(s));
}

void text_printf(struct text *text, const char *fmt, ...)
{
	char *s;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text->is_short = true;
		return;
	}
	text_add(text, s, (size_t)n);
	free(s);
}

void text_drop(struct text *text, size_t n)
{
	text->len -= n;
	if (text->len)
		memmove(text->data, text->data + n, text->len);
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}

/* --- words ------------------------------------------------------------------ */

struct word word_trim(const char *s, size_t len)
{
	struct word word = { s, strnlen(s, len) };

	while (word.len && isspace((unsigned char)word.s[word.len - 1]))
		word.len--;
	while (word.len && isspace((unsigned char)*word.s)) {
		word.s++;
		word.len--;
	}
	return word;
}

bool word_next(const struct word *all, size_t *pos, struct word *ret_word)
{
	size_t begin = *pos, end;

	while (begin < all->len && isspace((unsigned char)all->s[begin]))
		begin++;
	end = begin;
	while (end < all->len && !isspace((unsigned char)all->s[end]))
		end++;
	*pos = end;
	*ret_word = (struct word){ all->s + begin, end - begin };
	return end > begin;
}

bool word_is(struct word word, const char *s)
{
	return strlen(s) == word.len && memcmp(word.s, s, word.len) == 0;
}

char *word_copy(struct word word)
{
	char *copy = malloc(word.len + 1);

	if (!copy)
		return NULL;
	if (word.len)
		memcpy(copy, word.s, word.len);
	copy[word.len] = '\0';
	return copy;
}

int word_number(const char *s, size_t len, unsigned long *ret_number)
{
	unsigned long number = 0;
	size_t i;

	len = strnlen(s, len < NUMBER_MAX ? len : NUMBER_MAX);
	if (len && s[len - 1] == '\n')
		len--;
	i = len > 1 && *s == '+';
	if (i == len || strspn(s + i, "0123456789") < len - i)
		return -EINVAL;
	for (; i < len; i++)
		if (__builtin_mul_overflow(number, 10UL, &number) ||
		    __builtin_add_overflow(number, (unsigned long)(s[i] - '0'), &number))
			return -ERANGE;
	*ret_number = number;
	return 0;
}
