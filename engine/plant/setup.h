/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A struct plant (engine/space/state.h) from its beginning to its end. */

#ifndef UBP_PLANT_SETUP_H
#define UBP_PLANT_SETUP_H

#include <stddef.h>

struct plant;
struct plant_options;
struct tracer;
struct uprobe;

/* @plant, zeroed, has no probes yet, and may be asked so. */
void plant_init(struct plant *plant);
void plant_fini(struct plant *plant);
/* On the tracing thread: these @n probes are to be planted. 0 or -ENOMEM. */
int plant_begin(struct plant *plant, const struct plant_options *opt,
		struct uprobe *const *probes, size_t n);
/*
 * @tracer traces for @plant: it is new, or other probes have come. A detour has replaced return addresses that nobody but the target knows of: they are counted
 * while there is its memory, so ends of threads are to be told. Not where looking at that may have to wait for an exec, which would
 * wait for the thread that has stopped (engine/trace/reaper.h).
 */
void plant_set_tracer(struct plant *plant, struct tracer *tracer);

#endif
