/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_run.h"

#include <asm/ldt.h>
#include <asm/prctl.h>
#include <cpuid.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/x86/regs.h"

#define FLAG_TF     0x100
#define FLAG_STATUS 0x8d5 /* CF PF AF ZF SF OF */
#define FLAG_DF     0x400
#define FLAG_FIXED  0x202
#define FLAG_SEEN   (FLAG_STATUS | FLAG_DF)

#if RUN_BITS == 32
#define run_in         run32_in
#define run_in_flags   run32_in_flags
#define run_entry      run32_entry
#define run_out        run32_out
#define run_out_flags  run32_out_flags
#define run_exit_id    run32_exit_id
#define run_host_sp    run32_host_sp
#define run_xmask      run32_xmask
#define run_xin        run32_xin
#define run_xout       run32_xout
#define run_enter      run32_enter
#define run_exit_0     run32_exit_0
#define run_exit_1     run32_exit_1
#define run_exit_2     run32_exit_2
#define run_exit_fault run32_exit_fault
#define NAME(text)     "run32_" text
#define SEGMENTS       "mov $0x2b, %eax; mov %eax, %ds; mov %eax, %es\n"
#define GO             "ljmp *run32_entry(%rip)\n"
/* Behind the offset, the selector of 32-bit code. */
#define CODE_32 (0x23ull << 32)
#else
#define NAME(text) "run_" text
#define SEGMENTS   ""
#define GO         "jmp *run_entry(%rip)\n"
#define CODE_32    0
#endif

/* Shared with the assembly below. */
uint64_t run_in[16], run_in_flags, run_entry;
uint64_t run_out[16], run_out_flags, run_exit_id, run_host_sp;
uint64_t run_xmask;
uint8_t run_xin[RUN_XSAVE_MAX] __attribute__((aligned(64)));
uint8_t run_xout[RUN_XSAVE_MAX] __attribute__((aligned(64)));
void run_enter(void);
extern const char run_exit_0[], run_exit_1[], run_exit_2[], run_exit_fault[];

#define EACH_GPR(what)                                                                         \
	what("rax", 0) what("rcx", 8) what("rdx", 16) what("rbx", 24) what("rsp", 32)          \
		what("rbp", 40) what("rsi", 48) what("rdi", 56) what("r8", 64) what("r9", 72)  \
			what("r10", 80) what("r11", 88) what("r12", 96) what("r13", 104)       \
				what("r14", 112) what("r15", 120)
#define LOAD(reg, at)  "mov " NAME("in") "+" #at "(%rip), %" reg "\n"
#define STORE(reg, at) "mov %" reg ", " NAME("out") "+" #at "(%rip)\n"

/* clang-format off */
__asm__(
	".text\n"
	".type " NAME("enter") ", @function\n"
	NAME("enter") ":\n"
	SEGMENTS
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, " NAME("host_sp") "(%rip)\n"
	"mov " NAME("xmask") "(%rip), %eax; mov " NAME("xmask") "+4(%rip), %edx\n"
	"xrstor64 " NAME("xin") "(%rip)\n"
	"pushq " NAME("in_flags") "(%rip)\n"
	"popfq\n"
	EACH_GPR(LOAD)
	GO
	NAME("exit_0") ": movq $0, " NAME("exit_id") "(%rip); jmp 1f\n"
	NAME("exit_1") ": movq $1, " NAME("exit_id") "(%rip); jmp 1f\n"
	NAME("exit_2") ": movq $2, " NAME("exit_id") "(%rip)\n"
	"1:\n"
	EACH_GPR(STORE)
	"mov " NAME("host_sp") "(%rip), %rsp\n"
	"pushfq\n"
	"popq " NAME("out_flags") "(%rip)\n"
	NAME("exit_fault") ":\n"
	"cld\n"
	"mov " NAME("xmask") "(%rip), %eax; mov " NAME("xmask") "+4(%rip), %edx\n"
	"xsave64 " NAME("xout") "(%rip)\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n"
	".size " NAME("enter") ", . - " NAME("enter") "\n");
/* clang-format on */

static run_step_fn *step_fn;
static void *step_arg;
static volatile bool entered;
static volatile int fault_signo;
static volatile uint64_t fault_pc;

/* Order of the encoding to the kernel's order in a signal frame. */
static const int greg_of[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

#define USER_REG(name) (offsetof(struct user_regs_struct, name) / 8)
static const size_t user_of[16] = {
	USER_REG(rax), USER_REG(rcx), USER_REG(rdx), USER_REG(rbx),
	USER_REG(rsp), USER_REG(rbp), USER_REG(rsi), USER_REG(rdi),
	USER_REG(r8),  USER_REG(r9),  USER_REG(r10), USER_REG(r11),
	USER_REG(r12), USER_REG(r13), USER_REG(r14), USER_REG(r15),
};

static bool in_regions(uint64_t vaddr)
{
	return (vaddr >= RUN_BASE && vaddr < RUN_EXITS) ||
	       (vaddr >= RUN_FAR && vaddr < RUN_FAR + 0x1000);
}

static void step(greg_t *g)
{
	struct ubp_regs regs = { 0 };

	for (size_t i = 0; i < 16; i++)
		regs.r[user_of[i]] = (uint64_t)g[greg_of[i]];
	regs.r[USER_REG(rip)] = (uint64_t)g[REG_RIP];
	regs.r[USER_REG(eflags)] = (uint64_t)g[REG_EFL];
	regs.r[USER_REG(orig_rax)] = UINT64_MAX;
	step_fn(&regs, step_arg);
	for (size_t i = 0; i < 16; i++)
		g[greg_of[i]] = (greg_t)regs.r[user_of[i]];
	g[REG_RIP] = (greg_t)regs.r[USER_REG(rip)];
	g[REG_EFL] = (greg_t)regs.r[USER_REG(eflags)];
}

static void on_signal(int signo, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)g[REG_RIP];

	/* Some virtual machines forget at times why they stopped: then a step looks like the
	 * icebp instruction. A breakpoint has another code. */
	if (signo == SIGTRAP && (si->si_code == TRAP_TRACE || si->si_code == TRAP_BRKPT)) {
		/* Stepping begins in run_enter and ends with the first exit. */
		entered |= in_regions(pc);
		if (in_regions(pc) && step_fn)
			step(g);
		else if (entered)
			g[REG_EFL] &= ~FLAG_TF;
		return;
	}
	for (size_t i = 0; i < 16; i++)
		run_out[i] = (uint64_t)g[greg_of[i]];
	run_out_flags = (uint64_t)g[REG_EFL];
	fault_signo = signo;
	fault_pc = pc;
	g[REG_CSGSFS] = (g[REG_CSGSFS] & ~0xffffll) | 0x33;
	g[REG_EFL] = FLAG_FIXED;
	g[REG_RSP] = (greg_t)run_host_sp;
	g[REG_RIP] = (greg_t)(uintptr_t)run_exit_fault;
}

static void map_fixed(uint64_t vaddr, size_t size)
{
	void *at = mmap((void *)vaddr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(at, (void *)vaddr);
}

/* cmocka takes the signals for itself at each test, so have them for each run only. */
static void swap_handlers(bool ours)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	static struct sigaction theirs[sizeof(signals) / sizeof(signals[0])];
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_ONSTACK };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], ours ? &sa : &theirs[i], ours ? &theirs[i] : NULL);
}

void run_write(uint64_t vaddr, const void *bytes, size_t len)
{
	memcpy((void *)vaddr, bytes, len);
}

#if RUN_BITS == 32

/* In 64-bit code again, from where it could be jumped to. */
static uint32_t plant_way_back(unsigned i, uint64_t to)
{
	uint64_t at = RUN_EXITS + 16 * i;

	run_write(at, "\xff\x25\0\0\0", 6); /* jmp *0(%rip) */
	run_write(at + 6, &to, sizeof(to));
	return (uint32_t)at;
}

void run_plant_exit(uint64_t vaddr, int exit)
{
	static const char *const exits[] = { run_exit_0, run_exit_1, run_exit_2 };
	uint32_t to = plant_way_back((unsigned)exit, (uint64_t)(uintptr_t)exits[exit]);

	run_write(vaddr, "\xea", 1); /* ljmp $0x33,$to */
	run_write(vaddr + 1, &to, sizeof(to));
	run_write(vaddr + 5, "\x33\0", 2);
}

/* A segment whose first word is where it is, for %gs. */
static void set_segment(void)
{
	struct user_desc desc = {
		.entry_number = (unsigned)-1,
		.base_addr = (unsigned)RUN_TCB,
		.limit = 0xfffff,
		.seg_32bit = 1,
		.limit_in_pages = 1,
		.useable = 1,
	};
	const uint32_t self = RUN_TCB;
	long result = 243; /* set_thread_area(), which 64-bit code has no number for */

	run_write(RUN_TCB, &desc, sizeof(desc));
	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(RUN_TCB)
			 : "memory", "r8", "r9", "r10", "r11");
	assert_int_equal(result, 0);
	memcpy(&desc, (void *)RUN_TCB, sizeof(desc));
	run_write(RUN_TCB, &self, sizeof(self));
	__asm__ volatile("mov %0, %%gs" : : "r"(desc.entry_number << 3 | 3));
}

/* A kernel may have no 32-bit programs: nothing of all this can be run then. */
__attribute__((constructor)) static void need_kernel(void)
{
	int status = 0;
	long number = 20; /* getpid() */
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		__asm__ volatile("int $0x80"
				 : "+a"(number)
				 :
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(number != getpid());
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0) {
		puts("this kernel runs no 32-bit programs");
		exit(77);
	}
}

#define CALL_SP (RUN_EXITS + 0x3ff0)

uint64_t run32_call_to, run32_call_sp;
uint64_t run32_call_di, run32_call_si;
void run32_call_enter(void);
extern const char run32_call_back[];

/* clang-format off */
__asm__(
	".text\n"
	".type run32_call_enter, @function\n"
	"run32_call_enter:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, run32_call_sp(%rip)\n"
	"mov run32_call_di(%rip), %rdi; mov run32_call_si(%rip), %rsi\n"
	"mov $0x2a023fec, %esp\n"
	"ljmp *run32_call_to(%rip)\n"
	"run32_call_back:\n"
	"mov run32_call_sp(%rip), %rsp\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n"
	".size run32_call_enter, . - run32_call_enter\n");
/* clang-format on */

void run_call(uint32_t vaddr, uint32_t di, uint32_t si)
{
	uint32_t at = plant_way_back(3, (uint64_t)(uintptr_t)run32_call_back);
	const uint32_t back = RUN_EXITS + 0x80;

	_Static_assert(CALL_SP - 4 == 0x2a023fec, "as above");
	run_write(back, "\xea", 1);
	run_write(back + 1, &at, sizeof(at));
	run_write(back + 5, "\x33\0", 2);
	run_write(CALL_SP - 4, &back, sizeof(back));
	run32_call_to = vaddr | CODE_32;
	run32_call_di = di;
	run32_call_si = si;
	run32_call_enter();
}

#else

void run_plant_exit(uint64_t vaddr, int exit)
{
	static const char *const exits[] = { run_exit_0, run_exit_1, run_exit_2 };
	uint64_t to = (uint64_t)(uintptr_t)exits[exit];

	run_write(vaddr, "\xff\x25\0\0\0", 6); /* jmp *0(%rip) */
	run_write(vaddr + 6, &to, sizeof(to));
}

#endif

int run_init(void **state)
{
	static uint8_t altstack[65536];
	stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) };
	uint32_t a = 0, b, c, d;
	cpu_set_t one;

	(void)state;
	map_fixed(RUN_BASE, RUN_SIZE);
	assert_int_equal(sigaltstack(&ss, NULL), 0);
#if RUN_BITS == 32
	set_segment();
#else
	map_fixed(RUN_FAR, 0x1000);
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, RUN_DATA), 0);
#endif

	/* All but protection keys and tiles: 2688 bytes at most. */
	assert_true(__get_cpuid_count(0xd, 0, &a, &b, &c, &d));
	run_xmask = a & 0xe7;

	/* cpuid tells the CPU's number. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	return 0;
}

static void fill(uint64_t vaddr, size_t size, uint64_t *rng)
{
	uint64_t *p = (uint64_t *)vaddr;

	for (size_t i = 0; i < size / 8; i++)
		p[i] = run_next(rng);
}

void run_random(uint64_t seed, struct run_regs *ret_regs)
{
	uint64_t rng = seed, *g = ret_regs->gpr;
	uint64_t top;

	fill(RUN_DATA, RUN_DATA_SIZE, &rng);
	fill(RUN_STACK, RUN_STACK_SIZE, &rng);
	for (size_t i = 0; i < 16; i++)
		g[i] = run_next(&rng);
	if (seed % 3 == 0) { /* small, so that divisions can succeed */
		g[DX] &= 3;
		g[AX] &= 0xffff;
	}
	g[SP] = RUN_SP + (seed % 2) * 8;
	g[BX] = RUN_DATA + 0x800;
	g[SI] = RUN_DATA + 0xc00;
	g[DI] = RUN_DATA + 0x1000;
	g[BP] = RUN_DATA + 0x1400;
	g[R8] = RUN_DATA + 0x1800;
	g[CX] = run_next(&rng) % 6;
	g[R9] = run_next(&rng) % 8;
	for (size_t i = 0; i < 16; i++)
		g[i] = (run_word)g[i];
	top = (run_next(&rng) & FLAG_STATUS) | FLAG_FIXED;
	run_write(g[SP], &top, sizeof(top));
	ret_regs->flags = (run_next(&rng) & (FLAG_STATUS | FLAG_DF)) | FLAG_FIXED;
}

/* x87 as at program start, the vectors random, masks random. */
static void random_vectors(uint64_t seed)
{
	uint64_t rng = ~seed, v;
	static uint8_t initial[RUN_XSAVE_MAX] __attribute__((aligned(64)));
	static bool have_initial;

	if (!have_initial) {
		__asm__ volatile("fninit; xsave64 %0"
				 : "=m"(initial)
				 : "a"((uint32_t)run_xmask), "d"(0)
				 : "memory");
		have_initial = true;
	}
	memcpy(run_xin, initial, sizeof(run_xin));
	for (size_t at = 160; at < 416; at += 8) {
		v = run_next(&rng);
		memcpy(run_xin + at, &v, 8);
	}
	for (size_t at = 576; at < 2688; at += 8) {
		v = run_next(&rng);
		memcpy(run_xin + at, &v, 8);
	}
	v = run_xmask; /* which parts are there */
	memcpy(run_xin + 512, &v, 8);
	memset(run_xin + 520, 0, 56);
}

void run_vectors(uint64_t seed, struct ubp_vectors *ret_vectors)
{
	random_vectors(seed);
	for (size_t i = 0; i < X86_VECTORS; i++)
		memcpy(&ret_vectors->v[i], run_xin + 160 + 16 * i, 8);
}

/* Where the last x87 instruction stood is known to differ. */
static void forget_x87_pc(uint8_t xstate[RUN_XSAVE_MAX])
{
	memset(xstate + 6, 0, 18);
}

/*
 * Which parts are marked as being in their initial state (XSTATE_BV): where they
 * are, after vzeroall say, the processor may tell so or not, depending on whether
 * the thread was switched out meanwhile. XSAVE writes their bytes in any case.
 */
static void forget_initial_parts(uint8_t xstate[RUN_XSAVE_MAX])
{
	memset(xstate + 512, 0, 8);
}

void run_code(uint64_t entry, const struct run_regs *regs, uint64_t seed, run_step_fn *step_,
	      void *arg, struct run_end *ret_end)
{
	memset(ret_end, 0, sizeof(*ret_end));
	random_vectors(seed);
	memcpy(run_in, regs->gpr, sizeof(run_in));
	run_in_flags = regs->flags | (step_ ? FLAG_TF : 0);
	run_entry = entry | CODE_32;
	run_exit_id = UINT64_MAX;
	entered = false;
	fault_signo = 0;
	fault_pc = 0;
	memset(run_xout, 0, sizeof(run_xout));
	step_fn = step_;
	step_arg = arg;
	swap_handlers(true);
	run_enter();
	swap_handlers(false);
	for (size_t i = 0; i < 16; i++)
		ret_end->regs.gpr[i] = (run_word)run_out[i];
	ret_end->regs.flags = run_out_flags & FLAG_SEEN;
	ret_end->exit = (int)run_exit_id;
	ret_end->signo = fault_signo;
	ret_end->pc = fault_pc;
	memcpy(ret_end->xstate, run_xout, sizeof(run_xout));
	forget_x87_pc(ret_end->xstate);
	forget_initial_parts(ret_end->xstate);
	memcpy(ret_end->data, (void *)RUN_DATA, RUN_DATA_SIZE);
	memcpy(ret_end->stack, (void *)RUN_STACK, RUN_STACK_SIZE);
}

static void same_bytes(const char *what, const char *part, uint64_t vaddr, const uint8_t *a,
		       const uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i])
			fail_msg("%s: %s + 0x%zx (0x%llx): %02x, should be %02x", what, part, i,
				 (unsigned long long)(vaddr + i), b[i], a[i]);
}

void run_assert_same(const char *what, const struct run_end *a, const struct run_end *b,
		     const bool ignore_gpr[16])
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					     "rsi", "rdi", "r8",  "r9",  "r10", "r11",
					     "r12", "r13", "r14", "r15" };

	if (a->exit != b->exit || a->signo != b->signo)
		fail_msg("%s: ends with exit %d signal %d, should be exit %d signal %d", what,
			 b->exit, b->signo, a->exit, a->signo);
	for (size_t i = 0; i < 16; i++)
		if (a->regs.gpr[i] != b->regs.gpr[i] && !(ignore_gpr && ignore_gpr[i]))
			fail_msg("%s: %s is 0x%llx, should be 0x%llx", what, names[i],
				 (unsigned long long)b->regs.gpr[i],
				 (unsigned long long)a->regs.gpr[i]);
	if (a->regs.flags != b->regs.flags)
		fail_msg("%s: flags are 0x%llx, should be 0x%llx", what,
			 (unsigned long long)b->regs.flags, (unsigned long long)a->regs.flags);
	same_bytes(what, "xsave area", 0, a->xstate, b->xstate, RUN_XSAVE_MAX);
	same_bytes(what, "data", RUN_DATA, a->data, b->data, RUN_DATA_SIZE);
	same_bytes(what, "stack", RUN_STACK, a->stack, b->stack, RUN_STACK_SIZE);
}

#else
extern int not_x86;
int not_x86;
#endif
