/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Every form of instruction is executed in place and as slot code, near and far, from the same
 * registers and memory: all must end the same. Runs under user-mode emulation as well.
 */

#include <stdio.h>

#ifdef __powerpc64__

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/insn_word.h"
#include "arch/ppc64el/decode.h"
#include "arch/ppc64el/regs.h"
#include "engine/base/err.h"

#define N_ELEMS(a) (sizeof(a) / sizeof((a)[0]))
#define SEEDS      100

#define CODE      UINT64_C(0x50000000)
#define CODE_SIZE 0x3000000
#define SITE      (CODE + CODE_SIZE / 2)
#define DATA      UINT64_C(0x60000000)
#define DATA_SIZE 0x10000
#define STACK     (DATA + DATA_SIZE / 2)
#define KEPT      496 /* below the stack pointer: where slots keep what they must */

/* Below, above, and nearly out of reach of branches. */
static const uint64_t slots[] = { SITE - 0x100000, SITE + 0x200040, SITE + 0x17ff000 };

#define RT 0x03e00000
#define RA 0x001f0000
#define RB 0x0000f800

/* .vary: bits that are chosen anew for each seed. */
struct form {
	const char *name;
	uint32_t words[2], vary[2];
	bool by_data; /* RA points to data, and is none of those that must not change */
};

static const struct form forms[] = {
	{ "addi", { 0x38000000 }, { RT | RA | 0xffff }, false },
	{ "add.", { 0x7c000215 }, { RT | RA | RB }, false },
	{ "subfe", { 0x7c000110 }, { RT | RA | RB }, false },
	{ "rldicl", { 0x78000000 }, { RT | RA | 0xffe3 }, false },
	{ "cmpd", { 0x7c200000 }, { 0x03800000 | RA | RB }, false },
	{ "crxor", { 0x4c000182 }, { RT | RA | RB }, false },
	{ "mflr", { 0x7c0802a6 }, { RT }, false },
	{ "mtlr", { 0x7c0803a6 }, { RT }, false },
	{ "mtctr", { 0x7c0903a6 }, { RT }, false },
	{ "mfcr", { 0x7c000026 }, { RT }, false },
	{ "mtcrf", { 0x7c000120 }, { RT | 0x000ff000 }, false },
	{ "nop", { 0x60000000 }, { 0 }, false },
	{ "ld", { 0xe8000000 }, { RT | RA | 0xfc }, true },
	{ "std", { 0xf8000000 }, { RT | RA | 0xfc }, true },
	{ "stdu r1", { 0xf821ff91 }, { 0x70 }, false },
	{ "lwzu", { 0x84600000 }, { RA | 0xfc }, true },
	{ "sync", { 0x7c0004ac }, { 0 }, false },
	{ "isync", { 0x4c00012c }, { 0 }, false },
	{ "b", { 0x48000000 }, { 0x03fffffc }, false },
	{ "bl", { 0x48000001 }, { 0x03fffffc }, false },
	{ "bc", { 0x40000000 }, { RT | RA | 0xfffc }, false },
	{ "bcl", { 0x40000001 }, { RT | RA | 0xfffc }, false },
	{ "bcl 20,31,$+4", { 0x429f0005 }, { 0 }, false },
	{ "bclr", { 0x4c000020 }, { RT | RA }, false },
	{ "bcctr", { 0x4c800420 }, { (RT & ~0x00800000) | RA }, false },
	{ "bcctrl", { 0x4c800421 }, { (RT & ~0x00800000) | RA }, false },
	{ "bctar", { 0x4c000460 }, { RT | RA }, false },
	{ "bctarl", { 0x4c000461 }, { RT | RA }, false },
	{ "addpcis", { 0x4c000004 }, { RT | RA | 0xffc1 }, false },
	{ "pli", { 0x06000000, 0x38000000 }, { 0x3ffff, RT | 0xffff }, false },
	{ "pla", { 0x06100000, 0x38000000 }, { 0x3ffff, RT | 0xffff }, false },
	{ "plwz .", { 0x06100000, 0x80000000 }, { 0xff, RT | 0xfffc }, false },
	{ "pld .", { 0x04100000, 0xe4000000 }, { 0xff, RT | 0xfff8 }, false },
	{ "pstd", { 0x04000000, 0xf4000000 }, { 0, RT | RA | 0xff8 }, true },
	{ "pnop", { 0x07000000, 0x00000000 }, { 0 }, false },
};

struct state {
	uint64_t r[32], ctr, link, xer, ccr, pc;
	int signal;
	uint8_t data[DATA_SIZE];
};

static struct state *volatile run;
static mcontext_t before;
static volatile bool is_inside;

static uint64_t seed = 88172645463325252;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* The first signal leads into the code, the next one back. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	unsigned long *regs = uc->uc_mcontext.gp_regs;
	struct state *s = run;

	(void)info;
	if (!is_inside) {
		is_inside = true;
		memcpy(&before.gp_regs, regs, sizeof(before.gp_regs));
		for (int i = 0; i < 32; i++)
			if (i != PPC64EL_R13)
				regs[i] = s->r[i];
		regs[PPC64EL_CTR] = s->ctr;
		regs[PPC64EL_LR] = s->link;
		regs[PPC64EL_XER] = s->xer;
		regs[PPC64EL_CCR] = s->ccr;
		regs[PPC64EL_NIP] = s->pc;
		return;
	}
	for (int i = 0; i < 32; i++)
		s->r[i] = regs[i];
	s->ctr = regs[PPC64EL_CTR];
	s->link = regs[PPC64EL_LR];
	s->xer = regs[PPC64EL_XER];
	s->ccr = regs[PPC64EL_CCR];
	s->pc = regs[PPC64EL_NIP];
	s->signal = number;
	memcpy(regs, &before.gp_regs, sizeof(before.gp_regs));
	regs[PPC64EL_NIP] += PPC64EL_INSN;
	is_inside = false;
}

/* From the registers and memory of @s, at s->pc, until there is a trap. */
static void execute(struct state *s)
{
	memcpy((void *)DATA, s->data, DATA_SIZE);
	run = s;
	__asm__ volatile("trap" ::: "memory");
	memcpy(s->data, (void *)DATA, DATA_SIZE);
	s->r[PPC64EL_R13] = 0;
}

static void put_code(uint64_t vaddr, const uint8_t *code, size_t len)
{
	memcpy((void *)vaddr, code, len);
	__builtin___clear_cache((char *)vaddr, (char *)vaddr + len);
}

static void put_traps(uint64_t vaddr, size_t len)
{
	for (size_t at = 0; at < len; at += PPC64EL_INSN)
		insn_put_word((uint8_t *)vaddr + at, PPC64EL_SWBP);
	__builtin___clear_cache((char *)vaddr, (char *)vaddr + len);
}

static void choose(struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 32; i++)
		s->r[i] = any() & 1 ? any() : any() & 0xff;
	s->r[PPC64EL_R1] = STACK;
	s->r[PPC64EL_R13] = 0;
	s->ctr = any() & 1 ? CODE + (any() % CODE_SIZE & ~UINT64_C(3)) : any() & 3;
	s->link = CODE + (any() % CODE_SIZE & ~UINT64_C(3));
	s->xer = any() & 0xe0000000;
	s->ccr = (uint32_t)any();
	for (size_t i = 0; i < DATA_SIZE; i += 8)
		memcpy(s->data + i, &(uint64_t){ any() }, 8);
}

static size_t make_insn(const struct form *form, struct state *s, uint8_t *code)
{
	size_t n = form->words[0] >> 26 == 1 ? 2 : 1;

	for (size_t i = 0; i < n; i++) {
		uint32_t word = form->words[i] ^ ((uint32_t)any() & form->vary[i]);

		/* The thread's own memory is the test's. */
		if ((form->vary[i] & RT) == RT && ppc64el_rt(word) == PPC64EL_R13)
			word ^= 0x01000000;
		if ((form->vary[i] & RA) == RA && (word >> 16 & 31) == PPC64EL_R13)
			word ^= 0x00100000;
		if (form->by_data && i == n - 1) {
			if ((word >> 16 & 31) < 2 || (word >> 16 & 31) == ppc64el_rt(word))
				word = (word & ~(RA | RT)) | 5 << 16 | 6 << 21;
			s->r[word >> 16 & 31] = DATA + 0x1000 + (any() & 0xff8);
		}
		insn_put_word(code + i * PPC64EL_INSN, word);
	}
	return n * PPC64EL_INSN;
}

static void show(const char *what, const struct state *s)
{
	print_message("%s: pc %lx lr %lx ctr %lx ccr %lx xer %lx r0 %lx r3 %lx signal %d\n",
		      what, s->pc, s->link, s->ctr, s->ccr, s->xer, s->r[0], s->r[3],
		      s->signal);
}

static void run_one(const struct form *form, unsigned *n_run)
{
	static struct state first, here, there;
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;
	uint8_t bytes[UBP_INSN_MAX] = { 0 };
	const struct ubp_arch *arch = ubp_arch_by_name("ppc64el");
	size_t len;

	choose(&first);
	len = make_insn(form, &first, bytes);
	ubp_err_reset(&err);
	/* Some of what bits make is none, or goes by what it changes. */
	if (arch->insn.analyze(bytes, len, SITE, &insn, &err) < 0)
		return;
	if (insn.target && (insn.leave == LEAVE_JUMP || insn.is_call) &&
	    (insn.target < CODE || insn.target >= CODE + CODE_SIZE))
		return;
	here = first;
	here.pc = SITE;
	put_code(SITE, bytes, len);
	execute(&here);
	put_traps(SITE, len);
	for (size_t i = 0; i < N_ELEMS(slots); i++) {
		if (arch->slot.build(&insn, slots[i], &code, &err) < 0) {
			assert_true(i == 2); /* too far for this one */
			continue;
		}
		there = first;
		there.pc = slots[i];
		put_code(slots[i], code.code, code.len);
		execute(&there);
		put_traps(slots[i], code.len);
		/* What faults has had no effect. */
		if (there.pc - slots[i] < code.len) {
			struct ubp_regs regs = { .r = { [PPC64EL_NIP] = there.pc } };

			(void)arch->slot.leave(&insn, &code, slots[i], &regs);
			there.pc = regs.r[PPC64EL_NIP];
		}
		memcpy(there.data + DATA_SIZE / 2 - KEPT, here.data + DATA_SIZE / 2 - KEPT, 8);
		if (memcmp(&there, &here, sizeof(here)) != 0) {
			show("first", &first);
			show("in place", &here);
			show("slot", &there);
			fail_msg("%s: %s: slot %zu differs", form->name,
				 arch->insn.text(&insn).s, i);
		}
		++*n_run;
	}
}

/* In each test: cmocka has handlers of its own. */
static void take_signals(void)
{
	static const int numbers[] = { SIGTRAP, SIGSEGV, SIGILL, SIGBUS };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	for (size_t i = 0; i < N_ELEMS(numbers); i++)
		assert_int_equal(sigaction(numbers[i], &action, NULL), 0);
}

static void check_form(void **state)
{
	unsigned n_run = 0;

	take_signals();
	for (unsigned i = 0; i < SEEDS; i++)
		run_one(*state, &n_run);
	assert_true(n_run >= SEEDS / 5);
}

int main(void)
{
	static uint8_t stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	struct CMUnitTest all[N_ELEMS(forms)];

	if (mmap((void *)CODE, CODE_SIZE, protection, flags, -1, 0) == MAP_FAILED ||
	    mmap((void *)DATA, DATA_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	put_traps(CODE, CODE_SIZE);
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < N_ELEMS(forms); i++)
		all[i] = (struct CMUnitTest){ .name = forms[i].name,
					      .test_func = check_form,
					      .initial_state = (void *)&forms[i] };
	return cmocka_run_group_tests_name("slots", all, NULL, NULL);
}

#else

int main(void)
{
	printf("not on this machine: tests/integ/ppc64el.sh runs it under emulation\n");
	return 77;
}

#endif
