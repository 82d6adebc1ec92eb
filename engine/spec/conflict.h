/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a new probe must not do to the probes that are there already.
 */

#ifndef UBP_SPEC_CONFLICT_H
#define UBP_SPEC_CONFLICT_H

#include "engine/spec/parse.h"

struct spec_index;

/* May @probe join the others? Returns 0 or fails as the kernel does. */
int spec_conflict_check(const struct spec_parse *p, const struct spec_index *others,
			const struct spec_probe *probe);

/*
 * Extended grammar: an event name that was made up gets a number behind it when
 * an event with that name is there that @probe cannot join.
 */
void spec_conflict_rename(const struct spec_index *others, struct spec_probe *probe);

/* The event of a function that a pattern has found gets a number if there is one of that name. */
void spec_conflict_number(const struct spec_index *others, struct spec_probe *probe);

#endif
