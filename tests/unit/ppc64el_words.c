/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/ppc64el_words.h"

#include <stdlib.h>

#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"
#include "engine/base/err.h"

const struct ubp_arch *p64_arch(void)
{
	return ubp_arch_by_name("ppc64el");
}

size_t p64_parse(const char *text, uint8_t *code)
{
	size_t n = 0;
	char *end;

	for (; *text; text = *end ? end + 1 : end, n += PPC64EL_INSN)
		insn_put_word(code + n, (uint32_t)strtoul(text, &end, 16));
	return n;
}

int p64_analyze(const char *words, uint64_t vaddr, struct displaced_insn *insn,
		struct ubp_err *err)
{
	uint8_t bytes[UBP_INSN_MAX];
	size_t len = p64_parse(words, bytes);

	ubp_err_reset(err);
	return p64_arch()->insn.analyze(bytes, len, vaddr, insn, err);
}
