/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What of a function can be copied is found in three steps: all that is reached from its start is decoded, up to what cannot be copied; then whatever leads
 * to no ret is left out; the rest is noted without addresses. A copy has the instructions in the function's order; branches are of four bytes. Where one goes
 * on to what is not copied, a jump to the function follows it.
 */

#include "arch/x86/leaf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "arch/leaf.h"
#include "arch/x86/classify.h"
#include "arch/x86/split.h"
#include "arch/x86/window.h"
#include "engine/base/err.h"

#define JMP_LEN 5 /* jmp rel32 */
#define JCC_LEN 6 /* jcc rel32 */
#define NONE    UINT16_MAX

_Static_assert(UBP_LEAF_RET == JMP_LEN, "what stands in place of a ret");

/* --- what can be copied ------------------------------------------------------------------ */

/* Of each byte of the function. */
struct spot {
	uint8_t len; /* of the instruction that begins there; 0: none was found */
	uint8_t kind, own;
	bool is_good; /* a ret is reached from there */
	uint16_t target;
};

struct walk {
	const uint8_t *code;
	size_t len;
	uint64_t vaddr;
	struct spot *spots;
	uint16_t *todo; /* offsets to be looked at */
	size_t n_todo;
};

/* Memory by a segment is a thread's own: what is stored there may be for the kernel (rseq), which has addresses of the function. */
static bool is_load(const struct x86_parts *p)
{
	return p->map == MAP_ONE && (p->opcode == 0x8b || p->opcode == 0x3b ||
				     p->opcode == 0x39 || p->opcode == 0x8a);
}

static bool is_plain(const struct walk *w, const struct displaced_insn *insn,
		     const struct x86_parts *p)
{
	if (insn->form != FORM_COPY || x86_ends_flow(insn) || (p->segment && !is_load(p)))
		return false;
	return !insn->pc_relative || (!insn->addr_half && insn->target - w->vaddr >= w->len);
}

/* A ret that takes its address off the stack, and nothing else. */
static bool is_ret(const struct displaced_insn *insn, const struct x86_parts *p)
{
	return insn->leave == LEAVE_RET && insn->ret_pops == 8 && p->opcode == 0xc3;
}

/* False: it is not copied. */
static bool take(const struct walk *w, const struct displaced_insn *insn, struct spot *s)
{
	uint64_t to = insn->target - w->vaddr;
	struct x86_parts p;

	if (!x86_split(insn->bits, insn->bytes, insn->len, &p))
		return false;
	if (is_ret(insn, &p)) {
		s->kind = LEAF_RET;
	} else if (insn->form == FORM_JMP || insn->form == FORM_JCC) {
		if (to >= w->len)
			return false;
		s->kind = insn->form == FORM_JMP ? LEAF_JUMP : LEAF_BRANCH;
		s->own = p.opcode & 0x0f;
		s->target = (uint16_t)to;
	} else if (is_plain(w, insn, &p)) {
		s->kind = LEAF_PLAIN;
		s->own = insn->pc_relative ? insn->disp_at : 0;
	} else {
		return false;
	}
	s->len = insn->len;
	return true;
}

static void look_later(struct walk *w, size_t at)
{
	if (at < w->len && !w->spots[at].len)
		w->todo[w->n_todo++] = (uint16_t)at;
}

/* A place is put there by the two that come before it, at most, before it is looked at, and those are looked at once. */
static void decode(struct walk *w)
{
	look_later(w, 0);
	while (w->n_todo) {
		size_t at = w->todo[--w->n_todo];
		struct spot *s = &w->spots[at];
		struct displaced_insn insn;
		struct ubp_err ignored;

		ubp_err_reset(&ignored);
		if (s->len ||
		    x86_analyze(64, w->code + at, w->len - at, w->vaddr + at, &insn, &ignored) <
			    0 ||
		    !take(w, &insn, s))
			continue;
		if (s->kind == LEAF_JUMP || s->kind == LEAF_BRANCH)
			look_later(w, s->target);
		if (s->kind == LEAF_PLAIN || s->kind == LEAF_BRANCH)
			look_later(w, at + s->len);
	}
}

static bool is_good_at(const struct walk *w, size_t at)
{
	return at < w->len && w->spots[at].is_good;
}

static bool leads_to_ret(const struct walk *w, size_t at)
{
	const struct spot *s = &w->spots[at];

	switch ((enum leaf_kind)s->kind) {
	case LEAF_RET:
		return true;
	case LEAF_JUMP:
		return is_good_at(w, s->target);
	case LEAF_BRANCH:
		return is_good_at(w, s->target) || is_good_at(w, at + s->len);
	default:
		return is_good_at(w, at + s->len);
	}
}

/* Backwards, so that mostly once is enough. */
static void mark_good(const struct walk *w)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t at = w->len; at-- > 0;) {
			struct spot *s = &w->spots[at];

			if (!s->len || s->is_good || !leads_to_ret(w, at))
				continue;
			s->is_good = true;
			changed = true;
		}
	}
}

static size_t copy_len(const struct leaf_insn *insn)
{
	switch ((enum leaf_kind)insn->kind) {
	case LEAF_JUMP:
	case LEAF_RET:
		return JMP_LEN;
	case LEAF_BRANCH:
		return JCC_LEN;
	default:
		return insn->len;
	}
}

static bool goes_on(const struct leaf_insn *insn)
{
	return insn->kind == LEAF_PLAIN || insn->kind == LEAF_BRANCH;
}

static bool is_last(const struct leaf *leaf, size_t i)
{
	const struct leaf_insn *insn = &leaf->insns[i];

	return i + 1 == leaf->n || leaf->insns[i + 1].from != insn->from + insn->len;
}

/* @to: where @leaf goes on to, or leads out to. */
static void note_reach(struct leaf *leaf, size_t to)
{
	if (to > leaf->reach)
		leaf->reach = (uint16_t)to;
}

/* Returns why not, or NULL. */
static const char *sum_up(struct leaf *leaf)
{
	size_t max = 0;

	leaf->reach = leaf->len;

	for (size_t i = 0; i < leaf->n; i++) {
		const struct leaf_insn *insn = &leaf->insns[i];

		if (i + 1 < leaf->n && leaf->insns[i + 1].from < insn->from + insn->len)
			return "its instructions overlap";
		leaf->has_loop |= (insn->kind == LEAF_JUMP || insn->kind == LEAF_BRANCH) &&
				  insn->target <= insn->from;
		if (insn->kind == LEAF_JUMP || insn->kind == LEAF_BRANCH)
			note_reach(leaf, insn->target);
		if (goes_on(insn))
			note_reach(leaf, (size_t)insn->from + insn->len);
		max += copy_len(insn) + (goes_on(insn) && is_last(leaf, i) ? JMP_LEN : 0);
	}
	if (max > UBP_LEAF_COPY_MAX)
		return "a copy of it would be too long";
	leaf->copy_max = (uint16_t)max;
	return NULL;
}

static size_t count_good(const struct walk *w, size_t *ret_end)
{
	size_t n = 0;

	for (size_t at = 0; at < w->len; at++) {
		if (!w->spots[at].is_good)
			continue;
		n++;
		*ret_end = at + w->spots[at].len;
	}
	return n;
}

static struct leaf *note(const struct walk *w, size_t n, size_t end)
{
	size_t size = sizeof(struct leaf) + n * sizeof(struct leaf_insn) + end;
	struct leaf *leaf = calloc(1, size);

	if (!leaf)
		return NULL;
	leaf->size = (uint32_t)size;
	leaf->len = (uint16_t)end;
	for (size_t at = 0; at < end; at++) {
		const struct spot *s = &w->spots[at];

		if (s->is_good)
			leaf->insns[leaf->n++] = (struct leaf_insn){ .from = (uint16_t)at,
								     .len = s->len,
								     .kind = s->kind,
								     .target = s->target,
								     .own = s->own };
	}
	memcpy(&leaf->insns[n], w->code, end);
	leaf->code = (const uint8_t *)&leaf->insns[n];
	return leaf;
}

static int refuse(struct ubp_err *err, const char *why)
{
	return ubp_fail(err, EOPNOTSUPP, "%s", why);
}

static int find(struct walk *w, struct leaf **ret_leaf, struct ubp_err *err)
{
	size_t end = 0, n;
	struct leaf *leaf;
	const char *why;

	decode(w);
	mark_good(w);
	if (!is_good_at(w, 0))
		return refuse(err, "no ret can be reached without a call");
	n = count_good(w, &end);
	if (n > UBP_LEAF_INSNS)
		return refuse(err, "it has too many instructions");
	leaf = note(w, n, end);
	if (!leaf)
		return ubp_fail(err, ENOMEM, "out of memory");
	why = sum_up(leaf);
	if (why) {
		free(leaf);
		return refuse(err, why);
	}
	*ret_leaf = leaf;
	return 0;
}

int x86_find_leaf(const uint8_t *code, size_t len, uint64_t vaddr, struct leaf **ret_leaf,
		  struct ubp_err *err)
{
	struct walk w = { .code = code, .vaddr = vaddr };
	int rc;

	w.len = len < UBP_LEAF_CODE_MAX ? len : UBP_LEAF_CODE_MAX;
	w.spots = calloc(w.len + 1, sizeof(*w.spots));
	/* Each that is looked at puts two there, and is looked at once. */
	w.todo = calloc(2 * w.len + 2, sizeof(*w.todo));
	rc = w.spots && w.todo ? find(&w, ret_leaf, err)
			       : ubp_fail(err, ENOMEM, "out of memory");
	free(w.spots);
	free(w.todo);
	return rc;
}

/* --- the copy ------------------------------------------------------------------------------- */

struct writer {
	const struct leaf *leaf;
	const struct leaf_at *to;
	uint64_t func_vaddr, vaddr;
	size_t start; /* offset of the window in the function */
	struct leaf_copy *out;
	uint16_t
		at[UBP_LEAF_INSNS]; /* of each instruction; NONE: it is in front of the start */
	bool is_near;               /* all could be reached */
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	memcpy(w->out->code + w->out->len, bytes, len);
	w->out->len = (uint16_t)(w->out->len + len);
}

/* From the end of these four bytes. */
static void put_distance(struct writer *w, uint64_t to)
{
	int64_t rel = (int64_t)(to - (w->vaddr + w->out->len + 4));
	int32_t near = (int32_t)rel;

	w->is_near &= rel == near;
	put(w, &near, sizeof(near));
}

static void place(struct writer *w, size_t from, bool is_ret)
{
	w->out->places[w->out->n++] = (struct leaf_place){ .at = w->out->len,
							   .from = (uint16_t)from,
							   .is_ret = is_ret };
}

/* The start is none: a jump of ours begins there. */
static void note_exit(struct writer *w, size_t target)
{
	struct leaf_copy *out = w->out;
	size_t i = 0;

	while (i < out->n_exits && out->exits[i] != target)
		i++;
	if (i == out->n_exits && target && target != w->start)
		out->exits[out->n_exits++] = (uint16_t)target;
}

/* In the function; where a jump of ours stands on it, in the window's copy. Who comes back to the start comes by that jump. */
static uint64_t outside(struct writer *w, size_t target)
{
	const struct window *window = w->to->window;

	for (size_t i = 1; i < window->n; i++)
		if (window->insns[i].vaddr == w->func_vaddr + target)
			return w->to->window_vaddr + w->to->window_at[i];
	note_exit(w, target);
	return w->func_vaddr + target;
}

/* In the copy, or outside. */
static uint64_t where(struct writer *w, size_t target)
{
	const struct leaf_insn *insn = leaf_insn_at(w->leaf, target);

	if (!insn || target <= w->start)
		return outside(w, target);
	return w->vaddr + w->at[insn - w->leaf->insns];
}

static void put_jump(struct writer *w, uint64_t to)
{
	put(w, "\xe9", 1);
	put_distance(w, to);
}

static void put_plain(struct writer *w, const struct leaf_insn *insn)
{
	const uint8_t *bytes = w->leaf->code + insn->from;
	uint64_t end = w->vaddr + w->out->len + insn->len;
	size_t at = (size_t)w->out->len + insn->own;
	int32_t disp;
	int64_t rel;

	put(w, bytes, insn->len);
	if (!insn->own)
		return;
	memcpy(&disp, bytes + insn->own, sizeof(disp));
	rel = (int64_t)(w->func_vaddr + insn->from + insn->len + (uint64_t)(int64_t)disp - end);
	disp = (int32_t)rel;
	w->is_near &= rel == disp;
	memcpy(w->out->code + at, &disp, sizeof(disp));
}

static void put_insn(struct writer *w, const struct leaf_insn *insn)
{
	uint8_t jcc[] = { 0x0f, 0x80 | insn->own };

	place(w, insn->from, insn->kind == LEAF_RET);
	switch ((enum leaf_kind)insn->kind) {
	case LEAF_RET:
		put(w, "\xcc\xcc\xcc\xcc\xcc", UBP_LEAF_RET);
		break;
	case LEAF_JUMP:
		put_jump(w, where(w, insn->target));
		break;
	case LEAF_BRANCH:
		put(w, jcc, sizeof(jcc));
		put_distance(w, where(w, insn->target));
		break;
	default:
		put_plain(w, insn);
		break;
	}
}

/* Where each will stand. */
static void lay_out(struct writer *w)
{
	const struct leaf *leaf = w->leaf;
	size_t len = 0;

	for (size_t i = 0; i < leaf->n; i++) {
		const struct leaf_insn *insn = &leaf->insns[i];

		w->at[i] = NONE;
		if (insn->from < w->start)
			continue;
		w->at[i] = (uint16_t)len;
		len += copy_len(insn) + (goes_on(insn) && is_last(leaf, i) ? JMP_LEN : 0);
	}
}

int x86_build_leaf(const struct leaf *leaf, const struct leaf_at *at,
		   struct leaf_copy *ret_copy, struct ubp_err *err)
{
	struct writer w = { .leaf = leaf,
			    .to = at,
			    .func_vaddr = at->func_vaddr,
			    .vaddr = at->vaddr,
			    .start = at->window->insns[0].vaddr - at->func_vaddr,
			    .out = ret_copy,
			    .is_near = true };

	ret_copy->len = ret_copy->n = ret_copy->n_exits = 0;
	if (!leaf_insn_at(leaf, w.start))
		return ubp_fail(err, EOPNOTSUPP, "no ret can be reached from there");
	lay_out(&w);
	for (size_t i = 0; i < leaf->n; i++) {
		const struct leaf_insn *insn = &leaf->insns[i];
		size_t behind = (size_t)insn->from + insn->len;

		if (insn->from < w.start)
			continue;
		put_insn(&w, insn);
		if (!goes_on(insn) || !is_last(leaf, i))
			continue;
		place(&w, behind, false);
		put_jump(&w, outside(&w, behind));
	}
	return w.is_near
		       ? 0
		       : ubp_fail(err, ERANGE,
				  "the function at 0x%llx is out of reach of a copy at 0x%llx",
				  (unsigned long long)w.func_vaddr,
				  (unsigned long long)w.vaddr);
}
