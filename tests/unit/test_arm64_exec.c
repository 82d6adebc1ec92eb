/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every form of instruction is executed in place and as slot code, near and far, from the
 * same registers, flags and memory: all must end the same. And whoever is stopped in a
 * slot, at any of its words, must be able to go on in the program.
 */

#include <stdio.h>

#ifdef __aarch64__

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/arm64/decode.h"
#include "arch/arm64/regs.h"
#include "arch/insn_word.h"
#include "engine/base/err.h"
#include "tests/unit/arm64_run.h"

#define SEEDS  30
#define RANDOM run_rounds(30000)
#define SITE   (RUN_CODE + RUN_CODE_SIZE / 2)

/* Below, above, and nearly out of reach. */
static const uint64_t slots[] = { SITE - 0x1000000, SITE + 0x2000000, SITE + 0x7f00000 };

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))

/* What is chosen anew for each seed, beside the bits of .vary. */
enum setup {
	ANY,
	IMM26, /* a branch to somewhere in the code */
	IMM19,
	IMM14,
	LITERAL,  /* imm19, to random data in the code */
	CODE_REG, /* rn leads into the code */
	SIGNED, /* rn leads into the code, signed with the modifier that the instruction has */
	DATA_REG,       /* rn points to data */
	CALL,           /* x8: getpid() */
	MAY_FAULT = 16, /* always, here or on some machine */
};

struct form {
	const char *name;
	uint32_t word, vary;
	unsigned setup;
};

#define RD 0x1f
#define RN 0x3e0
#define RM 0x1f0000

static const struct form forms[] = {
	{ "b", 0x14000000, 0, IMM26 },
	{ "bl", 0x94000000, 0, IMM26 },
	{ "b.cond", 0x54000000, 15, IMM19 },
	{ "bc.cond", 0x54000010, 15, IMM19 | MAY_FAULT },
	{ "cbz w", 0x34000000, 0x0100001f, IMM19 },
	{ "cbz x", 0xb4000000, 0x0100001f, IMM19 },
	{ "tbz", 0x36000000, 0x81f8001f, IMM14 },
	{ "adr", 0x10000000, 0x60ffffff, ANY },
	{ "adrp", 0x90000000, 0x60ffffff, ANY },
	{ "ldr w, literal", 0x18000000, RD, LITERAL },
	{ "ldr x, literal", 0x58000000, RD, LITERAL },
	{ "ldrsw literal", 0x98000000, RD, LITERAL },
	{ "prfm literal", 0xd8000000, RD, LITERAL },
	{ "ldr s, literal", 0x1c000000, RD, LITERAL },
	{ "ldr d, literal", 0x5c000000, RD, LITERAL },
	{ "ldr q, literal", 0x9c000000, RD, LITERAL },
	{ "br", 0xd61f0000, RN, CODE_REG },
	{ "blr", 0xd63f0000, RN, CODE_REG },
	{ "ret", 0xd65f0000, RN, CODE_REG },
	{ "ret x30", 0xd65f03c0, 0, CODE_REG },
	{ "braaz", 0xd61f081f, RN | 0x400, SIGNED },
	{ "braa", 0xd71f0800, RN | RD | 0x400, SIGNED },
	{ "blraaz", 0xd63f081f, RN | 0x400, SIGNED },
	{ "blraa", 0xd73f0800, RN | RD | 0x400, SIGNED },
	{ "retaa", 0xd65f0bff, 0x400, SIGNED },
	{ "svc", 0xd4000001, 0, CALL },
	{ "nop", 0xd503201f, 0, ANY },
	{ "hint", 0xd503201f, 0xe0, ANY | MAY_FAULT },
	{ "bti", 0xd503241f, 0xc0, ANY },
	{ "paciasp", 0xd503233f, 0xc0, ANY },
	{ "autiasp", 0xd50323bf, 0x40, ANY },
	{ "pacia1716", 0xd503211f, 0xc0, ANY },
	{ "xpaclri", 0xd50320ff, 0, ANY },
	{ "dmb", 0xd50330bf, 0xf00, ANY },
	{ "isb", 0xd5033fdf, 0, ANY },
	{ "clrex", 0xd5033f5f, 0, ANY },
	{ "mrs nzcv", 0xd53b4200, RD, ANY },
	{ "msr nzcv", 0xd51b4200, RD, ANY },
	{ "mrs tpidr_el0", 0xd53bd040, RD, ANY },
	{ "mrs dczid_el0", 0xd53b00e0, RD, ANY },
	{ "mrs ctr_el0", 0xd53b0020, RD, ANY },
	{ "cfinv", 0xd500401f, 0, ANY | MAY_FAULT },
	{ "dc zva", 0xd50b7420, RD, ANY | MAY_FAULT },
	{ "ic ivau", 0xd50b7520, RD, ANY | MAY_FAULT },
	{ "add imm", 0x91000000, 0xfffc00 | RD | RN, ANY },
	{ "add sp, sp", 0x910043ff, 0x100000, ANY },
	{ "mov sp, x29", 0x910003bf, 0, ANY },
	{ "subs", 0xeb000000, RD | RN | RM, ANY },
	{ "movz", 0xd2800000, 0x7fffff, ANY },
	{ "and imm", 0x92400000, 0x3fc00 | RD | RN, ANY },
	{ "csel", 0x9a800000, RD | RN | RM | 0xf400, ANY },
	{ "ccmp", 0xfa400000, RN | RM | 0xf00f, ANY },
	{ "madd", 0x9b000000, RD | RN | RM | 0x7c00, ANY },
	{ "pacia", 0xdac10000, RD | RN, ANY },
	{ "stp pre", 0xa9bf0000, RD | RN | 0x7c00, DATA_REG },
	{ "stp x29, x30, [sp, #-16]!", 0xa9bf7bfd, 0, ANY },
	{ "ldp x29, x30, [sp], #16", 0xa8c17bfd, 0, ANY },
	{ "ldp post", 0xa8c10000, RD | RN | 0x7c00, DATA_REG },
	{ "ldr", 0xf9400000, RD | RN | 0x1c00, DATA_REG },
	{ "str", 0xf9000000, RD | RN | 0x1c00, DATA_REG },
	{ "ldrb post", 0x38401400, RD | RN, DATA_REG },
	{ "ldr q", 0x3dc00000, RD | RN, DATA_REG },
	{ "str q", 0x3d800000, RD | RN, DATA_REG },
	{ "ld1", 0x4c407000, RD | RN, DATA_REG },
	{ "ldadd", 0xf8e00000, RD | RN | RM | 0x7000, DATA_REG | MAY_FAULT },
	{ "swp", 0xf8e08000, RD | RN | RM, DATA_REG | MAY_FAULT },
	{ "casal", 0xc8e0fc00, RD | RN | RM, DATA_REG | MAY_FAULT },
	{ "ldar", 0xc8dffc00, RD | RN, DATA_REG },
	{ "stlr", 0xc89ffc00, RD | RN, DATA_REG },
	{ "ldapr", 0xf8bfc000, RD | RN, DATA_REG | MAY_FAULT },
	{ "stlur", 0xd9000000, RD | RN, DATA_REG | MAY_FAULT },
	{ "ldraa", 0xf8200400, RD | RN, DATA_REG | MAY_FAULT },
	{ "prfm", 0xf9800000, RD | RN, DATA_REG },
	{ "fadd", 0x1e602800, RD | RN | RM, ANY },
	{ "fmov x", 0x9e660000, RD | RN, ANY },
	{ "fcmp", 0x1e602000, RN | RM, ANY },
	{ "add v", 0x4ee08400, RD | RN | RM, ANY },
	{ "tbl", 0x4e000000, RD | RN | RM, ANY },
	{ "aese", 0x4e284800, RD | RN, ANY | MAY_FAULT },
	{ "rdvl", 0x04bf5020, RD, ANY | MAY_FAULT },
	{ "load from nowhere", 0xf9400001, 0, ANY | MAY_FAULT },
};

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("arm64");
}

/* --- one form, one seed ------------------------------------------------------------- */

struct start {
	uint32_t word;
	uint64_t seed;
	struct run_regs regs;
	uint64_t literal; /* 0: none */
};

/* Words from the site to somewhere in the code, not too near. */
static int64_t random_distance(uint64_t *seed, int64_t max)
{
	int64_t words = (int64_t)(run_next(seed) % (uint64_t)(max - 16)) + 16;

	return run_next(seed) & 1 ? words : -words;
}

static uint64_t sign(uint32_t word, uint64_t pointer, const struct run_regs *regs)
{
	bool is_b = word >> 10 & 1, is_ret = (word & 0xffff0000) == 0xd65f0000;
	bool has_modifier = word >> 24 & 1;
	unsigned rm = arm64_rd(word);
	uint64_t modifier = is_ret          ? regs->sp
			    : !has_modifier ? 0
			    : rm == 31      ? regs->sp
					    : regs->x[rm];

	if (!(getauxval(AT_HWCAP) & HWCAP_PACA))
		return pointer;
	if (is_b)
		__asm__(".arch armv8.3-a\npacib %0, %1" : "+r"(pointer) : "r"(modifier));
	else
		__asm__(".arch armv8.3-a\npacia %0, %1" : "+r"(pointer) : "r"(modifier));
	return pointer;
}

static void prepare(const struct form *f, uint64_t seed, struct start *s)
{
	uint64_t state = seed * 1000003 + f->word;
	uint64_t somewhere;
	unsigned rn;

	*s = (struct start){ .seed = run_next(&state) };
	run_random(s->seed, &s->regs);
	s->word = f->word | ((uint32_t)run_next(&state) & f->vary);
	rn = arm64_rn(s->word);
	somewhere = SITE + (uint64_t)random_distance(&state, 0x2000) * 4;
	switch (f->setup & ~MAY_FAULT) {
	case IMM26:
		s->word |= (uint32_t)random_distance(&state, 0x4000) & 0x3ffffff;
		break;
	case IMM19:
		s->word |= ((uint32_t)random_distance(&state, 0x4000) & 0x7ffff) << 5;
		break;
	case LITERAL:
		s->word |= ((uint32_t)random_distance(&state, 0x4000) & 0x7ffff) << 5;
		s->literal = arm64_decode(s->word, SITE).target;
		break;
	case IMM14:
		s->word |= ((uint32_t)random_distance(&state, 0x1000) & 0x3fff) << 5;
		break;
	case SIGNED:
		rn = (s->word & 0xffff0000) == 0xd65f0000 ? ARM64_X30 : rn;
		/* Signed with the register's own old value, it would be something else. */
		if (rn != 31 && rn != arm64_rd(s->word))
			s->regs.x[rn] = sign(s->word, somewhere, &s->regs);
		break;
	case CODE_REG:
		if (rn != 31)
			s->regs.x[rn] = somewhere;
		break;
	case DATA_REG:
		if (rn != 31)
			s->regs.x[rn] =
				RUN_DATA + RUN_DATA_SIZE / 2 + run_next(&state) % 64 * 16;
		break;
	case CALL:
		s->regs.x[8] = 172;
		break;
	case ANY:
		break;
	}
	if (strcmp(f->name, "load from nowhere") == 0)
		s->regs.x[0] = 8;
}

/* Memory as it was, and what may be run of the program. */
static void lay_out(const struct start *s, bool with_insn)
{
	uint64_t state = s->seed;

	run_random_memory(s->seed);
	run_write_word(SITE, with_insn ? s->word : 0);
	if (s->literal) {
		uint64_t value[2] = { run_next(&state), run_next(&state) };

		run_write(s->literal, value, sizeof(value));
	}
}

static void clean_up(const struct start *s)
{
	run_clear(SITE, 4);
	if (s->literal)
		run_clear(s->literal, 16);
}

static void run_at(const struct start *s, uint64_t pc, struct run_end *end)
{
	struct run_regs regs = s->regs;

	regs.pc = pc;
	run_code(&regs, end);
}

static void to_ubp(const struct run_regs *r, struct ubp_regs *ret)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->r, r->x, sizeof(r->x));
	ret->r[ARM64_SP] = r->sp;
	ret->r[ARM64_PC] = r->pc;
	ret->r[ARM64_PSTATE] = r->pstate;
}

static void from_ubp(const struct ubp_regs *from, struct run_regs *ret)
{
	memcpy(ret->x, from->r, sizeof(ret->x));
	ret->sp = from->r[ARM64_SP];
	ret->pc = from->r[ARM64_PC];
	ret->pstate = from->r[ARM64_PSTATE];
}

/* What a slot keeps below the stack pointer is nobody's. */
static void forget_saved(struct run_end *end, const struct run_end *right, uint64_t sp)
{
	size_t at = sp - 144 - RUN_STACK;

	memcpy(end->stack + at, right->stack + at, 16);
}

static void compare(const char *what, const struct run_end *right, const struct run_end *got)
{
	for (int i = 0; i < 31; i++)
		if (right->regs.x[i] != got->regs.x[i])
			fail_msg("%s: x%d is 0x%llx, not 0x%llx", what, i,
				 (unsigned long long)got->regs.x[i],
				 (unsigned long long)right->regs.x[i]);
	if (right->signo != got->signo)
		fail_msg("%s: signal %d, not %d", what, got->signo, right->signo);
	if (right->regs.pc != got->regs.pc)
		fail_msg("%s: ends at 0x%llx, not at 0x%llx", what,
			 (unsigned long long)got->regs.pc, (unsigned long long)right->regs.pc);
	if (right->regs.sp != got->regs.sp)
		fail_msg("%s: sp is 0x%llx, not 0x%llx", what, (unsigned long long)got->regs.sp,
			 (unsigned long long)right->regs.sp);
	if (right->regs.pstate != got->regs.pstate)
		fail_msg("%s: pstate differs", what);
	if (memcmp(right->regs.v, got->regs.v, sizeof(got->regs.v)) != 0 ||
	    right->regs.fpsr != got->regs.fpsr)
		fail_msg("%s: vector registers differ", what);
	if (memcmp(right->data, got->data, sizeof(got->data)) != 0)
		fail_msg("%s: data differs", what);
	if (memcmp(right->stack, got->stack, sizeof(got->stack)) != 0)
		fail_msg("%s: the stack differs", what);
}

static struct run_end right, got;

/* Bytes of a slot that are instructions. */
static size_t code_len(const struct displaced_insn *insn, const struct slot_code *code)
{
	size_t done = code->done_at == 0xff ? 0 : code->done_at + 4u;
	size_t taken = code->taken_at == 0xff ? 0 : code->taken_at + 4u;

	if (insn->form == ARM64_BLR_AUTH)
		return 8;
	return insn->form == ARM64_LEAVE ? 4 : done > taken ? done : taken;
}

static void run_in_slot(const char *what, const struct start *s,
			const struct displaced_insn *insn, const struct slot_code *code,
			uint64_t slot)
{
	struct ubp_regs regs;

	lay_out(s, false);
	run_write(slot, code->code, code->len);
	run_at(s, slot, &got);
	/* A fault is told as one in the program. */
	if (got.regs.pc - slot < UBP_SLOT_SIZE) {
		to_ubp(&got.regs, &regs);
		arch()->slot.leave(insn, code, slot, &regs);
		from_ubp(&regs, &got.regs);
	}
	if (insn->form == ARM64_LOAD_SIMD)
		forget_saved(&got, &right, s->regs.sp);
	compare(what, &right, &got);
}

/* Stopped in front of the slot's word at @at: goes on in the program. */
static unsigned stop_in_slot(const char *what, const struct start *s,
			     const struct displaced_insn *insn, const struct slot_code *code,
			     uint64_t slot, size_t at)
{
	struct ubp_regs regs;
	bool is_exact;

	lay_out(s, true);
	run_write(slot, code->code, code->len);
	run_write_word(slot + at, ARM64_BRK);
	run_at(s, slot, &got);
	if (got.regs.pc != slot + at || got.signo != SIGTRAP)
		return 0; /* does not come by */
	to_ubp(&got.regs, &regs);
	is_exact = arch()->slot.leave(insn, code, slot, &regs);
	if (!is_exact && insn->form != ARM64_LOAD)
		return 0;
	from_ubp(&regs, &got.regs);
	run_code(&got.regs, &got);
	if (insn->form == ARM64_LOAD_SIMD)
		forget_saved(&got, &right, s->regs.sp);
	compare(what, &right, &got);
	return 1;
}

static int run_form(const char *name, const struct start *s, unsigned *n_stops)
{
	struct displaced_insn insn;
	struct ubp_err err;
	uint8_t bytes[4];
	int rc;

	ubp_err_reset(&err);
	insn_put_word(bytes, s->word);
	rc = arch()->insn.analyze(bytes, sizeof(bytes), SITE, &insn, &err);
	if (rc < 0)
		return rc;
	lay_out(s, true);
	run_at(s, SITE, &right);
	for (size_t i = 0; i < N_ELEMS(slots); i++) {
		struct slot_code code;
		char what[160];

		snprintf(what, sizeof(what), "%s '%s' (%08x) slot %zu seed 0x%llx", name,
			 arch()->insn.text(&insn).s, s->word, i, (unsigned long long)s->seed);
		rc = arch()->slot.build(&insn, slots[i], &code, &err);
		if (rc < 0)
			continue;
		run_in_slot(what, s, &insn, &code, slots[i]);
		for (size_t at = 0; n_stops && at < code_len(&insn, &code); at += 4)
			*n_stops += stop_in_slot(what, s, &insn, &code, slots[i], at);
		run_clear(slots[i], UBP_SLOT_SIZE);
	}
	clean_up(s);
	return 0;
}

static bool can_arrive(const struct form *f)
{
	return !(f->setup & MAY_FAULT) &&
	       (f->setup != SIGNED || getauxval(AT_HWCAP) & HWCAP_PACA);
}

static void test_forms(void **state)
{
	(void)state;
	assert_int_equal(run_take_signals(), 0);
	for (size_t i = 0; i < N_ELEMS(forms); i++) {
		unsigned n = 0, n_stops = 0, n_arrived = 0;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct start s;

			prepare(&forms[i], seed, &s);
			if (run_form(forms[i].name, &s, &n_stops) < 0)
				continue;
			n++;
			n_arrived += right.signo == SIGTRAP && right.regs.pc != SITE;
		}
		/* blr of x30 and the like are refused. */
		if (n < SEEDS / 2 || n_stops < n)
			fail_msg("%s: %u of %d seeds, %u stops", forms[i].name, n, SEEDS,
				 n_stops);
		if (can_arrive(&forms[i]) && n_arrived < SEEDS / 5)
			fail_msg("%s: leads nowhere but for %u", forms[i].name, n_arrived);
	}
}

/* Is the result the same each time? */
static bool is_repeatable(uint32_t word)
{
	struct arm64_decoded d = arm64_decode(word, SITE);

	switch (word >> 25 & 15) {
	case 0: /* matrices and scalable vectors: not all of them is compared */
	case 2:
		return false;
	default:
		break;
	}
	/* The system's registers; literals from where nothing is. */
	return word >> 24 != 0xd5 && d.form != ARM64_SYSCALL && d.form != ARM64_LOAD &&
	       d.form != ARM64_LOAD_SIMD && d.form != ARM64_NOTHING;
}

static void test_random(void **state)
{
	uint64_t seed = 1;
	unsigned n = 0;

	(void)state;
	assert_int_equal(run_take_signals(), 0);
	for (unsigned i = 0; i < RANDOM; i++) {
		struct start s = { .word = (uint32_t)run_next(&seed), .seed = i };

		run_random(i, &s.regs);
		if (is_repeatable(s.word))
			n += run_form("random", &s, NULL) == 0;
	}
	assert_in_range(n, RANDOM / 3, RANDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_random),
	};

	if (run_begin(slots, N_ELEMS(slots)) < 0) {
		perror("cannot map memory where the test wants it");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	printf("arm64 code runs on an arm64 machine only\n");
	return 77;
}

#endif
