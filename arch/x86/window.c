/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows: the instructions that a jump replaces, and their copies, one behind the
 * other. What slots do for one instruction (slot.c) they do here for several: the
 * same code, but for the jump back, in whose place the next instruction stands.
 *
 * Only the bytes under the jump matter: the rest of the last instruction stays, and
 * who runs it by its middle (past a lock prefix) still can.
 */

#include "arch/x86/window.h"

#include <errno.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/x86/classify.h"
#include "arch/x86/decode.h"
#include "arch/x86/refs.h"
#include "arch/x86/regs.h"
#include "arch/x86/slot.h"
#include "engine/base/err.h"

#define JUMP_LEN   5 /* jmp rel32 */
#define SHORT_JUMP 2 /* jmp rel8 */
#define LONG_JUMP  6 /* cs jmp rel32: the prefix does nothing */
#define NONE       0xff
#define PREFIX     0x2e /* of a code segment, which means nothing in 64-bit code */

_Static_assert(UBP_HOP_LEN == JUMP_LEN, "what stands there");
_Static_assert(UBP_WINDOW_INSNS >= JUMP_LEN, "an instruction in each byte");
_Static_assert(UBP_WINDOW_MAX >= JUMP_LEN - 1 + 15, "the longest instruction at the last");
_Static_assert(UBP_COPY_MAX >= (JUMP_LEN + 1) * UBP_SLOT_SIZE, "a slot's code for each");

bool x86_ends_flow(const struct displaced_insn *insn)
{
	struct x86_parts p;

	if (insn->leave == LEAVE_RET || insn->leave == LEAVE_JUMP_TO || insn->form == FORM_JMP)
		return true;
	/* ud2, ud1, ud0 */
	return x86_split(insn->bits, insn->bytes, insn->len, &p) && p.map == MAP_0F &&
	       (p.opcode == 0x0b || p.opcode == 0xb9 || p.opcode == 0xff);
}

static bool is_direct(const struct displaced_insn *insn)
{
	return insn->form == FORM_JMP || insn->form == FORM_JCC || insn->form == FORM_LOOP ||
	       insn->form == FORM_CALL;
}

/* Is it a place under the jump where nothing will start? */
static bool is_under(uint64_t vaddr, const struct window *w)
{
	uint64_t site = w->insns[0].vaddr;

	return vaddr > site && vaddr - site < w->jump_len;
}

static int refuse(struct window *w, enum window_refusal why, const char *text,
		  struct ubp_err *err)
{
	w->why = (uint8_t)why;
	return ubp_fail(err, EOPNOTSUPP, "can't put a jump on '%s': %s",
			x86_insn_text(&w->insns[w->n - 1]).s, text);
}

/* Analyze one more instruction. */
static int add_insn(unsigned bits, struct window *w, const uint8_t *code, size_t len,
		    uint64_t vaddr, struct ubp_err *err)
{
	struct displaced_insn *insn = &w->insns[w->n];
	int rc;

	if (w->len >= len) {
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP,
				"its function ends %d bytes on, a jump takes %d", w->len,
				w->jump_len);
	}
	rc = x86_analyze(bits, code + w->len, len - w->len, vaddr + w->len, insn, err);
	if (rc < 0)
		w->why = WINDOW_INSN;
	if (rc == -EILSEQ)
		return ubp_fail(err, EOPNOTSUPP, "%d bytes on there is no instruction", w->len);
	if (rc < 0)
		return rc;
	w->n++;
	w->len = (uint8_t)(w->len + insn->len);
	if (insn->form == FORM_SYSCALL)
		return refuse(w, WINDOW_KERNEL,
			      "a call of the kernel that is restarted would start under it",
			      err);
	if (insn->is_call && w->len < w->jump_len)
		return refuse(w, WINDOW_CALL, "it would return to under the jump", err);
	return 0;
}

/* The first whose branch, or operand, leads under the jump. NULL: none does. */
static const struct displaced_insn *leads_under(const struct window *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct displaced_insn *insn = &w->insns[i];

		if ((is_direct(insn) || insn->pc_relative) && is_under(insn->target, w))
			return insn;
	}
	return NULL;
}

static int check_targets(struct window *w, struct ubp_err *err)
{
	const struct displaced_insn *insn = leads_under(w);

	if (!insn)
		return 0;
	w->why = WINDOW_SELF;
	return ubp_fail(err, EOPNOTSUPP,
			"can't put a jump on '%s': it refers to what would be under it",
			x86_insn_text(insn).s);
}

static bool starts_at(const struct window *w, size_t at)
{
	uint64_t vaddr = w->insns[0].vaddr + at;
	bool starts = false;

	for (size_t i = 1; i < w->n; i++)
		starts |= w->insns[i].vaddr == vaddr;
	return starts;
}

/*
 * A jump whose bytes are breakpoints where instructions start (plant/mirror.h) leads far down if the highest byte of its distance is one:
 * from low memory to nowhere. A longer one has another byte there.
 */
static void choose_jump(unsigned bits, struct window *w)
{
	if (bits != 64 || w->len < LONG_JUMP || !starts_at(w, JUMP_LEN - 1) ||
	    starts_at(w, 1) || starts_at(w, LONG_JUMP - 1))
		return;
	w->jump_len = LONG_JUMP;
	if (leads_under(w))
		w->jump_len = JUMP_LEN;
}

/* Bytes of fill behind it. */
static size_t fill_behind(unsigned bits, const struct window *w, const uint8_t *code,
			  size_t len, size_t padding)
{
	size_t fill = x86_fill(bits, code + w->len, len - w->len);

	return w->len + fill == len ? fill + padding : fill;
}

/* Whole instructions for @jump_len bytes of a jump. */
static int find(unsigned bits, const uint8_t *code, size_t len, size_t padding,
		uint8_t jump_len, uint64_t vaddr, struct window *w, struct ubp_err *err)
{
	memset(w, 0, sizeof(*w));
	w->jump_len = jump_len;
	while (w->len < jump_len) {
		int rc = add_insn(bits, w, code, len, vaddr, err);

		if (rc < 0)
			return rc;
		if (w->len >= jump_len || !x86_ends_flow(&w->insns[w->n - 1]))
			continue;
		/* What follows may be anybody's, if it is not fill. */
		if (w->len + fill_behind(bits, w, code, len, padding) >= jump_len)
			break;
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP,
				"'%s' ends the code %d bytes on, a jump takes %d",
				x86_insn_text(&w->insns[w->n - 1]).s, w->len, jump_len);
	}
	return check_targets(w, err);
}

int x86_window(unsigned bits, const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
	       struct window *ret_window, struct ubp_err *err)
{
	int rc = find(bits, code, len, padding, JUMP_LEN, vaddr, ret_window, err);

	if (rc == 0)
		choose_jump(bits, ret_window);
	return rc;
}

int x86_short_window(unsigned bits, const uint8_t *code, size_t len, size_t padding,
		     uint64_t vaddr, struct window *ret_window, struct ubp_err *err)
{
	struct window *w = ret_window;
	int rc;

	memset(w, 0, sizeof(*w));
	w->jump_len = SHORT_JUMP;
	rc = add_insn(bits, w, code, len, vaddr, err);
	if (rc < 0)
		return rc;
	if (w->len < SHORT_JUMP &&
	    !(x86_ends_flow(&w->insns[0]) &&
	      w->len + fill_behind(bits, w, code, len, padding) >= SHORT_JUMP)) {
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP, "'%s' has %d byte, a short jump takes %d",
				x86_insn_text(&w->insns[0]).s, w->len, SHORT_JUMP);
	}
	return check_targets(w, err);
}

int x86_find_short(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		   struct window *ret_window, struct ubp_err *err)
{
	return x86_short_window(64, code, len, padding, vaddr, ret_window, err);
}

int x86_find_punned(const uint8_t *code, size_t len, uint8_t jump_len, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err)
{
	return find(64, code, len, 0, jump_len, vaddr, ret_window, err);
}

bool x86_take_pun(struct window *window, uint8_t n_prefix, const uint8_t *behind)
{
	struct pun *pun = &window->pun;
	int n_free = window->jump_len - n_prefix - 1;
	uint32_t distance = 0;

	if (n_free < 0 || n_free >= UBP_PUN_FIXED)
		return false;
	*pun = (struct pun){ .starts = pun->starts,
			     .n_prefix = n_prefix,
			     .n_fixed = (uint8_t)(UBP_PUN_FIXED - n_free) };
	memcpy(pun->fixed, behind, sizeof(pun->fixed));
	for (int i = n_free; i < UBP_PUN_FIXED; i++)
		distance |= (uint32_t)behind[i - n_free] << 8 * i;
	pun->n = UINT32_C(1) << 8 * n_free;
	pun->low = (int64_t)n_prefix + JUMP_LEN + (int32_t)distance;
	return true;
}

uint64_t x86_pun_with(const struct pun *pun, uint64_t vaddr, uint64_t hop, unsigned breakpoints)
{
	uint64_t end = vaddr + pun->n_prefix + JUMP_LEN;
	int n_free = UBP_PUN_FIXED - pun->n_fixed;
	uint32_t distance = (uint32_t)(hop - end);

	for (int i = 0; i < pun->n_fixed; i++) {
		int shift = 8 * (n_free + i);

		if (breakpoints >> i & 1)
			distance = (distance & ~(UINT32_C(0xff) << shift)) | UINT32_C(0xcc)
										     << shift;
	}
	return end + (uint64_t)(int64_t)(int32_t)distance;
}

size_t x86_far_jump(uint64_t to, uint8_t *ret_code)
{
	static const uint8_t jmp[] = { 0xff, 0x25, 0, 0, 0, 0 }; /* jmp *0(%rip) */

	memcpy(ret_code, jmp, sizeof(jmp));
	memcpy(ret_code + sizeof(jmp), &to, sizeof(to));
	return sizeof(jmp) + sizeof(to);
}

int x86_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err)
{
	return x86_window(64, code, len, padding, vaddr, ret_window, err);
}

/* --- the copy ---------------------------------------------------------------- */

struct writer {
	uint64_t vaddr; /* of the copy */
	unsigned bits;
	struct window_copy *out;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	memcpy(w->out->code + w->out->len, bytes, len);
	w->out->len = (uint16_t)(w->out->len + len);
}

/* jmp rel32, or jmp *0(%rip) with the address behind it. */
static void put_jump(struct writer *w, uint64_t target)
{
	int64_t rel = (int64_t)(target - (w->vaddr + w->out->len + JUMP_LEN));
	int32_t near = (int32_t)rel;

	if (rel == near || w->bits == 32) {
		put(w, "\xe9", 1);
		put(w, &near, sizeof(near));
	} else {
		put(w, "\xff\x25\0\0\0", 6);
		put(w, &target, sizeof(target));
	}
}

/*
 * A branch whose slot jumps back in its middle: with what a slot has first (the
 * branch over that jump, which is @back_len bytes long), then a short jump over the
 * jump to the target.
 */
static void put_branch(struct writer *w, const struct displaced_insn *insn,
		       const struct slot_code *slot)
{
	size_t start = w->out->len, over;

	put(w, slot->code, slot->done_at);
	w->out->code[start + slot->done_at - 1] = SHORT_JUMP;
	over = w->out->len;
	put(w, "\xeb\0", SHORT_JUMP);
	put_jump(w, insn->target);
	w->out->code[over + 1] = (uint8_t)(w->out->len - over - SHORT_JUMP);
}

/* Does the slot's code go on behind the jump back: to the branch's target? */
static bool has_branch_part(const struct slot_code *slot)
{
	return slot->done_at != NONE && slot->taken_at != NONE &&
	       slot->taken_at > slot->done_at;
}

/* As a slot's code, but for the jump back: the next instruction stands there. */
static int put_insn(struct writer *w, const struct displaced_insn *insn, struct ubp_err *err)
{
	struct slot_code slot;
	int rc;

	rc = x86_build_slot(insn, w->vaddr + w->out->len, &slot, err);
	if (rc < 0)
		return rc;
	if (has_branch_part(&slot))
		put_branch(w, insn, &slot);
	else
		put(w, slot.code, slot.done_at == NONE ? slot.len : slot.done_at);
	return 0;
}

int x86_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		   struct ubp_err *err)
{
	struct writer w = { .vaddr = vaddr, .bits = window->insns[0].bits, .out = ret_copy };
	const struct displaced_insn *last;

	memset(ret_copy, 0, sizeof(*ret_copy));
	for (size_t i = 0; i < window->n; i++) {
		int rc;

		ret_copy->at[i] = ret_copy->len;
		rc = put_insn(&w, &window->insns[i], err);
		if (rc < 0)
			return rc;
	}
	ret_copy->at[window->n] = ret_copy->len;
	last = &window->insns[window->n - 1];
	/* An imitated call comes back to the program by itself. */
	if (!x86_ends_flow(last) && !last->is_call)
		put_jump(&w, last->vaddr + last->len);
	return 0;
}

bool x86_copy_leave(const struct window *window, const struct window_copy *copy, uint64_t vaddr,
		    struct ubp_regs *regs)
{
	uint64_t at = regs->r[X86_IP] - vaddr, back = window->insns[0].vaddr + window->len;
	const struct displaced_insn *insn;
	struct slot_code slot;
	struct ubp_err ignored;
	size_t i = 0;

	if (at == copy->at[window->n]) {
		regs->r[X86_IP] = back;
		return true;
	}
	while (i + 1 < window->n && copy->at[i + 1] <= at)
		i++;
	insn = &window->insns[i];
	ubp_err_reset(&ignored);
	if (x86_build_slot(insn, vaddr + copy->at[i], &slot, &ignored) < 0) {
		regs->r[X86_IP] = insn->vaddr;
		return false;
	}
	if (has_branch_part(&slot)) {
		/* put_branch(): not taken, taken, where the slot jumps back and to the target. */
		slot.taken_at = (uint8_t)(slot.done_at + SHORT_JUMP);
		slot.len = (uint8_t)(copy->at[i + 1] - copy->at[i]);
	}
	return x86_slot_leave(insn, &slot, vaddr + copy->at[i], regs);
}

static int build_short(const struct window *window, uint64_t site, uint64_t target,
		       uint8_t *ret_jump, struct ubp_err *err)
{
	int64_t rel = (int64_t)(target - (site + SHORT_JUMP));
	int8_t near = (int8_t)rel;

	if (rel != near)
		return ubp_fail(err, ERANGE,
				"'%s': 0x%llx is out of reach of a short jump at 0x%llx",
				x86_insn_text(&window->insns[0]).s, (unsigned long long)target,
				(unsigned long long)site);
	ret_jump[0] = 0xeb;
	memcpy(ret_jump + 1, &near, sizeof(near));
	return 0;
}

int x86_build_jump(const struct window *window, uint64_t site, uint64_t target,
		   uint8_t *ret_jump, struct ubp_err *err)
{
	bool is_long = window->jump_len == LONG_JUMP && !window->pun.n_fixed;
	size_t n_prefix = is_long ? LONG_JUMP - JUMP_LEN : window->pun.n_prefix;
	int64_t rel = (int64_t)(target - (site + n_prefix + JUMP_LEN));
	int32_t near = (int32_t)rel;

	if (window->jump_len == SHORT_JUMP && !window->pun.n_fixed)
		return build_short(window, site, target, ret_jump, err);
	if (rel != near && window->insns[0].bits == 64)
		return ubp_fail(err, ERANGE, "'%s': 0x%llx is out of reach of a jump at 0x%llx",
				x86_insn_text(&window->insns[0]).s, (unsigned long long)target,
				(unsigned long long)site);
	memset(ret_jump, PREFIX, n_prefix);
	ret_jump[n_prefix] = 0xe9;
	memcpy(ret_jump + n_prefix + 1, &near,
	       window->pun.n_fixed ? (size_t)window->jump_len - n_prefix - 1 : sizeof(near));
	return 0;
}
