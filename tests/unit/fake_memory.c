/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/fake_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The region that holds @vaddr, or NULL. */
static const struct fake_region *find(const struct fake_memory *memory, uint64_t vaddr)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct fake_region *r = &memory->regions[i];

		if (vaddr >= r->vaddr && vaddr - r->vaddr < r->len)
			return r;
	}
	return NULL;
}

uint8_t *fake_memory_map(struct fake_memory *memory, uint64_t vaddr, size_t len)
{
	struct fake_region *r = &memory->regions[memory->n_regions++];

	assert(memory->n_regions <= FAKE_REGIONS_MAX);
	r->vaddr = vaddr;
	r->len = len;
	r->bytes = calloc(1, len);
	assert(r->bytes);
	return r->bytes;
}

void *fake_memory_at(struct fake_memory *memory, uint64_t vaddr)
{
	const struct fake_region *r = find(memory, vaddr);

	assert(r);
	return r->bytes + (vaddr - r->vaddr);
}

void fake_memory_put(struct fake_memory *memory, uint64_t vaddr, const void *bytes, size_t len)
{
	const struct fake_region *r = find(memory, vaddr);

	assert(r && len <= r->len - (vaddr - r->vaddr));
	memcpy(r->bytes + (vaddr - r->vaddr), bytes, len);
}

void fake_memory_put_u64(struct fake_memory *memory, uint64_t vaddr, uint64_t value)
{
	fake_memory_put(memory, vaddr, &value, sizeof(value));
}

void fake_memory_put_text(struct fake_memory *memory, uint64_t vaddr, const char *text)
{
	fake_memory_put(memory, vaddr, text, strlen(text) + 1);
}

void fake_memory_free(struct fake_memory *memory)
{
	for (size_t i = 0; i < memory->n_regions; i++)
		free(memory->regions[i].bytes);
	memory->n_regions = 0;
}

void fake_memory_read(void *ctx, struct fetch_span *spans, size_t n)
{
	struct fake_memory *memory = ctx;

	assert(n > 0);
	memory->n_batches++;
	memory->n_spans += n;
	for (size_t i = 0; i < n; i++) {
		struct fetch_span *span = &spans[i];
		uint8_t *buf = span->buf;

		assert(span->len > 0 && span->vaddr + span->len - 1 >= span->vaddr);
		/* What is behind a fault is nobody's to rely on. */
		memset(buf, 0xee, span->len);
		for (span->got = 0; span->got < span->len; span->got++) {
			const struct fake_region *r = find(memory, span->vaddr + span->got);

			if (!r)
				break;
			buf[span->got] = r->bytes[span->vaddr + span->got - r->vaddr];
		}
		if (span->vaddr + span->len - 1 > memory->highest)
			memory->highest = span->vaddr + span->len - 1;
	}
}
