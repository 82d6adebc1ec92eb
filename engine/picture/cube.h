/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hits, counted by time, function, thread, latency and path. Bounded: once there are too many cells, or too many bins of time, time is
 * counted in bins twice as long, or latencies in bins of more; and then the cells are fewer. So a trace of any length has as many.
 */

#ifndef UBP_PICTURE_CUBE_H
#define UBP_PICTURE_CUBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUBE_CELLS_MAX 131072
#define CUBE_BINS_MAX  1024

/* What is counted together. */
struct cube_place {
	uint32_t t;    /* bin of time: nanoseconds from the first event, by .width */
	uint32_t path; /* node of a tree; 0: of none */
	uint16_t key, thread;
	uint16_t lat; /* cube_lat(), 0: it has none */
};

struct cube_cell {
	struct cube_place at;
	double count;    /* hits that these are, or stand for */
	double ns, self; /* sums of their latencies, and without what they called */
};

/* Zero-initialise, but for .width of 1 and .step of 1. */
struct cube {
	struct cube_cell *v;
	size_t n, cap;
	uint32_t *table;    /* of places: the cell's number plus 1 */
	uint64_t width;     /* nanoseconds of a bin of time */
	unsigned step;      /* bins of latency that are counted as one: their first */
	bool is_full;       /* and nothing is left that could be told apart less */
	uint64_t n_dropped; /* hits that found no cell */
};

/* The bin of a latency, from 1 on: eight in each doubling. */
uint16_t cube_lat(uint64_t ns);
/* The first latency of a bin. */
uint64_t cube_lat_ns(uint16_t lat);

/* Count it; .at.t of @cell is ignored and found from @time_ns. Memory short, or no room: it is dropped, and counted as that. */
void cube_add(struct cube *cube, uint64_t time_ns, const struct cube_cell *cell);
void cube_free(struct cube *cube);

#endif
