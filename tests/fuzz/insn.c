/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: instructions. Arbitrary bytes at an address are analyzed; what may be
 * displaced gets a slot, and is left from each place in it.
 */

#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/err.h"

#define NONE 0xff

static void leave_everywhere(const struct ubp_arch *arch, const struct displaced_insn *insn,
			     const struct slot_code *code, uint64_t slot, uint64_t seed)
{
	struct ubp_regs regs;

	for (size_t at = 0; at <= code->len; at++) {
		uint64_t pc;

		for (size_t i = 0; i < UBP_REGS_MAX; i++)
			regs.r[i] = seed * (i + 1);
		regs.r[arch->reg.pc] = slot + at;
		(void)arch->slot.leave(insn, code, slot, &regs);
		pc = regs.r[arch->reg.pc];
		CLAIM(pc == insn->vaddr || pc == insn->vaddr + insn->len || pc == insn->target);
	}
}

static void build_at(const struct ubp_arch *arch, const struct displaced_insn *insn,
		     uint64_t slot, uint64_t seed)
{
	struct slot_code *code = malloc(sizeof(*code));
	struct ubp_err err;
	int rc;

	CLAIM(code);
	ubp_err_reset(&err);
	rc = arch->slot.build(insn, slot, code, &err);
	CLAIM(rc == 0 || (rc == -ERANGE && insn->pc_relative && err.text[0]));
	if (rc == 0) {
		CLAIM(code->len > 0 && code->len <= UBP_SLOT_SIZE);
		CLAIM(code->done_at == NONE || code->done_at < code->len);
		CLAIM(code->taken_at == NONE || code->taken_at < code->len);
		/* What runs first there must be an instruction. */
		CLAIM(arch->insn.len(code->code, code->len, slot) > 0);
		leave_everywhere(arch, insn, code, slot, seed);
	}
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ubp_arch *arch = ubp_arch_by_name("x86_64");
	struct fuzz_input in = { data, size };
	uint64_t vaddr = fuzz_number(&in, 8), far = fuzz_number(&in, 8);
	struct displaced_insn insn;
	struct insn_text text;
	struct ubp_err err;
	uint8_t *code;
	int len, rc;

	CLAIM(arch);
	ubp_err_reset(&err);
	memset(&insn, 0, sizeof(insn));
	code = fuzz_copy(in.at, in.left);
	len = arch->insn.len(code, in.left, vaddr);
	CLAIM(len >= 0 && len <= UBP_INSN_MAX && (size_t)len <= in.left);
	rc = arch->insn.analyze(code, in.left, vaddr, &insn, &err);
	CLAIM(rc == 0 || ((rc == -EILSEQ || rc == -EOPNOTSUPP) && err.text[0]));
	if (rc == 0) {
		CLAIM(insn.len > 0 && insn.len == len && insn.vaddr == vaddr);
		CLAIM(memcmp(insn.bytes, code, insn.len) == 0);
		text = arch->insn.text(&insn);
		CLAIM(text.s[0] && memchr(text.s, '\0', sizeof(text.s)));
		build_at(arch, &insn, vaddr + 0x100000, far);
		build_at(arch, &insn, far, vaddr);
	}
	free(code);
	return 0;
}
