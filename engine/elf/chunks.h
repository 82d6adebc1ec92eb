/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Small reads of a file, from the chunks that were read last: who looks at all functions of a file asks for some
 * bytes here and there a hundred thousand times. A chunk is used for a moment only, since the file may be written to.
 */

#ifndef UBP_ELF_CHUNKS_H
#define UBP_ELF_CHUNKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct object;

struct chunks;

/* No longer reads are served. */
#define CHUNK_READ_MAX 512

/* All of @len bytes at @foffset of @fd, always the same file, from any thread. Returns @len, or -EAGAIN: the caller has to read by himself. */
ssize_t chunks_read(struct chunks *chunks, int fd, uint64_t foffset, void *buf, size_t len);
/* NULL is fine: nothing is served. */
struct chunks *chunks_new(void);
void chunks_free(struct chunks *chunks);

#endif
