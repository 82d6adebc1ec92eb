/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard at work: the SIGTRAP handler is installed in this very process, and
 * the breakpoints, hijacked returns and foreign traps that it meets are real ones.
 */

#ifdef __x86_64__

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/ring.h"
#include "tests/unit/x86_area.h"

#define N_ELEMS(a)  (sizeof(a) / sizeof((a)[0]))
#define RAW         __attribute__((noinline, no_sanitize("address", "undefined")))
#define SIGTRAP_BIT (1ull << (SIGTRAP - 1))
#define USR1_BIT    (1ull << (SIGUSR1 - 1))
#define USR2_BIT    (1ull << (SIGUSR2 - 1))
#define FLAG_TF     0x100
#define SA_RESTORER 0x04000000ul

typedef uint64_t function(void);

static uint64_t call(uint64_t vaddr)
{
	return ((function *)vaddr)();
}

static int setup(void **state)
{
	(void)state;
	area_make(8);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	area_unmake();
	return 0;
}

/* A function of one's own in the text: int3 (a site's), ret; and a slot that tells @id. */
static uint64_t plant_id(unsigned i, size_t at, uint32_t id)
{
	uint64_t vaddr = area_text(at, "\xcc\xc3", 2);
	uint8_t code[6] = { 0xb8, 0, 0, 0, 0, 0xc3 }; /* mov $id,%eax; ret */

	memcpy(code + 1, &id, sizeof(id));
	area_site(i, vaddr, area_slot(i, code, sizeof(code)));
	return vaddr;
}

/* --- sites --------------------------------------------------------------------------- */

/* An address in the text whose place in a table of 8 is @place; each call another. */
static size_t text_at_place(uint64_t place, size_t from)
{
	while ((guard_hash(area_space.text + from) & 7) != place)
		from++;
	assert_true(from < AREA_LEN - 64);
	return from;
}

static void test_collisions(void **state)
{
	size_t at = 0;
	uint64_t sites[AREA_N][8];

	(void)state;
	/* All want the last entry but one: they wrap around. One entry stays free. */
	for (unsigned i = 0; i < AREA_N; i++)
		for (unsigned n = 0; n < 7; n++) {
			at = text_at_place(6, at);
			sites[i][n] = plant_id(i, at, 0x100 * i + n);
			at += 4;
		}
	for (unsigned i = 0; i < AREA_N; i++)
		for (unsigned n = 0; n < 7; n++)
			assert_int_equal(call(sites[i][n]), 0x100 * i + n);
}

struct body {
	const char *name;
	uint8_t code[32];
};

static const struct body bodies[] = {
	{ "lea", { 0x48, 0x8d, 0x44, 0x37, 0x07, 0xc3 } },
	{ "push, pop", { 0x55, 0x5d, 0xc3 } },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x01, 0xf8, 0xc3 } },
	{ "add", { 0x48, 0x01, 0xf8, 0xc3 } },
	{ "stc", { 0xf9, 0xc3 } },
	{ "std", { 0xfd, 0xc3 } },
	{ "jz", { 0x74, 0x03, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc3, 0xc3 } },
	{ "call", { 0xe8, 0x01, 0x00, 0x00, 0x00, 0xc3, 0x48, 0xff, 0xc0, 0xc3 } },
	{ "ret", { 0xc3 } },
	{ "load", { 0x48, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff, 0xc3 } }, /* itself: see below */
	{ "paddd", { 0x66, 0x0f, 0xfe, 0xca, 0xc3 } },
	{ "red zone", { 0x48, 0x89, 0x7c, 0x24, 0x80, 0x48, 0x8b, 0x44, 0x24, 0x80, 0xc3 } },
	{ "syscall", { 0x0f, 0x05, 0xc3 } },
};

static void random_regs(uint64_t seed, struct area_regs *ret)
{
	uint64_t *words = (uint64_t *)ret;

	for (size_t i = 0; i < sizeof(*ret) / 8; i++)
		words[i] = area_next(&seed);
	ret->gpr[0] = SYS_getppid; /* what "syscall" calls */
}

static void check_body(const struct body *b, unsigned i, size_t at)
{
	struct area_regs in, right, got;
	uint64_t vaddr = area_text(at, b->code, sizeof(b->code));

	/* The load reads bytes beside the breakpoint. */
	if (!strcmp(b->name, "load"))
		area_space.text_rw[at + 3] = 0x09;
	random_regs(at, &in);
	area_call(vaddr, &in, &right);
	area_plant(i, vaddr);
	area_call(vaddr, &in, &got);
	right.gpr[4] = got.gpr[4] = 0;
	for (unsigned r = 0; r < 16; r++)
		if (right.gpr[r] != got.gpr[r])
			fail_msg("%s: register %u is 0x%llx, not 0x%llx", b->name, r,
				 (unsigned long long)got.gpr[r],
				 (unsigned long long)right.gpr[r]);
	assert_int_equal(got.flags, right.flags);
	assert_memory_equal(got.xmm, right.xmm, sizeof(got.xmm));
}

static void test_functions(void **state)
{
	size_t at = 0;

	(void)state;
	area_make(64);
	for (unsigned i = 0; i < AREA_N; i++)
		for (size_t n = 0; n < N_ELEMS(bodies); n++, at += 64)
			check_body(&bodies[n], i, at);
}

/* A trap that comes with the pc moved already goes on from there. */
static void test_moved(void **state)
{
	/* In a slot: int3; mov $3,%eax; ret. */
	static const uint8_t in_slot[] = { 0xcc, 0xb8, 3, 0, 0, 0, 0xc3 };
	/* The pc is left at the site's address: int3 before it, and no other there. */
	static const uint8_t at_site[] = { 0xcc, 0xb8, 4, 0, 0, 0, 0xc3 };
	uint64_t vaddr;

	(void)state;
	for (unsigned i = 0; i < AREA_N; i++)
		assert_int_equal(
			call(area_space.area[i] + area_slot(i, in_slot, sizeof(in_slot))), 3);
	vaddr = area_text(0x40, at_site, sizeof(at_site));
	area_site(1, vaddr + 1, AREA_SLOTS);
	assert_int_equal(call(vaddr), 4);
}

/* --- returns -------------------------------------------------------------------------- */

/* Shared with the assembly below. */
void test_hijack(uint64_t *word);
uint64_t test_plain(void), test_pops16(void), test_pops_n(void), test_put_back(void);
uint64_t test_behind(void);

RAW void test_hijack(uint64_t *word)
{
	area_hijack(word);
}

/* clang-format off */
__asm__(".text\n"
	"test_plain:\n"
	"mov %rsp, %rdi; sub $8, %rsp; call test_hijack; add $8, %rsp\n"
	"mov $42, %eax; ret\n"
	/* What the tracer does at the hit, and then it dies: put the address back. */
	"test_put_back: push %rbx; mov 8(%rsp), %rbx; lea 8(%rsp), %rdi; call test_hijack\n"
	"mov %rbx, %rax; pop %rbx; mov %rax, (%rsp)\n" /* the stack word is right ... */
	"lea 8(%rsp), %rsp\n"
	"mov $43, %eax; jmp *test_trampoline(%rip)\n" /* ... and we are behind the ret */
	/* The same, and no entry in the table. */
	"test_behind: lea 8(%rsp), %rsp; mov $46, %eax; jmp *test_trampoline(%rip)\n"
	/* Called with arguments on the stack, by the Pascal convention. */
	"test_callee16:\n"
	"mov %rsp, %rdi; sub $8, %rsp; call test_hijack; add $8, %rsp\n"
	"mov $44, %eax; ret $16\n"
	"test_pops16: push %rbx; mov %rsp, %rbx; sub $16, %rsp\n"
	"movq $0x1111, (%rsp); movq $0x2222, 8(%rsp); call test_callee16\n"
	"cmp %rbx, %rsp; mov $0, %ecx; cmovne %ecx, %eax; pop %rbx; ret\n"
	"test_callee_n: mov %rsp, %rdi; sub $8, %rsp; call test_hijack; add $8, %rsp\n"
	"mov $45, %eax; jmp *test_ret_n(%rip)\n"
	"test_pops_n: push %rbx; mov %rsp, %rbx; sub test_n(%rip), %rsp; call test_callee_n\n"
	"cmp %rbx, %rsp; mov $0, %ecx; cmovne %ecx, %eax; pop %rbx; ret\n");
/* clang-format on */
uint64_t test_trampoline, test_n, test_ret_n;

/* Calls @fn with entries left over, of addresses that must not be used, all around. */
RAW static uint64_t call_among_stale(function *fn)
{
	uint64_t near = (uint64_t)__builtin_frame_address(0) & ~7ull;

	for (uint64_t word = near - 0x100; word < near + 0x80; word += 8) {
		uint64_t at = word >> 3 & (AREA_RETURNS - 1);

		area_space.returns[at].real = 0xdead;
		area_space.returns[at].word = word;
	}
	return fn();
}

static void test_returns(void **state)
{
	(void)state;
	test_trampoline = area_space.area[0] + UBP_AREA_TRAMPOLINE;
	assert_int_equal(test_plain(), 42);
	assert_int_equal(test_put_back(), 43);
	assert_int_equal(test_pops16(), 44);
	assert_int_equal(call_among_stale(test_plain), 42);
	assert_int_equal(call_among_stale(test_put_back), 43);
	assert_int_equal(call_among_stale(test_pops16), 44);
}

/* In the site's entry, as the planter sets it. */
static void add_flag(uint64_t vaddr, uint8_t flag)
{
	size_t n = 0;

	for (uint8_t *at = area_space.area_rw[0] + UBP_AREA_TABLE; n < 8; at += 16, n++)
		if (memcmp(at, &vaddr, sizeof(vaddr)) == 0)
			at[8] |= flag;
}

/*
 * An unwinder's first instruction: hijacked words get their addresses back, those that
 * hold something else by now and those of stacks that are gone stay as they are.
 */
static void test_unwinder(void **state)
{
	const uint8_t code[] = { 0x55, 0x5d, 0xb8, 7, 0, 0, 0, 0xc3 }; /* push, pop, mov, ret */
	uint64_t vaddr = area_text(0x300, code, sizeof(code)), trampoline;
	uint64_t *gone =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t words[3] = { 11, 12, 13 };

	(void)state;
	trampoline = area_space.area[0] + UBP_AREA_TRAMPOLINE;
	assert_true(gone != MAP_FAILED);
	area_plant(0, vaddr);
	add_flag(vaddr, UBP_SLOT_UNWIND);
	for (size_t i = 0; i < 3; i++)
		area_hijack(&words[i]);
	gone[5] = 14;
	area_hijack(&gone[5]);
	words[1] = 99;
	assert_int_equal(munmap(gone, 4096), 0);
	assert_int_equal(call(vaddr), 7);
	assert_int_equal(words[0], 11);
	assert_int_equal(words[1], 99);
	assert_int_equal(words[2], 13);
	/* It has noted what it left alone, on other stacks and on this one. */
	assert_int_equal(area_space.data->live_lo, (uintptr_t)&gone[5]);
	assert_int_equal(area_space.data->live_end, (uintptr_t)&words[2]);
	/* One that came back with its stack is put back then; the others are below for good. */
	words[1] = trampoline;
	assert_int_equal(call(vaddr), 7);
	assert_int_equal(words[1], 12);
	assert_int_equal(area_space.data->live_end, (uintptr_t)&gone[6]);
	/* And again: there is nothing left to do. */
	words[2] = trampoline + 1;
	assert_int_equal(call(vaddr), 7);
	assert_int_equal(words[2], trampoline + 1);
}

/* Of a process that was let go of: as long as its tracer lives detours may replace others, so no bounds are noted. */
static void test_unwinder_alone(void **state)
{
	const uint8_t code[] = { 0x55, 0x5d, 0xb8, 7, 0, 0, 0, 0xc3 }; /* push, pop, mov, ret */
	uint64_t vaddr = area_text(0x300, code, sizeof(code));
	struct guard_gate *gate =
		(struct guard_gate *)((uint8_t *)area_space.data + UBP_GUARD_GATE);
	struct ring_control *control =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t word = 11;

	(void)state;
	assert_true(control != MAP_FAILED);
	*gate = (struct guard_gate){ (uintptr_t)control + RING_CONTROL_LEN, 1 };
	area_plant(0, vaddr);
	add_flag(vaddr, UBP_SLOT_UNWIND);
	for (int i = 0; i < 2; i++) {
		area_hijack(&word);
		control->owner = i ? RING_OWNER_DIED : 1;
		assert_int_equal(call(vaddr), 7);
		assert_int_equal(word, 11);
		assert_int_equal(area_space.data->live_end != 0, i);
	}
	assert_int_equal(munmap(control, 8192), 0);
}

/* Arguments beyond the red zone: the signal's frame comes over some of them. */
static void test_many_arguments(void **state)
{
	(void)state;
	for (test_n = 16; test_n <= 4080; test_n += 16) {
		uint8_t ret_n[] = { 0xc2, test_n & 0xff, (uint8_t)(test_n >> 8) };

		test_ret_n = area_text(0x200, ret_n, sizeof(ret_n));
		memset(area_space.returns, 0, AREA_RETURNS * sizeof(*area_space.returns));
		assert_int_equal(test_pops_n(), 45);
	}
}

/* The tracer has put all back and taken the table's entries away. */
static void test_no_entry(void **state)
{
	(void)state;
	test_trampoline = area_space.area[0] + UBP_AREA_TRAMPOLINE;
	memset(area_space.returns, 0, AREA_RETURNS * sizeof(*area_space.returns));
	((struct guard_head *)area_space.area_rw[0])->returns_mask = 0;
	/* Nothing but a stranger in a table of one: full. */
	area_space.returns[0].word = 8;
	area_space.returns[0].real = 0xdead;
	assert_int_equal(test_behind(), 46);
	((struct guard_head *)area_space.area_rw[0])->returns = 0;
	assert_int_equal(test_behind(), 46);
}

/* The tracer has ended in good order, and the same functions return. */
static void leave(void)
{
	memcpy(area_space.area_rw[0] + UBP_AREA_TRAMPOLINE, area_arch()->trampoline.way_home,
	       area_arch()->swbp.len);
}

static void test_returns_left(void **state)
{
	leave();
	test_returns(state);
}

static void test_many_arguments_left(void **state)
{
	leave();
	test_many_arguments(state);
}

static void test_no_entry_left(void **state)
{
	leave();
	test_no_entry(state);
}

/* All registers and flags of who returns by the table are those of the function. */
static void test_registers_left(void **state)
{
	/* mov %rsp,%rax; ret.  mov (%rsp),%rax; ret.  movl to (%rsp), movl to 4(%rsp); ret. */
	const uint8_t word[] = { 0x48, 0x89, 0xe0, 0xc3 };
	const uint8_t real[] = { 0x48, 0x8b, 0x04, 0x24, 0xc3 };
	uint8_t moved[] = { 0xc7, 0x04, 0x24, 0, 0, 0, 0, 0xc7, 0x44, 0x24, 4, 0, 0, 0, 0, 0xc3 };
	uint64_t trampoline = area_space.area[0] + UBP_AREA_TRAMPOLINE, vaddr;
	struct area_regs in, got;
	struct guard_return *entry;

	(void)state;
	leave();
	memcpy(moved + 3, &trampoline, 4);
	memcpy(moved + 11, (uint8_t *)&trampoline + 4, 4);
	vaddr = area_text(0x40, moved, sizeof(moved));
	for (uint64_t seed = 1; seed < 20; seed++) {
		random_regs(seed, &in);
		area_call(area_text(0, word, sizeof(word)), &in, &got);
		entry = &area_space.returns[got.gpr[0] >> 3 & (AREA_RETURNS - 1)];
		entry->word = got.gpr[0];
		area_call(area_text(0, real, sizeof(real)), &in, &got);
		entry->real = got.gpr[0];
		got.gpr[0] = in.gpr[0];
		in.flags = got.flags;
		in.gpr[4] = got.gpr[4];
		area_call(vaddr, &in, &got);
		assert_memory_equal(got.gpr, in.gpr, sizeof(in.gpr));
		assert_int_equal(got.flags, in.flags);
		assert_memory_equal(got.xmm, in.xmm, sizeof(in.xmm));
	}
}

typedef unsigned recursion(unsigned depth);
RAW static unsigned recurse(unsigned depth);
static recursion *volatile recurse_again = recurse;

RAW static unsigned recurse(unsigned depth)
{
	unsigned below;

	area_hijack((uint64_t *)__builtin_frame_address(0) + 1);
	below = depth ? recurse_again(depth - 1) : 0;
	return below + 1;
}

static void test_recursion(void **state)
{
	(void)state;
	assert_int_equal(recurse(1000), 1001);
	assert_int_equal(recurse(10), 11); /* among leftovers */
}

/* --- the program's own traps ------------------------------------------------------------ */

/* What its handler saw. */
static struct seen {
	unsigned n;
	int signo, si_code, value;
	uint64_t pc, mask, saved_mask, inner;
	uint8_t *frame;
} seen;

static uint64_t hit_inside; /* a site that the handler runs into */

/* Shared with the assembly below: at the entry, in the order of their encoding. */
uint64_t test_seen_gpr[16], test_seen_flags, test_restored;
void test_trap_entry(void), test_restorer(void);
void test_on_trap(int signo, siginfo_t *info, void *context);

/* clang-format off */
__asm__(".text\n"
	"test_trap_entry:\n"
	"mov %rax, test_seen_gpr(%rip); mov %rcx, test_seen_gpr+8(%rip)\n"
	"mov %rdx, test_seen_gpr+16(%rip); mov %rbx, test_seen_gpr+24(%rip)\n"
	"mov %rsp, test_seen_gpr+32(%rip); mov %rbp, test_seen_gpr+40(%rip)\n"
	"mov %rsi, test_seen_gpr+48(%rip); mov %rdi, test_seen_gpr+56(%rip)\n"
	"mov %r8, test_seen_gpr+64(%rip); mov %r9, test_seen_gpr+72(%rip)\n"
	"mov %r10, test_seen_gpr+80(%rip); mov %r11, test_seen_gpr+88(%rip)\n"
	"mov %r12, test_seen_gpr+96(%rip); mov %r13, test_seen_gpr+104(%rip)\n"
	"mov %r14, test_seen_gpr+112(%rip); mov %r15, test_seen_gpr+120(%rip)\n"
	"pushf; popq test_seen_flags(%rip)\n"
	"jmp test_on_trap\n"
	"test_restorer: incq test_restored(%rip); mov $15, %rax; syscall\n");
/* clang-format on */

RAW void test_on_trap(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	seen.n++;
	seen.signo = signo;
	seen.si_code = info->si_code;
	seen.value = info->si_value.sival_int;
	seen.pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	memcpy(&seen.saved_mask, &uc->uc_sigmask, 8);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &seen.mask, 8);
	seen.frame = __builtin_frame_address(0);
	if (hit_inside)
		seen.inner = call(hit_inside);
}

static void program_sets(uint64_t flags, uint64_t mask)
{
	struct kernel_action act = {
		.handler = (uint64_t)test_trap_entry,
		.flags = flags,
		.restorer = (uint64_t)test_restorer,
		.mask = mask,
	};

	area_chain(&act);
	memset(&seen, 0, sizeof(seen));
	test_restored = 0;
	hit_inside = 0;
}

static void program_leaves(uint64_t handler)
{
	struct kernel_action act = { .handler = handler };

	area_chain(&act);
}

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	assert_int_equal(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8), 0);
	return mask;
}

static int raw_raise(void)
{
	return (int)syscall(SYS_tgkill, getpid(), gettid(), SIGTRAP);
}

static uint64_t foreign_trap(void)
{
	return area_text(0x100, "\xcc\xc3", 2); /* int3; ret */
}

static void test_foreign_trap(void **state)
{
	static const unsigned told[] = { 0, 2, 4, 6, 7 }; /* what the kernel sets */
	struct area_regs in, out;
	uint64_t vaddr = foreign_trap();

	(void)state;
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	random_regs(7, &in);
	area_call(vaddr, &in, &out);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.signo, SIGTRAP);
	assert_int_equal(seen.si_code, SI_KERNEL);
	assert_int_equal(seen.pc, vaddr + 1);
	assert_int_equal(seen.mask, mask_now());
	assert_int_equal(test_restored, 1);
	/* As the kernel enters a handler: all others as they were. */
	assert_int_equal(test_seen_gpr[0], 0);
	assert_int_equal(test_seen_gpr[7], SIGTRAP);
	assert_int_equal(test_seen_gpr[4] % 16, 8);
	assert_int_equal(test_seen_flags & 0x400, 0);
	for (unsigned r = 0, k = 0; r < 16; r++) {
		if (k < N_ELEMS(told) && told[k] == r)
			k++;
		else
			assert_int_equal(test_seen_gpr[r], in.gpr[r]);
	}
	/* And nothing is changed behind it. */
	out.gpr[4] = in.gpr[4];
	assert_memory_equal(out.gpr, in.gpr, sizeof(in.gpr));
	assert_int_equal(out.flags, in.flags & 0xcd5);
	assert_memory_equal(out.xmm, in.xmm, sizeof(in.xmm));
}

static void test_sent(void **state)
{
	union sigval value = { .sival_int = 4711 };

	(void)state;
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	assert_int_equal(raw_raise(), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.si_code, SI_TKILL);
	assert_int_equal(sigqueue(getpid(), SIGTRAP, value), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.si_code, SI_QUEUE);
	assert_int_equal(seen.value, 4711);
}

static uint64_t go_on_at;

static void raise_and_move(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	assert_int_equal(raw_raise(), 0); /* blocked here */
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on_at;
}

/*
 * The kernel queues one SIGTRAP for a thread: if one is pending, a breakpoint's own is not. The
 * signal finds the thread behind the breakpoint, which is then to be met again.
 */
static void test_sent_before_breakpoint(void **state)
{
	/* mov $0xc3909090,%eax; ret. Or, from its second byte on: nop; nop; nop; ret */
	const uint8_t code[] = { 0xb8, 0x90, 0x90, 0x90, 0xc3, 0xc3 };
	struct sigaction sa = { .sa_sigaction = raise_and_move, .sa_flags = SA_SIGINFO };
	uint64_t vaddr = area_text(0x300, code, sizeof(code));

	(void)state;
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	assert_int_equal(sigaddset(&sa.sa_mask, SIGTRAP), 0);
	assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
	area_plant(0, vaddr);
	go_on_at = vaddr + 1;
	/* Without the flag: an instruction as long as the breakpoint, and carried out. */
	assert_int_equal(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.pc, vaddr + 1);
	add_flag(vaddr, UBP_SLOT_PART);
	assert_int_equal(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1), 0xc3909090);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.si_code, SI_TKILL);
	assert_int_equal(seen.pc, vaddr);
	assert_int_equal(signal(SIGUSR1, SIG_DFL) == SIG_ERR, 0);
}

static void test_mask(void **state)
{
	uint64_t before = mask_now();

	(void)state;
	program_sets(SA_SIGINFO | SA_RESTORER, USR1_BIT | SIGTRAP_BIT | USR2_BIT);
	hit_inside = plant_id(0, 0x200, 99);
	assert_int_equal(raw_raise(), 0);
	assert_int_equal(seen.n, 1);
	/* SIGTRAP stays open, for the breakpoints' sake. */
	assert_int_equal(seen.mask, before | USR1_BIT | USR2_BIT);
	assert_int_equal(seen.saved_mask, before);
	assert_int_equal(seen.inner, 99);
	assert_int_equal(mask_now(), before);
}

static void test_restorers(void **state)
{
	(void)state;
	program_sets(SA_SIGINFO, 0);
	raw_raise();
	assert_int_equal(seen.n, 1);
	assert_int_equal(test_restored, 0); /* it came back by the guard's */
	assert_memory_equal(
		(void *)(area_space.area[0] + UBP_AREA_GUARD + area_arch()->guard.restorer),
		"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
}

/* Ours is on the alternate stack if there is one; so is theirs, whether it asked or not. */
static void test_stacks(void **state)
{
	static uint8_t stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) }, old, none;
	uint64_t site = plant_id(1, 0x300, 5);

	(void)state;
	assert_int_equal(sigaltstack(&alt, &old), 0);
	program_sets(SA_SIGINFO | SA_RESTORER | SA_ONSTACK, 0);
	raw_raise();
	assert_true(seen.frame > stack && seen.frame < stack + sizeof(stack));
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	raw_raise();
	assert_true(seen.frame > stack && seen.frame < stack + sizeof(stack));
	assert_int_equal(call(site), 5);
	assert_int_equal(test_plain(), 42);

	none = (stack_t){ .ss_flags = SS_DISABLE };
	assert_int_equal(sigaltstack(&none, NULL), 0);
	program_sets(SA_SIGINFO | SA_RESTORER | SA_ONSTACK, 0);
	raw_raise();
	assert_false(seen.frame > stack && seen.frame < stack + sizeof(stack));
	assert_int_equal(call(site), 5);
	assert_int_equal(test_plain(), 42);
	assert_int_equal(sigaltstack(&old, NULL), 0);
}

static void test_ignored(void **state)
{
	(void)state;
	program_leaves((uint64_t)SIG_IGN);
	assert_int_equal(raw_raise(), 0);
	assert_int_equal(call(plant_id(0, 0x200, 8)), 8);
}

/* A table that is full, and no entry fits: the search ends. */
static void test_full_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < AREA_N; i++)
		for (unsigned n = 0; n < 8; n++)
			plant_id(i, 0x400 + 0x100 * i + 4 * n, n);
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	call(foreign_trap());
	assert_int_equal(seen.n, 1);
}

static void test_no_slot(void **state)
{
	uint64_t vaddr = area_text(0x200, "\xcc\xc3", 2);

	(void)state;
	area_site(1, vaddr, 0);
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	call(vaddr);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.pc, vaddr + 1);
}

/* --- steps -------------------------------------------------------------------------------- */

uint64_t test_step(function *fn), test_step_flags;

/* clang-format off */
__asm__(".text\n"
	"test_step: pushf; orq $0x100, (%rsp); popf\n"
	"call *%rdi\n"
	"pushf; popq test_step_flags(%rip)\n"
	"pushf; andq $~0x100, (%rsp); popf; ret\n");
/* clang-format on */

/* The program steps itself: it sees its own instructions, not those in areas. */
static void test_own_steps(void **state)
{
	unsigned plain;
	uint64_t vaddr = area_text(0x200, "\x90\xc3", 2);

	(void)state;
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	test_step((function *)vaddr);
	plain = seen.n;
	assert_true(plain > 5);
	area_plant(1, vaddr);
	program_sets(SA_SIGINFO | SA_RESTORER, 0);
	test_step((function *)vaddr);
	assert_int_equal(seen.n, plain);
	assert_int_equal(seen.si_code, TRAP_TRACE);
	assert_true(test_step_flags & FLAG_TF);
}

/* A step that a tracer left behind: the program has no handler, and lives on. */
static void test_left_step(void **state)
{
	(void)state;
	program_leaves((uint64_t)SIG_DFL);
	test_step((function *)area_text(0x200, "\x90\xc3", 2));
	assert_false(test_step_flags & FLAG_TF);
}

/* --- deaths ------------------------------------------------------------------------------- */

typedef void action_fn(void);

/* Wait status of a child that does this. */
static int child(action_fn *fn)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		alarm(60);
		fn();
		_exit(7);
	}
	assert_true(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return status;
}

static void assert_trapped(int status)
{
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTRAP)
		fail_msg("wait status 0x%x", (unsigned)status);
}

static void do_raise(void)
{
	raw_raise();
}

static void do_foreign(void)
{
	call(foreign_trap());
}

static void do_site_without_slot(void)
{
	uint64_t vaddr = area_text(0x200, "\xcc\xc3", 2);

	area_site(1, vaddr, 0);
	call(vaddr);
}

/* SIGTRAP is blocked in the mask that is put back behind the handler. */
static void do_suspend(void)
{
	uint64_t block = SIGTRAP_BIT, none = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &block, NULL, 8);
	raw_raise();
	syscall(SYS_rt_sigsuspend, &none, 8);
}

static void do_foreign_blocked(void)
{
	uint64_t block = SIGTRAP_BIT;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &block, NULL, 8);
	call(foreign_trap());
}

static void *raise_there(void *arg)
{
	raw_raise();
	return arg;
}

static void do_raise_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, raise_there, NULL) == 0)
		pthread_join(thread, NULL);
}

static void do_raise_twice(void)
{
	program_sets(SA_SIGINFO | SA_RESTORER | SA_RESETHAND, 0);
	raw_raise();
	if (seen.n != 1 || call(plant_id(0, 0x600, 31)) != 31)
		_exit(8);
	raw_raise();
}

/* The program has found the guard's own handler, and set that. */
static void do_ours_again(void)
{
	program_leaves(area_space.area[0] + UBP_AREA_GUARD + area_arch()->guard.handler);
	raw_raise();
}

static void test_deaths(void **state)
{
	(void)state;
	program_leaves((uint64_t)SIG_DFL);
	assert_trapped(child(do_raise));
	assert_trapped(child(do_foreign));
	assert_trapped(child(do_foreign_blocked));
	assert_trapped(child(do_suspend));
	assert_trapped(child(do_raise_in_thread));
	assert_trapped(child(do_site_without_slot));
	program_leaves((uint64_t)SIG_IGN);
	assert_trapped(child(do_foreign));
	assert_int_equal(child(do_raise), 7 << 8);
	assert_trapped(child(do_raise_twice));
	assert_trapped(child(do_ours_again));
	/* Nobody says what the program has set. The area is shared with the children. */
	((struct guard_head *)area_space.area_rw[0])->data = 0;
	assert_trapped(child(do_raise));
}

/* The first process of a pid namespace: SIGTRAP by default kills it only when forced. */
static void do_init_lives(void)
{
	raw_raise();
	if (call(plant_id(0, 0x600, 32)) != 32)
		_exit(8);
}

static void do_init(void)
{
	int status;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
		_exit(77);
	status = child(do_init_lives);
	if (status != 7 << 8)
		_exit(9);
	/* Only one may be the first: the next is in a namespace that has died. */
}

static void do_init_dies(void)
{
	int status;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
		_exit(77);
	status = child(do_foreign);
	_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP ? 7 : 9);
}

static void test_init(void **state)
{
	int status;

	(void)state;
	program_leaves((uint64_t)SIG_DFL);
	status = child(do_init);
	if (status == 77 << 8) {
		print_message("no pid namespaces here\n");
		skip();
	}
	assert_int_equal(status, 7 << 8);
	assert_int_equal(child(do_init_dies), 7 << 8);
}

/* --- at once --------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  20000

static uint64_t thread_sites[THREADS];

RAW static void *run_thread(void *arg)
{
	uint64_t me = (uint64_t)arg;

	for (unsigned n = 0; n < ROUNDS; n++) {
		uint64_t which = (me + n) % THREADS;

		if (call(thread_sites[which]) != 1000 + which || test_plain() != 42 ||
		    recurse(n % 5) != n % 5 + 1)
			return (void *)(uint64_t)(n + 1);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *failed;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		thread_sites[i] = plant_id(i % AREA_N, 0x700 + 16 * i, 1000 + i);
	for (uint64_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_thread, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_collisions),
		TEST(test_functions),
		TEST(test_moved),
		TEST(test_returns),
		TEST(test_unwinder),
		TEST(test_unwinder_alone),
		TEST(test_many_arguments),
		TEST(test_no_entry),
		TEST(test_returns_left),
		TEST(test_many_arguments_left),
		TEST(test_no_entry_left),
		TEST(test_registers_left),
		TEST(test_recursion),
		TEST(test_foreign_trap),
		TEST(test_sent),
		TEST(test_sent_before_breakpoint),
		TEST(test_mask),
		TEST(test_restorers),
		TEST(test_stacks),
		TEST(test_ignored),
		TEST(test_full_table),
		TEST(test_no_slot),
		TEST(test_own_steps),
		TEST(test_left_step),
		TEST(test_deaths),
		TEST(test_init),
		TEST(test_threads),
	};

	return cmocka_run_group_tests_name("x86_guard", tests, NULL, NULL);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
