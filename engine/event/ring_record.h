/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a record in a ring says: checked, for the target may write anything there, and as an event record. */

#ifndef UBP_EVENT_RING_RECORD_H
#define UBP_EVENT_RING_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/ring.h"
#include "engine/event/record.h"

/* Room for any that ring_record_fill() makes. */
#define EVENT_RECORD_ROOM                                                                      \
	(sizeof(struct event_record) + EVENT_DATA_MAX + 8 + 8ul * RING_STACK_MAX)

/* What is behind its head. */
static inline const uint8_t *ring_record_data(const struct ring_record *record)
{
	return (const uint8_t *)(record + 1);
}
/* Bytes of data, without a stack. */
static inline uint16_t ring_record_len(const struct ring_record *r)
{
	return r->data_len & (uint16_t)~RING_STACK;
}
/* Where the stack is, from the start of the data. */
static inline uint32_t ring_record_stack_at(uint32_t data_len)
{
	return (data_len + 7) & ~7u;
}
/*
 * Is all of it inside its size? @r is a copy of the head. One that is void may have none but its size: what was counted gives its room back so, where a
 * handler has recorded behind it.
 */
static inline bool ring_record_is_sane(const struct ring_record *r)
{
	bool is_void = r->probe == RING_VOID;
	uint32_t data_len = ring_record_len(r);
	uint32_t needed =
		r->data_len & RING_STACK ? ring_record_stack_at(data_len) + 8 : data_len;

	return r->size >= sizeof(*r) && r->size <= RING_RECORD_MAX && r->size % 8 == 0 &&
	       (is_void || (needed <= r->size - sizeof(*r) && data_len <= EVENT_DATA_MAX));
}

/* Entries of the stack of @r, which is sane; @bytes: where the record is. UINT32_MAX: more than it has room for. */
uint32_t ring_record_stack(const struct ring_record *r, const void *bytes);
/* The processor. */
unsigned ring_record_cpu(const struct ring_record *r);
/*
 * @e: probe, processor, addresses, data and stack of @r, which is sane; the rest is 0. @bytes: where the record is.
 */
void ring_record_fill(struct event_record *e, const struct ring_record *r, uint32_t n_stack,
		      const void *bytes);

#endif
