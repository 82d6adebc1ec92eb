/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Names of code that a program made itself: /tmp/perf-PID.map, as JVM and node write it. */

#ifndef UBP_STACK_PERF_MAP_H
#define UBP_STACK_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opaque: that of one process. */
struct perf_map;

/* Told when a file is left alone because there is too much in it. .warn may be NULL. */
struct perf_map_warn {
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};

/* It need not have one. @is_our_root: it sees our files, as far as is known. NULL: memory is short. */
struct perf_map *perf_map_new(pid_t pid, bool is_our_root, const struct perf_map_warn *warn);
void perf_map_free(struct perf_map *map);

/*
 * The function that @vaddr is in, or NULL; it is good until the next call. The file is read on
 * in when it has grown, a piece of it at a time, and not often. It is looked up in the process's root; in
 * ours only if the process saw that, and has ended. Only one that belongs to the process's user, or to
 * root, is believed.
 */
const char *perf_map_at(struct perf_map *map, uint64_t vaddr, uint64_t *ret_start);

#endif
