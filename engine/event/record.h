/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record one hit makes. Trap, return and ring hits all end as the same
 * record; sinks and filters know nothing else.
 */

#ifndef UBP_EVENT_RECORD_H
#define UBP_EVENT_RECORD_H

#include <stdint.h>

/* The kernel drops records over 4072 bytes, their head included (probe_kind_head()). */
#define EVENT_RECORD_LIMIT 4072
#define EVENT_HEAD_LEAST   16

/* The most data a record can carry: fixed area plus all strings. */
#define EVENT_DATA_MAX (EVENT_RECORD_LIMIT - EVENT_HEAD_LEAST)

#define EVENT_STACK_MAX 127

enum event_kind {
	EVENT_HIT,     /* a probe was hit */
	EVENT_LOST,    /* .n_lost records could not be kept, at this point in the stream */
	EVENT_PROCESS, /* .probe says what became of process .pid: enum ubp_process_event */
};

struct event_record {
	uint32_t size;    /* bytes of the whole record, a multiple of 8 */
	uint16_t kind;    /* enum event_kind */
	uint16_t n_stack; /* user stack entries (u64) behind the data, 8-aligned */
	uint32_t probe;   /* number of the probe in its session */
	int32_t pid;      /* thread group */
	int32_t tid;
	uint32_t cpu;
	uint64_t time;   /* nanoseconds of the session's clock */
	uint64_t ip;     /* entry: address of the hit; return: the return address */
	uint64_t func;   /* return: address of the function probed; entry: 0 */
	uint64_t n_lost; /* EVENT_LOST only */
	char comm[16];   /* NUL-ended */
	uint32_t data_len;
	uint32_t maps;  /* where stack entries are mapped: number of a set; 0: not known */
	uint8_t data[]; /* fixed area, then strings; see base/fetch_op.h */
};

#endif
