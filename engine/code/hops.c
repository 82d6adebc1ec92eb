/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/hops.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/decoded.h"
#include "engine/code/landing_set.h"
#include "engine/code/landings.h"
#include "engine/code/led_to.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

/* Compilers align functions to 64 bytes at most. */
#define GAP_MAX 64
/* Of one gap: another probe may take fill there, too. */
#define HOPS_OF_ONE 3

/* Bytes that no function has, between two that have. */
struct gap {
	uint64_t start, end;
	uint8_t code[GAP_MAX];
};

/* @ret_end: where that function ends. */
static bool is_in_function(struct object *object, uint64_t elf_vaddr, uint64_t *ret_end)
{
	uint64_t foffset, start;

	return object_vaddr_to_foffset(object, elf_vaddr, &foffset) == 0 &&
	       object_extent(object, foffset, &start, ret_end) == 0;
}

/* The gap around @at, which is in no function. False: its ends are not known, or too far. */
static bool find_gap(struct object *object, uint64_t at, struct gap *gap)
{
	uint64_t ignored;

	gap->start = gap->end = at;
	while (!is_in_function(object, gap->start - 1, &ignored))
		if (at - --gap->start > GAP_MAX)
			return false;
	while (!is_in_function(object, gap->end, &ignored))
		if (++gap->end - gap->start > GAP_MAX)
			return false;
	return code_read(object, gap->start, gap->code, gap->end - gap->start) ==
	       (ssize_t)(gap->end - gap->start);
}

/* Zeros are not: they may be data, which is read where it stands. */
static bool is_fill(const struct object *object, const struct gap *gap)
{
	size_t len = gap->end - gap->start, at = 0;

	if (object->arch->insn.fill_len(gap->code, len) != len)
		return false;
	while (at < len && gap->code[at] != 0) {
		int n = object->arch->insn.len(gap->code + at, len - at, gap->start + at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return at == len;
}

/* Code that goes on from one function to the next runs what is in between. */
static bool is_run_into(struct object *object, const struct gap *gap)
{
	struct displaced_insn last;
	struct decoded_insn found;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	return decoded_at(object, gap->start - 1, &found) < 0 ||
	       found.start + found.len != gap->start ||
	       object->arch->insn.analyze(found.code, found.len, found.start, &last, &ignored) <
		       0 ||
	       !object->arch->jump.ends_flow(&last);
}

static bool is_free(struct object *object, const struct landings *landings,
		    const struct gap *gap)
{
	return is_fill(object, gap) && !is_run_into(object, gap) &&
	       landings_first(landings, LANDINGS_ALL, gap->start, gap->end) == 0 &&
	       !led_by_constant(object, landings, gap->start, gap->end, 0, UINT64_MAX) &&
	       !led_by_branch(object, gap->start, gap->end);
}

/* From its end: a jump on what stands in front of it takes bytes of its start. */
static void add_hops(const struct gap *gap, uint64_t vaddr, uint64_t low, uint64_t high,
		     struct window *w)
{
	uint64_t at = gap->end - UBP_HOP_LEN;

	if (gap->end - gap->start < UBP_HOP_LEN)
		return;
	if (at > high)
		at = high;
	for (unsigned n = 0;
	     n < HOPS_OF_ONE && w->n_hops < UBP_HOPS && at >= gap->start && at >= low;
	     n++, at -= UBP_HOP_LEN) {
		struct hop *hop = &w->hops[w->n_hops++];

		hop->at = (int16_t)(at - vaddr);
		memcpy(hop->orig, gap->code + (at - gap->start), UBP_HOP_LEN);
	}
}

int hops_find(struct object *object, uint64_t elf_vaddr, struct window *window,
	      struct ubp_err *err)
{
	uint64_t low = elf_vaddr - object->arch->jump.short_back;
	uint64_t high = elf_vaddr + object->arch->jump.short_on;
	const struct landings *landings;
	int rc = landings_get(object, &landings, err);

	for (uint64_t at = low; rc == 0 && at <= high && window->n_hops < UBP_HOPS;) {
		struct gap gap;
		uint64_t end;

		if (is_in_function(object, at, &end)) {
			at = end;
		} else if (!find_gap(object, at, &gap)) {
			at++;
		} else {
			if (is_free(object, landings, &gap))
				add_hops(&gap, elf_vaddr, low, high, window);
			at = gap.end;
		}
	}
	return rc;
}
