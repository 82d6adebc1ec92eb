/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Which events of a recording are wanted: by name and filter, process, and time. */

#ifndef UBP_SESSION_CHOICE_H
#define UBP_SESSION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/sink/sink.h"
#include "engine/ubp_recording.h"

struct event_record;
struct spec_probe;
struct ubp_err;

struct choice_rule {
	char *event, *filter; /* NULL: each passes */
};

/* Zero-initialise: all are wanted. */
struct choice {
	struct choice_rule *rules;
	size_t n_rules;
	struct map by_probe; /* -> struct choice_probe: what the rules are for each */
	int32_t *pids;
	size_t n_pids;
	struct ubp_recording_time from, to;
	uint64_t first_ns; /* of the first event there is */
	bool has_first;
};

/*
 * Events that match @event (fnmatch(3); a name, or GROUP:NAME; NULL: all) and pass @filter (NULL: all pass; those that do not have its fields do
 * not). What is added several times is wanted if one of them passes. 0; -ENOENT: none of @probes is called so; what filter_parse() returns,
 * if the filter is for none of them; -ENOMEM.
 */
int choice_add(struct choice *choice, const struct sink_probes *probes, const char *event,
	       const char *filter, struct ubp_err *err);

enum choice_answer {
	CHOICE_NO,
	CHOICE_YES,
	CHOICE_LATE
}; /* late: no later one is wanted, either */

/* Can any event of @probe be wanted, by the rules? To be asked when all of these are there. */
bool choice_may_want(struct choice *choice, const struct spec_probe *probe);
/* @probe NULL: a gap, which only its time leaves out. */
enum choice_answer choice_asks(struct choice *choice, const struct spec_probe *probe,
			       const struct event_record *record);
void choice_free(struct choice *choice);

#endif
