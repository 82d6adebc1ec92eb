/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Packed names of functions: what comes out of them is bounded, and not all of it is unpacked where nobody wants it any more. */

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/cancel.h"
#include "engine/files/debug_unpack.h"

#define LEN (5u << 20)

/* Every third byte is new: packed to a half or so. */
static uint8_t *some_bytes(void)
{
	uint8_t *bytes = calloc(1, LEN);
	uint32_t x = 1;

	assert_non_null(bytes);
	for (size_t i = 0; i < LEN; i += 3) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
	return bytes;
}

static uint8_t *pack(const uint8_t *bytes, size_t *ret_len)
{
	size_t room = lzma_stream_buffer_bound(LEN);
	uint8_t *packed = malloc(room);

	*ret_len = 0;
	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, LEN, packed,
						 ret_len, room),
			 LZMA_OK);
	return packed;
}

static void what_was_packed_comes_out(void **state)
{
	uint8_t *bytes = some_bytes();
	size_t packed_len, len = 0;
	uint8_t *packed = pack(bytes, &packed_len);
	void *image = NULL;

	(void)state;
	assert_int_equal(debug_unpack(packed, packed_len, &image, &len), 0);
	assert_int_equal(len, LEN);
	assert_memory_equal(image, bytes, LEN);
	free(image);
	/* All but its end. */
	assert_int_equal(debug_unpack(packed, packed_len - 30, &image, &len), -EBADMSG);
	free(packed);
	free(bytes);
}

static void more_than_sound_files_pack_is_refused(void **state)
{
	uint8_t *bytes = calloc(1, LEN);
	size_t packed_len, len = 0;
	uint8_t *packed = pack(bytes, &packed_len);
	void *image = NULL;

	(void)state;
	assert_true(packed_len < LEN / 1000);
	assert_int_equal(debug_unpack(packed, packed_len, &image, &len), -EFBIG);
	free(packed);
	free(bytes);
}

static void it_can_be_cancelled(void **state)
{
	static const int yes = 1;
	uint8_t *bytes = some_bytes();
	size_t packed_len, len = 0;
	uint8_t *packed = pack(bytes, &packed_len);
	void *image = NULL;

	(void)state;
	cancel_by(&yes);
	assert_int_equal(debug_unpack(packed, packed_len, &image, &len), -EINTR);
	cancel_by(NULL);
	assert_null(image);
	free(packed);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_comes_out),
		cmocka_unit_test(more_than_sound_files_pack_is_refused),
		cmocka_unit_test(it_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
