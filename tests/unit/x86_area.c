/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_area.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/err.h"

#define FLAGS_SEEN 0xcd5 /* the status flags and the direction flag */

struct area_space area_space;

const struct ubp_arch *area_arch(void)
{
	return ubp_arch_by_name("x86_64");
}

/* --- making them ----------------------------------------------------------------- */

static void map_all(void)
{
	struct area_space *s = &area_space;
	int fd = memfd_create("area", 0);
	size_t len = (AREA_N + 1) * AREA_LEN;
	uint8_t *rw, *rx;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	rw = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rx = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_true(rw != MAP_FAILED && rx != MAP_FAILED);
	close(fd);
	for (unsigned i = 0; i < AREA_N; i++) {
		s->area_rw[i] = rw + i * AREA_LEN;
		s->area[i] = (uint64_t)rx + i * AREA_LEN;
	}
	s->text_rw = rw + AREA_N * AREA_LEN;
	s->text = (uint64_t)rx + AREA_N * AREA_LEN;
	s->data = mmap(NULL, UBP_GUARD_DATA_LEN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	s->returns = mmap(NULL, AREA_RETURNS * sizeof(*s->returns), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(s->data != MAP_FAILED && s->returns != MAP_FAILED);
}

static struct guard_head *head(unsigned i)
{
	return (struct guard_head *)area_space.area_rw[i];
}

static void fill_first(void)
{
	struct area_space *s = &area_space;
	struct guard_head *h = head(0);
	uint64_t guard = s->area[0] + UBP_AREA_GUARD;
	struct slot_code trampoline;

	h->next = s->area[1];
	h->data = (uint64_t)s->data;
	h->returns = (uint64_t)s->returns;
	h->returns_mask = AREA_RETURNS - 1;
	h->action[0] = guard + area_arch()->guard.handler;
	h->action[1] = area_arch()->guard.flags;
	h->action[2] = guard + area_arch()->guard.restorer;
	assert_int_equal(area_arch()->trampoline.build(&trampoline), 0);
	memcpy(s->area_rw[0] + UBP_AREA_TRAMPOLINE, trampoline.code, trampoline.len);
	assert_true(area_arch()->guard.len <= UBP_AREA_TABLE - UBP_AREA_GUARD);
	memcpy(s->area_rw[0] + UBP_AREA_GUARD, area_arch()->guard.code, area_arch()->guard.len);
}

void area_make(unsigned n_sites)
{
	struct area_space *s = &area_space;

	if (!s->data)
		map_all();
	memset(s->data, 0, UBP_GUARD_DATA_LEN);
	memset(s->returns, 0, AREA_RETURNS * sizeof(*s->returns));
	memset(s->text_rw, 0xf4, AREA_LEN);
	s->data->owner = (uint64_t)getpid();
	for (unsigned i = 0; i < AREA_N; i++) {
		memset(s->area_rw[i], 0, AREA_LEN);
		s->used[i] = AREA_SLOTS;
		*head(i) = (struct guard_head){
			.magic = UBP_GUARD_MAGIC,
			.version = UBP_GUARD_VERSION,
			.len = AREA_LEN,
			.table_mask = n_sites - 1,
		};
	}
	fill_first();
	assert_int_equal(
		area_sigaction(SIGTRAP, (const struct kernel_action *)head(0)->action, NULL),
		0);
}

void area_unmake(void)
{
	struct kernel_action dfl = { 0 };

	assert_int_equal(area_sigaction(SIGTRAP, &dfl, NULL), 0);
}

/* --- putting things into them ------------------------------------------------------ */

uint64_t area_text(size_t at, const void *bytes, size_t len)
{
	assert_true(at + len <= AREA_LEN);
	memcpy(area_space.text_rw + at, bytes, len);
	return area_space.text + at;
}

uint32_t area_slot(unsigned i, const void *code, size_t len)
{
	size_t at = area_space.used[i];

	assert_true(len <= UBP_SLOT_SIZE && at + UBP_SLOT_SIZE <= AREA_LEN);
	memcpy(area_space.area_rw[i] + at, code, len);
	area_space.used[i] += UBP_SLOT_SIZE;
	return (uint32_t)at;
}

void area_site(unsigned i, uint64_t vaddr, uint32_t slot)
{
	struct guard_site *table =
		(struct guard_site *)(area_space.area_rw[i] + UBP_AREA_TABLE);
	uint64_t mask = head(i)->table_mask, at = guard_hash(vaddr) & mask;

	for (uint64_t n = 0; table[at].vaddr; n++, at = (at + 1) & mask)
		assert_true(n <= mask);
	table[at].slot = slot;
	table[at].vaddr = vaddr;
}

void area_plant(unsigned i, uint64_t vaddr)
{
	uint8_t *bytes = area_space.text_rw + (vaddr - area_space.text);
	struct displaced_insn insn;
	struct slot_code code;
	struct ubp_err err;
	uint32_t slot;

	ubp_err_reset(&err);
	assert_int_equal(area_arch()->insn.analyze(bytes, 16, vaddr, &insn, &err), 0);
	slot = area_slot(i, "", 0);
	assert_int_equal(area_arch()->slot.build(&insn, area_space.area[i] + slot, &code, &err),
			 0);
	memcpy(area_space.area_rw[i] + slot, code.code, code.len);
	area_site(i, vaddr, slot);
	bytes[0] = 0xcc;
}

__attribute__((no_sanitize("address"))) void area_hijack(uint64_t *word)
{
	struct guard_return *table = area_space.returns;
	uint64_t at = (uint64_t)word >> 3, none;

	for (;; at++) {
		at &= AREA_RETURNS - 1;
		none = 0;
		if (__atomic_compare_exchange_n(&table[at].word, &none, (uint64_t)word, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
		    none == (uint64_t)word)
			break;
	}
	table[at].real = *word;
	*word = area_space.area[0] + UBP_AREA_TRAMPOLINE;
}

/* --- actions ------------------------------------------------------------------------ */

int64_t area_sigaction(int signo, const struct kernel_action *act, struct kernel_action *oact)
{
	return syscall(SYS_rt_sigaction, signo, act, oact, 8) < 0 ? -errno : 0;
}

void area_chain(const struct kernel_action *act)
{
	struct guard_data *d = area_space.data;

	memcpy(d->chain[d->chain_at & 1], act, sizeof(*act));
}

/* --- calls with all registers ------------------------------------------------------- */

/* Shared with the assembly below. */
uint64_t area_fn;
struct area_regs area_in, area_out;
void area_enter(void);

#define EACH_GPR(what)                                                                         \
	what("rax", 0) what("rcx", 8) what("rdx", 16) what("rbx", 24) what("rbp", 40)          \
		what("rsi", 48) what("rdi", 56) what("r8", 64) what("r9", 72) what("r10", 80)  \
			what("r11", 88) what("r12", 96) what("r13", 104) what("r14", 112)      \
				what("r15", 120)
#define EACH_XMM(what)                                                                         \
	what("xmm0", 0) what("xmm1", 16) what("xmm2", 32) what("xmm3", 48) what("xmm4", 64)    \
		what("xmm5", 80) what("xmm6", 96) what("xmm7", 112) what("xmm8", 128)          \
			what("xmm9", 144) what("xmm10", 160) what("xmm11", 176)                \
				what("xmm12", 192) what("xmm13", 208) what("xmm14", 224)       \
					what("xmm15", 240)
#define LOAD(reg, at)   "mov area_in+" #at "(%rip), %" reg "\n"
#define STORE(reg, at)  "mov %" reg ", area_out+" #at "(%rip)\n"
#define XLOAD(reg, at)  "movdqu area_in+136+" #at "(%rip), %" reg "\n"
#define XSTORE(reg, at) "movdqu %" reg ", area_out+136+" #at "(%rip)\n"

_Static_assert(offsetof(struct area_regs, flags) == 128, "told to the assembler");
_Static_assert(offsetof(struct area_regs, xmm) == 136, "told to the assembler");

/* clang-format off */
__asm__(".text\n"
	"area_enter:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
	EACH_XMM(XLOAD)
	"pushq area_in+128(%rip); popf\n"
	EACH_GPR(LOAD)
	"call *area_fn(%rip)\n"
	EACH_GPR(STORE)
	"pushf; popq area_out+128(%rip); cld\n"
	EACH_XMM(XSTORE)
	"add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n");
/* clang-format on */

void area_call(uint64_t fn, const struct area_regs *in, struct area_regs *ret_out)
{
	area_in = *in;
	area_in.flags = (in->flags & FLAGS_SEEN) | 0x202;
	area_fn = fn;
	area_enter();
	*ret_out = area_out;
	ret_out->flags &= FLAGS_SEEN;
}

uint64_t area_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

#endif
