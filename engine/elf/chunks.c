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
#define CHUNKS                                                                                 \
	64 /* code, symbols, frames and the table of them, which is searched by halves: 1 MiB, if all are read */
#define FRESH_NS 20000000
#define FEW      16 /* whoever reads no more needs no chunks */

struct chunk {
	uint64_t foffset, read_ns;
	size_t len;                                /* 0: nothing is in it */
	uint8_t bytes[CHUNK_LEN + CHUNK_READ_MAX]; /* what begins in a chunk is in it */
};

struct chunks {
	bool in_use;
	unsigned n_reads; /* up to FEW */
	struct chunk *v;  /* of CHUNKS, by their places in the file, or NULL */
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

static ssize_t read_chunk(struct chunks *chunks, int fd, uint64_t foffset, void *buf,
			  size_t len)
{
	struct chunk *c = &chunks->v[foffset / CHUNK_LEN % CHUNKS];
	uint64_t now = coarse_ns();

	if (!holds(c, foffset, len) || now - c->read_ns > FRESH_NS) {
		ssize_t n;

		c->foffset = foffset / CHUNK_LEN * CHUNK_LEN;
		n = pread(fd, c->bytes, sizeof(c->bytes), (off_t)c->foffset);
		c->len = n > 0 ? (size_t)n : 0;
		c->read_ns = now;
	}
	/* At the end of the file, or it can't be read. */
	if (!holds(c, foffset, len))
		return -EAGAIN;
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

	if (!chunks || len > CHUNK_READ_MAX || foffset > INT64_MAX - 2 * CHUNK_LEN ||
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
