/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Target memory in an array: regions with holes between them, reads counted. */

#ifndef UBP_TESTS_FAKE_MEMORY_H
#define UBP_TESTS_FAKE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "engine/fetch/fetch.h"

#define FAKE_REGIONS_MAX 16

struct fake_region {
	uint64_t vaddr;
	size_t len;
	uint8_t *bytes;
};

struct fake_memory {
	struct fake_region regions[FAKE_REGIONS_MAX];
	size_t n_regions;
	unsigned n_batches, n_spans; /* counted by reads */
	uint64_t highest;	     /* last byte that was asked for */
};

/* A new region of zeros. Returns its bytes. */
uint8_t *fake_memory_map(struct fake_memory *memory, uint64_t vaddr, size_t len);

/* Bytes at @vaddr, which must be mapped up to the end of what the test touches. */
void *fake_memory_at(struct fake_memory *memory, uint64_t vaddr);
void fake_memory_put(struct fake_memory *memory, uint64_t vaddr, const void *bytes, size_t len);
void fake_memory_put_u64(struct fake_memory *memory, uint64_t vaddr, uint64_t value);
void fake_memory_put_text(struct fake_memory *memory, uint64_t vaddr, const char *text);

void fake_memory_free(struct fake_memory *memory);

/* For struct fetch_memory; the context is a struct fake_memory. */
void fake_memory_read(void *ctx, struct fetch_span *spans, size_t n);

#endif
