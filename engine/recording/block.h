/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Blocks of a recording (format.h): made, checked, and unpacked. */

#ifndef UBP_RECORDING_BLOCK_H
#define UBP_RECORDING_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/recording/format.h"

struct ubp_err;

/* Bytes that fill @len up to a multiple of 8. */
static inline size_t block_padding(uint64_t len)
{
	return (size_t)(-len & 7);
}

/* The value of .check for @stored, which has block->stored bytes. */
uint64_t block_check(const struct recording_block *block, const void *stored);

/* What the head of a block says can be: its kind is not looked at. */
bool block_is_sane(const struct recording_block *block);

/* Is the check of a block that is sane right, and can its bytes be read? */
bool block_is_right(const struct recording_block *block, const void *stored);
/* The bytes of a block that is right, to @to, which has room for block->size. False: they cannot be unpacked. */
bool block_unpack(const struct recording_block *block, const void *stored, void *to);

/* Packs blocks; all zero: as they are. */
struct block_packer {
	int level; /* of zstd; 0: none */
	void *zstd;
	uint8_t *packed;
	size_t room;
};

/*
 * Set the sizes, flags and check of @block, whose kind and number are set, for @len bytes at @data. Returns what is to be stored: these,
 * or what they were packed to, until the next call. Where there is no memory to pack them they stay as they are.
 */
const void *block_pack(struct block_packer *packer, struct recording_block *block,
		       const void *data, size_t len);
void block_packer_free(struct block_packer *packer);

#endif
