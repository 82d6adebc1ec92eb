/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a picture holds: for the files that fill it and those that draw it. */

#ifndef UBP_PICTURE_PICTURE_PRIV_H
#define UBP_PICTURE_PICTURE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/map.h"
#include "engine/picture/cube.h"
#include "engine/picture/kept.h"
#include "engine/picture/keys.h"
#include "engine/picture/names.h"
#include "engine/picture/picture.h"
#include "engine/picture/tree.h"

#define PICTURE_THREADS_MAX 4096

struct calls;

struct picture_thread {
	int32_t pid, tid;
	uint32_t name; /* the last that it had */
};

/* Number 0 stands for what did not fit. */
struct picture_threads {
	struct picture_thread *v;
	size_t n, cap;
	struct map by_id;
};

/* A tree, and what was counted by its nodes. */
struct picture_tree {
	struct tree tree;
	struct cube cube;
};

/* What the record that goes in now was to the room of calls. */
struct picture_call {
	const struct event_record *record;
	bool is_told, has_start;
	uint64_t ns, self_ns;
	uint32_t node; /* of the tree of calls */
};

struct picture {
	struct picture_ops ops;
	struct picture_about about;
	struct names names;
	struct picture_keys keys;
	struct picture_threads threads;
	struct cube cube; /* by no path: the finest */
	struct picture_tree calls, stacks;
	struct kept_events events;
	struct kept_calls kept_calls;
	struct calls *pairs;
	uint32_t *nodes; /* of the paths of .pairs: nodes of .calls */
	size_t n_nodes, cap_nodes;
	struct picture_call now;
	const char *host;           /* of the next record */
	uint64_t first_ns, last_ns; /* of the records' clock */
	uint64_t n_events, n_lost;
	bool is_weighted, is_begun;
};

/* From the first event to the last: 1 at least. */
uint64_t picture_span(const struct picture *picture);

#endif
