/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What runs in children of posix_spawn(). */

#ifndef UBP_DEFINE_SPAWN_H
#define UBP_DEFINE_SPAWN_H

struct definition_file;
struct definitions;
struct spec_probe;
struct ubp_err;

/* -ENOTSUP where a breakpoint can't be guarded: between a child's birth by posix_spawn() and its exec. */
int spawn_check(const struct definitions *defs, struct definition_file *file,
		const struct spec_probe *spec, struct ubp_err *err);

#endif
