/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Does a record pass a filter? */

#ifndef UBP_FETCH_MATCH_H
#define UBP_FETCH_MATCH_H

#include <stdbool.h>

#include "engine/event/record.h"
#include "engine/spec/filter.h"

/*
 * @record is a hit of an event with the fields that the filter was parsed for.
 * A NULL filter passes everything. No allocation.
 */
bool filter_match(const struct filter *filter, const struct event_record *record);

#endif
