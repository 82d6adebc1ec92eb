/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What code was mapped where, for the stacks of a recording (RECORDING_MAPPED): with it a reader can say which file an address
 * is in, and look for names that were not to be had while it was recorded.
 */

#ifndef UBP_SESSION_RECORD_MAPPED_H
#define UBP_SESSION_RECORD_MAPPED_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"

struct recording;
struct ubp_err;
struct ubp_session;

/* Zero-initialise. */
struct record_mapped {
	struct map
		known; /* numbers of mappings (event_record.maps) that stacks in this file have */
	uint32_t last;    /* the one that was noted last */
	uint32_t *untold; /* those that are not in the file yet */
	size_t n_untold, cap_untold;
};

/* A record with a stack has these mappings. Without memory the file lacks them. */
void record_mapped_note(struct record_mapped *mapped, uint32_t number);
/* Those that were noted, as a block, where stacks get names at all. Opens files: for a calm moment. */
int record_mapped_tell(struct ubp_session *s, struct record_mapped *mapped,
		       struct recording *to, struct ubp_err *err);
/* As it was at first: another file is to be told all. */
void record_mapped_forget(struct record_mapped *mapped);

#endif
