/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Classes of bytes as the kernel sees them: its table is Latin-1, whatever the
 * locale, so 0xE9 is a letter and 0xA0 is white space.
 */

#ifndef UBP_SPEC_CHARS_H
#define UBP_SPEC_CHARS_H

#include <stdbool.h>

static inline bool char_is_space(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 9 && u <= 13) || u == ' ' || u == 0xa0;
}

static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool char_is_alpha(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') ||
	       (u >= 0xc0 && u != 0xd7 && u != 0xf7);
}

static inline bool char_is_alnum(char c)
{
	return char_is_alpha(c) || char_is_digit(c);
}

/* Allowed in a C identifier, apart from the first byte, which is no digit. */
static inline bool char_is_name(char c)
{
	return char_is_alnum(c) || c == '_';
}

#endif
