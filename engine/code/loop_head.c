/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/loop_head.h"

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/code/decoded.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"
#include "engine/symbols/functions.h"

static bool is_jump_to(const struct object *object, const struct decoded_insn *insn,
		       uint64_t target)
{
	struct displaced_insn jump = { 0 };
	struct ubp_err ignored;

	ubp_err_reset(&ignored);
	return object->arch->insn.analyze(insn->code, insn->len, insn->start, &jump,
					  &ignored) == 0 &&
	       jump.leave == LEAVE_JUMP && jump.target == target;
}

bool object_is_loop_head(struct object *object, uint64_t foffset)
{
	uint64_t head, start, end;
	struct decoded_insn insn;

	if (!object->arch || object_foffset_to_vaddr(object, foffset, &head) < 0 ||
	    object_extent(object, foffset, &start, &end) < 0)
		return false;
	for (uint64_t at = head; at < end; at = insn.start + insn.len) {
		if (decoded_at(object, at, &insn) < 0)
			return false;
		if (is_jump_to(object, &insn, head))
			return true;
	}
	return false;
}
