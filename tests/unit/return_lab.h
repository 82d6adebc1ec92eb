/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the tests of return probes in detours share, where there is a laboratory (host_lab.h). */

#ifndef TESTS_UNIT_RETURN_LAB_H
#define TESTS_UNIT_RETURN_LAB_H

#include "tests/unit/host_lab.h"

#ifdef LAB_SITE

/* The registers that the function is called with, and those that it leaves. */
static struct run_regs before, after;

/* A test's setup: one return probe, not built yet. */
static inline int start(void **state)
{
	(void)state;
	lab_reset();
	lab_fill(1);
	lab_random(7, &before);
	before.LAB_R0 = 0;
	before.LAB_R1 = LAB_MEM;
	lab.plan.lossless = false;
	lab.plan.count_dropped = false;
	lab_function_start(&before, &after);
	lab_set_probe(0, true, "a=" R0 ":s64 v=$retval", NULL);
	return 0;
}

/* The record at @at of probe @i, with the registers as they are then; its end. */
static inline uint64_t expect_record(uint64_t at, unsigned i)
{
	return lab_expect_record(at, i, lab.probes[i].kind == PROBE_RETURN ? &after : &before);
}

#endif
#endif
