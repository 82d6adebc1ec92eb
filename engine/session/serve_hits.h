/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* In an engine that is apart: handlers run in its host. */

#ifndef UBP_SESSION_SERVE_HITS_H
#define UBP_SESSION_SERVE_HITS_H

#include <stdint.h>

#include "engine/ubp_handler.h"

struct served_hits;

/*
 * On the tracing thread: until the host's handler of this number has returned. A host that does not answer keeps the thread that was hit standing. If it
 * has ended, nothing is changed, and no handler runs any more.
 */
enum ubp_verdict serve_hit(struct served_hits *hits, uint64_t handler, const void *cookie,
			   struct ubp_hit *hit);

#endif
