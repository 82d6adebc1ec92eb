/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Clocks a session can stamp its records with. */

#ifndef UBP_EVENT_CLOCK_H
#define UBP_EVENT_CLOCK_H

#include <stdint.h>

enum event_clock { CLOCK_KIND_MONO, CLOCK_KIND_MONO_RAW, CLOCK_KIND_BOOT, CLOCK_KIND_REAL };

/* By the trace_clock name ("mono", "mono_raw", "boot", "real"); -1: unknown. */
int event_clock_by_name(const char *name);

/* Nanoseconds. Through the vdso: no system call. */
uint64_t event_clock_now(enum event_clock clock);

#endif
