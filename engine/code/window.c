/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/window.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "engine/code/decoded.h"
#include "engine/code/landing_set.h"
#include "engine/code/landings.h"
#include "engine/code/refusals.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/properties.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

#define PADDING_MAX 8

struct site {
	struct object *object;
	const struct ubp_arch *arch;
	uint64_t vaddr;      /* elf_vaddr of the window */
	uint64_t first;      /* what nobody may lead to: that, or all behind its first byte */
	uint64_t start, end; /* of its function */
	struct window *window;
	struct ubp_err *err;
};

static int refuse(const struct site *s, enum window_refusal why, const char *text)
{
	s->window->why = (uint8_t)why;
	return ubp_fail(s->err, EOPNOTSUPP, "%s", text);
}

static ssize_t read_code(const struct site *s, uint64_t elf_vaddr, uint8_t *code, size_t len)
{
	const struct segment *segment = object_segment_of(s->object, elf_vaddr);
	uint64_t at;

	if (!segment)
		return -ENOENT;
	at = elf_vaddr - segment->elf_vaddr;
	if (len > segment->file_len - at)
		len = segment->file_len - at;
	return object_read(s->object, segment->foffset + at, code, len);
}

/* Bytes of fill behind the function, that are nobody's. */
static size_t find_padding(const struct site *s)
{
	uint8_t code[UBP_WINDOW_MAX];
	ssize_t len = read_code(s, s->end, code, sizeof(code));
	size_t fill, n = 0;

	if (len <= 0)
		return 0;
	fill = s->arch->insn.fill_len(code, (size_t)len);
	for (; n < fill && n < PADDING_MAX; n++) {
		uint64_t foffset, start, end;

		if (object_vaddr_to_foffset(s->object, s->end + n, &foffset) < 0 ||
		    object_extent(s->object, foffset, &start, &end) == 0)
			break;
	}
	return n;
}

static int find_function(struct site *s, uint64_t foffset)
{
	struct decoded_insn insn;
	int rc;

	if (!object_is_executable(s->object, foffset) ||
	    object_foffset_to_vaddr(s->object, foffset, &s->vaddr) < 0)
		return refuse(s, WINDOW_UNKNOWN, "it is not in code");
	if (object_extent(s->object, foffset, &s->start, &s->end) < 0)
		return refuse(s, WINDOW_UNKNOWN, "no function is known there");
	if (s->vaddr == s->start)
		return 0;
	rc = decoded_at(s->object, s->vaddr, &insn);
	if (rc == -ENOMEM || rc == -EIO)
		return ubp_fail(s->err, -rc, "cannot look at the code of %s", s->object->path);
	if (rc < 0 || insn.start != s->vaddr)
		return refuse(s, WINDOW_UNKNOWN, "no instruction is known to start there");
	return 0;
}

static int find_window(struct site *s)
{
	uint8_t code[UBP_WINDOW_MAX];
	ssize_t len = read_code(s, s->vaddr, code, sizeof(code));
	uint64_t left = s->end - s->vaddr;

	if (len <= 0)
		return ubp_fail(s->err, EIO, "cannot read the code of %s", s->object->path);
	return s->arch->jump.find(code, left < (size_t)len ? left : (size_t)len,
				  left < PADDING_MAX ? find_padding(s) : 0, s->vaddr, s->window,
				  s->err);
}

/* The instruction that a breakpoint takes the place of. */
static int find_insn(struct site *s)
{
	uint8_t code[UBP_INSN_MAX];
	ssize_t len = read_code(s, s->vaddr, code, sizeof(code));
	int rc;

	if (len <= 0)
		return ubp_fail(s->err, EIO, "cannot read the code of %s", s->object->path);
	rc = s->arch->insn.analyze(code, (size_t)len, s->vaddr, &s->window->insns[0], s->err);
	if (rc < 0)
		return refuse(s, WINDOW_INSN,
			      "what follows its first instruction stays in place");
	s->window->n = 1;
	s->window->len = s->window->insns[0].len;
	s->window->jump_len = s->arch->swbp.len;
	return 0;
}

/* The guard has a jump of its own there (plant/sigaction.c). */
static bool is_for_guard(const struct ubp_arch *arch, const uint8_t *code, size_t len)
{
	for (size_t i = 0; i < arch->hook.n_calls; i++)
		if (len >= arch->hook.call_len &&
		    memcmp(code, arch->hook.calls[i], arch->hook.call_len) == 0)
			return true;
	return false;
}

/* The window's place is the one behind the lead. */
static int find_lead(struct site *s, struct lead *lead)
{
	uint8_t code[UBP_WINDOW_MAX];
	uint64_t left = s->end - s->vaddr;
	ssize_t len = read_code(s, s->vaddr, code, sizeof(code));

	memset(lead, 0, sizeof(*lead));
	if (len > 0 && left < (uint64_t)len)
		len = (ssize_t)left;
	if (len <= 0 || !s->arch->lead.find || !s->arch->lead.find(code, (size_t)len, lead) ||
	    lead->len == len ||
	    is_for_guard(s->arch, code + lead->len, (size_t)len - lead->len)) {
		lead->len = 0;
		return refuse(s, WINDOW_LEAD,
			      "what its first instruction does cannot be taken back");
	}
	s->vaddr += lead->len;
	s->first = s->vaddr;
	return 0;
}

/*
 * A goroutine that was preempted stands anywhere, for any time, as a saved pc. And functions that
 * make no sure of the stack may run at its very end.
 */
static int check_go(const struct site *s)
{
	uint8_t code[64];
	ssize_t len;
	size_t check;

	if (!s->object->is_go)
		return 0;
	len = read_code(s, s->start, code, sizeof(code));
	check = len > 0 && s->arch->insn.go_check_len
			? s->arch->insn.go_check_len(code, (size_t)len)
			: 0;
	if (check == 0)
		return refuse(s, WINDOW_GO,
			      "its Go function makes not sure of the stack it needs: there may "
			      "be none for a detour");
	if (s->window->n > 1 && s->vaddr + s->window->len > s->start + check)
		return refuse(s, WINDOW_GO, "goroutines may be parked among its instructions");
	return 0;
}

/* --- branches with a displacement of one byte ---------------------------------------- */

struct branches {
	uint64_t from, to; /* what they must not lead to */
	uint64_t at[2 * UBP_SHORT_REACH];
	uint64_t target[2 * UBP_SHORT_REACH];
	size_t n;
};

static void see_short(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct branches *b = ctx;

	(void)kind;
	if (target < b->from || target >= b->to || b->n == sizeof(b->at) / sizeof(b->at[0]))
		return;
	b->at[b->n] = at;
	b->target[b->n++] = target;
}

/* Two bytes at @at would go to @target. Are they an instruction, or the end of one? */
static bool is_branch(const struct site *s, uint64_t at, uint64_t target)
{
	struct displaced_insn branch;
	struct decoded_insn insn;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (decoded_at(s->object, at, &insn) < 0)
		return true; /* who knows */
	if (insn.start + insn.len != at + 2)
		return false;
	if (s->arch->insn.analyze(insn.code, insn.len, insn.start, &branch, &ignored) < 0)
		return true;
	return branch.leave == LEAVE_JUMP && branch.target == target;
}

static bool is_branched_into(const struct site *s)
{
	const struct segment *segment = object_segment_of(s->object, s->vaddr);
	uint8_t code[3 * UBP_SHORT_REACH];
	struct branches b = { .from = s->first, .to = s->vaddr + s->window->jump_len };
	uint64_t before = s->vaddr - segment->elf_vaddr;
	ssize_t len;

	if (before > UBP_SHORT_REACH)
		before = UBP_SHORT_REACH;
	len = read_code(s, s->vaddr - before, code,
			before + s->window->jump_len + UBP_SHORT_REACH);
	if (len <= 0)
		return true;
	s->arch->insn.scan_refs(code, (size_t)len, s->vaddr - before, REF_SHORT, see_short, &b);
	for (size_t i = 0; i < b.n; i++)
		if (is_branch(s, b.at[i], b.target[i]))
			return true;
	return false;
}

/* --- addresses in code ------------------------------------------------------------------ */

#define MENTIONS_MAX 64 /* that are looked at */

/* Are the 4 bytes an operand, and not the distance to one? */
static bool is_operand(const struct site *s, uint64_t at)
{
	struct displaced_insn insn;
	struct decoded_insn found;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (decoded_at(s->object, at, &found) < 0)
		return true; /* who knows */
	if (at + 4 > found.start + found.len || at == found.start)
		return false;
	if (s->arch->insn.analyze(found.code, found.len, found.start, &insn, &ignored) < 0)
		return true;
	if (insn.pc_relative && insn.disp_at == at - found.start)
		return false;
	/* A direct branch has no constants but its distance. */
	return insn.target == 0 || insn.pc_relative;
}

/* Is it an instruction that makes this address, and not a part of another one? */
static bool makes_address(const struct site *s, const struct mention *m)
{
	struct displaced_insn insn;
	struct decoded_insn found;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (decoded_at(s->object, m->at, &found) < 0 ||
	    s->arch->insn.analyze(found.code, found.len, found.start, &insn, &ignored) < 0)
		return true; /* who knows */
	return insn.pc_relative && insn.target == m->target;
}

/* Is an address in @from..@to, exclusive, made by any code? */
static bool is_made(const struct site *s, const struct landings *landings, uint64_t from,
		    uint64_t to)
{
	size_t n;
	const struct mention *m = landings_mentions(landings, MENTION_ADDRESS, from, to, &n);

	for (size_t i = 0; i < n; i++)
		if (i == MENTIONS_MAX || makes_address(s, &m[i]))
			return true;
	return false;
}

/* Is an address in @from..@to, exclusive, a constant of code in @at_from..@at_to? */
static bool is_constant(const struct site *s, const struct landings *landings, uint64_t from,
			uint64_t to, uint64_t at_from, uint64_t at_to)
{
	size_t n, looked_at = 0;
	const struct mention *c = landings_mentions(landings, MENTION_CONSTANT, from, to, &n);

	for (size_t i = 0; i < n; i++)
		if (c[i].at >= at_from && c[i].at < at_to &&
		    (++looked_at > MENTIONS_MAX || is_operand(s, c[i].at)))
			return true;
	return false;
}

/* Indirect branches lead there. */
static int check_pad(const struct site *s)
{
	if (s->arch->jump.is_landing_pad && s->arch->jump.is_landing_pad(s->window) &&
	    object_needs_landings(s->object))
		return refuse(s, WINDOW_LANDING,
			      "it is a landing pad, and its file asks for those (BTI): no "
			      "indirect branch could come to a jump");
	return 0;
}

static int check_landings(const struct site *s)
{
	uint64_t to = s->vaddr + s->window->jump_len, at;
	const struct landings *landings;
	int rc = landings_get(s->object, &landings, s->err);

	if (rc < 0)
		return rc;
	at = landings_first(landings, s->first, to);
	if (at != 0 && at == s->vaddr)
		return refuse(s, WINDOW_LANDING,
			      "a branch, a pointer, a symbol or an exception may lead to "
			      "behind its first instruction");
	if (at != 0) {
		s->window->why = WINDOW_LANDING;
		return ubp_fail(s->err, EOPNOTSUPP,
				"a branch, a pointer, a symbol or an exception may lead to %d "
				"bytes on, under the jump",
				(int)(at - s->vaddr));
	}
	/* Tables of distances between labels look like nothing. */
	if (is_made(s, landings, s->start + 1, s->end) ||
	    is_constant(s, landings, s->start + 1, s->end, s->start, s->end))
		return refuse(s, WINDOW_LANDING,
			      "its function computes addresses of its own code");
	if (is_constant(s, landings, s->first, to, 0, UINT64_MAX))
		return refuse(s, WINDOW_LANDING,
			      "an address under the jump is a constant in code");
	if (is_branched_into(s))
		return refuse(s, WINDOW_LANDING, "a branch near by leads to under the jump");
	return 0;
}

/* The window begins at @foffset; if @lead is not NULL, behind its lead, which goes there. */
static int find_start(struct site *s, uint64_t foffset, struct lead *lead)
{
	const char *why;
	int rc = find_function(s, foffset);

	s->first = s->vaddr + 1;
	if (rc == 0 && lead)
		rc = find_lead(s, lead);
	if (rc < 0)
		return rc;
	why = object_refuse_at(s->object, foffset + (lead ? lead->len : 0));
	return why ? refuse(s, WINDOW_INSN, why) : 0;
}

static int look(struct object *object, uint64_t foffset, struct lead *lead,
		struct window *window, struct ubp_err *err)
{
	struct site s = {
		.object = object, .arch = object->arch, .window = window, .err = err
	};
	int rc;

	memset(window, 0, sizeof(*window));
	if (!s.arch || !s.arch->jump.find)
		return refuse(&s, WINDOW_INSN, "no jumps for this instruction set");
	rc = find_start(&s, foffset, lead);
	if (rc == 0)
		rc = find_window(&s);
	if (rc == 0)
		rc = check_go(&s);
	if (rc == 0 && !lead)
		rc = check_pad(&s);
	/* Where nothing can start but at its start, nobody can lead there. */
	if (rc == 0 && (lead || window->jump_len > s.arch->insn.align))
		rc = check_landings(&s);
	return rc;
}

int object_lead(struct object *object, uint64_t foffset, struct lead *ret_lead,
		struct window *ret_window, struct ubp_err *err)
{
	struct site s = {
		.object = object, .arch = object->arch, .window = ret_window, .err = err
	};
	int rc;

	memset(ret_lead, 0, sizeof(*ret_lead));
	memset(ret_window, 0, sizeof(*ret_window));
	if (!s.arch)
		return refuse(&s, WINDOW_INSN, "no breakpoints for this instruction set");
	rc = find_start(&s, foffset, ret_lead);
	if (rc == 0)
		rc = find_insn(&s);
	return rc == 0 ? check_landings(&s) : rc;
}

int object_window(struct object *object, uint64_t foffset, struct window *ret_window,
		  struct ubp_err *err)
{
	return look(object, foffset, NULL, ret_window, err);
}

int object_window_behind(struct object *object, uint64_t foffset, struct lead *ret_lead,
			 struct window *ret_window, struct ubp_err *err)
{
	memset(ret_lead, 0, sizeof(*ret_lead));
	return look(object, foffset, ret_lead, ret_window, err);
}
