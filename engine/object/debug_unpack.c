/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* .gnu_debugdata: an ELF file with the names of functions, packed by xz. */

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "engine/object/debug_file.h"
#include "engine/object/object_priv.h"

/*
 * What a few packed bytes claim to be may fill all memory. Symbols of the largest libraries
 * are some 100 MiB, and are packed to a fifth or so.
 */
#define UNPACKED_MAX (UINT64_C(512) << 20)
#define FACTOR_MAX   64
#define ROOM_MIN     (1u << 20)
#define DECODER_MAX  (UINT64_C(256) << 20)

static uint64_t limit_of(size_t len)
{
	uint64_t limit = ROOM_MIN + (uint64_t)len * FACTOR_MAX;

	return limit < UNPACKED_MAX ? limit : UNPACKED_MAX;
}

static int grow(lzma_stream *stream, uint8_t **image, size_t *room, uint64_t limit)
{
	size_t used = *room - stream->avail_out, more;
	uint8_t *bigger;

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
	stream->next_out = bigger + used;
	stream->avail_out = more - used;
	return 0;
}

static int unpack(lzma_stream *stream, uint8_t **image, size_t *room, uint64_t limit)
{
	for (;;) {
		lzma_ret ret;

		if (stream->avail_out == 0) {
			int rc = grow(stream, image, room, limit);

			if (rc < 0)
				return rc;
		}
		ret = lzma_code(stream, LZMA_FINISH);
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
	size_t room = 0;
	int rc;

	if (lzma_stream_decoder(&stream, DECODER_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = bytes;
	stream.avail_in = len;
	rc = unpack(&stream, &image, &room, limit_of(len));
	*ret_len = room - stream.avail_out;
	lzma_end(&stream);
	if (rc < 0) {
		free(image);
		return rc;
	}
	*ret_image = image;
	return 0;
}
