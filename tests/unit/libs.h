/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every instruction of the code of libraries, where there are any (on such a machine, or
 * beside a cross compiler): it must get a slot or be refused for a reason. Says how many
 * of what.
 */

#ifndef TESTS_UNIT_LIBS_H
#define TESTS_UNIT_LIBS_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"

#define LIBS_FORMS 32

struct libs {
	const char *arch;
	unsigned min_len;                  /* bytes of an instruction */
	const char *const *forms;          /* what they are called, by displaced_insn.form */
	unsigned n_forms;                  /* at most LIBS_FORMS */
	unsigned copied, refused, unknown; /* most, few, few */
	unsigned usual[3];                 /* others that there must be */
	bool (*may_be_far)(unsigned form); /* a slot may be out of reach */
	const char *const *paths;
	size_t n_paths;
};

/* A group of tests, one for each file that is there; more may be named as arguments. Returns what
 * main() does. */
int libs_test(const struct libs *libs, int argc, char **argv);

#endif
