/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Windows: a jump is one b, as long as any instruction. */

#include "arch/arm64/window.h"

#include "arch/arm64/decode.h"
#include "arch/arm64/slot.h"
#include "arch/arm64/text.h"
#include "arch/detour.h"
#include "arch/insn_word.h"
#include "arch/slot_words.h"
#include "arch/window_one.h"

int arm64_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		      struct window *ret_window, struct ubp_err *err)
{
	(void)padding;
	return window_one_find(&ubp_arch_arm64, code, len, vaddr, ret_window, err);
}

/* A brk may stand there as well: it is looked at first. */
bool arm64_is_landing_pad(const struct window *window)
{
	uint32_t word = insn_word(window->insns[0].bytes);

	/* bti c, bti j, bti jc; paciasp, pacibsp */
	return word == 0xd503245f || word == 0xd503249f || word == 0xd50324df ||
	       word == 0xd503233f || word == 0xd503237f;
}

int arm64_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		     struct ubp_err *err)
{
	return window_one_copy(&ubp_arch_arm64, window, vaddr, ret_copy, err);
}

bool arm64_copy_leave(const struct window *window, const struct window_copy *copy,
		      uint64_t vaddr, struct ubp_regs *regs)
{
	(void)copy;
	return window_one_leave(&ubp_arch_arm64, window, vaddr, regs);
}

int arm64_build_jump(const struct window *window, uint64_t site, uint64_t target,
		     uint8_t *ret_jump, struct ubp_err *err)
{
	return slot_words_window_jump(arm64_encode_b, arm64_insn_text, window, site, target,
				      ret_jump, err);
}
