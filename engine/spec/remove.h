/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Deletions: -:[GRP/]EVENT [PLACE [NAME=EXPR ...]], where the words after the
 * first are as listed and choose single probes of an event.
 */

#ifndef UBP_SPEC_REMOVE_H
#define UBP_SPEC_REMOVE_H

#include "engine/spec/parse.h"

/*
 * Carry out the deletion in p->words: frees those of *n probes that match and
 * closes the gaps. Returns 0 or a negative errno; the kernel logs none of these.
 */
int spec_remove(const struct spec_parse *p, struct spec_probe **probes, size_t *n);

#endif
