/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The rings (ring.h) of a process that nobody traces: what it asks for, and what its detours may do. */

#ifndef UBP_EVENT_RING_ALONE_H
#define UBP_EVENT_RING_ALONE_H

#include <stdbool.h>
#include <stdint.h>

struct ring_space;

/* How often since the last call somebody rang, and nobody came in time. */
uint64_t ring_space_take_in_vain(struct ring_space *space);
/* Does somebody wait that rang? */
bool ring_space_waits(const struct ring_space *space);
/* ring_head.bell, as long as the space is not closed. */
const uint64_t *ring_space_bell(const struct ring_space *space);
/* ring_head.missed, as long. */
const uint64_t *ring_space_missed(const struct ring_space *space);
/* ring_head.reads, and .filters: is it not 0? */
void ring_space_set_reads(struct ring_space *space, bool reads);
bool ring_space_filters(const struct ring_space *space);

#endif
