/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Windows: a jump is one b, as long as any instruction or shorter. */

#include "arch/ppc64el/window.h"

#include "arch/detour.h"
#include "arch/ppc64el/slot.h"
#include "arch/ppc64el/text.h"
#include "arch/slot_words.h"
#include "arch/window_one.h"

int ppc64el_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
			struct window *ret_window, struct ubp_err *err)
{
	(void)padding;
	return window_one_find(&ubp_arch_ppc64el, code, len, vaddr, ret_window, err);
}

int ppc64el_build_copy(const struct window *window, uint64_t vaddr,
		       struct window_copy *ret_copy, struct ubp_err *err)
{
	return window_one_copy(&ubp_arch_ppc64el, window, vaddr, ret_copy, err);
}

bool ppc64el_copy_leave(const struct window *window, const struct window_copy *copy,
			uint64_t vaddr, struct ubp_regs *regs)
{
	(void)copy;
	return window_one_leave(&ubp_arch_ppc64el, window, vaddr, regs);
}

int ppc64el_build_jump(const struct window *window, uint64_t site, uint64_t target,
		       uint8_t *ret_jump, struct ubp_err *err)
{
	return slot_words_window_jump(ppc64el_encode_b, ppc64el_insn_text, window, site, target,
				      ret_jump, err);
}
