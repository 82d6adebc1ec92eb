/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/recording/block.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Less is not worth a frame of zstd. */
#define PACK_LEAST 256

uint64_t block_check(const struct recording_block *block, const void *stored)
{
	struct recording_block head = *block;

	head.check = 0;
	return XXH3_64bits_withSeed(stored, head.stored, XXH3_64bits(&head, sizeof(head)));
}

bool block_is_sane(const struct recording_block *block)
{
	bool is_packed = block->flags & RECORDING_ZSTD;

	return block->magic == RECORDING_BLOCK && block->size <= RECORDING_BLOCK_MAX &&
	       block->stored <= RECORDING_BLOCK_MAX &&
	       (is_packed || block->stored == block->size);
}

bool block_is_right(const struct recording_block *block, const void *stored)
{
	return !(block->flags & ~RECORDING_ZSTD) && block_check(block, stored) == block->check;
}

bool block_unpack(const struct recording_block *block, const void *stored, void *to)
{
	if (block->flags & RECORDING_ZSTD)
		return ZSTD_decompress(to, block->size, stored, block->stored) == block->size;
	memcpy(to, stored, block->size);
	return true;
}

/* --- packing ----------------------------------------------------------------------------- */

static size_t pack(struct block_packer *p, const void *data, size_t len)
{
	size_t bound = ZSTD_compressBound(len), n;

	if (bound > p->room) {
		uint8_t *packed = realloc(p->packed, bound);

		if (!packed)
			return 0;
		p->packed = packed;
		p->room = bound;
	}
	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		return 0;
	n = ZSTD_compressCCtx(p->zstd, p->packed, p->room, data, len, p->level);
	return ZSTD_isError(n) || n >= len ? 0 : n;
}

const void *block_pack(struct block_packer *p, struct recording_block *block, const void *data,
		       size_t len)
{
	size_t n = p->level && len >= PACK_LEAST ? pack(p, data, len) : 0;
	const void *stored = n ? p->packed : data;

	block->magic = RECORDING_BLOCK;
	block->flags = n ? RECORDING_ZSTD : 0;
	block->size = (uint32_t)len;
	block->stored = (uint32_t)(n ? n : len);
	block->check = block_check(block, stored);
	return stored;
}

void block_packer_free(struct block_packer *p)
{
	ZSTD_freeCCtx(p->zstd);
	free(p->packed);
	*p = (struct block_packer){ 0 };
}
