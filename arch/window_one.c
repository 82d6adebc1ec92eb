/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/window_one.h"

#include <errno.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"

int window_one_find(const struct ubp_arch *arch, const uint8_t *code, size_t len,
		    uint64_t vaddr, struct window *ret_window, struct ubp_err *err)
{
	struct window *w = ret_window;
	int rc;

	memset(w, 0, sizeof(*w));
	w->jump_len = (uint8_t)arch->insn.align;
	if (len < w->jump_len) {
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP,
				"its function ends %zu bytes on, a jump takes %d", len,
				w->jump_len);
	}
	rc = arch->insn.analyze(code, len, vaddr, &w->insns[0], err);
	if (rc < 0) {
		w->why = WINDOW_INSN;
		return rc == -EILSEQ ? ubp_fail(err, EOPNOTSUPP, "there is no instruction")
				     : rc;
	}
	w->n = 1;
	w->len = w->insns[0].len;
	return 0;
}

int window_one_copy(const struct ubp_arch *arch, const struct window *window, uint64_t vaddr,
		    struct window_copy *ret_copy, struct ubp_err *err)
{
	struct slot_code slot;
	int rc;

	memset(ret_copy, 0, sizeof(*ret_copy));
	rc = arch->slot.build(&window->insns[0], vaddr, &slot, err);
	if (rc < 0)
		return rc;
	memcpy(ret_copy->code, slot.code, slot.len);
	ret_copy->len = slot.len;
	ret_copy->at[1] = slot.done_at <= slot.len ? slot.done_at : slot.len;
	return 0;
}

bool window_one_leave(const struct ubp_arch *arch, const struct window *window, uint64_t vaddr,
		      struct ubp_regs *regs)
{
	const struct displaced_insn *insn = &window->insns[0];
	struct slot_code slot;
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	if (arch->slot.build(insn, vaddr, &slot, &ignored) < 0) {
		regs->r[arch->reg.pc] = insn->vaddr;
		return false;
	}
	return arch->slot.leave(insn, &slot, vaddr, regs);
}
