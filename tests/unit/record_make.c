/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/record_make.h"

#include <stdlib.h>
#include <string.h>

struct event_record *record_make(void)
{
	return calloc(1,
		      sizeof(struct event_record) + EVENT_DATA_MAX + 8 * (EVENT_STACK_MAX + 1));
}

void record_clear(struct event_record *record, const struct spec_probe *probe)
{
	memset(record, 0, sizeof(*record) + probe->fixed_size);
	record->kind = EVENT_HIT;
	record->pid = 21520;
	record->tid = 21521;
	record->time = UINT64_C(3927545992501); /* rounds to 3927.545993 s */
	record->ip = 0x4017c0;
	strcpy(record->comm, "valtgt");
	record->data_len = (uint32_t)probe->fixed_size;
}

void record_put(struct event_record *record, const struct spec_probe *probe, size_t n, size_t i,
		uint64_t value)
{
	const struct spec_arg *arg = &probe->args[n];

	memcpy(record->data + arg->at + i * arg->type.size, &value, arg->type.size);
}

void record_put_string(struct event_record *record, const struct spec_probe *probe, size_t n,
		       size_t i, const char *bytes, size_t len)
{
	record_put(record, probe, n, i, (len + 1) << 16 | record->data_len);
	memcpy(record->data + record->data_len, bytes, len);
	record->data[record->data_len + len] = '\0';
	record->data_len += (uint32_t)len + 1;
}

void record_put_stack(struct event_record *record, const uint64_t *stack, size_t n)
{
	memcpy(record->data + (record->data_len + 7) / 8 * 8, stack, 8 * n);
	record->n_stack = (uint16_t)n;
}
