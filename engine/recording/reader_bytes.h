/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Memory for blocks, which is kept for the next ones: to touch new pages takes longer than all that is done with the bytes on them. So much is kept as
 * was in use at one time.
 */

#ifndef UBP_RECORDING_READER_BYTES_H
#define UBP_RECORDING_READER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes are powers of two from 4 KiB to 512 KiB; what is larger is not kept. */
#define READER_SPARE_LEAST 12
#define READER_SPARE_N     8

/* All zero: none. */
struct reader_bytes {
	uint8_t *data;
	size_t room;
};

struct reader_spare_one {
	struct reader_spare_one *next;
};

/* Zero-initialise. */
struct reader_spare {
	struct reader_spare_one *of_size[READER_SPARE_N];
};

/* Room for @size bytes. False: there is no memory. */
bool reader_bytes_take(struct reader_spare *spare, size_t size, struct reader_bytes *ret_bytes);
void reader_bytes_give(struct reader_spare *spare, struct reader_bytes bytes);
void reader_spare_free(struct reader_spare *spare);

#endif
