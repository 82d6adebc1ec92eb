/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows: a jump is one b, as long as any instruction, so a window is one, and its copy
 * is what its slot is. Nothing can be under the jump but its start.
 */

#include "arch/arm64/arm64.h"

#include <errno.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"

int arm64_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		      struct window *ret_window, struct ubp_err *err)
{
	struct window *w = ret_window;
	int rc;

	(void)padding;
	memset(w, 0, sizeof(*w));
	w->jump_len = ARM64_INSN;
	if (len < ARM64_INSN) {
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP,
				"its function ends %zu bytes on, a jump takes %d", len,
				ARM64_INSN);
	}
	rc = arm64_analyze_insn(code, len, vaddr, &w->insns[0], err);
	if (rc < 0) {
		w->why = WINDOW_INSN;
		return rc == -EILSEQ ? ubp_fail(err, EOPNOTSUPP, "there is no instruction")
				     : rc;
	}
	w->n = 1;
	w->len = ARM64_INSN;
	return 0;
}

/* A brk may stand there as well: it is looked at first. */
bool arm64_is_landing_pad(const struct window *window)
{
	uint32_t word = arm64_word(window->insns[0].bytes);

	/* bti c, bti j, bti jc; paciasp, pacibsp */
	return word == 0xd503245f || word == 0xd503249f || word == 0xd50324df ||
	       word == 0xd503233f || word == 0xd503237f;
}

int arm64_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		     struct ubp_err *err)
{
	struct slot_code slot;
	int rc;

	memset(ret_copy, 0, sizeof(*ret_copy));
	rc = arm64_build_slot(&window->insns[0], vaddr, &slot, err);
	if (rc < 0)
		return rc;
	memcpy(ret_copy->code, slot.code, slot.len);
	ret_copy->len = slot.len;
	ret_copy->at[1] = slot.done_at <= slot.len ? slot.done_at : slot.len;
	return 0;
}

bool arm64_copy_leave(const struct window *window, const struct window_copy *copy,
		      uint64_t vaddr, struct ubp_regs *regs)
{
	const struct displaced_insn *insn = &window->insns[0];
	struct slot_code slot;
	struct ubp_err ignored;

	(void)copy;
	ubp_err_reset(&ignored);
	if (arm64_build_slot(insn, vaddr, &slot, &ignored) < 0) {
		regs->r[ARM64_PC] = insn->vaddr;
		return false;
	}
	return arm64_slot_leave(insn, &slot, vaddr, regs);
}

int arm64_build_jump(const struct window *window, uint64_t site, uint64_t target,
		     uint8_t *ret_jump, struct ubp_err *err)
{
	uint32_t word;

	if (!arm64_encode_b(site, target, &word))
		return ubp_fail(err, ERANGE, "'%s': 0x%llx is out of reach of a jump at 0x%llx",
				window->insns[0].text, (unsigned long long)target,
				(unsigned long long)site);
	arm64_put_word(ret_jump, word);
	return 0;
}
