/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The inside of a merge; for the merge*.c of this folder. */

#ifndef UBP_RECORDING_MERGE_PRIV_H
#define UBP_RECORDING_MERGE_PRIV_H

#include "engine/base/heap.h"
#include "engine/base/map.h"
#include "engine/recording/merge.h"

struct merge_part {
	const char *path; /* the caller's, */
	size_t path_number;
	uint64_t at; /* and where it begins there */
	uint64_t id, part;
	json_t *info, *end;
	struct recording_reader *reader; /* NULL: not open */
	struct recording_damage damage;  /* that the merge knows of */
	uint64_t from_ns;                /* by its own clock: no record is older */
	int64_t shift;                   /* to the merge's clock */
	struct event_record *record;     /* its oldest */
	uint32_t *numbers;               /* of its probes, in the merge */
	unsigned n_numbers;
};

struct recording_merge {
	struct merge_part **parts; /* in order of time */
	size_t n_parts, cap_parts, n_opened;
	struct heap heap; /* of parts with a record */
	struct merge_part *current;
	uint32_t maps; /* of its record, as its reader knows them */
	uint64_t weight;
	struct recording_damage damage;
	uint64_t n_missing, n_twice;
	bool has_names, has_hosts, has_ids;
	/* Numbers: of a recording's probe -> number + 1; of its mappings. */
	struct map by_probe, by_maps;
	struct spec_probe **probes;
	size_t n_probes, cap_probes;
	uint32_t n_maps;
};

void merge_close(struct merge_part *part);
/* Its host, NULL: it does not say. */
const char *merge_host(const struct merge_part *part);

/* merge_align.c: order, shifts, and what differs among parts. 0 or a negative errno. */
int merge_align(struct recording_merge *m, const struct recording_merge_options *options,
		struct ubp_err *err);

/* merge_numbers.c: numbers for the probes of a part whose reader is open. 0 or -ENOMEM. */
int merge_numbers_add(struct recording_merge *m, struct merge_part *part);
/* The part's record gets the merge's numbers. 0 or -ENOMEM. */
int merge_renumber(struct recording_merge *m, const struct merge_part *part);
void merge_numbers_free(struct recording_merge *m);

#endif
