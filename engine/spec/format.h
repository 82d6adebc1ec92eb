/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The fields of an event: what its format file lists and its filters name.
 */

#ifndef UBP_SPEC_FORMAT_H
#define UBP_SPEC_FORMAT_H

#include "engine/spec/spec.h"

/*
 * Text of events/GRP/EVENT/format with the given event id. Returns the length
 * it has or would have (as snprintf).
 */
int spec_format_text(const struct spec_probe *probe, unsigned id, char *buf, size_t size);

#endif
