/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Windows under a jump: random ones are executed in place, and by the jump and their
 * copy, near and far, from the same registers and memory: all must end the same, and
 * at each step a thread in the copy must be told as one in the program.
 */

#ifdef __x86_64__

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/detour.h"
#include "engine/base/err.h"
#include "tests/unit/x86_forms.h"
#include "tests/unit/x86_run.h"

#define WINDOWS      2000
#define SEEDS        4
#define N_ELEMS(a)   (sizeof(a) / sizeof((a)[0]))
#define USER_REG(at) (offsetof(struct user_regs_struct, at) / 8)

static const struct ubp_arch *arch(void)
{
	return ubp_arch_by_name("x86_64");
}

/* --- forms that may stand in front of others -------------------------------------- */

enum mildness {
	WILD,  /* changes what others take for pointers: the last, or none */
	MILD,  /* pointers stay pointers */
	INERT, /* changes flags and vectors at most */
};

static enum mildness *mildness_of; /* by form */

static bool is_near(uint64_t a, uint64_t b, uint64_t by)
{
	return a - b + by <= 2 * by;
}

static enum mildness compare(const struct run_regs *before, const struct run_end *after)
{
	static const enum run_reg pointers[] = { BX, SI, DI, BP, R8, SP };
	const uint64_t *a = before->gpr, *b = after->regs.gpr;

	for (size_t i = 0; i < N_ELEMS(pointers); i++)
		if (!is_near(a[pointers[i]], b[pointers[i]], 0x100))
			return WILD;
	if (!is_near(a[R9], b[R9], 16) || !is_near(a[CX], b[CX], 64))
		return WILD;
	return memcmp(a, b, 16 * sizeof(*a)) == 0 ? INERT : MILD;
}

static enum mildness find_mildness(const struct form *f)
{
	size_t len = (size_t)(f->end - f->start);
	enum mildness least = INERT;
	static struct run_end end;

	/* What the flags become may be anything, the trap flag too. */
	if (f->branch || strcmp(f->name, "popf") == 0)
		return f->prepare == PREPARE_NOTHING && f->name[0] == 'j' ? INERT : WILD;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct run_regs regs;
		uint8_t data[RUN_DATA_SIZE];
		enum mildness found;

		form_prepare(f, seed, &regs);
		memcpy(data, (void *)RUN_DATA, sizeof(data));
		run_write(RUN_CODE - len, f->start, len);
		run_plant_exit(RUN_CODE, 0);
		run_code(RUN_CODE - len, &regs, seed, NULL, NULL, &end);
		found = compare(&regs, &end);
		if (found == INERT && memcmp(data, end.data, sizeof(data)) != 0)
			found = MILD;
		least = found < least ? found : least;
	}
	return least;
}

static int init(void **state)
{
	run_init(state);
	mildness_of = calloc(n_forms, sizeof(*mildness_of));
	assert_non_null(mildness_of);
	for (size_t i = 0; i < n_forms; i++)
		if (form_runs(&forms[i]) && !forms[i].varies)
			mildness_of[i] = find_mildness(&forms[i]);
	return 0;
}

static int fini(void **state)
{
	(void)state;
	free(mildness_of);
	return 0;
}

/* --- random windows ----------------------------------------------------------------- */

struct sample {
	uint8_t code[UBP_WINDOW_MAX];
	size_t len, padding;
	uint64_t vaddr;
	const struct form *prepare; /* the form whose needs count */
	char names[200];
	bool has_call;
};

/* Does it end the flow of instructions, or its address matter? */
static bool must_be_last(const struct form *f)
{
	return strcmp(f->name, "ud2") == 0 ||
	       (f->branch && (f->name[0] != 'j' || f->name[1] == 'm') &&
		strncmp(f->name, "loop", 4) != 0);
}

static bool fits(const struct sample *s, const struct form *last, const struct form *f)
{
	size_t i = (size_t)(f - forms), end = s->len + (size_t)(f->end - f->start);

	if (!form_runs(f) || f->varies || f->prepare == PREPARE_GETPID)
		return false;
	if (strncmp(f->name, "call", 4) == 0 && end < 5)
		return false;
	if (s->len == 0)
		return true;
	/* What is in front must leave this one its needs, and these be its own. */
	if (f->prepare != PREPARE_NOTHING || f->branch)
		return !s->prepare && mildness_of[last - forms] == INERT;
	if (strcmp(f->name, "popf") == 0 || strncmp(f->name, "rep", 3) == 0)
		return false;
	return mildness_of[i] != WILD || end >= 5;
}

/* Does it have a displacement in code? Then that goes to an exit, wherever it stands. */
static void retarget(struct sample *s, size_t at, size_t len)
{
	uint64_t end = s->vaddr + at + len;
	uint8_t *behind = s->code + at + len;
	struct displaced_insn insn;
	struct ubp_err err;
	int32_t wide = 0, by = (int32_t)(RUN_CODE - end);

	ubp_err_reset(&err);
	assert_int_equal(arch()->insn.analyze(s->code + at, len, s->vaddr + at, &insn, &err),
			 0);
	if (insn.target == 0 || insn.pc_relative)
		return;
	if (len > 4)
		memcpy(&wide, behind - 4, sizeof(wide));
	if (len > 4 && end + (uint64_t)(int64_t)wide == insn.target) {
		wide += by;
		memcpy(behind - 4, &wide, sizeof(wide));
	} else {
		behind[-1] = (uint8_t)(behind[-1] + by);
	}
}

static bool may_come(const struct sample *s, const struct form *last, const struct form *f,
		     uint64_t random)
{
	size_t len = (size_t)(f->end - f->start);

	/* Short ones, to have many in a window, and branches. */
	if (!fits(s, last, f) || (len > 4 && random % 8 != 0) ||
	    (!f->branch && random % 5 != 0))
		return false;
	/* One that others may follow. */
	return s->len + len >= 5 || must_be_last(f) || mildness_of[f - forms] != WILD;
}

static void make(uint64_t *rng, struct sample *ret)
{
	const struct form *last = NULL;
	size_t n = 0, at[UBP_WINDOW_INSNS] = { 0 };

	memset(ret, 0, sizeof(*ret));
	while (ret->len < 5 && !(last && must_be_last(last))) {
		const struct form *f = &forms[run_next(rng) % n_forms];
		size_t len = (size_t)(f->end - f->start);

		if (!may_come(ret, last, f, run_next(rng)))
			continue;
		at[n++] = ret->len;
		memcpy(ret->code + ret->len, f->start, len);
		ret->len += len;
		last = f;
		if (f->prepare != PREPARE_NOTHING || !ret->prepare)
			ret->prepare = f;
		ret->has_call |= strncmp(f->name, "call", 4) == 0;
		snprintf(ret->names + strlen(ret->names),
			 sizeof(ret->names) - strlen(ret->names), "%s ", f->name);
	}
	ret->padding = ret->len < 5 ? 5 - ret->len : 0;
	ret->vaddr = RUN_CODE - ret->len - ret->padding;
	for (size_t i = 0; i < n; i++)
		retarget(ret, at[i], (i + 1 < n ? at[i + 1] : ret->len) - at[i]);
}

static void plant_exits(void)
{
	run_plant_exit(RUN_CODE, 0);
	run_plant_exit(RUN_CODE + FORM_TARGET_AT, 1);
	run_plant_exit(RUN_CODE - FORM_TARGET_AT, 2);
}

/* --- a window and its copy ------------------------------------------------------------ */

/* Where a copy stands, the code of the jump there, and a text for messages. */
struct trial {
	const struct sample *sample;
	struct window window;
	struct window_copy copy;
	uint64_t vaddr;
	char what[320];
};

static bool starts_at(const struct window *w, size_t at)
{
	bool starts = false;

	for (size_t i = 1; i < w->n; i++)
		starts |= w->insns[i].vaddr - w->insns[0].vaddr == at;
	return starts;
}

/* 6 where an instruction starts at the last byte of five, but none at the jump's opcode or last byte then. No sample leads to its own byte 5. */
static size_t jump_len(const struct window *w)
{
	return w->len >= 6 && starts_at(w, 4) && !starts_at(w, 1) && !starts_at(w, 5) ? 6 : 5;
}

static void find(const struct sample *s, struct window *ret_window)
{
	struct ubp_err err;

	ubp_err_reset(&err);
	if (arch()->jump.find(s->code, s->len, s->padding, s->vaddr, ret_window, &err) < 0)
		fail_msg("%s: %s", s->names, err.text);
	assert_int_equal(ret_window->len, s->len);
	assert_int_equal(ret_window->jump_len, jump_len(ret_window));
}

/* False: an operand is out of reach. */
static bool build(const struct sample *s, uint64_t vaddr, struct trial *t)
{
	struct ubp_err err;
	bool reaches = true;
	int rc;

	t->sample = s;
	t->vaddr = vaddr;
	ubp_err_reset(&err);
	find(s, &t->window);
	rc = arch()->jump.build_copy(&t->window, vaddr, &t->copy, &err);
	for (size_t i = 0; i < t->window.n; i++)
		reaches &= !t->window.insns[i].pc_relative || t->window.insns[i].addr_half;
	if (rc == -ERANGE) {
		assert_true(!reaches && vaddr == RUN_FAR);
		return false;
	}
	if (rc < 0)
		fail_msg("%s: %s", s->names, err.text);
	assert_true(t->copy.len <= UBP_COPY_MAX && t->copy.at[0] == 0);
	assert_true(t->copy.at[t->window.n] <= t->copy.len);
	return true;
}

static void run_in_place(const struct sample *s, uint64_t seed, run_step_fn *step, void *arg,
			 struct run_end *ret_end)
{
	struct run_regs regs;

	form_prepare(s->prepare, seed, &regs);
	plant_exits();
	memset((void *)s->vaddr, 0xcc, RUN_CODE - s->vaddr);
	run_write(s->vaddr, s->code, s->len);
	run_code(s->vaddr, &regs, seed, step, arg, ret_end);
}

/* By the jump where that reaches; what is under it must not be run. */
static void run_by_copy(const struct trial *t, uint64_t seed, run_step_fn *step, void *arg,
			struct run_end *ret_end)
{
	const struct sample *s = t->sample;
	uint64_t entry = s->vaddr;
	struct run_regs regs;
	struct ubp_err err;
	uint8_t jump[UBP_INSN_MAX];
	int rc;

	ubp_err_reset(&err);
	form_prepare(s->prepare, seed, &regs);
	plant_exits();
	memset((void *)s->vaddr, 0xcc, RUN_CODE - s->vaddr);
	rc = arch()->jump.build(&t->window, s->vaddr, t->vaddr, jump, &err);
	assert_int_equal(rc, t->vaddr == RUN_FAR ? -ERANGE : 0);
	if (rc == 0)
		run_write(s->vaddr, jump, t->window.jump_len);
	else
		entry = t->vaddr;
	run_write(t->vaddr, t->copy.code, t->copy.len);
	run_code(entry, &regs, seed, step, arg, ret_end);
}

/* A fault in the copy is told as one in the program. */
static void check_fault(const struct trial *t, const struct run_end *right, struct run_end *got)
{
	struct ubp_regs regs = { 0 };

	if (right->signo == 0)
		return;
	if (got->pc >= t->vaddr && got->pc < t->vaddr + t->copy.len) {
		regs.r[arch()->reg.pc] = got->pc;
		regs.r[arch()->reg.sp] = got->regs.gpr[SP];
		arch()->jump.copy_leave(&t->window, &t->copy, t->vaddr, &regs);
		got->pc = regs.r[arch()->reg.pc];
		got->regs.gpr[SP] = regs.r[arch()->reg.sp];
	}
	if (got->pc != right->pc)
		fail_msg("%s: a fault at 0x%llx is told as one at 0x%llx", t->what,
			 (unsigned long long)right->pc, (unsigned long long)got->pc);
}

/* An imitated indirect call leaves its target below the stack pointer, too. */
static void forget_below_call(const struct sample *s, struct run_end *a, struct run_end *b)
{
	size_t at = a->regs.gpr[SP] - 8 - RUN_STACK;

	if (!s->has_call)
		return;
	if (a->signo) {
		memset(a->stack, 0, sizeof(a->stack));
		memset(b->stack, 0, sizeof(b->stack));
	} else if (at < RUN_STACK_SIZE - 8) {
		memset(a->stack + at, 0, 8);
		memset(b->stack + at, 0, 8);
	}
}

/* --- runs ------------------------------------------------------------------------------- */

static void test_runs(void **state)
{
	unsigned ends[4] = { 0 }, several = 0, far = 0, short_ = 0;
	uint64_t rng = 42;

	(void)state;
	for (unsigned i = 0; i < WINDOWS; i++) {
		static struct run_end right, got;
		struct sample s;
		struct trial t;

		make(&rng, &s);
		for (uint64_t n = 0; n < 2 * SEEDS; n++) {
			uint64_t seed = n / 2 + i, vaddr = n % 2 ? RUN_FAR : RUN_SLOT;

			if (!build(&s, vaddr, &t))
				continue;
			snprintf(t.what, sizeof(t.what), "%sat 0x%llx seed %llu", s.names,
				 (unsigned long long)vaddr, (unsigned long long)seed);
			run_in_place(&s, seed, NULL, NULL, &right);
			run_by_copy(&t, seed, NULL, NULL, &got);
			check_fault(&t, &right, &got);
			forget_below_call(&s, &right, &got);
			run_assert_same(t.what, &right, &got, NULL);
			ends[right.signo ? 3 : right.exit]++;
			far += vaddr == RUN_FAR;
		}
		several += t.window.n > 1;
		short_ += s.padding != 0;
	}
	print_message("%u of %u windows of several instructions, %u with padding; %u far runs; "
		      "ends: %u behind, %u and %u branches, %u faults\n",
		      several, WINDOWS, short_, far, ends[0], ends[1], ends[2], ends[3]);
	assert_true(several > WINDOWS / 2 && short_ > 10 && far > 1000);
	assert_true(ends[0] > 1000 && ends[1] > 500 && ends[2] > 100 && ends[3] > 50);
}

/* --- short jumps ---------------------------------------------------------------------- */

#define HOP_AT (RUN_CODE - 20) /* in front of the longest instruction, behind an exit */

/* Each form alone, by a short jump to one that leads to its copy. */
static void run_short(const struct form *f, unsigned *n)
{
	static struct run_end right, got;
	struct sample s = { .len = (size_t)(f->end - f->start), .prepare = f };
	struct trial t = { .sample = &s, .vaddr = RUN_SLOT };
	struct window at_hop = { .jump_len = UBP_HOP_LEN };
	uint8_t jump[2], hop[UBP_HOP_LEN];
	struct run_regs regs;
	struct ubp_err err;

	s.vaddr = RUN_CODE - s.len;
	memcpy(s.code, f->start, s.len);
	retarget(&s, 0, s.len);
	snprintf(t.what, sizeof(t.what), "%s", f->name);
	s.has_call = strncmp(f->name, "call", 4) == 0;
	ubp_err_reset(&err);
	if (arch()->jump.find_short(s.code, s.len, 0, s.vaddr, &t.window, &err) < 0)
		return;
	assert_true(t.window.n == 1 && t.window.len == s.len && t.window.jump_len == 2);
	assert_int_equal(arch()->jump.build_copy(&t.window, t.vaddr, &t.copy, &err), 0);
	assert_int_equal(arch()->jump.build(&t.window, s.vaddr, HOP_AT, jump, &err), 0);
	at_hop.insns[0] = t.window.insns[0];
	assert_int_equal(arch()->jump.build(&at_hop, HOP_AT, t.vaddr, hop, &err), 0);
	run_in_place(&s, 1, NULL, NULL, &right);
	form_prepare(f, 1, &regs);
	plant_exits();
	memset((void *)HOP_AT, 0xcc, RUN_CODE - HOP_AT);
	run_write(s.vaddr, jump, sizeof(jump));
	run_write(HOP_AT, hop, sizeof(hop));
	run_write(t.vaddr, t.copy.code, t.copy.len);
	run_code(s.vaddr, &regs, 1, NULL, NULL, &got);
	check_fault(&t, &right, &got);
	forget_below_call(&s, &right, &got);
	run_assert_same(t.what, &right, &got, NULL);
	++*n;
}

static void test_short_runs(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < n_forms; i++)
		if (form_runs(&forms[i]) && !forms[i].varies &&
		    forms[i].prepare != PREPARE_GETPID)
			run_short(&forms[i], &n);
	print_message("%u forms by short jumps\n", n);
	assert_true(n > 100);
}

static void test_short_refused(void **state)
{
	static const struct {
		const char *code;
		enum window_refusal why;
	} rows[] = {
		{ "\x55\x53\x90", WINDOW_SHORT },  /* push */
		{ "\x48\x89\xf8", WINDOW_OK },     /* mov %rdi, %rax */
		{ "\x0f\x05\x90", WINDOW_KERNEL }, /* syscall */
		{ "\xff\xd0\x90", WINDOW_OK },     /* call *%rax */
		{ "\xeb\xff\xc0", WINDOW_SELF },   /* jmp to its own second byte */
		{ "\xeb\xfe\x90", WINDOW_OK },     /* jmp to itself */
		{ "\xcd\x03\x90", WINDOW_INSN },   /* int $3 */
		{ "\xc3\x90\x55", WINDOW_OK },     /* ret, and fill */
		{ "\xc3\x55\x90", WINDOW_SHORT },  /* ret, and what may be run */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct window w;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(arch()->jump.find_short((const uint8_t *)rows[i].code, 3, 0,
							 0x1000, &w, &err),
				 rows[i].why == WINDOW_OK ? 0 : -EOPNOTSUPP);
		assert_int_equal(w.why, rows[i].why);
	}
}

/* --- punned jumps ---------------------------------------------------------------------- */

/* What is written, and what follows, is one jump, to each place that it is said to lead to. */
static void check_pun(const struct window *w, uint64_t site, uint64_t target,
		      const uint8_t *behind)
{
	uint8_t code[UBP_WINDOW_MAX] = { 0 };
	struct displaced_insn insn;
	struct ubp_err err;

	ubp_err_reset(&err);
	memset(code, 0xcc, sizeof(code));
	assert_int_equal(arch()->jump.build(w, site, target, code, &err), 0);
	for (size_t i = w->jump_len; i < sizeof(code); i++)
		assert_int_equal(code[i], 0xcc);
	memcpy(code + w->jump_len, behind, UBP_PUN_FIXED);
	assert_int_equal(arch()->insn.analyze(code, sizeof(code), site, &insn, &err), 0);
	assert_int_equal(insn.len, w->jump_len + w->pun.n_fixed);
	assert_true(arch()->jump.ends_flow(&insn));
	assert_int_equal(insn.target, target);
}

static void test_puns(void **state)
{
	static const uint8_t push[] = { 0x55, 0x53, 0x55, 0x53, 0x55 };
	static const uint8_t ends[] = { 0, 1, 0x7f, 0x80, 0xcc, 0xff };
	unsigned n = 0;

	(void)state;
	for (uint8_t jump_len = 1; jump_len <= 4; jump_len++)
		for (uint8_t n_prefix = 0; n_prefix <= jump_len; n_prefix++)
			for (size_t i = 0; i < N_ELEMS(ends); i++) {
				uint8_t behind[UBP_PUN_FIXED] = { 0x12, 0x92, 0x48, 0x89 };
				uint64_t site = 0x7f0012345678, low;
				struct window w;
				struct ubp_err err;

				ubp_err_reset(&err);
				assert_int_equal(arch()->jump.find_punned(push, sizeof(push),
									  jump_len, site, &w,
									  &err),
						 0);
				assert_true(w.n == jump_len && w.jump_len == jump_len);
				if (n_prefix < jump_len)
					behind[n_prefix + UBP_PUN_FIXED - jump_len] = ends[i];
				assert_int_equal(arch()->jump.take_pun(&w, n_prefix, behind),
						 n_prefix < jump_len);
				if (n_prefix == jump_len)
					break;
				low = site + (uint64_t)w.pun.low;
				assert_int_equal(w.pun.n, 1u << 8 * (jump_len - n_prefix - 1));
				check_pun(&w, site, low, behind);
				check_pun(&w, site, low + w.pun.n / 2, behind);
				check_pun(&w, site, low + w.pun.n - 1, behind);
				n++;
			}
	assert_int_equal(n, (1 + 2 + 3 + 4) * N_ELEMS(ends));
}

static void test_puns_refused(void **state)
{
	static const struct {
		const char *code;
		uint8_t len, jump_len;
		enum window_refusal why;
	} rows[] = {
		{ "\x31\xc0\xc3", 3, 3, WINDOW_OK },    /* xor, ret: all of the function */
		{ "\x31\xc0\xc3", 3, 4, WINDOW_SHORT }, /* and what follows is another's */
		{ "\x31\xc0", 2, 3, WINDOW_SHORT },
		{ "\xff\xd0\x90", 3, 2, WINDOW_OK }, /* call *%rax */
		{ "\xff\xd0\x90", 3, 3, WINDOW_CALL },
		{ "\x0f\x05\x90", 3, 1, WINDOW_KERNEL },
		{ "\xeb\xff\xc0", 3, 2, WINDOW_SELF }, /* jmp to its own second byte ... */
		{ "\xeb\xff\xc0", 3, 1, WINDOW_OK },   /* ... which stays */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct window w;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(arch()->jump.find_punned((const uint8_t *)rows[i].code,
							  rows[i].len, rows[i].jump_len, 0x1000,
							  &w, &err),
				 rows[i].why == WINDOW_OK ? 0 : -EOPNOTSUPP);
		assert_int_equal(w.why, rows[i].why);
	}
}

/* Where an instruction has a number of 4 bytes or more, and where bytes only look like one. */
static void test_numbers(void **state)
{
	static const struct {
		const char *code;
		uint8_t len, at[2]; /* 0: none */
	} rows[] = {
		{ "\x48\x83\x79\x48\x00", 5, { 0 } },              /* cmpq $0,72(%rcx) */
		{ "\xb8\x44\x33\x22\x11", 5, { 1 } },              /* mov $,%eax */
		{ "\x48\xb8\x44\x33\x22\x11\0\0\0\0", 10, { 2 } }, /* movabs $,%rax */
		{ "\x48\xa1\x44\x33\x22\x11\0\0\0\0", 10, { 2 } }, /* movabs mem,%rax */
		{ "\x48\x8d\x87\x44\x33\x22\x11", 7, { 3 } },      /* lea disp(%rdi),%rax */
		{ "\x48\x8b\x04\xc5\x44\x33\x22\x11", 8, { 4 } },  /* mov disp(,%rax,8),%rax */
		{ "\x49\x8b\x84\x24\x44\x33\x22\x11", 8, { 4 } },  /* mov disp(%r12),%rax */
		{ "\x49\x8b\x44\x24\x44\x90", 5, { 0 } },          /* mov disp8(%r12),%rax */
		{ "\x48\xc7\x87\x44\x33\x22\x11\4\3\2\1",
		  11,
		  { 3, 7 } },                                     /* movq $,disp(%rdi) */
		{ "\x48\x81\x7f\x44\x33\x22\x11\0", 8, { 4 } },   /* cmpq $,68(%rdi) */
		{ "\xc5\xf8\x10\x87\x44\x33\x22\x11", 8, { 4 } }, /* vmovups disp(%rdi),%xmm0 */
		{ "\xc4\xe3\x71\x44\x47\x44\x11", 7, { 0 } }, /* vpclmulqdq $17,68(%rdi),.. */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct displaced_insn insn;
		struct ubp_err err;

		ubp_err_reset(&err);
		if (arch()->insn.analyze((const uint8_t *)rows[i].code, rows[i].len, 0x1000,
					 &insn, &err) != 0)
			fail_msg("row %zu: %s", i, err.text);
		assert_int_equal(insn.len, rows[i].len);
		for (size_t at = 1; at + 4 <= insn.len; at++)
			if (arch()->insn.has_number_at(&insn, at) !=
			    (at == rows[i].at[0] || at == rows[i].at[1]))
				fail_msg("'%s', at %zu", arch()->insn.text(&insn).s, at);
	}
}

/* The table's own figures are how far it leads. */
static void test_short_reach(void **state)
{
	const char *const names[] = { "x86_64", "i386" };

	(void)state;
	for (size_t i = 0; i < N_ELEMS(names); i++) {
		const struct ubp_arch *a = ubp_arch_by_name(names[i]);
		struct window w = { .jump_len = 2 };
		uint64_t at = 0x10000, on = a->jump.short_on, back = a->jump.short_back;
		struct ubp_err err;
		uint8_t jump[2];

		ubp_err_reset(&err);
		assert_int_equal(a->jump.build(&w, at, at + on, jump, &err), 0);
		assert_memory_equal(jump, "\xeb\x7f", 2);
		assert_int_equal(a->jump.build(&w, at, at - back, jump, &err), 0);
		assert_memory_equal(jump, "\xeb\x80", 2);
		assert_int_equal(a->jump.build(&w, at, at + on + 1, jump, &err), -ERANGE);
		assert_int_equal(a->jump.build(&w, at, at - back - 1, jump, &err), -ERANGE);
	}
}

/* --- stepping through copies ---------------------------------------------------------- */

#define STATES_MAX 256

struct states {
	struct ubp_regs seen[STATES_MAX];
	size_t n;
};

static void remember(struct ubp_regs *regs, void *arg)
{
	struct states *s = arg;

	if (s->n < STATES_MAX)
		s->seen[s->n++] = *regs;
}

struct stepper {
	const struct trial *trial;
	const struct states *right;
	size_t at; /* states before this one are past */
	unsigned n_exact, n_taken_back;
	bool wrong;
	uint64_t wrong_pc;
};

static bool same_state(const struct ubp_regs *a, const struct ubp_regs *b)
{
	/* What the kernel tells of a trap, and not of the program, is not compared. */
	static const size_t regs[] = {
		USER_REG(rax), USER_REG(rcx), USER_REG(rdx),    USER_REG(rbx), USER_REG(rsp),
		USER_REG(rbp), USER_REG(rsi), USER_REG(rdi),    USER_REG(r8),  USER_REG(r9),
		USER_REG(r10), USER_REG(r11), USER_REG(r12),    USER_REG(r13), USER_REG(r14),
		USER_REG(r15), USER_REG(rip), USER_REG(eflags),
	};

	for (size_t i = 0; i < N_ELEMS(regs); i++)
		/* The resume flag says how the step came about. */
		if ((a->r[regs[i]] ^ b->r[regs[i]]) &
		    ~(regs[i] == USER_REG(eflags) ? 0x10000ULL : 0))
			return false;
	return true;
}

/* What a thread in the copy is told as must be a state of the program, in order. */
static void look_at_step(struct ubp_regs *regs, void *arg)
{
	struct stepper *s = arg;
	const struct trial *t = s->trial;
	struct ubp_regs told = *regs;
	uint64_t pc = regs->r[arch()->reg.pc];
	bool exact;

	if (s->wrong || pc < t->vaddr || pc >= t->vaddr + t->copy.len)
		return;
	exact = arch()->jump.copy_leave(&t->window, &t->copy, t->vaddr, &told);
	/* Only a call is ever taken back. */
	for (size_t i = s->at; i < s->right->n && (exact || t->sample->has_call); i++)
		if (same_state(&told, &s->right->seen[i])) {
			s->at = i;
			s->n_exact += exact;
			s->n_taken_back += !exact;
			return;
		}
	s->wrong = true;
	s->wrong_pc = pc;
}

static void test_steps(void **state)
{
	struct stepper s = { 0 };
	uint64_t rng = 4711;

	(void)state;
	for (unsigned i = 0; i < WINDOWS; i++) {
		static struct run_end right, got;
		static struct states states;
		struct sample sample;
		struct trial t;

		make(&rng, &sample);
		if (!build(&sample, i % 2 ? RUN_FAR : RUN_SLOT, &t))
			continue;
		states.n = 0;
		run_in_place(&sample, i, remember, &states, &right);
		if (right.signo)
			continue;
		s.trial = &t;
		s.right = &states;
		s.at = 0;
		run_by_copy(&t, i, look_at_step, &s, &got);
		if (s.wrong)
			fail_msg("%s: at copy + %llu a state is told that never was",
				 sample.names, (unsigned long long)(s.wrong_pc - t.vaddr));
	}
	print_message("%u steps exact, %u in a call taken back\n", s.n_exact, s.n_taken_back);
	assert_true(s.n_exact > 2000 && s.n_taken_back > 50);
}

/* --- refusals --------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	uint8_t len, padding;
	const char *says; /* NULL: a window */
	uint8_t window_len, n;
} windows[] = {
	/* push %rbp; mov %rsp,%rbp; push %r12 */
	{ "\x55\x48\x89\xe5\x41\x54", 6, 0, NULL, 6, 3 },
	{ "\xf3\x0f\x1e\xfa\x55", 5, 0, NULL, 5, 2 },            /* endbr64; push */
	{ "\x0f\x1f\x44\x00\x00", 5, 0, NULL, 5, 1 },            /* nop5 */
	{ "\x55\x53", 2, 0, "function ends 2", 0, 0 },           /* and no more */
	{ "\x55\x53", 2, 8, "function ends 2", 0, 0 },           /* and falls through */
	{ "\x31\xc0\xc3", 3, 0, "ends the code 3", 0, 0 },       /* xor; ret */
	{ "\x31\xc0\xc3", 3, 1, "ends the code 3", 0, 0 },       /* 4 bytes in all */
	{ "\x31\xc0\xc3", 3, 2, NULL, 3, 2 },                    /* 5 */
	{ "\x31\xc0\xc3\x90\x90", 5, 0, NULL, 3, 2 },            /* fill of its own */
	{ "\x31\xc0\xc3\x90\x55", 5, 9, "ends the code", 0, 0 }, /* there is more of it */
	{ "\xeb\x10", 2, 3, NULL, 2, 1 },                        /* jmp */
	{ "\xeb\x10\x55\x55\x55", 5, 0, "ends the code", 0, 0 },
	{ "\xff\xe0", 2, 3, NULL, 2, 1 }, /* jmp *%rax */
	{ "\x0f\x0b", 2, 3, NULL, 2, 1 }, /* ud2 */
	{ "\x0f\x0b\x55\x55\x55", 5, 0, "ends the code", 0, 0 },
	{ "\x55\x53\x50\x31\xc0\xc3", 6, 0, NULL, 5, 4 },     /* ends before the ret */
	{ "\x55\x0f\x05\x55\x55\x55", 6, 0, "kernel", 0, 0 }, /* push; syscall */
	{ "\x55\x55\x55\x55\x0f\x05", 6, 0, "kernel", 0, 0 },
	{ "\x55\xcc\x55\x55\x55", 5, 0, "breakpoint", 0, 0 },
	{ "\x55\xf4\x55\x55\x55", 5, 0, "only the kernel", 0, 0 },
	{ "\x55\x06\x55\x55\x55", 5, 0, "no instruction", 0, 0 },
	{ "\xff\xd0\x55\x55\x55", 5, 0, "return", 0, 0 },         /* call *%rax */
	{ "\x55\xff\x50\x08\x55", 5, 0, "return", 0, 0 },         /* ends at 4 */
	{ "\x55\x55\xff\x50\x08", 5, 0, NULL, 5, 3 },             /* at 5 */
	{ "\x55\xe8\0\0\0\0", 6, 0, NULL, 6, 2 },                 /* call behind the window */
	{ "\x55\x74\xfe\x55\x55", 5, 0, "would be under", 0, 0 }, /* je to itself */
	{ "\x55\x74\xfd\x55\x55", 5, 0, NULL, 5, 4 },             /* to the start */
	{ "\x55\x74\x01\x55\x55", 5, 0, "would be under", 0, 0 },
	{ "\x55\x74\x02\x55\x55", 5, 0, NULL, 5, 4 }, /* behind */
	{ "\x55\xe3\x00\x55\x55", 5, 0, "would be under", 0, 0 },
	/* je over a lock prefix, which stays: je 1f; push; lock; 1: incl (%rax) */
	{ "\x74\x03\x50\x50\xf0\xff\x00", 7, 0, NULL, 7, 4 },
	{ "\x48\x8d\x05\xfb\xff\xff\xff", 7, 0, "would be under", 0, 0 }, /* lea 2b */
	{ "\x48\x8d\x05\xf9\xff\xff\xff", 7, 0, NULL, 7, 1 },             /* itself */
	{ "", 0, 8, "function ends 0", 0, 0 },
};

static void test_finds(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMS(windows); i++) {
		struct window window;
		struct ubp_err err;
		int rc;

		ubp_err_reset(&err);
		rc = arch()->jump.find((const uint8_t *)windows[i].bytes, windows[i].len,
				       windows[i].padding, 0x401000, &window, &err);
		if (windows[i].says) {
			if (rc != -EOPNOTSUPP || !strstr(err.text, windows[i].says))
				fail_msg("%zu: %d '%s', should say '%s'", i, rc, err.text,
					 windows[i].says);
			continue;
		}
		if (rc != 0)
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(window.len, windows[i].window_len);
		assert_int_equal(window.n, windows[i].n);
		assert_int_equal(window.jump_len, 5);
	}
}

/* Which byte of a jump would be the first of an instruction decides how long it is. */
static void test_jump_len(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t len, jump_len;
	} rows[] = {
		{ "\x41\x57\x41\x56\x41\x55", 6, 6 }, /* push, push, push */
		{ "\x41\x57\x41\x56\x55", 5, 5 },
		{ "\x55\x48\x89\xe5\x41\x55", 6, 5 }, /* at 1, where its opcode would be */
		{ "\x49\x3b\x66\x10\x76\x10", 6, 6 }, /* cmp; jbe, behind */
		{ "\x49\x3b\x66\x10\x76\xff", 6, 5 }, /* to byte 5 */
		{ "\x49\x3b\x66\x10\x55\x55", 6, 5 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		uint8_t jump[UBP_INSN_MAX];
		struct window window;
		struct ubp_err err;
		int32_t rel;

		ubp_err_reset(&err);
		if (arch()->jump.find((const uint8_t *)rows[i].bytes, rows[i].len, 0, 0x401000,
				      &window, &err) < 0 ||
		    arch()->jump.build(&window, 0x401000, 0x302000, jump, &err) < 0)
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(window.jump_len, rows[i].jump_len);
		assert_int_equal(jump[rows[i].jump_len - 5], 0xe9);
		memcpy(&rel, jump + rows[i].jump_len - 4, sizeof(rel));
		assert_int_equal(0x401000 + rows[i].jump_len + rel, 0x302000);
	}
}

/* Nothing stands behind what does not go on. */
static void test_copy_ends(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t len, copy_len, behind_at;
	} rows[] = {
		{ "\x55\x53\x50\x51\x52", 5, 10, 5 },  /* five pushes, a jump */
		{ "\x55\x53\x50\x51\xc3", 5, 5, 5 },   /* four, ret */
		{ "\x55\xe9\0\1\0\0", 6, 6, 6 },       /* push, jmp */
		{ "\x55\xe8\0\1\0\0", 6, 20, 20 },     /* push, call: push, jmp, address */
		{ "\x55\x74\x10\x53\x50", 5, 14, 9 },  /* push, je rel32, push, push, jmp */
		{ "\x55\x53\x50\xe3\x10", 5, 17, 12 }, /* jrcxz, short jump, jmp, jmp */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMS(rows); i++) {
		struct window_copy copy;
		struct window window;
		struct ubp_err err;

		ubp_err_reset(&err);
		assert_int_equal(arch()->jump.find((const uint8_t *)rows[i].bytes, rows[i].len,
						   0, 0x401000, &window, &err),
				 0);
		assert_int_equal(arch()->jump.build_copy(&window, 0x10000000, &copy, &err), 0);
		assert_int_equal(copy.len, rows[i].copy_len);
		assert_int_equal(copy.at[window.n], rows[i].behind_at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds),         cmocka_unit_test(test_jump_len),
		cmocka_unit_test(test_copy_ends),     cmocka_unit_test(test_runs),
		cmocka_unit_test(test_short_runs),    cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_short_refused), cmocka_unit_test(test_short_reach),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_puns),          cmocka_unit_test(test_puns_refused),
	};

	return cmocka_run_group_tests_name("x86_window", tests, init, fini);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
