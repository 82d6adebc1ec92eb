/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/lab_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/err.h"
#include "engine/spec/filter.h"
#include "tests/unit/lab.h"
#include "tests/unit/probe_make.h"
#include "tests/unit/run_next.h"

#define PROGRAMS run_rounds(3000)
#define HITS     4

static const struct lab_words *words;

unsigned lab_upto(uint64_t *rng, unsigned n)
{
	return (unsigned)(run_next(rng) >> 20) % n;
}

const char *lab_random_reg(const struct lab_words *w, uint64_t *rng)
{
	return w->regs[lab_upto(rng, lab_upto(rng, 3) ? w->n_gprs : w->n_regs)];
}

/* --- random programs ----------------------------------------------------------------- */

static void add_source(char *to, size_t size, uint64_t *rng)
{
	switch (lab_upto(rng, 9)) {
	case 0:
		snprintf(to, size, "$stack%u", lab_upto(rng, 40));
		break;
	case 1:
		snprintf(to, size, "@0x%llx",
			 (unsigned long long)lab.machine->mem + lab_upto(rng, 0x4000));
		break;
	case 2:
		snprintf(to, size, "@+%u", lab_upto(rng, 16));
		break;
	case 3:
		words->add_extended(to, size, rng);
		break;
	default:
		snprintf(to, size, "%%%s", lab_random_reg(words, rng));
		break;
	}
}

static void add_type(char *to, size_t size, uint64_t *rng, bool is_memory)
{
	static const char letters[] = "uxs";
	unsigned bits = 8u << lab_upto(rng, 4), width;
	char array[16] = "";

	if (is_memory && lab_upto(rng, 3) == 0)
		snprintf(array, sizeof(array), "[%u]",
			 1 + lab_upto(rng, lab_upto(rng, 2) ? 6 : 64));
	if (is_memory && lab_upto(rng, 3) == 0) {
		snprintf(to, size, ":string%s", lab_upto(rng, 3) ? "" : array);
	} else if (lab_upto(rng, 4) == 0) {
		width = 1 + lab_upto(rng, bits);
		snprintf(to, size, ":%sb%u@%u/%u%s", lab_upto(rng, 3) ? "" : "s", width,
			 lab_upto(rng, bits - width + 1), bits, array);
	} else if (lab_upto(rng, 10) == 0) {
		snprintf(to, size, ":f%u%s", 32u << lab_upto(rng, 2), array);
	} else {
		snprintf(to, size, ":%c%u%s", letters[lab_upto(rng, 3)], bits, array);
	}
}

static void random_arg(char *to, size_t size, uint64_t *rng)
{
	char text[256], more[256], type[32];
	unsigned n_derefs = lab_upto(rng, 4);

	if (lab_upto(rng, 12) == 0) {
		snprintf(to, size, "\\%d:s%u", (int)run_next(rng), 8u << lab_upto(rng, 4));
		return;
	}
	if (lab_upto(rng, 30) == 0) {
		snprintf(to, size, "\\\"text\":string");
		return;
	}
	add_source(text, sizeof(text), rng);
	for (unsigned i = 0; i < n_derefs; i++) {
		snprintf(more, sizeof(more), "%c%u(%.200s)", lab_upto(rng, 2) ? '+' : '-',
			 lab_upto(rng, 4) ? lab_upto(rng, 32) : lab_upto(rng, 5000), text);
		strcpy(text, more);
	}
	add_type(type, sizeof(type), rng, n_derefs > 0 || text[0] == '@');
	snprintf(to, size, "%.200s%s", text, type);
}

static void random_args(char *to, size_t size, uint64_t *rng)
{
	unsigned n = lab_upto(rng, 6);

	to[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(to);
		char arg[256];

		random_arg(arg, sizeof(arg), rng);
		snprintf(to + len, size - len, "%s%s", i ? " " : "", arg);
	}
}

/* --- one hit --------------------------------------------------------------------------- */

struct counts {
	unsigned records, drops, traps;
	unsigned faults; /* records with something that could not be read */
};

static void check_hit(const char *what, uint64_t seed, struct counts *counts)
{
	uint64_t head = lab.thread->head;
	enum lab_outcome outcome;

	lab_fill(seed);
	outcome = lab_interpret(&lab.probes[0], words->random_regs(seed));
	if (words->run(what, seed)) {
		if (outcome != LAB_FAULT)
			fail_msg("%s: traps, but the interpreter can do it", what);
		assert_int_equal(lab.thread->head, head);
		counts->traps++;
	} else if (lab.thread->head == head) {
		/* Also what cannot be read whole, if its numbers tell. */
		if (outcome == LAB_RECORD || lab.passes)
			fail_msg("%s: dropped, outcome %d", what, (int)outcome);
		counts->drops++;
	} else {
		/* What is left to the reader may pass. */
		if (outcome != LAB_RECORD && (outcome == LAB_FAULT || lab.detour.filters_done))
			fail_msg("%s: recorded, outcome %d", what, (int)outcome);
		lab_assert_record(what, lab_record_at(head));
		counts->records++;
	}
}

/* Does it have several strings, or an array of them? What cannot be read of these only the tracer tells. */
static bool has_strings(const struct fetch_program *program)
{
	return program->has_strings > 1;
}

/* Nobody traces: what cannot be read is as the interpreter has it, too, or the hit is missed. */
static void check_alone(const char *what, uint64_t seed, struct counts *counts)
{
	const struct detour_probe *probe = &lab.probes[0];
	uint64_t head = lab.thread->head;
	enum lab_outcome outcome;
	bool passes;

	lab_fill(seed);
	lab.head->missed = 0;
	outcome = lab_interpret(probe, words->random_regs(seed));
	passes = lab.passes;
	if (words->run(what, seed))
		fail_msg("%s: traps", what);
	assert_int_equal(lab.head->reading, 0);
	if (lab.head->missed) {
		if (outcome != LAB_FAULT || (passes && !has_strings(probe->program) &&
					     !detour_stops(probe->program, probe->filter)))
			fail_msg("%s: missed, outcome %d", what, (int)outcome);
		assert_int_equal(lab.thread->head, head);
		counts->traps++;
	} else if (lab.thread->head == head) {
		if (passes)
			fail_msg("%s: dropped, outcome %d", what, (int)outcome);
		counts->drops++;
	} else {
		if (!passes && lab.detour.filters_done)
			fail_msg("%s: recorded, outcome %d", what, (int)outcome);
		lab_assert_record(what, lab_record_at(head));
		counts->records++;
		counts->faults += outcome == LAB_FAULT;
	}
}

static bool is_alone;

/* No pointer is known to be good, and the kernel may be asked. */
static void reset(void)
{
	lab_reset();
	lab.plan.reads = is_alone;
	lab.head->reads = is_alone;
	((struct guard_gate *)lab.gate)->alone = is_alone;
	if (is_alone)
		lab.head->n_ranges = 0;
}

static void check(const char *what, uint64_t seed, struct counts *counts)
{
	(is_alone ? check_alone : check_hit)(what, seed, counts);
}

static void random_programs(void **state)
{
	struct counts counts = { 0 };
	struct probe_make make;
	size_t code = 0, n = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct fetch_program *program;
		uint64_t rng = seed;
		struct ubp_err err;
		char args[2048];

		ubp_err_reset(&err);
		random_args(args, sizeof(args), &rng);
		probe_make(&make, false, args);
		if (fetch_compile(&make.probe, &program, &err) < 0)
			continue;
		reset();
		if (lab_build_one(program, NULL, &err) < 0)
			fail_msg("%s: %s", args, err.text);
		assert_int_equal(lab.detour.filters_done, 1);
		code += lab.detour.len;
		n++;
		for (uint64_t i = 0; i < HITS; i++)
			check(args, seed + i, &counts);
		free(program);
	}
	print_message("%zu programs, %zu bytes each, %u records (%u of faults), %u %s\n", n, code / n,
		      counts.records, counts.faults, counts.traps, is_alone ? "missed" : "traps");
	/* Of HITS each: most of them read where there is no memory. */
	assert_true(counts.records > PROGRAMS / 2 &&
		    (is_alone ? counts.faults : counts.traps) > PROGRAMS / 4);
}

/* --- random filters --------------------------------------------------------------------- */

static void number_pred(char *to, size_t size, const struct spec_arg *arg, uint64_t *rng)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
	uint64_t value = 0;

	/* Mostly what it is, or about that. */
	memcpy(&value, lab.record->data + arg->at, arg->type.size);
	if (arg->type.format == SPEC_SIGNED && arg->type.size < 8)
		value = (uint64_t)((int64_t)(value << (64 - 8 * arg->type.size)) >>
				   (64 - 8 * arg->type.size));
	if (lab_upto(rng, 3) == 0)
		value += lab_upto(rng, 3) - 1;
	if (lab_upto(rng, 6) == 0)
		value = run_next(rng) >> lab_upto(rng, 64);
	if (arg->type.format == SPEC_SIGNED)
		snprintf(to, size, "%s %s %lld", arg->name, ops[lab_upto(rng, 7)],
			 (long long)value);
	else if (lab_upto(rng, 8) == 0)
		snprintf(to, size, "%s %s CPUS{0,%u-%u}", arg->name,
			 lab_upto(rng, 2) ? "==" : "&", 1, 1);
	else
		snprintf(to, size, "%s %s 0x%llx", arg->name, ops[lab_upto(rng, 7)],
			 (unsigned long long)value);
}

/* A number that is not far from it. */
static void float_pred(char *to, size_t size, const struct spec_arg *arg, uint64_t *rng)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	double value = 0;
	float f;

	memcpy(&value, lab.record->data + arg->at, sizeof(value));
	memcpy(&f, lab.record->data + arg->at, sizeof(f));
	if (arg->type.size == sizeof(f))
		value = (double)f;
	if (lab_upto(rng, 3) == 0)
		value *= 1.5;
	snprintf(to, size, "%s %s %.*g", arg->name, ops[lab_upto(rng, 6)],
		 arg->type.size == sizeof(f) ? 9 : 17, value);
}

static void text_pred(char *to, size_t size, const char *name, const char *text, uint64_t *rng)
{
	static const char *const forms[] = { "%s == \"%.*s\"",  "%s != \"%.*s\"",
					     "%s ~ \"%.*s*\"",  "%s ~ \"*%.*s\"",
					     "%s ~ \"*%.*s*\"", "%s ~ \"%.*s?*\"" };
	size_t len = strlen(text), from = 0;
	unsigned form = lab_upto(rng, 6);

	if (form >= 2 && len && lab_upto(rng, 3)) {
		if (form == 3)
			from = lab_upto(rng, (unsigned)len);
		else
			len = lab_upto(rng, (unsigned)len + 1);
	}
	if (len - from > 150)
		len = from + 150;
	snprintf(to, size, forms[form], name, (int)(len - from), text + from);
}

static void random_pred(char *to, size_t size, const struct spec_probe *probe, uint64_t *rng)
{
	static const char *const others[] = {
		"common_pid == 4243", "common_pid < 0",  "CPU == 0",
		"CPU != 0",           "CPU & CPUS{0}",   "CPU < 1",
		"common_type == 0",   "__probe_ip == 1", "__probe_ip > 4096",
	};
	const struct spec_arg *arg;

	if (probe->n_args == 0 || lab_upto(rng, 8) == 0) {
		if (lab_upto(rng, 3) == 0)
			text_pred(to, size, "COMM", "lab rat", rng);
		else
			snprintf(to, size, "%s", others[lab_upto(rng, 9)]);
		return;
	}
	arg = &probe->args[lab_upto(rng, (unsigned)probe->n_args)];
	if (arg->type.format == SPEC_STRING) {
		uint32_t word;

		memcpy(&word, lab.record->data + arg->at, sizeof(word));
		text_pred(to, size, arg->name,
			  word >> 16 ? (char *)lab.record->data + (word & 0xffff) : "", rng);
		return;
	}
	if (arg->type.format == SPEC_FLOAT)
		float_pred(to, size, arg, rng);
	else
		number_pred(to, size, arg, rng);
}

static void random_filter(char *to, size_t size, const struct spec_probe *probe, uint64_t *rng)
{
	unsigned n = 1 + lab_upto(rng, 4);

	to[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(to);
		char pred[1024];

		random_pred(pred, sizeof(pred), probe, rng);
		snprintf(to + len, size - len, "%s%s(%s)",
			 i ? lab_upto(rng, 2) ? " && " : " || " : "",
			 lab_upto(rng, 4) ? "" : "!", pred);
	}
}

/* A program whose first hit the interpreter can carry out: values to compare with. */
static struct fetch_program *program_of(struct probe_make *make, char *args, size_t size,
					uint64_t seed, uint64_t *rng)
{
	struct fetch_program *program;
	struct ubp_err err;

	for (;;) {
		random_args(args, size, rng);
		probe_make(make, false, args);
		ubp_err_reset(&err);
		if (fetch_compile(&make->probe, &program, &err) < 0)
			continue;
		lab_reset();
		lab_fill(seed);
		lab.probes[0] = (struct detour_probe){ .program = program };
		if (lab_interpret(&lab.probes[0], words->random_regs(seed)) == LAB_RECORD)
			return program;
		free(program);
	}
}

static void random_filters(void **state)
{
	struct counts counts = { 0 };
	unsigned n = 0, done = 0, refused = 0;
	struct probe_make make;

	(void)state;
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		uint64_t rng = seed + 1000000;
		char args[2048], text[4096], what[6500];
		struct fetch_program *program;
		struct filter *filter = NULL;
		struct ubp_err err;

		program = program_of(&make, args, sizeof(args), seed, &rng);
		random_filter(text, sizeof(text), &make.probe, &rng);
		snprintf(what, sizeof(what), "%s if %s", args, text);
		ubp_err_reset(&err);
		if (filter_parse(text, &make.probe, &filter, &err) < 0 || !filter) {
			refused++;
			free(program);
			continue;
		}
		reset();
		if (lab_build_one(program, filter, &err) < 0)
			fail_msg("%s: %s", what, err.text);
		n++;
		done += lab.detour.filters_done;
		for (uint64_t i = 0; i < HITS; i++)
			check(what, seed + i, &counts);
		filter_free(filter);
		free(program);
	}
	print_message("%u filters (%u whole), %u refused: %u records, %u drops, %u traps\n", n,
		      done, refused, counts.records, counts.drops, counts.traps);
	assert_true(n > PROGRAMS / 2 && done > n / 2 && counts.records > n && counts.drops > n);
}

static void alone(void **state, void (*test)(void **state))
{
	if (!lab.arch->detour.reads)
		skip();
	is_alone = true;
	test(state);
	is_alone = false;
	reset();
}

static void random_programs_alone(void **state)
{
	alone(state, random_programs);
}

static void random_filters_alone(void **state)
{
	alone(state, random_filters);
}

int lab_random_tests(const char *name, const struct lab_words *machine, int (*set_up)(void **))
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),
		cmocka_unit_test(random_filters),
		cmocka_unit_test(random_programs_alone),
		cmocka_unit_test(random_filters_alone),
	};

	words = machine;
	return cmocka_run_group_tests_name(name, tests, set_up, lab_tear_down);
}
