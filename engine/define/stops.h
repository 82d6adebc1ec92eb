/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What the user is told of patterns whose places are not all jumps. */

#ifndef UBP_DEFINE_STOPS_H
#define UBP_DEFINE_STOPS_H

struct definitions;

/*
 * Once windows are settled: for each definition that stands for several places, some of which stop threads, a line, by .opt.tell,
 * how many they are, and which of them most of the file's own code leads to (engine/code/callers.h).
 */
void stops_tell(const struct definitions *defs);

#endif
