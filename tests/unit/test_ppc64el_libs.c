/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Every instruction of the code of ppc64el libraries: tests/unit/libs.h. */

#include "arch/ppc64el/decode.h"
#include "tests/unit/libs.h"

static const char *const forms[] = {
	"copied",      "nothing",          "b",       "bl",       "b if",    "bl if",
	"by register", "call by register", "addpcis", "relative", "refused", "unknown",
};

static const char *const paths[] = {
	"/lib/powerpc64le-linux-gnu/libc.so.6",
	"/usr/lib/powerpc64le-linux-gnu/libstdc++.so.6",
	"/usr/powerpc64le-linux-gnu/lib/libc.so.6",
	"/usr/powerpc64le-linux-gnu/lib/libm.so.6",
	"/usr/powerpc64le-linux-gnu/lib/libstdc++.so.6",
	"/usr/powerpc64le-linux-gnu/lib/ld64.so.2",
};

static bool may_be_far(unsigned form)
{
	return form == PPC64EL_B || form == PPC64EL_BL;
}

static const struct libs libs = {
	.arch = "ppc64el",
	.min_len = PPC64EL_INSN,
	.forms = forms,
	.n_forms = PPC64EL_UNKNOWN + 1,
	.copied = PPC64EL_COPY,
	.refused = PPC64EL_REFUSED,
	.unknown = PPC64EL_UNKNOWN,
	.usual = { PPC64EL_BL, PPC64EL_B_IF, PPC64EL_LEAVE },
	/* Data may look like a branch to anywhere. */
	.may_be_far = may_be_far,
	.paths = paths,
	.n_paths = sizeof(paths) / sizeof(paths[0]),
};

int main(int argc, char **argv)
{
	return libs_test(&libs, argc, argv);
}
