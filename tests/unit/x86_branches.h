/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Branch forms as bytes, since assemblers choose lengths themselves. A relative
 * branch goes TARGET_AT (0x40) beyond its end, or before it.
 */

#ifndef TESTS_UNIT_X86_BRANCHES_H
#define TESTS_UNIT_X86_BRANCHES_H

enum prepare {
	PREPARE_NOTHING,
	PREPARE_CX,
	PREPARE_TARGET,        /* rax, r11, all of data and stack hold the target's address */
	PREPARE_BAD_TARGET,    /* rax: no canonical address */
	PREPARE_CODE_ON_STACK, /* rsp points to an exit */
	PREPARE_GETPID,
};

#define JCC(cc, low)                                                                           \
	BRANCH(j##cc##_8, NOTHING, ".byte 0x7" #low ", 0x40")                                  \
	BRANCH(j##cc##_32, NOTHING, ".byte 0x0f, 0x8" #low "; .long -0x40")

#define BRANCHES                                                                               \
	JCC(o, 0)                                                                              \
	JCC(no, 1)                                                                             \
	JCC(b, 2)                                                                              \
	JCC(ae, 3)                                                                             \
	JCC(e, 4)                                                                              \
	JCC(ne, 5)                                                                             \
	JCC(be, 6)                                                                             \
	JCC(a, 7)                                                                              \
	JCC(s, 8)                                                                              \
	JCC(ns, 9)                                                                             \
	JCC(p, a)                                                                              \
	JCC(np, b)                                                                             \
	JCC(l, c)                                                                              \
	JCC(ge, d)                                                                             \
	JCC(le, e)                                                                             \
	JCC(g, f)                                                                              \
	BRANCH(je_hinted, NOTHING, ".byte 0x2e, 0x74, 0x40")                                   \
	BRANCH(jne_bnd, NOTHING, ".byte 0xf2, 0x0f, 0x85; .long 0x40")                         \
	BRANCH(jmp_8, NOTHING, ".byte 0xeb, 0x40")                                             \
	BRANCH(jmp_8_back, NOTHING, ".byte 0xeb, 0xc0")                                        \
	BRANCH(jmp_32, NOTHING, ".byte 0xe9; .long 0x40")                                      \
	BRANCH(jmp_bnd, NOTHING, ".byte 0xf2, 0xe9; .long 0x40")                               \
	BRANCH(jrcxz, CX, ".byte 0xe3, 0x40")                                                  \
	BRANCH(jecxz, CX, ".byte 0x67, 0xe3, 0x40")                                            \
	BRANCH(loop, CX, ".byte 0xe2, 0x40")                                                   \
	BRANCH(loop_back, CX, ".byte 0xe2, 0xc0")                                              \
	BRANCH(loope, CX, ".byte 0xe1, 0x40")                                                  \
	BRANCH(loopne, CX, ".byte 0xe0, 0xc0")                                                 \
	BRANCH(loop_ecx, CX, ".byte 0x67, 0xe2, 0x40")                                         \
	BRANCH(call, NOTHING, ".byte 0xe8; .long 0x40")                                        \
	BRANCH(call_back, NOTHING, ".byte 0xe8; .long -0x40")                                  \
	BRANCH(call_next, NOTHING, ".byte 0xe8; .long 0")                                      \
	BRANCH(call_tls, NOTHING, ".byte 0x66, 0x66, 0x48, 0xe8; .long 0x40")                  \
	BRANCH(call_rax, TARGET, "call *%rax")                                                 \
	BRANCH(call_r11, TARGET, "call *%r11")                                                 \
	BRANCH(call_rsp, CODE_ON_STACK, "call *%rsp")                                          \
	BRANCH(call_m_rbx, TARGET, "call *0x18(%rbx)")                                         \
	BRANCH(call_m_sib, TARGET, "call *0x20(%rsi,%r9,8)")                                   \
	BRANCH(call_m_r12, TARGET, "call *0x20(%r8)")                                          \
	BRANCH(call_m_rsp, TARGET, "call *(%rsp)")                                             \
	BRANCH(call_m_rsp_8, TARGET, "call *8(%rsp)")                                          \
	BRANCH(call_m_rsp_below, TARGET, "call *-8(%rsp)")                                     \
	BRANCH(call_m_rsp_32, TARGET, "call *0x180(%rsp,%r9,8)")                               \
	BRANCH(call_m_rip, TARGET, "call *" RUN_RIP "(%rip)")                                  \
	BRANCH(call_m_rip_tls, TARGET, ".byte 0x66, 0x48; call *" RUN_RIP "(%rip)")            \
	BRANCH(call_m_gs, TARGET, "call *%gs:0x10")                                            \
	BRANCH(call_m_gs_r9, TARGET, "call *%gs:(,%r9,8)")                                     \
	BRANCH(call_notrack, TARGET, ".byte 0x3e; call *%rax")                                 \
	BRANCH(call_bnd, TARGET, ".byte 0xf2; call *%rax")                                     \
	BRANCH(call_stale_rex, TARGET, ".byte 0x41, 0xf2; call *%rax")                         \
	BRANCH(call_bad, BAD_TARGET, "call *%rax")                                             \
	BRANCH(call_m_bad, NOTHING, "call *(%r10)")                                            \
	BRANCH(jmp_rax, TARGET, "jmp *%rax")                                                   \
	BRANCH(jmp_r11, TARGET, "jmp *%r11")                                                   \
	BRANCH(jmp_notrack, TARGET, ".byte 0x3e; jmp *%rax")                                   \
	BRANCH(jmp_m_rip, TARGET, "jmp *" RUN_RIP "(%rip)")                                    \
	BRANCH(jmp_m_bnd_rip, TARGET, ".byte 0xf2; jmp *" RUN_RIP "(%rip)")                    \
	BRANCH(jmp_m_sib, TARGET, "jmp *8(%rdi,%r9,8)")                                        \
	BRANCH(jmp_m_gs, TARGET, "jmp *%gs:8")                                                 \
	BRANCH(jmp_bad, BAD_TARGET, "jmp *%rax")                                               \
	BRANCH(ret, TARGET, "ret")                                                             \
	BRANCH(ret_imm, TARGET, "ret $0x28")                                                   \
	BRANCH(ret_rep, TARGET, "rep ret")                                                     \
	BRANCH(ret_bnd, TARGET, ".byte 0xf2; ret")                                             \
	BRANCH(syscall_getpid, GETPID, "syscall")

#endif
