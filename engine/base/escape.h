/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Text that others chose - strings and names of a target, names of files - as it is printed. Such text must
 * neither move a cursor nor begin a line, so these become \ooo, byte for byte, in octal:
 *
 *	control bytes, DEL among them			U+0000-U+001F U+007F
 *	C1 controls					U+0080-U+009F
 *	what changes the direction of writing		U+061C U+200E U+200F U+202A-U+202E U+2066-U+2069
 *	what some readers take for the end of a line	U+2028 U+2029
 *	bytes that are not UTF-8
 *
 * All else stays as it is, quotes and backslashes too, but for one: in strings and names of a trace a backslash
 * that would look like one of these is itself escaped, "\012" as "\134012". So nothing is lost there: who
 * replaces each \ooo by its byte has the text. In lines that are no strings - definitions, lists, messages -
 * "\100" may be a fetch arg, and stays.
 */

#ifndef UBP_BASE_ESCAPE_H
#define UBP_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most characters that one byte becomes. */
#define ESCAPE_BYTE_MAX 4

/*
 * Bytes of the valid UTF-8 sequence that starts at @s (1..4), or 0 if there is
 * none: stray or missing continuation bytes, overlong forms, surrogates, beyond
 * U+10FFFF. @len > 0 is what there is to look at. *ret_code is its character.
 */
size_t utf8_sequence(const uint8_t *s, size_t len, uint32_t *ret_code);

/* Is this character one of those above that do something to what is around them? */
bool utf8_is_unsafe(uint32_t code);

/* Is one of the eight bytes of @word @byte? */
static inline bool escape_has_byte(uint64_t word, uint8_t byte)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	word ^= ones * byte;
	return ((word - ones) & ~word & ones * 0x80) != 0;
}

/* Eight bytes that stay as they are, without a backslash among them: what nearly all text consists of. */
static inline bool escape_is_plain(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return !((word | ((word - ones * 0x20) & ~word)) & ones * 0x80) &&
	       !escape_has_byte(word, 0x7f) && !escape_has_byte(word, '\\');
}

/*
 * @len bytes at @text, written at @to, which needs room for ESCAPE_BYTE_MAX * @len bytes. Returns
 * the address behind.
 */
char *escape_put(char *to, const void *text, size_t len);

/* escape_put() for a line of output: backslashes stay. */
char *escape_put_line(char *to, const void *text, size_t len);

/* @text as escape_put_line() writes it, NUL-ended and allocated. NULL: out of memory. */
char *escape_line(const char *text);

/* The same into @size bytes at @to, NUL included: what has no room is left out, and no character or \ooo is cut. */
void escape_line_cut(char *to, size_t size, const char *text);

#endif
