/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A ubp that is a 32-bit program itself. It traces programs like it: of a 64-bit thread the kernel
 * shows it half of each register. They are numbered as a 64-bit tracer gets them.
 */

#include "arch/host.h"

#include <asm/ldt.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <x86intrin.h>

#include "arch/x86/regs.h"
#include "engine/base/again.h"

#define VECTORS 8 /* xmm0 to xmm7 */

const struct ubp_arch *ubp_host_arch(void)
{
	return ubp_arch_find(EM_386, ELFCLASS32);
}

bool ubp_host_traces(const struct ubp_arch *arch)
{
	return arch->e_machine == EM_386;
}

bool ubp_host_can_jump(const char **ret_why)
{
	*ret_why = "this uprobe is a 32-bit program";
	return false;
}

unsigned ubp_host_code_has(void)
{
	return 0;
}

/* Nobody compares it with a detour's. */
uint64_t ubp_host_ticks(void)
{
	return __rdtsc();
}

/* Where each of the kernel's words is in struct ubp_regs. */
static const uint8_t at[] = { X86_BX, X86_CX, X86_DX,    X86_SI, X86_DI, X86_BP,
			      X86_AX, X86_DS, X86_ES,    X86_FS, X86_GS, X86_ORIG_AX,
			      X86_IP, X86_CS, X86_FLAGS, X86_SP, X86_SS };

#define N_WORDS (sizeof(at) / sizeof(at[0]))

_Static_assert(sizeof(struct user_regs_struct) == N_WORDS * sizeof(uint32_t), "one for each");
_Static_assert(offsetof(struct user_regs_struct, orig_eax) == 11 * sizeof(uint32_t),
	       "in order");
_Static_assert(offsetof(struct user_regs_struct, xss) == 16 * sizeof(uint32_t), "in order");

/* Where a segment begins that the thread has in its own table; 0: it has none. */
static uint32_t segment_base(pid_t tid, uint64_t selector)
{
	struct user_desc segment;

	return (selector & 0xffff) != 0 &&
			       again_ptrace(PTRACE_GET_THREAD_AREA, tid,
					    (selector & 0xffff) >> 3 & 0x1fff, &segment) == 0
		       ? segment.base_addr
		       : 0;
}

int ubp_host_get_regs(pid_t tid, struct ubp_regs *ret_regs)
{
	uint32_t words[N_WORDS];

	if (again_ptrace(PTRACE_GETREGS, tid, 0, words) < 0)
		return -errno;
	memset(ret_regs, 0, sizeof(*ret_regs));
	for (size_t i = 0; i < N_WORDS; i++)
		ret_regs->r[at[i]] = words[i];
	ret_regs->r[X86_GS_BASE] = segment_base(tid, ret_regs->r[X86_GS]);
	return 0;
}

int ubp_host_get_vectors(pid_t tid, struct ubp_vectors *ret_vectors)
{
	struct user_fpxregs_struct fp;
	const size_t xmm_len = sizeof(fp.xmm_space) / VECTORS;

	if (again_ptrace(PTRACE_GETFPXREGS, tid, 0, &fp) < 0)
		return -errno;
	memset(ret_vectors, 0, sizeof(*ret_vectors));
	for (size_t i = 0; i < VECTORS; i++)
		memcpy(&ret_vectors->v[i], (const char *)fp.xmm_space + i * xmm_len,
		       sizeof(ret_vectors->v[i]));
	return 0;
}

int ubp_host_set_regs(pid_t tid, const struct ubp_regs *regs)
{
	uint32_t words[N_WORDS];

	for (size_t i = 0; i < N_WORDS; i++)
		words[i] = (uint32_t)regs->r[at[i]];
	return again_ptrace(PTRACE_SETREGS, tid, 0, words) < 0 ? -errno : 0;
}

int ubp_host_get_thread_pointer(const struct ubp_arch *arch, pid_t tid,
				const struct ubp_regs *regs, uint64_t *ret_tp)
{
	(void)arch;
	(void)tid;
	*ret_tp = regs->r[X86_GS_BASE];
	return 0;
}
