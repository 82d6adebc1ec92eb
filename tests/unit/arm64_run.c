/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "tests/unit/arm64_run.h"

#ifdef __aarch64__

#include <asm/sigcontext.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define BRK 0xd4200000

/* What the handler does next. */
static struct {
	enum { IDLE, ENTER, RUNNING } state;
	const struct run_regs *in;
	struct run_end *out;
	mcontext_t host; /* with all of the vectors, whatever they are */
} now;

/* NULL: there is none. */
static void *record_of(mcontext_t *m, uint32_t magic)
{
	uint8_t *at = m->__reserved;

	for (;;) {
		struct _aarch64_ctx *head = (void *)at;

		if (head->magic == magic)
			return at;
		if (head->magic == 0)
			return NULL;
		at += head->size;
	}
}

static run_trap_fn *trap_fn;
static void *trap_arg;

static struct fpsimd_context *fpsimd_of(mcontext_t *m)
{
	struct fpsimd_context *fp = record_of(m, FPSIMD_MAGIC);

	if (!fp)
		abort();
	return fp;
}

static void put_vectors(mcontext_t *m, const struct run_regs *regs)
{
	struct fpsimd_context *fp = fpsimd_of(m);
	struct sve_context *sve = record_of(m, SVE_MAGIC);

	memcpy(fp->vregs, regs->v, sizeof(regs->v));
	fp->fpsr = regs->fpsr;
	if (!sve || sve->head.size <= sizeof(*sve))
		return;
	/* Their low parts are the same registers; emulators take these. */
	for (unsigned i = 0; i < 32; i++)
		memcpy((uint8_t *)sve + SVE_SIG_ZREG_OFFSET(sve->vl / 16, i), &regs->v[i],
		       sizeof(regs->v[i]));
}

static void enter(mcontext_t *m)
{
	now.host = *m;
	now.host.pc += 4; /* behind the brk of run_code() */
	memcpy(m->regs, now.in->x, sizeof(now.in->x));
	m->sp = now.in->sp;
	m->pc = now.in->pc;
	m->pstate = (m->pstate & ~UINT64_C(0xf0000c00)) | now.in->pstate;
	put_vectors(m, now.in);
	now.state = RUNNING;
}

static void leave(int signo, mcontext_t *m)
{
	struct run_end *end = now.out;
	const struct fpsimd_context *fp = fpsimd_of(m);

	memcpy(end->regs.x, m->regs, sizeof(end->regs.x));
	end->regs.sp = m->sp;
	end->regs.pc = m->pc;
	end->regs.pstate = m->pstate & 0xf0000000;
	memcpy(end->regs.v, fp->vregs, sizeof(end->regs.v));
	end->regs.fpsr = fp->fpsr;
	end->signo = signo;
	memcpy(end->data, (void *)RUN_DATA, RUN_DATA_SIZE);
	memcpy(end->stack, (void *)RUN_STACK, RUN_STACK_SIZE);
	*m = now.host;
	now.state = IDLE;
}

/* Does the test want to go on? */
static bool goes_on(mcontext_t *m)
{
	struct run_regs regs = { .sp = m->sp, .pc = m->pc, .pstate = m->pstate };

	memcpy(regs.x, m->regs, sizeof(regs.x));
	if (!trap_fn || !trap_fn(&regs, trap_arg))
		return false;
	memcpy(m->regs, regs.x, sizeof(regs.x));
	m->sp = regs.sp;
	m->pc = regs.pc;
	m->pstate = regs.pstate;
	return true;
}

void run_on_trap(run_trap_fn *fn, void *arg)
{
	trap_fn = fn;
	trap_arg = arg;
}

static void on_signal(int signo, siginfo_t *si, void *context)
{
	ucontext_t *u = context;

	(void)si;
	if (now.state == ENTER)
		enter(&u->uc_mcontext);
	else if (now.state == RUNNING && signo == SIGTRAP && goes_on(&u->uc_mcontext))
		return;
	else if (now.state == RUNNING)
		leave(signo, &u->uc_mcontext);
	else
		(void)signal(signo, SIG_DFL); /* not ours: again, for good */
}

static int map(uint64_t vaddr, size_t size, int prot)
{
	void *p = mmap((void *)vaddr, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == (void *)vaddr ? 0 : -1;
}

int run_begin(const uint64_t *slots, size_t n)
{
	int rc = map(RUN_CODE, RUN_CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);

	rc |= map(RUN_DATA, RUN_DATA_SIZE, PROT_READ | PROT_WRITE);
	rc |= map(RUN_STACK, RUN_STACK_SIZE, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < n; i++)
		rc |= map(slots[i], RUN_SLOTS_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (rc)
		return -1;
	run_clear(RUN_CODE, RUN_CODE_SIZE);
	for (size_t i = 0; i < n; i++)
		run_clear(slots[i], RUN_SLOTS_SIZE);
	return 0;
}

int run_take_signals(void)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	static uint8_t alt[65536];
	stack_t stack = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_ONSTACK };
	int rc = sigaltstack(&stack, NULL);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		rc |= sigaction(signals[i], &sa, NULL);
	return rc;
}

void run_random(uint64_t seed, struct run_regs *regs)
{
	memset(regs, 0, sizeof(*regs));
	for (size_t i = 0; i < 31; i++) {
		uint64_t r = run_next(&seed);

		regs->x[i] = r & 1   ? RUN_DATA + RUN_DATA_SIZE / 2 + (r >> 8) % 512 * 16
			     : r & 2 ? r >> 32 & 255
				     : r;
	}
	regs->sp = RUN_STACK + RUN_STACK_SIZE / 2 + run_next(&seed) % 64 * 16;
	regs->pstate = run_next(&seed) << 28 & 0xf0000000;
	for (size_t i = 0; i < 32; i++) {
		uint64_t low = run_next(&seed), high = run_next(&seed);

		memcpy((uint8_t *)&regs->v[i], &low, sizeof(low));
		memcpy((uint8_t *)&regs->v[i] + 8, &high, sizeof(high));
	}
}

void run_random_memory(uint64_t seed)
{
	uint64_t *data = (uint64_t *)RUN_DATA, *stack = (uint64_t *)RUN_STACK;

	for (size_t i = 0; i < RUN_DATA_SIZE / 8; i++)
		data[i] = run_next(&seed);
	for (size_t i = 0; i < RUN_STACK_SIZE / 8; i++)
		stack[i] = run_next(&seed);
}

/*
 * An instruction at a time, as code is written elsewhere: emulators have been seen to notice
 * but the first of those that one SVE store replaces, and memcpy() may use such.
 */
void run_write(uint64_t vaddr, const void *code, size_t len)
{
	for (size_t i = 0; i < len; i += 4)
		memcpy((void *)(vaddr + i), (const uint8_t *)code + i,
		       len - i < 4 ? len - i : 4);
	__builtin___clear_cache((char *)vaddr, (char *)vaddr + len);
}

void run_write_word(uint64_t vaddr, uint32_t word)
{
	run_write(vaddr, &word, sizeof(word));
}

void run_clear(uint64_t vaddr, size_t len)
{
	for (size_t i = 0; i < len; i += 4)
		*(volatile uint32_t *)(vaddr + i) = BRK;
	__builtin___clear_cache((char *)vaddr, (char *)vaddr + len);
}

void run_code(const struct run_regs *regs, struct run_end *ret_end)
{
	now.in = regs;
	now.out = ret_end;
	now.state = ENTER;
	__asm__ volatile("brk #0" : : : "memory");
}

#endif
