/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/led_to.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/decoded.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"

ssize_t code_read(struct object *object, uint64_t elf_vaddr, uint8_t *code, size_t len)
{
	const struct segment *segment = object_segment_of(object, elf_vaddr);
	uint64_t at;

	if (!segment)
		return -ENOENT;
	at = elf_vaddr - segment->elf_vaddr;
	if (at >= segment->file_len)
		return 0;
	if (len > segment->file_len - at)
		len = segment->file_len - at;
	return object_read(object, segment->foffset + at, code, len);
}

/* --- branches with a displacement of one byte ---------------------------------------- */

#define BRANCH_LEN 2
#define REACH      ((size_t)UBP_SHORT_REACH + BRANCH_LEN)

/*
 * Who would go to each byte of a block, if it is an instruction. Of ten thousand functions that are looked at each lies near the next one, so
 * this is found out for a block at once.
 */
#define BLOCK  4096
#define BLOCKS 4 /* that are kept */

#define BLOCK_BRANCHES (BLOCK + 2 * REACH)

struct block {
	uint64_t start;                /* elf_vaddr */
	const struct segment *segment; /* whose bytes were looked at; NULL: none were */
	uint64_t used;                 /* when */
	unsigned n;
	/* The first branch to each byte, in .branches from 1 on; 0: there is none. */
	uint16_t to[BLOCK];
	struct {
		uint16_t next; /* to the same byte, as .to */
		int16_t at;    /* from .start on */
	} branches[BLOCK_BRANCHES];
};

struct blocks {
	struct block v[BLOCKS];
	uint64_t now;
};

static const struct annex_kind blocks_kind = { .free = free };

static void see_short(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct block *b = ctx;
	uint64_t to = target - b->start;

	(void)kind;
	if (to >= BLOCK || b->n == BLOCK_BRANCHES)
		return;
	b->branches[b->n].at = (int16_t)(at - b->start);
	b->branches[b->n].next = b->to[to];
	b->to[to] = (uint16_t)++b->n;
}

/* Each two bytes are a branch at most, so there is room for all. */
static void look_at_block(struct object *object, const struct segment *segment, uint64_t start,
			  struct block *b)
{
	uint8_t code[BLOCK_BRANCHES];
	/* The segment may begin within the block. */
	uint64_t skipped = segment->elf_vaddr > start ? segment->elf_vaddr - start : 0;
	uint64_t before = skipped ? 0 : start - segment->elf_vaddr, from;
	ssize_t len;

	before = before < REACH ? before : REACH;
	from = start + skipped - before;
	b->segment = NULL;
	b->start = start;
	b->n = 0;
	memset(b->to, 0, sizeof(b->to));
	len = code_read(object, from, code, before + BLOCK - skipped + REACH);
	if (len <= 0)
		return;
	object->arch->insn.scan_refs(code, (size_t)len, from, REF_SHORT, see_short, b);
	b->segment = segment;
}

/* Two bytes at @at would go to @target. Are they an instruction, or the end of one? */
static bool is_branch(struct object *object, uint64_t at, uint64_t target)
{
	struct displaced_insn branch;
	struct decoded_insn insn;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (decoded_at(object, at, &insn) < 0)
		return true; /* who knows */
	if (insn.start + insn.len != at + 2)
		return false;
	if (object->arch->insn.analyze(insn.code, insn.len, insn.start, &branch, &ignored) < 0)
		return true;
	return branch.leave == LEAVE_JUMP && branch.target == target;
}

/* May something in @segment go to @to, which is in @b? */
static bool is_led_to(struct object *object, const struct block *b, uint64_t to)
{
	for (unsigned i = b->to[to - b->start]; i != 0; i = b->branches[i - 1].next)
		if (is_branch(object, b->start + (uint64_t)(int64_t)b->branches[i - 1].at, to))
			return true;
	return false;
}

/* Of the 4 KiB at @start, or NULL: they can't be read. */
static const struct block *block_at(struct object *object, const struct segment *segment,
				    uint64_t start)
{
	struct blocks *blocks = annex_make(&object->annexes, &blocks_kind, sizeof(*blocks));
	struct block *b = blocks ? &blocks->v[0] : NULL;

	for (size_t i = 0; blocks && i < BLOCKS; i++) {
		if (blocks->v[i].segment == segment && blocks->v[i].start == start) {
			b = &blocks->v[i];
			break;
		}
		if (blocks->v[i].used < b->used)
			b = &blocks->v[i];
	}
	if (!b)
		return NULL;
	if (b->segment != segment || b->start != start)
		look_at_block(object, segment, start, b);
	b->used = ++blocks->now;
	return b->segment ? b : NULL;
}

bool led_by_branch(struct object *object, uint64_t from, uint64_t to)
{
	const struct segment *segment = object_segment_of(object, from);

	if (!segment || to - from > UBP_SHORT_REACH - BRANCH_LEN)
		return true;
	for (uint64_t at = from; at < to;) {
		uint64_t start = at / BLOCK * BLOCK;
		const struct block *b = block_at(object, segment, start);

		if (!b)
			return true;
		for (; at < to && at - start < BLOCK; at++)
			if (is_led_to(object, b, at))
				return true;
	}
	return false;
}

/* --- addresses in code ------------------------------------------------------------------ */

#define MENTIONS_MAX 64 /* that are looked at */

/* Are the 4 bytes an operand, and not the distance to one? */
static bool is_operand(struct object *object, uint64_t at)
{
	struct displaced_insn insn;
	struct decoded_insn found;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (decoded_at(object, at, &found) < 0)
		return true; /* who knows */
	if (at + 4 > found.start + found.len || at == found.start)
		return false;
	if (object->arch->insn.analyze(found.code, found.len, found.start, &insn, &ignored) < 0)
		return true;
	if (insn.pc_relative && insn.disp_at == at - found.start)
		return false;
	if (object->arch->insn.has_number_at &&
	    !object->arch->insn.has_number_at(&insn, (size_t)(at - found.start)))
		return false;
	/* A direct branch has no constants but its distance. */
	return insn.target == 0 || insn.pc_relative;
}

/* The instruction that @at is in. False: that is not known. */
static bool is_decoded(struct object *object, uint64_t at, struct displaced_insn *ret_insn)
{
	struct decoded_insn found;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	return decoded_at(object, at, &found) == 0 &&
	       object->arch->insn.analyze(found.code, found.len, found.start, ret_insn,
					  &ignored) >= 0;
}

/* Is it an instruction that makes this address, and not a part of another one? */
static bool makes_address(struct object *object, const struct mention *m)
{
	struct displaced_insn insn;

	if (!is_decoded(object, m->at, &insn))
		return true; /* it may be anything */
	return insn.pc_relative && insn.target == m->target;
}

/* Is it a branch that leads there, and not a part of another instruction? */
static bool leads_there(struct object *object, const struct mention *m)
{
	struct displaced_insn insn;

	if (!is_decoded(object, m->at, &insn))
		return true; /* it may be anything */
	return insn.target == m->target;
}

bool led_by_landing(struct object *object, const struct landings *landings,
		    enum landing_kind kind, uint64_t elf_vaddr)
{
	size_t n;
	const struct mention *m;

	/* Where instructions may start is known: each was looked at. */
	if (object->arch->insn.align > 1)
		return true;
	if (kind == LANDING_ADDRESS)
		return led_by_address(object, landings, elf_vaddr, elf_vaddr + 1);
	if (kind != LANDING_BRANCH)
		return true;
	m = landings_mentions(landings, MENTION_BRANCH, elf_vaddr, elf_vaddr + 1, &n);
	for (size_t i = 0; i < n; i++)
		if (i == MENTIONS_MAX || leads_there(object, &m[i]))
			return true;
	return n == 0; /* too far from the start of a function: nobody looked */
}

bool led_by_address(struct object *object, const struct landings *landings, uint64_t from,
		    uint64_t to)
{
	size_t n;
	const struct mention *m = landings_mentions(landings, MENTION_ADDRESS, from, to, &n);

	for (size_t i = 0; i < n; i++)
		if (i == MENTIONS_MAX || makes_address(object, &m[i]))
			return true;
	return false;
}

/* May the code that makes an address use it for more than to tell where it is? */
static bool may_count(struct object *object, const struct mention *m)
{
	uint8_t code[UBP_WINDOW_MAX];
	struct decoded_insn insn;
	ssize_t len;

	if (!makes_address(object, m))
		return false;
	if (!object->arch->insn.only_stores_address || decoded_at(object, m->at, &insn) < 0)
		return true;
	len = code_read(object, insn.start, code, sizeof(code));
	return len <= 0 || !object->arch->insn.only_stores_address(code, (size_t)len);
}

bool led_by_base(struct object *object, const struct landings *landings, uint64_t from,
		 uint64_t to)
{
	size_t n;
	const struct mention *m = landings_mentions(landings, MENTION_ADDRESS, from, to, &n);

	for (size_t i = 0; i < n; i++)
		if (i == MENTIONS_MAX || may_count(object, &m[i]))
			return true;
	return false;
}

bool led_by_constant(struct object *object, const struct landings *landings, uint64_t from,
		     uint64_t to, uint64_t at_from, uint64_t at_to)
{
	size_t n, looked_at = 0;
	const struct mention *c = landings_mentions(landings, MENTION_CONSTANT, from, to, &n);

	for (size_t i = 0; i < n; i++)
		if (c[i].at >= at_from && c[i].at < at_to &&
		    (++looked_at > MENTIONS_MAX || is_operand(object, c[i].at)))
			return true;
	return false;
}
