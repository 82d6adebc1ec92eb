/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Texts that grow, and the words that users write into files: by the kernel's rules. */

#ifndef UBP_CLI_FS_TEXT_H
#define UBP_CLI_FS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; text_free() at the end. */
struct text {
	char *data;
	size_t len, cap;
	bool is_short; /* memory was: something is missing */
};

void text_add(struct text *text, const void *data, size_t len);
void text_puts(struct text *text, const char *s);
__attribute__((format(printf, 2, 3))) void text_printf(struct text *text, const char *fmt, ...);
/* The first @n bytes go. */
void text_drop(struct text *text, size_t n);
void text_free(struct text *text);

/* A part of what was written. */
struct word {
	const char *s;
	size_t len;
};

/* Without the white space at both ends; what is behind a NUL is none of it. */
struct word word_trim(const char *s, size_t len);
/* The word at *@pos of @all, of any between white space, and *@pos behind it. False: there is none. */
bool word_next(const struct word *all, size_t *pos, struct word *ret_word);
bool word_is(struct word word, const char *s);
/* For free(); NULL: memory is short. */
char *word_copy(struct word word);
/* A decimal number, perhaps with one newline behind it, as the kernel's kstrtoul() takes it. 0, -EINVAL or -ERANGE. */
int word_number(const char *s, size_t len, unsigned long *ret_number);

#endif
