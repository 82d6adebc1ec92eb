/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A message between a host and its engine: values one behind the other, read in the order in which they were put. A message may say anything: what is read behind its
 * end, or what is no text, sets .failed, and is 0 or NULL.
 */

#ifndef UBP_APART_WIRE_H
#define UBP_APART_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; free with wire_free(). */
struct wire {
	uint8_t *data;
	size_t len, cap;
	size_t at;   /* what was read so far */
	bool failed; /* memory was short, or the message is another one than was expected */
};

void wire_free(struct wire *wire);
/* Empty, to be used again. */
void wire_reset(struct wire *wire);

void wire_put(struct wire *wire, uint64_t number);
/* With its length; @bytes may be NULL: then the reader gets NULL, too. */
void wire_put_bytes(struct wire *wire, const void *bytes, size_t len);
void wire_put_text(struct wire *wire, const char *text);
/* Texts that end in NULL; NULL itself is fine. */
void wire_put_texts(struct wire *wire, const char *const *texts);
/* All of another message. */
void wire_append(struct wire *wire, const struct wire *more);

uint64_t wire_get(struct wire *wire);
/* Part of the message. */
const void *wire_get_bytes(struct wire *wire, size_t *ret_len);
const char *wire_get_text(struct wire *wire);
/* NULL-ended, for free(); the texts are part of the message. NULL: there were none, or memory is short (.failed). */
const char **wire_get_texts(struct wire *wire, size_t *ret_n);
/* A structure of just this size; what it points to was not sent. */
void wire_get_struct(struct wire *wire, void *to, size_t size);

#endif
