/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What fuzzers share: taking numbers and texts from the input, and claims. */

#ifndef UBP_TESTS_FUZZ_H
#define UBP_TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer calls it with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libelf 0.188 forgets what it read of some damaged files. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so";
}

/* A claim about the code under test. Its failure is a finding, with a stack. */
#define CLAIM(what)                                                                            \
	do {                                                                                   \
		if (!(what)) {                                                                 \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);     \
			abort();                                                               \
		}                                                                              \
	} while (0)

/* What is left of the input. Behind its end come zeroes. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint64_t fuzz_number(struct fuzz_input *in, size_t len)
{
	uint64_t number = 0;
	size_t n = len < in->left ? len : in->left;

	memcpy(&number, in->at, n);
	in->at += n;
	in->left -= n;
	return number;
}

/* Allocated to the byte, so that AddressSanitizer sees one read too far. */
static inline void *fuzz_copy(const void *bytes, size_t len)
{
	void *copy = malloc(len ? len : 1);

	CLAIM(copy);
	memcpy(copy, bytes, len);
	return copy;
}

/* Up to the next NUL or the end. free() it. */
static inline char *fuzz_text(struct fuzz_input *in)
{
	size_t len = strnlen((const char *)in->at, in->left);
	char *text = malloc(len + 1);

	CLAIM(text);
	memcpy(text, in->at, len);
	text[len] = '\0';
	len += len < in->left;
	in->at += len;
	in->left -= len;
	return text;
}

#endif
