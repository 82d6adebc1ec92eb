/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What of a probe's hits is recorded, where not all are (base/sample_plan.h), as JSON: the member "sample" of a probe. */

#ifndef UBP_RECORDING_SAMPLE_JSON_H
#define UBP_RECORDING_SAMPLE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "engine/base/sample_plan.h"

/* A new reference; NULL: memory is short. */
json_t *sample_to_json(const struct sample_plan *plan);
/* The other way, of JSON that may say anything, for records with @fixed bytes at least. False: it makes no sense. */
bool sample_of_json(const json_t *json, size_t fixed, struct sample_plan *ret_plan);

#endif
