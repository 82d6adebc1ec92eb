/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Extended: entry(EXPR), what a return probe keeps of the function's entry. */

#ifndef UBP_SPEC_ENTRY_H
#define UBP_SPEC_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

struct spec_arg;
struct spec_probe;

/* Bytes that the last dereference at the entry reads: those of the type, if it is the last one of all. 0: a word. */
unsigned spec_entry_size(const struct spec_arg *arg);
/* Number what arg @i of @probe has of the entry: args before it may have the same. False: these are too many. */
bool spec_entry_keep(const struct spec_probe *probe, size_t i);

#endif
