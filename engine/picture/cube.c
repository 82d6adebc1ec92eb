/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/picture/cube.h"

#include <stdbool.h>
#include <stdlib.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"

#define TABLE        (2UL * CUBE_CELLS_MAX)
#define LAT_SUB_LOG2 3 /* bins of each doubling: 8 */
#define STEP_MAX     8
#define BINS_WANTED  128 /* before fewer bins of time there are fewer of latency */

uint16_t cube_lat(uint64_t ns)
{
	unsigned e;

	if (ns < 1U << LAT_SUB_LOG2)
		return (uint16_t)(ns + 1);
	e = 63 - (unsigned)__builtin_clzll(ns);
	return (uint16_t)(((e - LAT_SUB_LOG2) << LAT_SUB_LOG2) + (ns >> (e - LAT_SUB_LOG2)) +
			  1);
}

uint64_t cube_lat_ns(uint16_t lat)
{
	unsigned bin = lat ? lat - 1U : 0, sub = bin & ((1U << LAT_SUB_LOG2) - 1);

	if (bin < 1U << LAT_SUB_LOG2)
		return bin;
	return (uint64_t)((1U << LAT_SUB_LOG2) + sub) << ((bin >> LAT_SUB_LOG2) - 1);
}

/* Where the cell of a place is in the table, or would be. */
static uint32_t *find(struct cube *cube, const struct cube_place *at)
{
	uint64_t hash =
		hash_number(hash_number(at->t, at->path),
			    (uint64_t)at->key << 32 | (uint32_t)at->thread << 16 | at->lat);
	size_t i = (size_t)(hash >> 16) & (TABLE - 1);

	for (; cube->table[i]; i = (i + 1) & (TABLE - 1)) {
		const struct cube_place *other = &cube->v[cube->table[i] - 1].at;

		if (other->t == at->t && other->path == at->path && other->key == at->key &&
		    other->thread == at->thread && other->lat == at->lat)
			break;
	}
	return &cube->table[i];
}

static uint16_t step_of(const struct cube *cube, uint16_t lat)
{
	return lat ? (uint16_t)((lat - 1U) / cube->step * cube->step + 1) : 0;
}

static void add_to(struct cube_cell *to, const struct cube_cell *cell)
{
	to->count += cell->count;
	to->ns += cell->ns;
	to->self += cell->self;
}

/* Cells that have become the same place are one. */
static void count_again(struct cube *cube, unsigned t_shift)
{
	size_t n = 0;

	for (size_t i = 0; i < TABLE; i++)
		cube->table[i] = 0;
	for (size_t i = 0; i < cube->n; i++) {
		struct cube_cell cell = cube->v[i];
		uint32_t *at;

		cell.at.t >>= t_shift;
		cell.at.lat = step_of(cube, cell.at.lat);
		at = find(cube, &cell.at);
		if (*at) {
			add_to(&cube->v[*at - 1], &cell);
		} else {
			cube->v[n++] = cell;
			*at = (uint32_t)n;
		}
	}
	cube->n = n;
}

static uint32_t last_bin(const struct cube *cube)
{
	uint32_t last = 0;

	for (size_t i = 0; i < cube->n; i++)
		last = cube->v[i].at.t > last ? cube->v[i].at.t : last;
	return last;
}

/* Fewer cells. False: there is nothing left that could be told apart less. */
static bool coarsen(struct cube *cube)
{
	uint32_t last = last_bin(cube);

	if (last < BINS_WANTED && cube->step < STEP_MAX) {
		cube->step *= 2;
		count_again(cube, 0);
		return true;
	}
	if (!last)
		return false;
	cube->width *= 2;
	count_again(cube, 1);
	return true;
}

/* Half of them go, so that it is long until the next time. */
static void make_room(struct cube *cube)
{
	while (cube->n > CUBE_CELLS_MAX / 2 && coarsen(cube))
		;
	cube->is_full = cube->n >= CUBE_CELLS_MAX;
}

static void put(struct cube *cube, uint64_t time_ns, struct cube_cell cell)
{
	uint32_t *at;

	cell.at.t = (uint32_t)(time_ns / cube->width);
	cell.at.lat = step_of(cube, cell.at.lat);
	at = find(cube, &cell.at);
	if (*at) {
		add_to(&cube->v[*at - 1], &cell);
	} else if (cube->n < CUBE_CELLS_MAX && VEC_ROOM(cube->v, &cube->cap, cube->n) == 0) {
		cube->v[cube->n++] = cell;
		*at = (uint32_t)cube->n;
	} else {
		cube->n_dropped++;
	}
}

void cube_add(struct cube *cube, uint64_t time_ns, const struct cube_cell *cell)
{
	unsigned shift = 0;

	if (!cube->table)
		cube->table = calloc(TABLE, sizeof(*cube->table));
	if (!cube->table) {
		cube->n_dropped++;
		return;
	}
	while (time_ns / cube->width >= CUBE_BINS_MAX) {
		cube->width *= 2;
		shift++;
	}
	if (shift)
		count_again(cube, shift > 31 ? 31 : shift);
	if (cube->n >= CUBE_CELLS_MAX && !cube->is_full)
		make_room(cube);
	put(cube, time_ns, *cell);
}

void cube_free(struct cube *cube)
{
	free(cube->v);
	free(cube->table);
	*cube = (struct cube){ .width = 1, .step = 1 };
}
