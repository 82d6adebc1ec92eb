/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fuzzer: operands of static probes. One byte for the machine, a number for the symbol, then the
 * text of the arguments. Each operand is taken or refused at a place in the text, and what is
 * taken becomes a fetch arg that fits.
 */

#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <errno.h>

#include "arch/operand.h"
#include "engine/base/err.h"
#include "engine/spec/operand_text.h"

static void check_operand(const struct operand *o, const char *start, const char *end)
{
	CLAIM(o->size == 1 || o->size == 2 || o->size == 4 || o->size == 8);
	CLAIM(!o->is_float || o->size >= 4);
	CLAIM(!o->symbol ||
	      (o->symbol >= start && o->symbol + o->symbol_len <= end && o->symbol_len > 0));
	CLAIM(!o->index == !o->scale && !(o->scale & (o->scale - 1)) && o->scale <= 8);
	CLAIM(o->kind == OPERAND_REG ? o->base && o->reg_bits : !o->reg_bits);
	CLAIM(o->kind == OPERAND_MEMORY || (!o->index && !o->segment && !o->pc_relative));
	CLAIM(!o->pc_relative || (!o->base && !o->index));
}

static void check_text(const struct operand *o, uint64_t symbol, bool is_fixed)
{
	const struct operand_context context = {
		.probe_vaddr = 0x401000,
		.probe_foffset = 0x1000,
		.is_fixed = is_fixed,
		.symbol = symbol,
	};
	struct operand_text text;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	rc = operand_fetch_text(o, &context, &text, &err);
	CLAIM(rc == 0 || (rc == -ENOTSUP && err.text[0]));
	if (rc < 0)
		return;
	CLAIM(strlen(text.value) + 1 + strlen(text.type) <= SPEC_ARG_TEXT_MAX);
	CLAIM(text.value[0] && strchr("%\\+-@", text.value[0]));
	CLAIM(!text.address[0] || o->kind == OPERAND_MEMORY);
	/* Nothing cut off. */
	CLAIM(!strchr(text.value, '(') || text.value[strlen(text.value) - 1] == ')');
	CLAIM(strlen(text.address) < SPEC_ARG_TEXT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_386, EM_AARCH64, EM_PPC64, EM_ARM };
	struct fuzz_input in = { data, size };
	uint8_t how = (uint8_t)fuzz_number(&in, 1);
	uint16_t machine = machines[how & 3];
	uint64_t symbol = fuzz_number(&in, 8);
	char *all = fuzz_text(&in);
	const char *at = all, *end = all + strlen(all);

	while (*at) {
		const char *start = at;
		struct operand operand;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		rc = operand_parse(machine, &at, &operand, &err);
		CLAIM(at >= start && at <= end);
		if (rc == 0) {
			CLAIM(at > start);
			check_operand(&operand, start, at);
			check_text(&operand, symbol, how & 4);
			continue;
		}
		CLAIM(rc == -err.code && err.text[0] && (rc == -EINVAL || rc == -ENOTSUP));
		at = start;
		operand_skip(machine, &at);
		CLAIM(at > start && at <= end);
	}
	free(all);
	return 0;
}
