/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a parser of definitions asks of the world around it. */

#ifndef UBP_SPEC_ENV_H
#define UBP_SPEC_ENV_H

#include "engine/spec/spec.h"

struct ubp_arch;
struct ubp_err;

/* What the parser must be told; handed in, because spec knows no files. */
struct spec_env {
	const struct ubp_arch *arch; /* register names, where .arch_of has no others */
	bool strict;                 /* the kernel's grammar only */
	bool tells_faults;           /* spec_probe_tell_faults(), for each definition */

	/*
	 * Find the file of a definition: called in the middle of parsing, as the
	 * kernel does. @path is what stands before ':OFFSET'. Sets *ret_dev and
	 * *ret_ino. Returns 0, -EINVAL when it is no regular file, or the negative
	 * errno of the look-up. Extended grammar: @path may be a bare program or
	 * library name; then the callback may replace it by setting *ret_path to a
	 * malloc()ed absolute path, which the parser takes over. For those it may
	 * record a better text in @err; the parser keeps a text that it finds there.
	 */
	int (*find_file)(void *ctx, const char *path, uint64_t *ret_dev, uint64_t *ret_ino,
			 char **ret_path, struct ubp_err *err);

	/* NULL, or: whose register names definitions for the file that was found have. */
	const struct ubp_arch *(*arch_of)(void *ctx, uint64_t dev, uint64_t ino);

	/*
	 * Call @each for every function that pattern @probe (.symbol, in the file that
	 * find_file() found) stands for: its name and file offset (symbol_off is added here;
	 * with one there must be a single function), no offset twice.
	 * Stops when @each fails. None at all is an error, told in @err without a caret.
	 * May be NULL: patterns are refused.
	 */
	int (*match)(void *ctx, const struct spec_probe *probe,
		     int (*each)(void *each_ctx, const char *symbol, uint64_t offset),
		     void *each_ctx, struct ubp_err *err);
	void *ctx;
};

#endif
