/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Texts, each kept once and known by a number: 0, 1, ... in the order in which they came. Not thread-safe. */

#ifndef UBP_BASE_TEXTS_H
#define UBP_BASE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

/* Zero-initialise; free with texts_free(). */
struct texts {
	struct map by_hash; /* -> struct text, the last one of each hash */
	struct text **v;
	size_t n, cap;
};

/* The number of @len bytes at @text, which are kept if they are new. -ENOMEM. */
int64_t texts_number(struct texts *texts, const char *text, size_t len);
/* NUL-ended, until texts_free(). NULL: there is none of that number. */
const char *texts_get(const struct texts *texts, uint64_t number);
void texts_free(struct texts *texts);

#endif
