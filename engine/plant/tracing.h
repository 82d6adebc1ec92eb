/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How calls that have to do with tracing, and with execs, look in code. */

#ifndef UBP_PLANT_TRACING_H
#define UBP_PLANT_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include "engine/space/space.h"

struct ubp_arch;

/*
 * The first place at or behind @at, up to @end, where one of WATCH_CALLS stands or
 * begins. NULL: none. Where it begins is returned, *ret_more bytes behind that is the place.
 */
const uint8_t *tracing_find(const struct ubp_arch *arch, enum site_watch watch,
			    const uint8_t *at, const uint8_t *end, size_t *ret_more);

#endif
