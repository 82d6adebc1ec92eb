/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debug_unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "engine/base/cancel.h"

/*
 * What a few packed bytes claim to be may fill all memory. Symbols of the largest libraries
 * are some 100 MiB, and are packed to a fifth or so.
 */
#define UNPACKED_MAX (UINT64_C(512) << 20)
#define FACTOR_MAX   64
#define ROOM_MIN     (1u << 20)
#define PIECE        (1u << 20) /* between looks whether it is to end */
#define DECODER_MAX  (UINT64_C(256) << 20)

static uint64_t limit_of(size_t len)
{
	uint64_t limit = ROOM_MIN + (uint64_t)len * FACTOR_MAX;

	return limit < UNPACKED_MAX ? limit : UNPACKED_MAX;
}

static int grow(uint8_t **image, size_t *room, uint64_t limit)
{
	uint8_t *bigger;
	size_t more;

	if (*room >= limit)
		return -EFBIG;
	more = *room ? 2 * *room : ROOM_MIN;
	if (more > limit)
		more = (size_t)limit;
	bigger = realloc(*image, more);
	if (!bigger)
		return -ENOMEM;
	*image = bigger;
	*room = more;
	return 0;
}

static int unpack(lzma_stream *stream, uint8_t **image, size_t *ret_len, uint64_t limit)
{
	size_t room = 0;

	for (;;) {
		lzma_ret ret;
		int rc = *ret_len == room ? grow(image, &room, limit) : 0;

		if (rc < 0)
			return rc;
		if (cancel_is_asked())
			return -EINTR;
		stream->next_out = *image + *ret_len;
		stream->avail_out = room - *ret_len < PIECE ? room - *ret_len : PIECE;
		ret = lzma_code(stream, LZMA_FINISH);
		*ret_len = (size_t)(stream->next_out - *image);
		if (ret == LZMA_STREAM_END)
			return 0;
		if (ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR)
			return -ENOMEM;
		if (ret != LZMA_OK)
			return -EBADMSG;
	}
}

int debug_unpack(const void *bytes, size_t len, void **ret_image, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *image = NULL;
	int rc;

	if (lzma_stream_decoder(&stream, DECODER_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = bytes;
	stream.avail_in = len;
	*ret_len = 0;
	rc = unpack(&stream, &image, ret_len, limit_of(len));
	lzma_end(&stream);
	if (rc < 0) {
		free(image);
		return rc;
	}
	*ret_image = image;
	return 0;
}
