/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes as objects: copied, freed, compared.
 */

#ifndef UBP_SPEC_PROBE_H
#define UBP_SPEC_PROBE_H

#include "engine/spec/spec.h"

/* With room for @n_args args. NULL when memory is short. */
struct spec_probe *spec_probe_new(size_t n_args);
struct spec_probe *spec_probe_copy(const struct spec_probe *probe);
void spec_probe_free(struct spec_probe *probe);

/* Bytes at .read_at. */
static inline size_t spec_arg_read_size(const struct spec_arg *arg)
{
	return !arg->read_at ? 0 : arg->type.count ? 4 : 1;
}

/*
 * Numbers whose memory could not be read are to be told from those that are 0: sets .read_at of each; of those with entry(), or
 * @all. -E2BIG: there is no room for that.
 */
int spec_probe_tell_faults(struct spec_probe *probe, bool all);

bool spec_probe_same_event(const struct spec_probe *a, const struct spec_probe *b);

/* Same file and offset. Symbols that are not resolved are compared as texts. */
bool spec_probe_same_place(const struct spec_probe *a, const struct spec_probe *b);

/*
 * Number (from 1) of the first arg that differs in name or type, 0 for none.
 * When one probe has fewer, that is the number of the first it lacks.
 */
size_t spec_probe_differing_arg(const struct spec_probe *a, const struct spec_probe *b);

/* Have all args the same texts? For probes without a differing arg. */
bool spec_probe_same_texts(const struct spec_probe *a, const struct spec_probe *b);

/* Second word of the listing, as snprintf. */
int spec_probe_place_text(const struct spec_probe *probe, char *buf, size_t size);

#endif
