/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours of random programs and filters, in the laboratory (lab.h): each does what the interpreter
 * does, or leaves the hit to its tracer.
 */

#ifndef TESTS_UNIT_LAB_RANDOM_H
#define TESTS_UNIT_LAB_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_regs;

/* What differs from machine to machine. */
struct lab_words {
	const char *const *regs; /* their names, general ones first */
	unsigned n_gprs, n_regs;
	/* A source that only extended grammar has. */
	void (*add_extended)(char *to, size_t size, uint64_t *rng);
	/* Registers of a hit, most of which lead somewhere; the same for the same seed. */
	const struct run_regs *(*random_regs)(uint64_t seed);
	/* The hit, with these: all but the record must be as before. Returns whether it came to
	 * the trap. */
	bool (*run)(const char *what, uint64_t seed);
};

unsigned lab_upto(uint64_t *rng, unsigned n);
/* Mostly a general one. */
const char *lab_random_reg(const struct lab_words *w, uint64_t *rng);

/* All tests, as a group. */
int lab_random_tests(const char *name, const struct lab_words *machine, int (*set_up)(void **));

#endif
