/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* x86-64 displacement: bytes at an address in, bytes for a slot out. Any host. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "engine/base/err.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

#define A    0x401000	    /* where the instruction stands */
#define HIGH 0x7f1234561000 /* or there */
#define S    0x10000000	    /* a slot within reach of A */
#define FAR  0x7f0000000000 /* one that is not */
#define NONE 0xff

struct slot_vector {
	const char *what;
	uint64_t vaddr, slot;
	const char *in, *out; /* hex; out NULL: out of reach */
	int done_at, taken_at;
};

static const struct slot_vector vectors[] = {
	{ "push %rbp: copy, jmp A+1", A, S, "55", "55 e9fb0f40f0", 1, NONE },
	{ "push %rbp far: copy, jmp *0(%rip), A+1", A, FAR, "55",
	  "55 ff2500000000 0110400000000000", 1, NONE },
	{ "endbr64", A, S, "f30f1efa", "f30f1efa e9fb0f40f0", 4, NONE },
	{ "mov 0x100(%rip),%rax: the displacement counts from the slot", A, S, "488b0500010000",
	  "488b05001140f0 e9fb0f40f0", 7, NONE },
	{ "cmpb $5,0x100(%rip): from behind the immediate", A, S, "803d0001000005",
	  "803d001140f005 e9fb0f40f0", 7, NONE },
	{ "movl $0x12345678,0x100(%rip)", A, S, "c7050001000078563412",
	  "c705001140f078563412 e9fb0f40f0", 10, NONE },
	{ "palignr $0xaa,0x100(%rip),%xmm8", A, S, "66440f3a0f0500010000aa",
	  "66440f3a0f05001140f0aa e9fb0f40f0", 11, NONE },
	{ "vmovups 0x100(%rip),%zmm0", A, S, "62f17c48100500010000",
	  "62f17c481005001140f0 e9fb0f40f0", 10, NONE },
	{ "vpternlogd $1,0x100(%rip),%ymm3,%ymm0: capstone 4 lacks it", A, S,
	  "62f36528250500010000 01", "62f365282505001140f001 e9fb0f40f0", 11, NONE },
	{ "mov 0x100(%rip) out of reach", A, FAR, "488b0500010000", NULL, 0, 0 },
	{ "lea 0x100(%eip),%rax reaches everything", A, FAR, "67488d0500010000",
	  "67488d0500114000 ff25000000000810400000000000", 8, NONE },

	{ "jmp +0x20", A, S, "eb20", "e91d1040f0", NONE, 0 },
	{ "jmp +0x100 far", A, FAR, "e900010000", "ff2500000000 0511400000000000", NONE, 0 },
	{ "bnd jmp +0x100", A, S, "f2e900010000", "e9011140f0", NONE, 0 },
	{ "je +0x20: je rel32; jmp A+2", A, S, "7420", "0f841c1040f0 e9f70f40f0", 6, NONE },
	{ "jne +0x100", A, S, "0f8500010000", "0f85001140f0 e9fb0f40f0", 6, NONE },
	{ "jg +0x20 far: jg over; jmp A+2; jmp A+0x22", A, FAR, "7f20",
	  "7f0e ff25000000000210400000000000 ff25000000002210400000000000", 2, 16 },
	{ "loop -0x10: loop over; jmp A+2; jmp A-0xe", A, S, "e2f0",
	  "e205 e9fb0f40f0 e9e60f40f0", 2, 7 },
	{ "jecxz +0x20 keeps its prefix", A, S, "67e320", "67e305 e9fb0f40f0 e9161040f0", 3,
	  8 },

	{ "call +0x100: push literal(%rip); jmp; literal", A, S, "e800010000",
	  "ff3505000000 e9fa1040f0 0510400000000000", NONE, 6 },
	{ "call +0x100 far", A, FAR, "e800010000",
	  "ff350e000000 ff25000000000511400000000000 0510400000000000", NONE, 6 },
	{ "data16 data16 rex.W call +0x100, for thread-local storage", A, S, "666648e800010000",
	  "ff3505000000 e9fd1040f0 0810400000000000", NONE, 6 },
	{ "call *%rax", A, S, "ffd0",
	  "fff0 ff3424 c744240802104000 c744240c00000000 488d642408 ff6424f8", NONE, NONE },
	{ "call *%r11 from up high", HIGH, FAR, "41ffd3",
	  "41fff3 ff3424 c744240803105634 c744240c127f0000 488d642408 ff6424f8", NONE, NONE },
	{ "call *0x100(%rip)", A, S, "ff1500010000",
	  "ff35001140f0 ff3424 c744240806104000 c744240c00000000 488d642408 ff6424f8", NONE,
	  NONE },
	{ "call *8(%rsp): read before anything is pushed", A, S, "ff542408",
	  "ff742408 ff3424 c744240804104000 c744240c00000000 488d642408 ff6424f8", NONE, NONE },
	{ "call *%fs:0x10", A, S, "64ff142510000000",
	  "64ff342510000000 ff3424 c744240808104000 c744240c00000000 488d642408 ff6424f8", NONE,
	  NONE },
	{ "notrack call *%rax", A, S, "3effd0",
	  "fff0 ff3424 c744240803104000 c744240c00000000 488d642408 ff6424f8", NONE, NONE },
	{ "call *%rax with a rex that doesn't count", A, S, "41f2ffd0",
	  "fff0 ff3424 c744240804104000 c744240c00000000 488d642408 ff6424f8", NONE, NONE },

	{ "ret", A, S, "c3", "c3", NONE, NONE },
	{ "ret $8", A, FAR, "c20800", "c20800", NONE, NONE },
	{ "rep ret", A, S, "f3c3", "f3c3", NONE, NONE },
	{ "bnd ret", A, S, "f2c3", "f2c3", NONE, NONE },
	{ "jmp *%rax", A, FAR, "ffe0", "ffe0", NONE, NONE },
	{ "notrack jmp *%rax", A, S, "3effe0", "3effe0", NONE, NONE },
	{ "jmp *0x100(%rip)", A, S, "ff2500010000", "ff25001140f0", NONE, NONE },
	{ "syscall: rcx as the program expects it", A, S, "0f05",
	  "0f05 48b90210400000000000 e9f10f40f0", 12, NONE },
	{ "movabs 0x1122334455667788,%al", A, S, "a08877665544332211",
	  "a08877665544332211 e9fb0f40f0", 9, NONE },
	{ "lock cmpxchg %rcx,(%rdx)", A, S, "f0480fb10a", "f0480fb10a e9fb0f40f0", 5, NONE },
};

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

static size_t from_hex(const char *hex, uint8_t *bytes, size_t max)
{
	size_t n = 0;

	while (*hex) {
		char digits[3] = { hex[0], hex[1], '\0' };

		if (*hex == ' ') {
			hex++;
			continue;
		}
		assert_true(n < max);
		bytes[n++] = (uint8_t)strtoul(digits, NULL, 16);
		hex += 2;
	}
	return n;
}

static void check_vector(void **state)
{
	const struct slot_vector *v = *state;
	uint8_t in[UBP_INSN_MAX], out[UBP_SLOT_SIZE];
	size_t in_len = from_hex(v->in, in, sizeof(in)), out_len;
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;
	int rc;

	ubp_err_reset(&err);
	assert_int_equal(arch()->insn.analyze(in, in_len, v->vaddr, &insn, &err), 0);
	assert_int_equal(insn.len, in_len);
	assert_int_equal(arch()->insn.len(in, in_len, v->vaddr), in_len);
	rc = arch()->slot.build(&insn, v->slot, &code, &err);
	if (!v->out) {
		assert_int_equal(rc, -ERANGE);
		assert_true(insn.pc_relative);
		assert_non_null(strstr(err.text, "out of reach"));
		return;
	}
	assert_int_equal(rc, 0);
	out_len = from_hex(v->out, out, sizeof(out));
	assert_int_equal(code.len, out_len);
	assert_memory_equal(code.code, out, out_len);
	assert_int_equal(code.done_at, v->done_at);
	assert_int_equal(code.taken_at, v->taken_at);
	assert_int_equal(insn.kind, strcmp(v->in, "f30f1efa") == 0 ? INSN_SKIP : INSN_BOOST);
	assert_int_equal(insn.is_call, strstr(v->what, "call ") != NULL);
}

/* --- what is refused ----------------------------------------------------------- */

struct refusal {
	const char *in;
	int rc;
	const char *says; /* part of the text */
};

static const struct refusal refusals[] = {
	{ "cc", -EOPNOTSUPP, "'int3': it is a breakpoint itself" },
	{ "f1", -EOPNOTSUPP, "'int1'" },
	{ "cd80", -EOPNOTSUPP, "'int $0x80': it enters the kernel by a gate" },
	{ "cf", -EOPNOTSUPP, "iret" },
	{ "48cf", -EOPNOTSUPP, "iretq" },
	{ "f4", -EOPNOTSUPP, "'hlt'" },
	{ "fa", -EOPNOTSUPP, "'cli'" },
	{ "fb", -EOPNOTSUPP, "'sti'" },
	{ "e410", -EOPNOTSUPP, "port" },
	{ "ef", -EOPNOTSUPP, "port" },
	{ "f36c", -EOPNOTSUPP, "port" },
	{ "6f", -EOPNOTSUPP, "port" },
	{ "8ed0", -EOPNOTSUPP, "%ss'" },
	{ "ff1d00000000", -EOPNOTSUPP, "far transfer" },
	{ "48ff2d00000000", -EOPNOTSUPP, "far transfer" },
	{ "cb", -EOPNOTSUPP, "far transfer" },
	{ "ca0800", -EOPNOTSUPP, "far transfer" },
	{ "c7f800000000", -EOPNOTSUPP, "'xbegin" },
	{ "0f34", -EOPNOTSUPP, "'sysenter'" },
	{ "0f35", -EOPNOTSUPP, "'sysexit" },
	{ "0f07", -EOPNOTSUPP, "'sysret" },
	{ "0faa", -EOPNOTSUPP, "'rsm'" },
	{ "0f01c1", -EOPNOTSUPP, "hypervisors" },
	{ "0f01d9", -EOPNOTSUPP, "hypervisors" },
	{ "0f78c1", -EOPNOTSUPP, "hypervisors" },
	{ "66e80000", -EOPNOTSUPP, "makers disagree" },
	{ "66e90000", -EOPNOTSUPP, "makers disagree" },
	{ "66eb00", -EOPNOTSUPP, "makers disagree" },
	{ "667400", -EOPNOTSUPP, "makers disagree" },
	{ "66c3", -EOPNOTSUPP, "makers disagree" },
	{ "66ffd0", -EOPNOTSUPP, "makers disagree" },
	{ "06", -EILSEQ, "no known instruction: 06" }, /* push %es */
	{ "ce", -EILSEQ, "no known instruction" },     /* into */
	{ "17", -EILSEQ, "no known instruction" },     /* pop %ss */
	{ "f0e800000000", -EILSEQ, "no known instruction" },
	{ "488b05", -EILSEQ, "no known instruction" }, /* cut off */
	{ "62f36528", -EILSEQ, "no known instruction" },
	{ "d500", -EILSEQ, "no known instruction" },
	{ "", -EILSEQ, "no bytes" },
};

/* Look alike, but can be displaced. */
static const char *const accepted[] = {
	"0f0b",			/* ud2 */
	"0f05",			/* syscall */
	"0f31",			/* rdtsc */
	"9d",			/* popf */
	"8cd0",			/* mov %ss,%eax */
	"8ed8",			/* mov %eax,%ds */
	"0f01f8",		/* swapgs */
	"0f30",			/* wrmsr */
	"0f01d0",		/* xgetbv */
	"0f01d5",		/* xend */
	"0fc7f0",		/* rdrand */
	"f20f78c10102",		/* insertq */
	"f00fb10a",		/* lock cmpxchg */
	"f30f1efb",		/* endbr32 */
	"f3480f1ec8",		/* rdsspq */
	"0f01ee",		/* rdpkru */
	"0f01ef",		/* wrpkru */
	"c5fb93c0",		/* kmovd %k0,%eax */
	"62f57c48580500000000", /* vaddph (%rip),%zmm0,%zmm0 */
	"c4e27849c0",		/* tilerelease */
	"8fe97881c1",		/* XOP */
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(refusals); i++) {
		const struct refusal *r = &refusals[i];
		uint8_t in[UBP_INSN_MAX];
		size_t len = from_hex(r->in, in, sizeof(in));
		struct displaced_insn insn;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(arch()->insn.analyze(in, len, A, &insn, &err), r->rc);
		if (!strstr(err.text, r->says))
			fail_msg("%s: '%s' doesn't say '%s'", r->in, err.text, r->says);
		assert_int_equal(arch()->insn.len(in, len, A) != 0, r->rc == -EOPNOTSUPP);
	}
	for (size_t i = 0; i < N_ELEMS(accepted); i++) {
		uint8_t in[UBP_INSN_MAX];
		size_t len = from_hex(accepted[i], in, sizeof(in));
		struct displaced_insn insn;
		struct ubp_err err;

		ubp_err_reset(&err);
		if (arch()->insn.analyze(in, len, A, &insn, &err) != 0 || insn.len != len)
			fail_msg("%s: %s", accepted[i], err.text);
	}
}

/* Nothing beyond the bytes given is looked at: exact buffers, for the sanitizer. */
static void test_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(vectors); i++) {
		uint8_t in[UBP_INSN_MAX];
		size_t len = from_hex(vectors[i].in, in, sizeof(in));

		for (size_t n = 0; n < len; n++) {
			uint8_t *exact = malloc(n ? n : 1);
			struct displaced_insn insn;
			struct ubp_err err;

			assert_non_null(exact);
			memcpy(exact, in, n);
			ubp_err_reset(&err);
			if (arch()->insn.analyze(exact, n, A, &insn, &err) == 0)
				assert_true(insn.len <= n);
			assert_true(arch()->insn.len(exact, n, A) <= (int)n);
			free(exact);
		}
	}
}

/* Random bytes: no crash, what is accepted fits a slot and the bytes. */
static void test_random(void **state)
{
	uint64_t x = 88172645463325252;
	unsigned n_accepted = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		uint8_t in[UBP_INSN_MAX];
		struct displaced_insn insn;
		struct slot_code code;
		struct ubp_err err;

		for (size_t j = 0; j < sizeof(in); j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			in[j] = (uint8_t)(x >> 32);
		}
		err.code = 0;
		if (arch()->insn.analyze(in, sizeof(in), A, &insn, &err) < 0)
			continue;
		n_accepted++;
		assert_true(insn.len >= 1 && insn.len <= 15);
		assert_int_equal(arch()->insn.len(in, sizeof(in), A), insn.len);
		if (arch()->slot.build(&insn, i % 2 ? S : FAR, &code, &err) == 0)
			assert_in_range(code.len, 1, UBP_SLOT_SIZE);
		else
			assert_true(insn.pc_relative);
	}
	assert_true(n_accepted > 50000);
}

static void test_registers(void **state)
{
	static const char *const names[] = { "r15",   "r14", "r13", "r12",     "bp", "bx",
					     "r11",   "r10", "r9",  "r8",      "ax", "cx",
					     "dx",    "si",  "di",  "orig_ax", "ip", "cs",
					     "flags", "sp",  "ss" };
	static const char *const none[] = { "rax", "eax", "al",	  "ds", "fs_base", "r16",
					    "",	   "r1",  "xmm0", "AX", "axx" };

	(void)state;
	for (size_t i = 0; i < N_ELEMS(names); i++)
		assert_int_equal(arch()->reg.by_name(names[i], strlen(names[i])), i);
	for (size_t i = 0; i < N_ELEMS(none); i++)
		assert_int_equal(arch()->reg.by_name(none[i], strlen(none[i])), -1);
	assert_int_equal(arch()->reg.by_name("ax:u32", 2), arch()->reg.retval);
	assert_ptr_equal(ubp_arch_find(62, 2), arch());
}

int main(void)
{
	static struct CMUnitTest tests[N_ELEMS(vectors) + 4];

	for (size_t i = 0; i < N_ELEMS(vectors); i++)
		tests[i] = (struct CMUnitTest){
			.name = vectors[i].what,
			.test_func = check_vector,
			.initial_state = (void *)(uintptr_t)&vectors[i],
		};
	tests[N_ELEMS(vectors)] = (struct CMUnitTest)cmocka_unit_test(test_refusals);
	tests[N_ELEMS(vectors) + 1] = (struct CMUnitTest)cmocka_unit_test(test_truncated);
	tests[N_ELEMS(vectors) + 2] = (struct CMUnitTest)cmocka_unit_test(test_random);
	tests[N_ELEMS(vectors) + 3] = (struct CMUnitTest)cmocka_unit_test(test_registers);
	return cmocka_run_group_tests_name("x86_slot", tests, NULL, NULL);
}
