/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Text that is cut in pieces in place, as the kernel cuts it. */

#ifndef UBP_TRIGGER_TEXT_H
#define UBP_TRIGGER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Does @text begin with @prefix? *ret_rest, which may be NULL, is then what follows. */
bool text_begins(const char *text, const char *prefix, const char **ret_rest);
/* The same text without blanks at both ends: those behind are overwritten. */
char *text_strip(char *text);
char *text_skip(char *text);

/* kstrtoul() with base 0: 0, -EINVAL or -ERANGE. */
int text_number(const char *text, uint64_t *ret);

#endif
