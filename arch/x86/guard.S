/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's code (arch/guard.h says what it is for). It stands at
 * UBP_AREA_GUARD of the first area of a space, at any address, and finds that
 * area's head from its own. guard.sh makes guard_code.h of this file; the library
 * is built from that, on every host.
 *
 * No register but the general ones is touched: the kernel has saved the vector
 * state for the handler, but nobody has for the emulator.
 *
 * handler: the kernel calls it with rdi signal, rsi siginfo, rdx ucontext, and
 * puts every register back behind it. So all are free, but a handler of the
 * program's that we go on to shall see what the kernel would have shown it:
 *   rsi, rdx        as they came, always
 *   r8              pc of the trap
 *   r9              the first area
 *   rax rcx rdi r10 r11   scratch
 *   the rest        only where nothing but the return follows (returned, die)
 * rdi and the others up to r11 are loaded again before the program's handler.
 *
 * emulate: rt_sigaction() of the program, reached by jumps from a slot:
 *   rdi, rsi, rdx, r10   the arguments        rcx   where to go on
 *   only rax, rcx, r11 and the flags may change, as by a system call
 *   rbx             struct guard_data, or the struct guard_sharer of this process
 *   r8              a pointer of the program's, or the process's id
 *   r9              offset in a structure, or tries left
 */

	.include "guard.inc"

	/* struct guard_site, guard_hash() */
	.set	SLOT_PART, 4
	.set	INT3, 0xcc
	.set	HASH_FACTOR, 0x9e3779b97f4a7c15
	.set	HASH_SHIFT, 40

	/* struct guard_return */
	.set	RETURN_REACH, 4096	/* bytes of arguments that a ret may pop */

	/* struct guard_data */
	.set	CHAIN_TRIES, 100000	/* how long another setter may take: some 50 ms */

	/* the kernel's: sigaction, siginfo, ucontext */
	.set	SA_FLAGS, 8
	.set	SA_RESTORER_AT, 16
	.set	SA_MASK, 24
	.set	SA_LEN, 32
	.set	SA_KNOWN, 0xdc000807	/* the flags that it keeps */
	.set	SA_RESTORER, 0x04000000
	.set	UC_R8, 40
	.set	UC_R9, 48
	.set	UC_R10, 56
	.set	UC_R11, 64
	.set	UC_RCX, 152
	.set	UC_RSP, 160
	.set	UC_RIP, 168
	.set	UC_EFLAGS, 176
	.set	UC_SIGMASK, 296

	.set	SI_KERNEL, 0x80
	.set	SIGKILL_SIGSTOP_BITS, 0x40100
	.set	FLAG_TF, 0x100
	.set	RED_ZONE, 128

	.set	NR_RT_SIGACTION, 13
	.set	NR_RT_SIGPROCMASK, 14
	.set	NR_RT_SIGRETURN, 15
	.set	NR_SCHED_YIELD, 24
	.set	NR_GETPID, 39
	.set	NR_GETTID, 186
	.set	NR_TGKILL, 234
	.set	NR_RT_TGSIGQUEUEINFO, 297

	/* The chain's entry at offset rdx, through a register, to the old action. */
	.macro	take_old reg
	mov	DATA_CHAIN(%rbx,%rdx), \reg
	mov	\reg, OLD(%rsp)
	mov	DATA_CHAIN + SA_FLAGS(%rbx,%rdx), \reg
	mov	\reg, OLD + SA_FLAGS(%rsp)
	mov	DATA_CHAIN + SA_RESTORER_AT(%rbx,%rdx), \reg
	mov	\reg, OLD + SA_RESTORER_AT(%rsp)
	mov	DATA_CHAIN + SA_MASK(%rbx,%rdx), \reg
	mov	\reg, OLD + SA_MASK(%rsp)
	.endm

	.text
code:
	.set	head, code - AREA_GUARD

/* --- the handler ------------------------------------------------------------------ */

handler:
	lea	head(%rip), %r9
	mov	UC_RIP(%rdx), %r8
	mov	SI_CODE(%rsi), %eax
	cmp	$SI_KERNEL, %eax
	je	breakpoint
	test	%eax, %eax
	jle	sent
	/* A step of a tracer that died, in a slot? */
	lea	-TRAP_BRKPT(%rax), %ecx
	cmp	$(TRAP_TRACE - TRAP_BRKPT), %ecx
	ja	chain
	call	in_area
	jnc	chain
	ret

/*
 * A signal that was pending when the thread met a breakpoint: then the kernel does not queue
 * the breakpoint's own. Behind a part of an instruction nobody stands for another reason.
 */
sent:	lea	-1(%r8), %r10
	call	find_site
	jz	chain
	test	$SLOT_PART, %al
	jz	chain
	cmpb	$INT3, (%r10)		/* or the entry is of other times */
	jne	chain
	mov	%r10, UC_RIP(%rdx)	/* to be met again */
	jmp	chain

breakpoint:
	lea	-1(%r8), %r10
	call	find_site
	jz	1f
	mov	%eax, %r15d
	and	$~SLOT_FLAGS, %eax	/* no slot: no rescue */
	jz	chain
	add	%rcx, %rax
	mov	%rax, UC_RIP(%rdx)
	test	$SLOT_UNWIND, %r15d
	jnz	put_back
	ret
1:	lea	AREA_TRAMPOLINE + 1(%r9), %rax
	cmp	%rax, %r8
	je	returned
	/* The tracer had moved the pc when it died: into an area, back to the site. */
	call	in_area
	jc	leave
	mov	%r8, %r10
	call	find_site
	jz	chain
leave:	ret

/*
 * A function returned to the trampoline, which goes on through the word below the
 * stack pointer: put the real address there. The entry is that of the word that
 * the return address stood in, further down if the callee popped arguments. One
 * that is over may be in between, so the word must still hold what was put
 * there, or here the address that the tracer has written back; beyond the red
 * zone the signal's frame may be over it.
 */
returned:
	mov	UC_RSP(%rdx), %r8
/* For the stack pointer r8. Uses rax, rcx, rbx, rbp, r10 to r13. */
find_home:
	mov	HEAD_RETURNS(%r9), %rbx
	test	%rbx, %rbx
	jz	leave
	mov	HEAD_RETURNS_MASK(%r9), %rbp
	lea	AREA_TRAMPOLINE(%r9), %r13
	mov	%r8, %r10
1:	sub	$8, %r10		/* the next word */
	mov	%r10, %rax
	shr	$3, %rax
	mov	%rbp, %rcx		/* entries that are left, less one */
2:	and	%rbp, %rax
	mov	%rax, %r11
	shl	$SITE_SHIFT, %r11
	mov	(%rbx,%r11), %r12	/* once: it may change */
	cmp	%r10, %r12
	je	4f
	test	%r12, %r12
	jz	3f
	inc	%rax
	sub	$1, %rcx
	jnc	2b
3:	lea	-RETURN_REACH(%r8), %rax
	cmp	%rax, %r10
	ja	1b
	ret
4:	mov	RETURN_REAL(%rbx,%r11), %r12
	test	%r12, %r12
	jz	3b			/* over, and known to be */
	mov	%r11, %rcx
	lea	-RED_ZONE(%r8), %rax
	cmp	%rax, %r10
	jb	5f
	mov	(%r10), %r11
	cmp	%r13, %r11
	je	5f
	lea	-8(%r8), %rax
	cmp	%rax, %r10
	jne	3b
	cmp	%r12, %r11
	jne	3b
5:	mov	%r12, -8(%r8)
	movq	$0, RETURN_REAL(%rbx,%rcx)
	ret

/*
 * The same without a trap, when a tracer went away in good order. It put back what it found; but a
 * stack may have been copied away with the trampoline's address in it, and come back. What
 * is saved lies behind the red zone: the words in it are still to be looked at.
 */
	.set	N_SAVED, 11
	.macro	restore_all
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rbp
	pop	%rbx
	pop	%rcx
	pop	%rax
	popf
	lea	RED_ZONE(%rsp), %rsp
	.endm

go_back:
	lea	-RED_ZONE(%rsp), %rsp
	pushf
	push	%rax
	push	%rcx
	push	%rbx
	push	%rbp
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	lea	head(%rip), %r9
	lea	RED_ZONE + 8 * N_SAVED(%rsp), %r8
	call	find_home
	lea	AREA_TRAMPOLINE(%r9), %rax
	cmp	%rax, -8(%r8)
	je	1f
	restore_all
	jmp	*-8(%rsp)
1:	restore_all
	int3				/* nobody has made this address for it */
	ud2

/*
 * An unwinder is about to read the stack: every hijacked return address of this
 * stack goes back, where the trampoline still stands in its word. As a rule nobody hijacks any
 * more. Other threads' stacks are left alone: they may be unmapped at any moment.
 * This one ends where nothing can be read: each thread's has a guard page below it.
 * Of several entries for a word the first one in its order counts, others are over.
 * What it leaves to other stacks is noted, so that most unwinders to come need not look again.
 *   r8, r14   from where to where       rbx, r15   the table, its mask
 *   r10, rdx  from where to where words of others lie
 */
	.macro	note_other
	cmp	%r10, %rsi
	cmovb	%rsi, %r10
	lea	8(%rsi), %rax
	cmp	%rdx, %rax
	cmova	%rax, %rdx
	.endm

put_back:
	mov	UC_RSP(%rdx), %r8
	call	known_end
	test	%rax, %rax
	jz	0f
	cmp	%r8, %rax
	jbe	leave			/* all are below this stack */
0:	mov	%r8, %r14
	and	$-PAGE, %r14
	mov	$STACK_PAGES, %ebp
1:	add	$PAGE, %r14
	mov	$NO_SUCH_HOW, %edi
	mov	%r14, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGPROCMASK, %eax
	syscall
	cmp	$-EFAULT, %eax
	je	2f
	sub	$1, %ebp
	jnz	1b
2:	call	known_end
	test	%rax, %rax
	jz	0f
	cmp	%r14, DATA_LIVE_LO(%rcx)
	jae	leave			/* all are above it */
0:	mov	$-1, %r10
	mov	$1, %edx
	mov	HEAD_RETURNS(%r9), %rbx
	test	%rbx, %rbx
	jz	7f
	mov	HEAD_RETURNS_MASK(%r9), %r15
	lea	AREA_TRAMPOLINE(%r9), %r13
	mov	%r15, %rbp		/* index */
3:	mov	%rbp, %r12
	shl	$SITE_SHIFT, %r12
	mov	(%rbx,%r12), %rsi
	mov	RETURN_REAL(%rbx,%r12), %rdi
	test	%rdi, %rdi
	jz	6f
	cmp	%r8, %rsi
	jb	of_other_word
	cmp	%r14, %rsi
	jae	of_other_word
	mov	%rsi, %rax
	shr	$3, %rax
4:	and	%r15, %rax
	mov	%rax, %r11
	shl	$SITE_SHIFT, %r11
	cmp	%rsi, (%rbx,%r11)
	je	5f
	inc	%rax
	jmp	4b			/* it is in the table: this ends */
5:	cmp	%r12, %r11
	jne	6f
	cmp	%rdi, (%rsi)
	je	6f			/* it is back */
	cmp	%r13, (%rsi)
	jne	of_other_word		/* over, or moved away for a while */
	mov	%rdi, (%rsi)
	jmp	6f
of_other_word:
	note_other
6:	sub	$1, %rbp
	jnc	3b
	/* And those that detours have hijacked: one entry for each word, beside those of its chain. */
7:	mov	HEAD_DATA(%r9), %rcx
	test	%rcx, %rcx
	jz	leave
	mov	DATA_HIJACKS(%rcx), %rbx
	test	%rbx, %rbx
	jz	looked
	mov	DATA_HIJACKS_MASK(%rcx), %rbp
	mov	DATA_RETURN_VADDR(%rcx), %r13
8:	mov	%rbp, %r12
	shl	$HIJACK_SHIFT, %r12
	mov	(%rbx,%r12), %rsi
	mov	HIJACK_REAL(%rbx,%r12), %rdi
	test	%rdi, %rdi
	jz	9f
	test	$7, %sil
	jnz	9f
	cmp	%r8, %rsi
	jb	of_other_hijack
	cmp	%r14, %rsi
	jae	of_other_hijack
	cmp	%rdi, (%rsi)
	je	9f
	cmp	%r13, (%rsi)
	je	is_ours
	mov	HIJACK_BACK(%rbx,%r12), %rax
	and	$-8, %rax
	sub	$CALLED_BACK, %rax
	cmp	%rax, (%rsi)		/* a call has put it there */
	jne	of_other_hijack
is_ours:
	mov	%rdi, (%rsi)
	jmp	9f
of_other_hijack:
	note_other
9:	sub	$1, %rbp
	jnc	8b
	/* In a process that was let go of, detours go on to replace them, as long as its tracer lives. */
looked:	cmpq	$0, GATE_ALONE(%rcx)
	je	1f
	mov	GATE(%rcx), %rax
	cmp	$GATE_TRAP, %rax
	jbe	1f
	testl	$OWNER_DIED, OWNER_BEFORE_BASE(%rax)
	jz	leave
1:	mov	%r10, DATA_LIVE_LO(%rcx)
	mov	%rdx, DATA_LIVE_END(%rcx)
	ret

/* Where words of others end: rax, and rcx the data. 0: nobody has looked, or there are no data. */
known_end:
	xor	%eax, %eax
	mov	HEAD_DATA(%r9), %rcx
	test	%rcx, %rcx
	jz	1f
	mov	DATA_LIVE_END(%rcx), %rax
1:	ret

/* Is r8 in an area? Carry says so. Uses rax, rcx. */
in_area:
	mov	%r9, %rcx
1:	mov	%r8, %rax
	sub	%rcx, %rax
	cmp	HEAD_LEN(%rcx), %rax
	jb	2f
	mov	HEAD_NEXT(%rcx), %rcx
	test	%rcx, %rcx
	jnz	1b			/* the test clears carry */
2:	ret

/*
 * The site at r10: zero flag clear, rcx its area, eax the offset of its slot; set:
 * there is none. Uses rax, rcx, rdi, r11.
 */
find_site:
	mov	%r9, %rcx
1:	movabs	$HASH_FACTOR, %rax
	imul	%r10, %rax
	shr	$HASH_SHIFT, %rax
	mov	HEAD_TABLE_MASK(%rcx), %rdi	/* entries that are left, less one */
2:	and	HEAD_TABLE_MASK(%rcx), %rax
	mov	%rax, %r11
	shl	$SITE_SHIFT, %r11
	mov	AREA_TABLE(%rcx,%r11), %r11	/* once: it may change */
	cmp	%r10, %r11
	je	4f
	test	%r11, %r11
	jz	3f
	inc	%rax
	sub	$1, %rdi
	jnc	2b
3:	mov	HEAD_NEXT(%rcx), %rcx
	test	%rcx, %rcx
	jnz	1b
	ret
4:	shl	$SITE_SHIFT, %rax
	mov	AREA_TABLE + SITE_SLOT(%rcx,%rax), %eax
	test	%rcx, %rcx
	ret

/* --- what is the program's own ---------------------------------------------------- */

/* Nothing is on the stack here but the signal's frame. */
chain:
	mov	HEAD_DATA(%r9), %rcx
	test	%rcx, %rcx
	jz	default
	call	own_chain
1:	mov	DATA_CHAIN_AT(%rcx), %r8d
	mov	%r8d, %r10d
	and	$1, %r10d
	shl	$DATA_CHAIN_SHIFT, %r10d
	lea	DATA_CHAIN(%rcx,%r10), %r10
	mov	(%r10), %rax
	mov	SA_FLAGS(%r10), %r11
	mov	SA_RESTORER_AT(%r10), %rdi
	mov	SA_MASK(%r10), %r9
	cmp	%r8d, DATA_CHAIN_AT(%rcx)
	jne	1b			/* it was replaced meanwhile */
	cmp	$SIG_IGN, %rax
	jb	default
	je	ignore
	lea	handler(%rip), %r8
	cmp	%r8, %rax		/* somebody found ours and set it again */
	je	default
	/* SA_RESETHAND is the sign: of several threads one gets the handler. */
	test	%r11d, %r11d
	jns	2f
	xor	%r8d, %r8d
	lock cmpxchg %r8, (%r10)
	jne	1b
2:	test	$SA_RESTORER, %r11d
	jz	3f
	/* On a shadow stack the kernel has noted our restorer. (0 without one.) */
	xor	%r8d, %r8d
	rdsspq	%r8
	test	%r8, %r8
	jnz	3f
	mov	%rdi, (%rsp)
	/* The breakpoints must go on to work in it: never SIGTRAP. */
3:	and	$~SIGTRAP_BIT, %r9
	jz	4f
	push	%rax
	push	%rsi
	push	%rdx
	push	%r9
	mov	$SIG_BLOCK, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGPROCMASK, %eax
	syscall
	pop	%r9
	pop	%rdx
	pop	%rsi
	pop	%rax
4:	mov	%rax, -8(%rsp)		/* in the red zone */
	mov	(%rsi), %edi
	mov	UC_RCX(%rdx), %rcx
	mov	UC_R8(%rdx), %r8
	mov	UC_R9(%rdx), %r9
	mov	UC_R10(%rdx), %r10
	mov	UC_R11(%rdx), %r11
	xor	%eax, %eax
	jmp	*-8(%rsp)

/*
 * rcx: from struct guard_data to what begins as that does, with the action of this very process. Uses
 * rax, r8, r11.
 */
own_chain:
	cmpq	$0, DATA_N_SHARERS(%rcx)
	je	3f
	mov	%rcx, %r8
	mov	$NR_GETPID, %eax
	syscall
	mov	%r8, %rcx
	mov	$SHARERS, %r11d
	lea	DATA_SHARERS(%rcx), %r8
1:	cmp	%rax, DATA_OWNER(%r8)
	je	2f
	add	$SHARER_LEN, %r8
	sub	$1, %r11d
	jnz	1b
	ret
2:	mov	%r8, %rcx
3:	ret

ignore:
	cmpl	$0, SI_CODE(%rsi)
	jle	leave
	/* The kernel ignores no trap that an instruction made. */
default:
	cmpl	$TRAP_TRACE, SI_CODE(%rsi)
	jne	die
	andq	$~FLAG_TF, UC_EFLAGS(%rdx)	/* what a tracer's step left behind */
	ret

/*
 * Die of the signal, as by default: it is sent once more, and comes when the
 * kernel has put the registers back, so that a core dump shows the right ones.
 */
die:
	mov	%rsi, %r12
	mov	%rsp, %rbp
	andq	$~SIGTRAP_BIT, UC_SIGMASK(%rdx)
	pushq	$SIGTRAP_BIT
	mov	$SIG_BLOCK, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGPROCMASK, %eax
	syscall
	mov	$NR_GETPID, %eax
	syscall
	mov	%eax, %r13d
	mov	$NR_GETTID, %eax
	syscall
	mov	%eax, %r14d
	cmp	$1, %r13d
	jne	1f
	/* A namespace's init: a default action passes it by unless forced. */
	cmpl	$0, SI_CODE(%r12)
	jle	3f
	jmp	2f
1:	pushq	$0			/* SIG_DFL */
	pushq	$0
	pushq	$0
	pushq	$0
	mov	$SIGTRAP, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGACTION, %eax
	syscall
	test	%eax, %eax		/* forbidden by a filter? */
	jnz	2f
	mov	%r13d, %edi
	mov	%r14d, %esi
	mov	$SIGTRAP, %edx
	mov	%r12, %r10
	mov	$NR_RT_TGSIGQUEUEINFO, %eax
	syscall
	test	%eax, %eax
	jz	3f
	mov	$NR_TGKILL, %eax	/* some forbid but that one */
	syscall
	test	%eax, %eax
	jz	3f
2:	int3				/* blocked: nobody can survive this one */
3:	mov	%rbp, %rsp
	ret

/* --- the restorer ----------------------------------------------------------------- */

/* Unwinders know a signal's frame by these very bytes. */
	.balign	16, 0xcc
restorer:
	.byte	0x48, 0xc7, 0xc0, NR_RT_SIGRETURN, 0, 0, 0	/* mov $15,%rax */
	syscall
	int3

/* --- rt_sigaction(SIGTRAP) -------------------------------------------------------- */

	/* On the stack: the new action, the old one, then what is saved. */
	.set	NEW, 0
	.set	OLD, SA_LEN
	.set	LOCALS, 2 * SA_LEN
	.set	SAVED_OACT, LOCALS + 32
	.set	SAVED_ACT, LOCALS + 40
	.set	SAVED_SIG, LOCALS + 48

/* Take all from the stack but the address to go on at. */
	.macro	restore
	lea	LOCALS(%rsp), %rsp
	pop	%rbx
	pop	%r9
	pop	%r8
	pop	%r10
	pop	%rdx
	pop	%rsi
	pop	%rdi
	.endm

emulate:
	lea	-RED_ZONE(%rsp), %rsp
	push	%rcx
	push	%rdi
	push	%rsi
	push	%rdx
	push	%r10
	push	%r8
	push	%r9
	push	%rbx
	sub	$LOCALS, %rsp
	mov	head + HEAD_DATA(%rip), %rbx
	test	%rbx, %rbx
	jz	real
	cmpq	$0, DATA_RETIRED(%rbx)
	jne	real
	cmp	$8, %r10
	jne	real
	cmp	$SIGTRAP, %edi
	jne	other
	mov	%rbx, %rcx
	call	own_chain
	mov	%rcx, %rbx
	test	%rsi, %rsi
	jz	get

	/* Can it be read? The kernel looks at the set before it refuses the "how". */
	mov	%rsi, %r8
	xor	%r9d, %r9d
1:	mov	$NO_SUCH_HOW, %edi
	lea	(%r8,%r9), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGPROCMASK, %eax
	syscall
	cmp	$-EFAULT, %rax
	je	fault
	add	$8, %r9d
	cmp	$SA_LEN, %r9d
	jb	1b

	/* What the kernel would keep of it. */
	mov	(%r8), %rax
	mov	%rax, NEW(%rsp)
	mov	SA_FLAGS(%r8), %eax
	and	$SA_KNOWN, %eax
	mov	%rax, NEW + SA_FLAGS(%rsp)
	mov	SA_RESTORER_AT(%r8), %rax
	mov	%rax, NEW + SA_RESTORER_AT(%rsp)
	mov	SA_MASK(%r8), %rax
	and	$~SIGKILL_SIGSTOP_BITS, %rax
	mov	%rax, NEW + SA_MASK(%rsp)

	/*
	 * A child of vfork() or posix_spawn() resets its actions, in its parent's
	 * memory: that counts for neither. Nor is ours set again as the program's.
	 */
	mov	$NR_GETPID, %eax
	syscall
	mov	%eax, %r8d
	mov	NEW(%rsp), %rax
	lea	handler(%rip), %rcx
	cmp	%rcx, %rax
	je	get
	test	%rax, %rax
	jnz	set
	cmp	%r8, DATA_OWNER(%rbx)
	jne	get

	/*
	 * chain_at: its low half counts the changes, the lowest bit is the entry that
	 * counts; its high half is the id of the process that writes the other one.
	 * No lock: nobody may wait for ever, for a thread that did not come along in
	 * a fork(), nor one below us on this stack or in priority. Who was overtaken
	 * sees it and writes again.
	 */
set:	mov	$CHAIN_TRIES, %r9d
1:	mov	DATA_CHAIN_AT(%rbx), %rax
	mov	%rax, %rcx
	shr	$32, %rcx
	cmp	%r8d, %ecx
	jne	2f			/* nobody, or not of this process: left over */
	test	%r9d, %r9d
	jz	2f
	dec	%r9d
	mov	$NR_SCHED_YIELD, %eax
	syscall
	jmp	1b
2:	mov	%r8, %rcx
	shl	$32, %rcx
	mov	%eax, %edx
	or	%rdx, %rcx
	lock cmpxchg %rcx, DATA_CHAIN_AT(%rbx)
	jne	1b
	and	$1, %edx
	shl	$DATA_CHAIN_SHIFT, %edx
	take_old %rax
	xor	$SA_LEN, %edx		/* the other */
	mov	NEW(%rsp), %rax
	mov	%rax, DATA_CHAIN(%rbx,%rdx)
	mov	NEW + SA_FLAGS(%rsp), %rax
	mov	%rax, DATA_CHAIN + SA_FLAGS(%rbx,%rdx)
	mov	NEW + SA_RESTORER_AT(%rsp), %rax
	mov	%rax, DATA_CHAIN + SA_RESTORER_AT(%rbx,%rdx)
	mov	NEW + SA_MASK(%rsp), %rax
	mov	%rax, DATA_CHAIN + SA_MASK(%rbx,%rdx)
	mov	%r8, DATA_OWNER(%rbx)
	lea	1(%rcx), %edx		/* one change more, and nobody writes */
	mov	%rcx, %rax
	lock cmpxchg %rdx, DATA_CHAIN_AT(%rbx)
	jne	1b

	/*
	 * A tracer that died while it installed the guard, or took it out, may have left another handler, or the kernel may have reset
	 * it: the guard is put there, or nobody would call what was just set. A tracer that takes it out meanwhile
	 * looks whether the chain has changed once it has written "retired"; behind that, the kernel has it.
	 */
	lea	head + HEAD_ACTION(%rip), %rsi
	call	set_action
	mov	head + HEAD_DATA(%rip), %rcx
	cmpq	$0, DATA_RETIRED(%rcx)
	je	give
	mov	%rsp, %rsi		/* NEW */
	call	set_action
	jmp	give

get:	mov	DATA_CHAIN_AT(%rbx), %eax
	mov	%eax, %edx
	and	$1, %edx
	shl	$DATA_CHAIN_SHIFT, %edx
	take_old %rcx
	cmp	%eax, DATA_CHAIN_AT(%rbx)
	jne	get			/* it was replaced meanwhile */

	/* As by the kernel the new action stands even if the old can't be told. */
give:	mov	SAVED_OACT(%rsp), %r8
	test	%r8, %r8
	jz	2f
	xor	%r9d, %r9d
1:	mov	$SIG_BLOCK, %edi
	xor	%esi, %esi
	lea	(%r8,%r9), %rdx
	mov	$8, %r10d
	mov	$NR_RT_SIGPROCMASK, %eax
	syscall
	cmp	$-EFAULT, %rax
	je	fault
	add	$8, %r9d
	cmp	$SA_LEN, %r9d
	jb	1b
	mov	OLD(%rsp), %rax
	mov	%rax, (%r8)
	mov	OLD + SA_FLAGS(%rsp), %rax
	mov	%rax, SA_FLAGS(%r8)
	mov	OLD + SA_RESTORER_AT(%rsp), %rax
	mov	%rax, SA_RESTORER_AT(%r8)
	mov	OLD + SA_MASK(%rsp), %rax
	mov	%rax, SA_MASK(%r8)
2:	xor	%eax, %eax
	jmp	done
fault:	mov	$-EFAULT, %rax
done:	restore
	pushf				/* a system call leaves the flags there */
	pop	%r11
	jmp	back

/* The action at rsi becomes that of SIGTRAP. */
set_action:
	mov	$SIGTRAP, %edi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$NR_RT_SIGACTION, %eax
	syscall
	ret

/*
 * Another signal: its handler is not to run with SIGTRAP blocked, for it may meet breakpoints.
 * That the program meant it to is noted, and shown to it. What a child of vfork() sets is not, for
 * it has actions of its own.
 *   r8   the new action, ours or the program's      r9   1: it is ours
 */
other:	lea	-1(%rdi), %eax
	cmp	$63, %eax
	ja	real
	mov	%rsi, %r8
	xor	%r9d, %r9d
	test	%rsi, %rsi
	jz	1f
	testb	$SIGTRAP_BIT, SA_MASK(%rsi)
	jz	1f
	mov	(%rsi), %rcx
	mov	%rcx, NEW(%rsp)
	mov	SA_FLAGS(%rsi), %rcx
	mov	%rcx, NEW + SA_FLAGS(%rsp)
	mov	SA_RESTORER_AT(%rsi), %rcx
	mov	%rcx, NEW + SA_RESTORER_AT(%rsp)
	mov	SA_MASK(%rsi), %rcx
	and	$~SIGTRAP_BIT, %rcx
	mov	%rcx, NEW + SA_MASK(%rsp)
	mov	%rsp, %r8		/* NEW */
	inc	%r9d
	jmp	2f
1:	bt	%rax, DATA_MASKED(%rbx)
	jnc	real			/* nothing is noted of it */
2:	mov	%r8, %rsi
	mov	$NR_RT_SIGACTION, %eax
	syscall
	test	%rax, %rax
	jnz	done
	mov	SAVED_SIG(%rsp), %r10d
	dec	%r10d
	xor	%edi, %edi
	bt	%r10, DATA_MASKED(%rbx)
	adc	$0, %edi		/* what was noted */
	cmpq	$0, SAVED_ACT(%rsp)
	je	5f
	mov	$NR_GETPID, %eax
	syscall
	cmp	%rax, DATA_OWNER(%rbx)
	jne	5f
	test	%r9d, %r9d
	jz	4f
	lock bts %r10, DATA_MASKED(%rbx)
	jmp	5f
4:	lock btr %r10, DATA_MASKED(%rbx)
5:	test	%edi, %edi
	jz	6f
	mov	SAVED_OACT(%rsp), %rdx
	test	%rdx, %rdx
	jz	6f
	cmpq	$SIG_IGN, (%rdx)
	jbe	6f
	orb	$SIGTRAP_BIT, SA_MASK(%rdx)
6:	xor	%eax, %eax
	jmp	done

real:	restore
	mov	$NR_RT_SIGACTION, %eax
	syscall
back:	pop	%rcx			/* and there the address behind it */
	lea	RED_ZONE(%rsp), %rsp
	jmp	*%rcx
end:
