/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Every instruction of the code of arm64 libraries: tests/unit/libs.h. */

#include "arch/arm64/decode.h"
#include "tests/unit/libs.h"

static const char *const forms[] = {
	"copied",
	"nothing",
	"br or ret",
	"b",
	"b if",
	"bl",
	"blr",
	"blraa",
	"adr",
	"ldr literal",
	"ldr literal of vectors",
	"svc",
	"refused",
	"unknown",
};

static const char *const paths[] = {
	"/lib/aarch64-linux-gnu/libc.so.6",
	"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
	"/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
	"/lib/ld-linux-aarch64.so.1",
	"/usr/aarch64-linux-gnu/lib/libc.so.6",
	"/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
};

static bool may_be_far(unsigned form)
{
	return form == ARM64_B || form == ARM64_BL;
}

static const struct libs libs = {
	.arch = "arm64",
	.min_len = ARM64_INSN,
	.forms = forms,
	.n_forms = ARM64_UNKNOWN + 1,
	.copied = ARM64_COPY,
	.refused = ARM64_REFUSED,
	.unknown = ARM64_UNKNOWN,
	.usual = { ARM64_BL, ARM64_B_IF, ARM64_ADDRESS },
	/* Data may look like a branch to anywhere. */
	.may_be_far = may_be_far,
	.paths = paths,
	.n_paths = sizeof(paths) / sizeof(paths[0]),
};

int main(int argc, char **argv)
{
	return libs_test(&libs, argc, argv);
}
