/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/base/vec.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"
#include "engine/symbols/gopclntab.h"

#define FUNCTION_MAX (16u << 20) /* bytes; none is as large */
#define PARTS_MAX    8
#define RUN_UP_INSNS (UBP_WINDOW_INSNS - 1)

struct part {
	uint64_t start, end;
};

/* The last instructions, one behind the other, that a detour could carry out. */
struct last {
	uint64_t end;              /* of the last one */
	uint8_t len[RUN_UP_INSNS]; /* the last one first */
	size_t n;
	bool may_fault; /* one of them, or of those before */
};

struct walk {
	struct object *object;
	struct object_exits *exits;
	const char *name; /* of the function, or NULL */
	struct part parts[PARTS_MAX];
	size_t n_parts;
	struct last last;
};

static bool is_inside(const struct walk *w, uint64_t elf_vaddr)
{
	for (size_t i = 0; i < w->n_parts; i++)
		if (elf_vaddr >= w->parts[i].start && elf_vaddr < w->parts[i].end)
			return true;
	return false;
}

/* Is this the name of a part of function @name: "NAME.cold", "NAME.cold.1"? */
static bool is_part_name(const char *its, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return name && its && strncmp(its, name, len) == 0 &&
	       strncmp(its + len, ".cold", 5) == 0 && (!its[len + 5] || its[len + 5] == '.');
}

/* A part of the same function that stands elsewhere: take it in, if @target is in one. */
static bool take_in_part(struct walk *w, uint64_t target)
{
	struct object_symbol symbol;
	uint64_t foffset;

	if (object_vaddr_to_foffset(w->object, target, &foffset) < 0 ||
	    object_function_at(w->object, foffset, &symbol) < 0 || w->n_parts == PARTS_MAX)
		return false;
	/* Nobody jumps into the middle of another function. */
	if (symbol.name ? !is_part_name(symbol.name, w->name) : symbol.elf_vaddr == target)
		return false;
	w->parts[w->n_parts].start = symbol.elf_vaddr;
	if (object_extent(w->object, foffset, &symbol.elf_vaddr, &w->parts[w->n_parts].end) < 0)
		return false;
	w->n_parts++;
	return true;
}

/*
 * Where a function of Go's has nothing on the stack but its return address, a fault in a detour is one of a call that led nowhere: its runtime blames the
 * caller, as it does for one in such a function (go_window.c). So they may store there, too.
 */
static bool may_run_or_fault(const struct walk *w, const struct displaced_insn *insn)
{
	const struct ubp_arch *arch = w->object->arch;

	return w->object->is_go && arch->jump.runs_or_faults &&
	       arch->jump.runs_or_faults(insn) &&
	       gopclntab_is_frameless(w->object, insn->vaddr, insn->vaddr + insn->len);
}

static void note_last(struct walk *w, const struct displaced_insn *insn, bool is_known)
{
	const struct ubp_arch *arch = w->object->arch;
	bool runs = is_known && arch->jump.runs_anywhere && arch->jump.runs_anywhere(insn);
	bool may_run_up = runs || (is_known && may_run_or_fault(w, insn));
	struct last *last = &w->last;

	if (!may_run_up || last->end != insn->vaddr) {
		last->n = 0;
		last->may_fault = false;
	}
	if (!may_run_up)
		return;
	last->may_fault |= !runs;
	if (last->n < RUN_UP_INSNS)
		last->n++;
	memmove(last->len + 1, last->len, last->n - 1);
	last->len[0] = insn->len;
	last->end = insn->vaddr + insn->len;
}

/*
 * From the nearest instruction on that is as long as a jump; else, as a jump but for its last byte, which another instruction of the run-up begins
 * with (a punned jump).
 */
static uint8_t run_up_to(const struct walk *w, uint64_t elf_vaddr)
{
	const struct last *last = &w->last;
	size_t len = 0, punned = 0;

	for (size_t i = 0; i < last->n && last->end == elf_vaddr; i++) {
		len += last->len[i];
		if (len > UBP_RUN_UP_MAX)
			break;
		if (last->len[i] >= UBP_HOP_LEN)
			return (uint8_t)len;
		if (i && !punned && last->len[i] == UBP_HOP_LEN - 1)
			punned = len;
	}
	return (uint8_t)punned;
}

/* From the nearest instruction on from which there are as many bytes as a jump has. */
static uint8_t several_to(const struct walk *w, uint64_t elf_vaddr)
{
	const struct last *last = &w->last;
	size_t len = 0;

	for (size_t i = 0; i < last->n && last->end == elf_vaddr; i++) {
		len += last->len[i];
		if (len >= UBP_HOP_LEN)
			return len <= UBP_RUN_UP_MAX ? (uint8_t)len : 0;
	}
	return 0;
}

static int add_exit(struct walk *w, uint64_t elf_vaddr, enum object_exit_kind kind)
{
	struct object_exits *e = w->exits;

	if (VEC_DOUBLE(e->exits, e->n) < 0)
		return -ENOMEM;
	if (object_vaddr_to_foffset(w->object, elf_vaddr, &e->exits[e->n].foffset) < 0)
		return -EIO;
	e->exits[e->n].run_up = kind == EXIT_RET ? run_up_to(w, elf_vaddr) : 0;
	e->exits[e->n].may_fault = w->last.may_fault;
	e->exits[e->n].several = kind == EXIT_RET ? several_to(w, elf_vaddr) : 0;
	e->exits[e->n++].kind = kind;
	return 0;
}

static int look_at(struct walk *w, const struct displaced_insn *insn)
{
	switch (insn->leave) {
	case LEAVE_RET:
		return add_exit(w, insn->vaddr, EXIT_RET);
	case LEAVE_JUMP:
		if (is_inside(w, insn->target) || take_in_part(w, insn->target))
			return 0;
		return add_exit(w, insn->vaddr, EXIT_JUMP);
	case LEAVE_JUMP_TO:
		return add_exit(w, insn->vaddr, EXIT_JUMP_TO);
	default:
		return 0;
	}
}

/*
 * Words among the code that its instructions load: data, whatever it looks like. Where
 * instructions have their places, a byte for each tells. Returns NULL if out of memory.
 */
static bool *find_data(const struct ubp_arch *arch, const uint8_t *code, size_t len,
		       uint64_t vaddr)
{
	size_t step = arch->insn.align;
	bool *is_data = calloc(len / step + 1, sizeof(*is_data));

	for (size_t at = 0; is_data && step > 1 && len - at >= step; at += step) {
		struct displaced_insn insn = { 0 };
		struct ubp_err ignored;
		uint64_t from;

		if (arch->insn.analyze(code + at, len - at, vaddr + at, &insn, &ignored) < 0)
			continue;
		from = insn.target - vaddr;
		for (size_t i = 0; i < insn.literal_len && from < len && i < len - from; i++)
			is_data[(from + i) / step] = true;
	}
	return is_data;
}

static int walk_insns(struct walk *w, const uint8_t *code, const struct part *part,
		      const bool *is_data, struct ubp_err *err)
{
	const struct ubp_arch *arch = w->object->arch;
	size_t len = part->end - part->start, at = 0;
	int rc = 0;

	while (at < len && rc == 0) {
		struct displaced_insn insn = { 0 };
		uint64_t vaddr = part->start + at;
		struct ubp_err ignored;
		bool is_known;

		if (is_data[at / arch->insn.align]) {
			at += arch->insn.align;
			continue;
		}
		/* What cannot be displaced (int3 between functions, hlt) has its length. */
		rc = arch->insn.analyze(code + at, len - at, vaddr, &insn, &ignored);
		if (rc == -EILSEQ || insn.len == 0)
			return ubp_fail(err, EILSEQ,
					"there is no known instruction at 0x%lx of %s",
					(unsigned long)vaddr, w->object->path);
		/* A jump that can't be probed leaves unseen. */
		if (insn.leave == LEAVE_JUMP && arch->insn.refuse_at &&
		    arch->insn.refuse_at(code, len, at))
			insn.leave = LEAVE_NOT;
		is_known = rc == 0;
		rc = is_known ? look_at(w, &insn) : 0;
		note_last(w, &insn, is_known);
		at += insn.len;
	}
	return rc == -ENOMEM ? ubp_fail(err, ENOMEM, "out of memory") : rc;
}

static int walk_code(struct walk *w, const uint8_t *code, const struct part *part,
		     struct ubp_err *err)
{
	bool *is_data = find_data(w->object->arch, code, part->end - part->start, part->start);
	int rc = is_data ? walk_insns(w, code, part, is_data, err)
			 : ubp_fail(err, ENOMEM, "out of memory");

	free(is_data);
	return rc;
}

static int walk_part(struct walk *w, const struct part *part, struct ubp_err *err)
{
	uint64_t len = part->end - part->start, foffset;
	uint8_t *code;
	int rc;

	if (part->end <= part->start || len > FUNCTION_MAX ||
	    object_vaddr_to_foffset(w->object, part->start, &foffset) < 0)
		return ubp_fail(err, ENOENT, "its function's extent is not known");
	code = malloc(len);
	if (!code)
		return ubp_fail(err, ENOMEM, "out of memory");
	if (object_read(w->object, foffset, code, len) == (ssize_t)len)
		rc = walk_code(w, code, part, err);
	else
		rc = ubp_fail(err, EIO, "cannot read the code of %s", w->object->path);
	free(code);
	return rc;
}

int object_find_exits(struct object *object, uint64_t foffset, struct object_exits *ret_exits,
		      struct ubp_err *err)
{
	struct walk w = { .object = object, .exits = ret_exits, .n_parts = 1 };
	struct object_symbol symbol = { 0 };
	uint64_t elf_vaddr;
	int rc = 0;

	memset(ret_exits, 0, sizeof(*ret_exits));
	if (!object->arch)
		return ubp_fail(err, ENOTSUP, "no decoder for this instruction set");
	if (object_foffset_to_vaddr(object, foffset, &elf_vaddr) < 0 ||
	    object_extent(object, foffset, &w.parts[0].start, &w.parts[0].end) < 0 ||
	    (object_function_at(object, foffset, &symbol) < 0 &&
	     w.parts[0].start != elf_vaddr) ||
	    (w.parts[0].start != elf_vaddr && w.parts[0].start + symbol.entry_off != elf_vaddr))
		return ubp_fail(err, ENOENT, "no function is known to start there");
	w.name = symbol.name;
	for (size_t i = 0; i < w.n_parts && rc == 0; i++)
		rc = walk_part(&w, &w.parts[i], err);
	if (rc < 0) {
		free(ret_exits->exits);
		memset(ret_exits, 0, sizeof(*ret_exits));
	}
	return rc;
}
