/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Texts, each once: names of functions and frames. Bounded: what does not fit is number 0, "(other)". */

#ifndef UBP_PICTURE_NAMES_H
#define UBP_PICTURE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

#define NAMES_MAX    65536
#define NAME_LEN_MAX 400 /* bytes: what is longer is cut */
#define NAMES_OTHER  0

/* Zero-initialise. */
struct names {
	char **v; /* NUL-ended */
	size_t n, cap;
	struct map by_hash; /* -> the text's place in .v, plus 1 */
};

/* The number of a text, which is UTF-8 without control bytes (escape_put()). Memory short: NAMES_OTHER. */
uint32_t names_find(struct names *names, const char *text, size_t len);
const char *names_text(const struct names *names, uint32_t number);
void names_free(struct names *names);

#endif
