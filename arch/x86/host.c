/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The half of x86 that needs an x86-64 kernel: registers by ptrace(2), the clock, what this
 * processor can do.
 */

#include "arch/host.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "arch/x86/cpu.h"
#include "arch/x86/regs.h"
#include "engine/base/again.h"

_Static_assert(sizeof(struct user_regs_struct) <= sizeof(struct ubp_regs), "registers fit");

const struct ubp_arch *ubp_host_arch(void)
{
	return ubp_arch_find(EM_X86_64, ELFCLASS64);
}

bool ubp_host_traces(const struct ubp_arch *arch)
{
	return (arch->e_machine == EM_X86_64 && arch->elf_class == ELFCLASS64) ||
	       arch->e_machine == EM_386;
}

#define HWCAP2_FSGSBASE (1UL << 1) /* the kernel lets programs use rdfsbase */
#define CPUID_EXTENDED  0x80000001U
#define RDTSCP          (1U << 27) /* in edx */
#define PREFETCHW       (1U << 8)  /* ecx */
#define LAHF_LM         (1U << 0)  /* in ecx */
#define CPUID_POWER     0x80000007U
#define INVARIANT_TSC   (1U << 8) /* in edx */

uint64_t ubp_host_ticks(void)
{
	uint64_t ticks;

	/* Not before what comes in front of it is done, and done before what follows. */
	_mm_lfence();
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
}

static uint64_t min_ticks(int (*read_clock)(struct timespec *))
{
	uint64_t least = UINT64_MAX;
	struct timespec now;

	for (int i = 0; i < 50; i++) {
		uint64_t before = ubp_host_ticks();
		uint64_t ticks = read_clock(&now) == 0 ? ubp_host_ticks() - before : UINT64_MAX;

		least = ticks < least ? ticks : least;
	}
	return least;
}

static int read_by_libc(struct timespec *ret_now)
{
	return clock_gettime(CLOCK_MONOTONIC, ret_now);
}

static int read_by_kernel(struct timespec *ret_now)
{
	return (int)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, ret_now);
}

/*
 * Of all clocks, the vdso can read those alone that are made of the counter; for others it calls
 * the kernel. A call takes a few times as long, or nothing is known.
 */
static bool vdso_reads_clock(void)
{
	uint64_t by_libc = min_ticks(read_by_libc), by_kernel = min_ticks(read_by_kernel);

	return by_kernel != UINT64_MAX && by_libc < by_kernel / 2;
}

/*
 * Does the time stamp counter tell the time? It does if the kernel's clock is made of it,
 * or of what the hypervisor makes of it; there it must never stop or change its pace.
 */
static bool tsc_tells_time(void)
{
	unsigned a, b, c, d = 0;
	char name[40] = "";
	bool invariant;
	FILE *f =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	(void)__get_cpuid(CPUID_POWER, &a, &b, &c, &d);
	invariant = d & INVARIANT_TSC;
	if (!f) /* a container without /sys */
		return invariant && vdso_reads_clock();
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	(void)fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return strcmp(name, "tsc") == 0 ||
	       (invariant && (strcmp(name, "kvm-clock") == 0 ||
			      strcmp(name, "hyperv_clocksource_tsc_page") == 0));
}

/* The kernel keeps the processor's number in the limit of a segment, as vdso's getcpu() needs it. */
static bool segment_tells_cpu(void)
{
	unsigned limit;
	bool is_there;

	__asm__("lsl %2, %1" : "=@ccz"(is_there), "=r"(limit) : "r"(X86_CPU_SEGMENT));
	return is_there;
}

unsigned ubp_host_code_has(void)
{
	unsigned a, b, c = 0, d = 0;

	(void)__get_cpuid(CPUID_EXTENDED, &a, &b, &c, &d);
	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE ? X86_HAS_FSGSBASE : 0) |
	       (d & RDTSCP ? X86_HAS_RDTSCP : 0) | (c & PREFETCHW ? X86_HAS_PREFETCHW : 0);
}

bool ubp_host_can_jump(const char **ret_why)
{
	unsigned a, b, c = 0, d = 0;

	*ret_why = NULL;
	(void)__get_cpuid(CPUID_EXTENDED, &a, &b, &c, &d);
	if (!(c & LAHF_LM))
		*ret_why = "this processor has no lahf";
	else if (!(d & RDTSCP) && !segment_tells_cpu())
		*ret_why =
			"this machine has no rdtscp, and no segment that tells the processor";
	else if (!tsc_tells_time())
		*ret_why = "this machine's clock is not made of the time stamp counter";
	return !*ret_why;
}

int ubp_host_get_regs(pid_t tid, struct ubp_regs *ret_regs)
{
	return again_ptrace(PTRACE_GETREGS, tid, 0, ret_regs->r) < 0 ? -errno : 0;
}

int ubp_host_get_vectors(pid_t tid, struct ubp_vectors *ret_vectors)
{
	/* As fxsave has them, of a 32-bit program too. */
	struct user_fpregs_struct fp;
	const size_t xmm_len = sizeof(fp.xmm_space) / X86_VECTORS;

	if (again_ptrace(PTRACE_GETFPREGS, tid, 0, &fp) < 0)
		return -errno;
	for (size_t i = 0; i < X86_VECTORS; i++)
		memcpy(&ret_vectors->v[i], (const char *)fp.xmm_space + i * xmm_len,
		       sizeof(ret_vectors->v[i]));
	return 0;
}

int ubp_host_set_regs(pid_t tid, const struct ubp_regs *regs)
{
	return again_ptrace(PTRACE_SETREGS, tid, 0, regs->r) < 0 ? -errno : 0;
}

int ubp_host_get_thread_pointer(const struct ubp_arch *arch, pid_t tid,
				const struct ubp_regs *regs, uint64_t *ret_tp)
{
	(void)tid;
	*ret_tp = regs->r[arch->reg.tp];
	return 0;
}
