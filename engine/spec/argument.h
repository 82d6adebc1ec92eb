/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Extended: arguments of C functions by their number, where these are entered: "arg2", "+8(arg1):u32", "arg1:string". They become what the
 * kernel's grammar has: registers, words of the stack. The kernel's way to write it, of probes at functions of its own, is "$arg2".
 */

#ifndef UBP_SPEC_ARGUMENT_H
#define UBP_SPEC_ARGUMENT_H

#include <stdbool.h>

#include "engine/spec/words.h"

struct spec_parse;
struct spec_probe;

/* Does @text begin with "entry("? No variable does. */
bool spec_is_entry(struct spec_span text);

/* Its number, from 1; 0: @expr, EXPR[:TYPE], is about no such argument. */
unsigned spec_argument(struct spec_span expr);

/*
 * EXPR[:TYPE] without it, for @probe, whose place is known: into @text, of SPEC_ARG_TEXT_MAX + 1 bytes. -EINVAL, with a caret: the probe
 * does not stand where a function is entered, or it has no argument of that number that can be told.
 */
int spec_argument_expand(const struct spec_parse *p, const struct spec_probe *probe,
			 struct spec_span expr, char *text);

#endif
