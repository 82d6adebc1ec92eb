/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Hashes of several things, one after the other: keys of maps. They may collide, so what is found is compared. */

#ifndef UBP_BASE_HASH_H
#define UBP_BASE_HASH_H

#include <stdint.h>

static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ULL;
	return hash_number(hash, 0);
}

#endif
