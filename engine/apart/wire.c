/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/apart/wire.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT64_MAX /* in place of a length: NULL */

void wire_free(struct wire *wire)
{
	free(wire->data);
	*wire = (struct wire){ 0 };
}

void wire_reset(struct wire *wire)
{
	wire->len = wire->at = 0;
	wire->failed = false;
}

static void add(struct wire *wire, const void *bytes, size_t len)
{
	size_t cap = wire->cap ? wire->cap : 256;
	uint8_t *data;

	if (wire->failed)
		return;
	while (cap < wire->len + len)
		cap *= 2;
	data = cap > wire->cap ? realloc(wire->data, cap) : wire->data;
	if (!data) {
		wire->failed = true;
		return;
	}
	wire->data = data;
	wire->cap = cap;
	if (len)
		memcpy(wire->data + wire->len, bytes, len);
	wire->len += len;
}

void wire_put(struct wire *wire, uint64_t number)
{
	add(wire, &number, sizeof(number));
}

/* What follows begins at a multiple of 8, for it may be a structure. */
static size_t padding(size_t len)
{
	return -len & 7;
}

void wire_put_bytes(struct wire *wire, const void *bytes, size_t len)
{
	static const char zeros[8];

	wire_put(wire, bytes ? len : NONE);
	if (!bytes)
		return;
	add(wire, bytes, len);
	add(wire, zeros, padding(len));
}

void wire_put_text(struct wire *wire, const char *text)
{
	wire_put_bytes(wire, text, text ? strlen(text) + 1 : 0);
}

void wire_put_texts(struct wire *wire, const char *const *texts)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	wire_put(wire, n);
	for (size_t i = 0; i < n; i++)
		wire_put_text(wire, texts[i]);
}

static const void *take(struct wire *wire, size_t len)
{
	const void *at = wire->data + wire->at;

	if (wire->failed || len > wire->len - wire->at) {
		wire->failed = true;
		return NULL;
	}
	wire->at += len;
	return at;
}

uint64_t wire_get(struct wire *wire)
{
	uint64_t number = 0;
	const void *at = take(wire, sizeof(number));

	if (at)
		memcpy(&number, at, sizeof(number));
	return number;
}

const void *wire_get_bytes(struct wire *wire, size_t *ret_len)
{
	uint64_t len = wire_get(wire);
	const void *bytes = wire->failed || len == NONE ? NULL : take(wire, len);

	if (bytes)
		(void)take(wire, padding(len));

	*ret_len = bytes ? len : 0;
	return bytes;
}

const char *wire_get_text(struct wire *wire)
{
	size_t len;
	const char *text = wire_get_bytes(wire, &len);

	if (!text)
		return NULL;
	if (len && strnlen(text, len) == len - 1)
		return text;
	wire->failed = true;
	return NULL;
}

const char **wire_get_texts(struct wire *wire, size_t *ret_n)
{
	uint64_t n = wire_get(wire);
	const char **texts;

	*ret_n = 0;
	/* Each takes its length, at least. */
	if (wire->failed || !n || n > (wire->len - wire->at) / sizeof(n)) {
		wire->failed |= n != 0;
		return NULL;
	}
	texts = calloc(n + 1, sizeof(*texts));
	if (!texts) {
		wire->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		texts[i] = wire_get_text(wire);
	*ret_n = n;
	return texts;
}

void wire_get_struct(struct wire *wire, void *to, size_t size)
{
	size_t len;
	const void *bytes = wire_get_bytes(wire, &len);

	if (bytes && len == size)
		memcpy(to, bytes, size);
	else
		wire->failed = true;
}

void wire_append(struct wire *wire, const struct wire *more)
{
	wire->failed |= more->failed;
	add(wire, more->data, more->len);
}
