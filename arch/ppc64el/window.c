/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows: a jump is one b, as long as any instruction or shorter, so a window is one, and
 * its copy is what its slot is. Nothing can be under the jump but its start; what is left of
 * an instruction of two words runs by itself no more than before.
 */

#include "arch/ppc64el/ppc64el.h"

#include <errno.h>
#include <string.h>

#include "arch/detour.h"
#include "engine/base/err.h"

int ppc64el_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
			struct window *ret_window, struct ubp_err *err)
{
	struct window *w = ret_window;
	int rc;

	(void)padding;
	memset(w, 0, sizeof(*w));
	w->jump_len = PPC64EL_INSN;
	if (len < PPC64EL_INSN) {
		w->why = WINDOW_SHORT;
		return ubp_fail(err, EOPNOTSUPP,
				"its function ends %zu bytes on, a jump takes %d", len,
				PPC64EL_INSN);
	}
	rc = ppc64el_analyze_insn(code, len, vaddr, &w->insns[0], err);
	if (rc < 0) {
		w->why = WINDOW_INSN;
		return rc == -EILSEQ ? ubp_fail(err, EOPNOTSUPP, "there is no instruction")
				     : rc;
	}
	w->n = 1;
	w->len = w->insns[0].len;
	return 0;
}

int ppc64el_build_copy(const struct window *window, uint64_t vaddr,
		       struct window_copy *ret_copy, struct ubp_err *err)
{
	struct slot_code slot;
	int rc;

	memset(ret_copy, 0, sizeof(*ret_copy));
	rc = ppc64el_build_slot(&window->insns[0], vaddr, &slot, err);
	if (rc < 0)
		return rc;
	memcpy(ret_copy->code, slot.code, slot.len);
	ret_copy->len = slot.len;
	ret_copy->at[1] = slot.done_at <= slot.len ? slot.done_at : slot.len;
	return 0;
}

bool ppc64el_copy_leave(const struct window *window, const struct window_copy *copy,
			uint64_t vaddr, struct ubp_regs *regs)
{
	const struct displaced_insn *insn = &window->insns[0];
	struct slot_code slot;
	struct ubp_err ignored;

	(void)copy;
	ubp_err_reset(&ignored);
	if (ppc64el_build_slot(insn, vaddr, &slot, &ignored) < 0) {
		regs->r[PPC64EL_NIP] = insn->vaddr;
		return false;
	}
	return ppc64el_slot_leave(insn, &slot, vaddr, regs);
}

int ppc64el_build_jump(const struct window *window, uint64_t site, uint64_t target,
		       uint8_t *ret_jump, struct ubp_err *err)
{
	uint32_t word;

	if (!ppc64el_encode_b(site, target, &word))
		return ubp_fail(err, ERANGE, "'%s': 0x%llx is out of reach of a jump at 0x%llx",
				window->insns[0].text, (unsigned long long)target,
				(unsigned long long)site);
	ppc64el_put_word(ret_jump, word);
	return 0;
}
