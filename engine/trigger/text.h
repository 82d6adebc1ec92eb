/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Text that grows, and text that is cut in pieces in place, as the kernel cuts it. */

#ifndef UBP_TRIGGER_TEXT_H
#define UBP_TRIGGER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; .bytes is NUL-ended once something was added, and the owner's to free(). */
struct text {
	char *bytes;
	size_t len, room;
	bool is_short; /* memory was: what was added since is missing */
};

__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *fmt, ...);

/* Does @text begin with @prefix? *ret_rest, which may be NULL, is then what follows. */
bool text_begins(const char *text, const char *prefix, const char **ret_rest);
/* The same text without blanks at both ends: those behind are overwritten. */
char *text_strip(char *text);
char *text_skip(char *text);

/* kstrtoul() with base 0: 0, -EINVAL or -ERANGE. */
int text_number(const char *text, uint64_t *ret);

#endif
