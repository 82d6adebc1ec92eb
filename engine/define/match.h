/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Patterns in definitions: the functions that they stand for. */

#ifndef UBP_DEFINE_MATCH_H
#define UBP_DEFINE_MATCH_H

#include <stdint.h>

struct spec_probe;
struct ubp_err;

/* spec_env.match; @ctx: the definitions. Functions that can't be probed are left out, with a word about that. */
int match_each(void *ctx, const struct spec_probe *pattern,
	       int (*each)(void *each_ctx, const char *symbol, uint64_t offset), void *each_ctx,
	       struct ubp_err *err);

#endif
