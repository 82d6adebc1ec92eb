/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What fields are worth at a hit. */

#ifndef UBP_TRIGGER_HIST_VALUE_H
#define UBP_TRIGGER_HIST_VALUE_H

#include "engine/trigger/hist.h"

/* A hit at work: the values of the references, by their numbers. */
struct hist_run {
	struct trigger_set *set;
	struct hist *hist;
	const struct event_record *record;
	struct synth_value refs[HIST_VARS_MAX];
};

/* @left OP @right in 64 bits; @multiplier: division by a constant (hist_field). */
uint64_t hist_compute(char op, uint64_t left, uint64_t right, uint64_t multiplier);
struct synth_value hist_value(const struct hist_run *run, const struct hist_field *field);

#endif
