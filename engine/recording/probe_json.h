/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A probe in a recording: what is needed to print its records, as JSON. */

#ifndef UBP_RECORDING_PROBE_JSON_H
#define UBP_RECORDING_PROBE_JSON_H

#include <jansson.h>

struct spec_probe;
struct ubp_err;

/* A new reference; NULL: memory is short. */
json_t *probe_to_json(unsigned number, const struct spec_probe *probe);

/*
 * The other way, of JSON that may say anything: 0, with the number and a probe to be freed by probe_of_json_free(); -EINVAL: it is none of
 * ours; -ENOMEM.
 */
int probe_of_json(const json_t *json, unsigned *ret_number, struct spec_probe **ret_probe,
		  struct ubp_err *err);
void probe_of_json_free(struct spec_probe *probe);

#endif
