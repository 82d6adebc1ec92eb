/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The records of several recordings as those of one, in order of time: of files, of those that were appended to them, of hosts and runs. All are looked through first; then a
 * file is open from the time of its first record to that of its last.
 */

#ifndef UBP_RECORDING_MERGE_H
#define UBP_RECORDING_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/recording/reader.h"

struct recording_merge;

enum recording_align {
	RECORDING_ALIGN_NOT, /* clocks that differ are refused */
	/* The first file's clock is that of all; others go by what CLOCK_REALTIME was when each began. */
	RECORDING_ALIGN_REAL,
	RECORDING_ALIGN_BY, /* by .ns */
};

struct recording_merge_options {
	enum recording_align align;
	const int64_t *ns; /* for each path but the first: what is added to its times */
};

/* Errors of recording_open(); -EINVAL: clocks differ, too. */
int recording_merge_open(const char *const *paths, size_t n,
			 const struct recording_merge_options *options,
			 struct recording_merge **ret_merge, struct ubp_err *err);
void recording_merge_free(struct recording_merge *merge); /* NULL is fine */

/*
 * As recording_next(). Numbers of probes and mappings (event_record.probe, .maps) are the merge's: those of different recordings are never
 * the same.
 */
int recording_merge_next(struct recording_merge *merge, const struct event_record **ret_record,
			 struct ubp_err *err);
/* By these numbers; NULL: there is none. All are there from the start, until the merge is freed. */
unsigned recording_merge_n_probes(const struct recording_merge *merge);
const struct spec_probe *recording_merge_probe(const struct recording_merge *merge,
					       unsigned number);
/* Were there names for stacks at all? */
bool recording_merge_has_names(const struct recording_merge *merge);
/* recording_name(), for the record that came last. */
const json_t *recording_merge_name(const struct recording_merge *merge, uint64_t vaddr,
				   bool is_first);
/* recording_mapped(), for the record that came last. */
const struct mapped_set *recording_merge_mapped(const struct recording_merge *merge);
/* recording_weight() of the record that came last. */
uint64_t recording_merge_weight(const struct recording_merge *merge);
/* The host of the record that came last, if there are several; else NULL. */
const char *recording_merge_host(const struct recording_merge *merge);

/* One of the recordings: they are in order of time. Strings are the merge's. */
struct recording_merge_part {
	const char *path;
	const json_t *info, *end; /* NULL: there is none */
};

size_t recording_merge_n_parts(const struct recording_merge *merge);
struct recording_merge_part recording_merge_part(const struct recording_merge *merge, size_t i);

/*
 * Of all together; .is_cut: of any. *ret_files: so many, of those of a rotated recording, are not among them and lie between others;
 * *ret_twice: so many are another one's copies.
 */
void recording_merge_damage(const struct recording_merge *merge,
			    struct recording_damage *ret_damage, uint64_t *ret_files,
			    uint64_t *ret_twice);

#endif
