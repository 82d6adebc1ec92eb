/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The records of a recording's file, in order of time. The file may come from elsewhere, and may be damaged or cut off anywhere: what can
 * be read is read, what cannot is counted. No more of it is in memory than what was recorded at one time.
 */

#ifndef UBP_RECORDING_READER_H
#define UBP_RECORDING_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/event/record.h"

struct mapped_set;
struct recording_reader;
struct spec_probe;
struct ubp_err;

/*
 * The recording that begins at byte @at of the file: 0, or where the one before it ends. -EINVAL: no recording, or one of a version or a machine
 * that this cannot read; -errno of the file; -ENOMEM.
 */
int recording_open(const char *path, uint64_t at, struct recording_reader **ret_reader,
		   struct ubp_err *err);
/* Another recording was appended to it: where that begins. 0: none was. */
uint64_t recording_next_at(const struct recording_reader *reader);
void recording_reader_free(struct recording_reader *reader); /* NULL is fine */

/* Which recording it is of, and which of its files. */
void recording_id(const struct recording_reader *reader, uint64_t *ret_id, uint64_t *ret_part);
/* What the blocks of these kinds say; NULL: there is none. */
const json_t *recording_info(const struct recording_reader *reader);
const json_t *recording_end(const struct recording_reader *reader);
/* Numbers of probes are below this. */
unsigned recording_n_probes(const struct recording_reader *reader);
/* A probe by its number; NULL: there is none. */
const struct spec_probe *recording_probe(const struct recording_reader *reader,
					 unsigned number);
/* Were there names for stacks at all? */
bool recording_has_names(const struct recording_reader *reader);
/* The code that was mapped for stacks with these mappings (event_record.maps), or NULL (mapped_json.h). */
const struct mapped_set *recording_mapped(const struct recording_reader *reader, uint32_t maps);
/* What stands for an entry of a stack (event_record.maps), which is its first or not: an object of RECORDING_NAMES, or NULL. */
const json_t *recording_name(const struct recording_reader *reader, uint32_t maps,
			     uint64_t vaddr, bool is_first);

/*
 * The next record, the caller's until the next call: 1. At the end: 0. Its probe is there, its size is right; its data may be anything, as that of a
 * process is. -ENOMEM, -EIO.
 */
int recording_next(struct recording_reader *reader, struct event_record **ret_record,
		   struct ubp_err *err);

/* Of how many hits, or how much of an argument, a record tells that recording_next() has handed out; 0: its probe's hits were not sampled. */
uint64_t recording_weight(const struct recording_reader *reader,
			  const struct event_record *record);

/* What could not be read so far. */
struct recording_damage {
	uint64_t bytes;   /* that belong to no block, or to one whose check is wrong */
	uint64_t blocks;  /* of the numbers up to the last one: those that are not there */
	uint64_t records; /* that make no sense, in blocks that are whole */
	uint64_t copies;  /* blocks that stand in the file once more, and are left out there */
	bool is_cut;      /* there is no end: recording did not end as it should */
};

void recording_damage(const struct recording_reader *reader,
		      struct recording_damage *ret_damage);

#endif
