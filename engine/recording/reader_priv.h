/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a reader; for the reader*.c of this folder. */

#ifndef UBP_RECORDING_READER_PRIV_H
#define UBP_RECORDING_READER_PRIV_H

#include "engine/base/heap.h"
#include "engine/base/map.h"
#include "engine/base/ring.h"
#include "engine/base/sample_plan.h"
#include "engine/recording/format.h"
#include "engine/recording/reader.h"
#include "engine/recording/reader_bytes.h"

#define READER_ALL_KNOWN UINT64_MAX

/* So many bytes of looks wait for older records at most: a file that never says what is known does not fill the memory. */
#define READER_WAITING_MAX (1UL << 30)

/* A look whose records are not all handed out. */
struct reader_look {
	unsigned n_users;
	struct reader_bytes bytes; /* of the block; they begin with a struct recording_look */
	uint32_t size;
};

/* A part of one. */
struct reader_chunk {
	struct reader_chunk *next;
	struct reader_look *look;
	struct recording_part part; /* its head */
	const uint8_t *bytes;
	uint32_t at; /* of the bytes: records in front of it are handed out */
};

/* Records that are in order: of one thread's ring, or of stops. */
struct reader_source {
	struct reader_chunk *first, **last;
	uint64_t last_ns;
	/* The record at .first->at. */
	uint64_t ns;
	uint32_t size, n_stack;
	struct ring_record ring; /* RECORDING_RING: its head */
};

struct recording_reader {
	int fd;
	char *path;
	struct recording_head head;
	uint64_t begin;     /* of the recording in the file: its head */
	uint64_t file_size; /* its end: that of the file, or the head of the next one */
	bool has_next;
	uint64_t *looks; /* where their blocks are, in the file's order; not looked at yet */
	size_t n_looks, cap_looks, next_look;
	json_t *info, *end;
	struct map names;  /* by frame_key(): json_t of one address */
	struct map mapped; /* by event_record.maps: struct mapped_set */
	struct spec_probe **probes;
	struct sample_plan *samples; /* of each; .every 0: all of its hits are there */
	unsigned n_probes;
	struct map numbers; /* of the blocks that were found, while they are looked for */
	struct recording_damage damage;
	/* Records, by time. */
	struct map sources;
	struct heap heap;              /* those that have a record, the oldest first */
	uint64_t known_until, last_ns; /* .last_ns: of the record that was handed out last */
	size_t waiting;                /* bytes of looks */
	struct reader_spare spare;     /* for those to come */
	struct event_record *record;
};

/* reader_file.c: a head at @at, of any version: 1; 0; -errno. */
int reader_head(const struct recording_reader *reader, uint64_t at,
		struct recording_head *ret_head, struct ubp_err *err);
/* The block at @at: 1, and its bytes, for reader_bytes_give(); 0: it is damaged; -errno. */
int reader_load(struct recording_reader *reader, uint64_t at, struct recording_block *ret_block,
		struct reader_bytes *ret_bytes, struct ubp_err *err);
/* Look for blocks up to the recording's end; what is not records is kept. */
int reader_scan(struct recording_reader *reader, struct ubp_err *err);

/* reader_looks.c: take up a look's parts, whose bytes are the reader's from then on. 0 or -ENOMEM. */
int reader_take_look(struct recording_reader *reader, struct reader_bytes bytes, uint32_t size);
/* The oldest record that is known to be: to .record. False: none is. */
bool reader_take_record(struct recording_reader *reader);
void reader_forget_looks(struct recording_reader *reader);

#endif
