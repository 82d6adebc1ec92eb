/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trigger/hist_value.h"

#include <string.h>

#include "engine/base/num.h"
#include "engine/event/record.h"
#include "engine/trigger/field.h"
#include "engine/trigger/set.h"

/* Constant divisors are multiplied by, with dividends below. */
#define DIVIDE_SHIFT  20
#define STACK_ENTRIES 16

uint64_t hist_compute(char op, uint64_t left, uint64_t right, uint64_t multiplier)
{
	switch (op) {
	case '+':
		return left + right;
	case '-':
		return left - right;
	case '*':
		return left * right;
	default:
		if (!right)
			return UINT64_MAX;
		if (multiplier && left < 1U << DIVIDE_SHIFT)
			return (left * multiplier + (1U << DIVIDE_SHIFT) - 1) >> DIVIDE_SHIFT;
		return left / right;
	}
}

static bool counts_ns(const struct trigger_set *set)
{
	return strcmp(set->clock, "counter") != 0 && strcmp(set->clock, "uptime") != 0 &&
	       strcmp(set->clock, "x86-tsc") != 0;
}

static struct synth_value number(uint64_t value)
{
	return (struct synth_value){ .number = value };
}

static struct synth_value bytes_of(const struct hist_run *run, const struct hist_field *field)
{
	struct synth_value value = { 0 };

	if (field->flags & HIST_EXECNAME) {
		value.bytes = run->record->comm;
		value.len = strnlen(run->record->comm, sizeof(run->record->comm));
		return value;
	}
	value.bytes = field_string(field->field, run->record, &value.len);
	if (value.len >= field->size)
		value.len = field->size - 1;
	value.number = field->field->at;
	return value;
}

static struct synth_value stack_of(const struct hist_run *run, const struct hist_field *field)
{
	struct synth_value value = { 0 };
	size_t n;

	value.bytes = field_stack(
		field->field && field->field->form == FIELD_STACK ? field->field : NULL,
		run->record, &n);
	value.len = (n < STACK_ENTRIES ? n : STACK_ENTRIES) * sizeof(uint64_t);
	return value;
}

static struct synth_value plain(const struct hist_run *run, const struct hist_field *field)
{
	const struct hist_field *alias = field->flags & HIST_ALIAS ? field->operand[0] : NULL;

	if (alias || field->flags & HIST_REF)
		return run->refs[alias ? alias->ref : field->ref];
	if (field->flags & HIST_CONST)
		return number(field->constant);
	if (field->flags & HIST_HITCOUNT)
		return number(1);
	if (field->flags & HIST_STACK)
		return stack_of(run, field);
	if (field->flags & HIST_TIME)
		return number(run->hist->in_usecs && counts_ns(run->set)
				      ? run->record->time / 1000
				      : run->record->time);
	if (field->flags & HIST_CPU)
		return number(run->record->cpu);
	if (field->flags & HIST_STRING)
		return bytes_of(run, field);
	return number(field_number(field->field, run->record));
}

struct synth_value hist_value(const struct hist_run *run, const struct hist_field *field)
{
	uint64_t left, right = 0;

	if (!field->operand[0] || field->flags & HIST_ALIAS)
		return plain(run, field);
	left = hist_value(run, field->operand[0]).number;
	if (field->flags & HIST_LOG2)
		return number(num_log2(left));
	if (field->flags & HIST_BUCKET)
		return number(left / field->buckets * field->buckets);
	if (field->op == '_')
		return number(-left);
	right = hist_value(run, field->operand[1]).number;
	return number(hist_compute(field->op, left,
				   field->operand[1]->multiplier ? field->operand[1]->constant
								 : right,
				   field->operand[1]->multiplier));
}
