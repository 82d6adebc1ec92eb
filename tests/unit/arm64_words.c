/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/arm64_words.h"

#include <stdlib.h>

#include "arch/arm64/decode.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"

const struct ubp_arch *words_arch(void)
{
	return ubp_arch_by_name("arm64");
}

int words_analyze(uint32_t word, uint64_t vaddr, struct displaced_insn *insn,
		  struct ubp_err *err)
{
	uint8_t bytes[ARM64_INSN];

	insn_put_word(bytes, word);
	ubp_err_reset(err);
	return words_arch()->insn.analyze(bytes, sizeof(bytes), vaddr, insn, err);
}

size_t words_parse(const char *text, uint8_t *code)
{
	size_t n = 0;
	char *end;

	for (; *text; text = *end ? end + 1 : end, n += ARM64_INSN)
		insn_put_word(code + n, (uint32_t)strtoul(text, &end, 16));
	return n;
}
