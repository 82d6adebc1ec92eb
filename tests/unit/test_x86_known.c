/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* An instruction that was decoded before is told as if it were decoded now: of random bytes, thousands, each at several places. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86/decode.h"

#define N     60000 /* more than are kept */
#define AGAIN 500   /* so many back */
#define LEN   15

static uint8_t codes[N][LEN];
static size_t n_known;
static const uint64_t places[] = { 0x401000, 0x7fff00001234, 0 };

/* What capstone says, asked anew. False: it is none, or one that it does not know well enough. */
static bool decode(csh handle, cs_insn *insn, unsigned bits, const uint8_t *code, size_t len,
		   uint64_t vaddr, struct x86_decoded *want)
{
	struct x86_parts parts;

	if (!cs_disasm_iter(handle, &code, &len, &vaddr, insn) || insn->size > LEN ||
	    !x86_split(bits, insn->bytes, insn->size, &parts))
		return false;
	want->len = (uint8_t)insn->size;
	snprintf(want->text, sizeof(want->text), "%.20s%s%.58s", insn->mnemonic,
		 insn->op_str[0] ? " " : "", insn->op_str);
	return true;
}

/* What is known by one like it is an instruction to capstone, too, and as long. */
static void check_known(csh handle, cs_insn *insn, unsigned bits, const uint8_t *code,
			size_t len)
{
	const uint8_t *at = code;
	struct x86_decoded got;
	struct x86_parts parts;
	uint64_t vaddr = places[0];
	size_t left = len;

	if (!x86_decode_known(bits, code, len, &got, &parts))
		return;
	n_known++;
	if (!cs_disasm_iter(handle, &at, &left, &vaddr, insn) || insn->size != got.len)
		fail_msg("%u bits: %02x %02x %02x %02x: %d bytes, capstone has '%s', %d", bits,
			 code[0], code[1], code[2], code[3], got.len, insn->mnemonic,
			 insn->size);
}

static void check(csh handle, cs_insn *insn, unsigned bits, const uint8_t *code, size_t len)
{
	for (size_t k = 0; k < 2 * sizeof(places) / sizeof(places[0]); k++) {
		uint64_t vaddr = places[k % (sizeof(places) / sizeof(places[0]))];
		struct x86_decoded want, got;
		struct x86_parts parts;
		int n;

		if (!decode(handle, insn, bits, code, len, vaddr, &want) ||
		    x86_decode(bits, code, len, vaddr, &got, &parts) < 0 ||
		    strncmp(got.text, "(nameless)", 10) == 0)
			continue;
		n = x86_len(bits, code, len, vaddr);
		if (got.len == want.len && n == want.len && strcmp(got.text, want.text) == 0 &&
		    got.rip_relative == parts.rip_relative)
			continue;
		fail_msg("%u bits, at 0x%lx: '%s', %d and %d bytes; capstone has '%s', %d",
			 bits, (unsigned long)vaddr, got.text, got.len, n, want.text, want.len);
	}
}

/* Random bytes, half of them with a usual opcode in front. */
static void fill(uint8_t *code)
{
	static const uint8_t usual[][3] = { { 0x48, 0x8b }, { 0x48, 0x83 }, { 0x0f, 0x84 },
					    { 0xe8 },       { 0xeb },       { 0x75 },
					    { 0xe2 },       { 0x69 },       { 0x66, 0xc7 },
					    { 0xf7 },       { 0xf6 },       { 0xb8 },
					    { 0x48, 0xb8 }, { 0x67, 0xe8 }, { 0xc7, 0xf8 },
					    { 0x48, 0x8d } };
	size_t which = (size_t)rand() % (2 * sizeof(usual) / sizeof(usual[0]));

	for (size_t i = 0; i < LEN; i++)
		code[i] = (uint8_t)rand();
	for (size_t i = 0; which < sizeof(usual) / sizeof(usual[0]) && i < 3 && usual[which][i];
	     i++)
		code[i] = usual[which][i];
}

static void test_known(void **state)
{
	(void)state;
	srand(1);
	for (size_t i = 0; i < N; i++)
		fill(codes[i]);
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		csh handle;
		cs_insn *insn;

		assert_int_equal(
			cs_open(CS_ARCH_X86, bits == 64 ? CS_MODE_64 : CS_MODE_32, &handle),
			CS_ERR_OK);
		cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
		insn = cs_malloc(handle);
		assert_non_null(insn);
		n_known = 0;
		for (size_t i = 0; i < N; i++) {
			check_known(handle, insn, bits, codes[i], 1 + (size_t)rand() % LEN);
			check(handle, insn, bits, codes[i], LEN);
			if (i >= AGAIN)
				check(handle, insn, bits, codes[i - AGAIN], LEN);
			/* Cut short it is none, or the same. */
			check(handle, insn, bits, codes[i], 1 + (size_t)rand() % LEN);
		}
		assert_true(n_known > N / 4);
		cs_free(insn, 1);
		cs_close(&handle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
