/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/chunks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/page.h"

#define CHUNK_LEN (4 * PAGE)
#define CHUNKS    4 /* code, the end of a function, frames, and one more */
#define FRESH_NS  20000000
#define FEW       16 /* whoever reads no more needs no chunks */

struct chunk {
	uint64_t foffset, read_ns;
	uint64_t used; /* when, by .now */
	size_t len;    /* 0: nothing is in it */
	uint8_t bytes[CHUNK_LEN];
};

struct chunks {
	bool in_use;
	unsigned n_reads; /* up to FEW */
	uint64_t now;
	struct chunk *v; /* of CHUNKS, or NULL */
};

/* By the kernel's ticks, which is told without a call of it. */
static uint64_t coarse_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool holds(const struct chunk *c, uint64_t foffset, size_t len)
{
	return c->len && foffset >= c->foffset && foffset + len <= c->foffset + c->len;
}

static struct chunk *choose(struct chunks *chunks, uint64_t foffset, size_t len)
{
	struct chunk *oldest = &chunks->v[0];

	for (size_t i = 0; i < CHUNKS; i++) {
		struct chunk *c = &chunks->v[i];

		if (holds(c, foffset, len))
			return c;
		if (c->used < oldest->used)
			oldest = c;
	}
	return oldest;
}

static ssize_t read_chunk(struct chunks *chunks, int fd, uint64_t foffset, void *buf,
			  size_t len)
{
	struct chunk *c = choose(chunks, foffset, len);
	uint64_t now = coarse_ns();

	if (!holds(c, foffset, len) || now - c->read_ns > FRESH_NS) {
		ssize_t n;

		c->foffset = foffset / PAGE * PAGE;
		n = pread(fd, c->bytes, CHUNK_LEN, (off_t)c->foffset);
		c->len = n > 0 ? (size_t)n : 0;
		c->read_ns = now;
	}
	/* At the end of the file, or it can't be read. */
	if (!holds(c, foffset, len))
		return -EAGAIN;
	c->used = ++chunks->now;
	memcpy(buf, c->bytes + (foffset - c->foffset), len);
	return (ssize_t)len;
}

static ssize_t read_held(struct chunks *chunks, int fd, uint64_t foffset, void *buf, size_t len)
{
	if (chunks->n_reads < FEW) {
		chunks->n_reads++;
		return -EAGAIN;
	}
	if (!chunks->v)
		chunks->v = calloc(CHUNKS, sizeof(*chunks->v));
	return chunks->v ? read_chunk(chunks, fd, foffset, buf, len) : -EAGAIN;
}

ssize_t chunks_read(struct chunks *chunks, int fd, uint64_t foffset, void *buf, size_t len)
{
	ssize_t n;

	if (!chunks || len > CHUNK_READ_MAX || foffset > INT64_MAX - CHUNK_LEN ||
	    __atomic_exchange_n(&chunks->in_use, true, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	n = read_held(chunks, fd, foffset, buf, len);
	__atomic_store_n(&chunks->in_use, false, __ATOMIC_RELEASE);
	return n;
}

struct chunks *chunks_new(void)
{
	return calloc(1, sizeof(struct chunks));
}

void chunks_free(struct chunks *chunks)
{
	if (chunks)
		free(chunks->v);
	free(chunks);
}
