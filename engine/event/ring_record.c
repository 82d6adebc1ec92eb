/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/event/ring_record.h"

#include <stddef.h>
#include <string.h>

#define CPUS_MAX 8192

uint32_t ring_record_stack(const struct ring_record *r, const void *bytes)
{
	uint32_t at = ring_record_stack_at(ring_record_len(r));
	uint64_t n;

	if (!(r->data_len & RING_STACK))
		return 0;
	memcpy(&n, (const uint8_t *)bytes + sizeof(*r) + at, sizeof(n));
	return n <= RING_STACK_MAX && 8 * n <= r->size - sizeof(*r) - at - 8 ? (uint32_t)n
									     : UINT32_MAX;
}

unsigned ring_record_cpu(const struct ring_record *r)
{
	unsigned cpu = r->cpu & (uint16_t) ~(RING_NO_ENTRY | RING_SAMPLED);

	return cpu < CPUS_MAX ? cpu : 0;
}

void ring_record_fill(struct event_record *e, const struct ring_record *r, uint32_t n_stack,
		      const void *bytes)
{
	const uint8_t *data = (const uint8_t *)bytes + sizeof(*r);
	uint16_t len = ring_record_len(r);
	uint32_t at = ring_record_stack_at(len);

	memset(e, 0, sizeof(*e));
	e->size = (uint32_t)sizeof(*e) + at + 8u * n_stack;
	e->n_stack = (uint16_t)n_stack;
	e->kind = EVENT_HIT;
	e->probe = r->probe;
	e->cpu = ring_record_cpu(r);
	e->ip = r->ret ? r->ret : r->vaddr;
	e->func = r->ret ? r->vaddr : 0;
	e->data_len = len;
	memcpy(e->data, data, len);
	memcpy(e->data + at, data + at + 8, 8ul * n_stack);
}
