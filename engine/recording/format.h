/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The layout of a recording's file, which docs/format.md explains. All numbers are as the machine has them that recorded.
 *
 *   struct recording_head
 *   struct recording_block, its bytes
 *   struct recording_block, its bytes
 *   ...
 *
 * Where another recording was appended its head follows, and its blocks. Each begins at a multiple of 8. Nothing in a file is believed by who reads it: it may come from elsewhere.
 */

#ifndef UBP_RECORDING_FORMAT_H
#define UBP_RECORDING_FORMAT_H

#include <stdint.h>

#define RECORDING_MAGIC   "ubp\nrec\0"
#define RECORDING_VERSION 1
#define RECORDING_ORDER   0x01020304U

struct recording_head {
	char magic[8];
	uint32_t version;
	uint32_t order; /* RECORDING_ORDER, in the bytes' order of all numbers */
	uint64_t id;    /* the same in all files of one recording */
	uint64_t part;  /* which of these it is, from 0 */
};

#define RECORDING_BLOCK 0x6b6c62U /* "blk" */

enum recording_kind {
	RECORDING_INFO =
		1, /* JSON: of the machine, and of how was recorded; first in each file */
	RECORDING_PROBES = 2, /* JSON: probes that later blocks have records of */
	RECORDING_LOOK = 3,   /* struct recording_look: records */
	RECORDING_NAMES = 4,  /* JSON: names for addresses of stacks, of any block */
	RECORDING_END =
		5, /* JSON: recording has ended here as it should, and what it counted */
	RECORDING_MAPPED = 6, /* JSON: the code that processes had mapped, for stacks */
};

enum recording_flag {
	RECORDING_ZSTD = 1, /* the bytes are a frame of zstd */
};

/* No block is larger, unpacked. */
#define RECORDING_BLOCK_MAX (16U << 20)

struct recording_block {
	uint32_t magic;  /* RECORDING_BLOCK */
	uint16_t kind;   /* enum recording_kind; others are to be skipped */
	uint16_t flags;  /* enum recording_flag; a block that has others cannot be read */
	uint32_t stored; /* bytes that follow, without what fills them up to a multiple of 8 */
	uint32_t size;   /* what they are unpacked */
	uint64_t number; /* of this recording's blocks in the file before this one */
	uint64_t
		check; /* XXH3 of the stored bytes, with XXH3 of this structure, .check 0, as its seed */
};

/*
 * What was found in one look at all rings; a large one takes several blocks. A record of earlier
 * than .known_until is in this block, or was in one before.
 */
struct recording_look {
	uint64_t
		known_until; /* nanoseconds of the recording's clock; 0: nothing new is known */
	uint64_t ticks[2],
		ns[2]; /* two readings of ticks and clock: records lie mostly in between */
	double ns_per_tick;
	uint32_t
		n_parts; /* struct recording_part, each followed by its bytes, at a multiple of 8 */
	uint32_t pad;
};

enum recording_part_kind {
	RECORDING_RING = 1, /* struct ring_record (base/ring.h), as a thread wrote them */
	RECORDING_STOP = 2, /* struct event_record (event/record.h), of stops */
};

struct recording_part {
	uint32_t kind; /* enum recording_part_kind */
	uint32_t len;  /* bytes that follow */
	/* RECORDING_RING only: */
	int32_t pid, tid;
	char comm[16];
	uint32_t maps;     /* as of struct event_record */
	uint32_t source;   /* of one thread: its records come in order of time */
	uint64_t position; /* of the first one, see ring_commit() */
};

#endif
