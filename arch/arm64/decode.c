/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/arm64/arm64.h"

int arm64_insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	(void)code;
	(void)vaddr;
	return len < ARM64_INSN ? 0 : ARM64_INSN;
}
