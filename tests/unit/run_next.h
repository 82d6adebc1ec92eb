/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifndef TESTS_UNIT_RUN_NEXT_H
#define TESTS_UNIT_RUN_NEXT_H

#include <stdint.h>

/* A good generator of numbers that are not random at all. */
uint64_t run_next(uint64_t *state);

/* @n, or fewer where all is slow: UBP_SLOWER times. @step, or a larger one. */
unsigned run_rounds(unsigned n);
unsigned run_step(unsigned step);

#endif
