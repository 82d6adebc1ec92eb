/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Near names for "did you mean": the best few of many, in one pass. */

#ifndef UBP_BASE_NEAREST_H
#define UBP_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_NAMES    3
#define NEAREST_NAME_MAX 128 /* longer names are not offered */

/* The most edits from a name to one that is offered for it: of functions and probes; of files. */
#define NEAREST_EDITS       3
#define NEAREST_EDITS_FILES 2

/* Bytes that nearest_text() writes at most. */
#define NEAREST_TEXT_MAX (NEAREST_NAMES * (NEAREST_NAME_MAX + 8) + 32)

struct nearest {
	char word[NEAREST_NAME_MAX]; /* what the user wrote */
	size_t len;
	unsigned cutoff; /* most edits that still count as near */
	struct {
		char name[NEAREST_NAME_MAX];
		unsigned score; /* smaller is nearer */
	} best[NEAREST_NAMES];
	size_t n;
};

/* Look for names near @word (@len bytes), at most @max_edits away (short words fewer). */
void nearest_init(struct nearest *nearest, const char *word, size_t len, unsigned max_edits);

/* One name. Nearest is one that differs in case, then few edits or a longer name. */
void nearest_offer(struct nearest *nearest, const char *name);

/* "; did you mean 'a', 'b' or 'c'?" into @text, or "" where nothing was near. */
void nearest_text(const struct nearest *nearest, char *text, size_t len);
/* The same, with @prefix in front of each name. */
void nearest_text_of(const struct nearest *nearest, const char *prefix, char *text, size_t len);

#endif
