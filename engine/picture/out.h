/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Text of a picture, put together in pieces. */

#ifndef UBP_PICTURE_OUT_H
#define UBP_PICTURE_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/picture/picture.h"

struct out {
	const struct picture_ops *ops;
	size_t len;
	char buf[16384];
};

void out_begin(struct out *out, const struct picture_ops *ops);
void out_text(struct out *out, const char *text);
__attribute__((format(printf, 2, 3))) void out_printf(struct out *out, const char *fmt, ...);
/* @len bytes of UTF-8 without control bytes as a string of JSON, quotes included, that may stand in a script element of a page. */
void out_json(struct out *out, const char *text, size_t len);
/* The same as text of XML, of an attribute too. */
void out_xml(struct out *out, const char *text, size_t len);
/* Bytes as base64, in several calls; the last with @len 0. */
struct out_base64 {
	uint8_t rest[3];
	unsigned n;
};
void out_base64(struct out *out, struct out_base64 *state, const void *bytes, size_t len);
void out_end(struct out *out);

#endif
