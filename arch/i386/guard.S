/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's code for 32-bit programs: what arch/x86/guard.S does, and how, is told there. What
 * differs:
 *
 * - Words of the area are 8 bytes (arch/guard.h), of which the lower half counts. The actions that
 *   the kernel is given or asked for are its 20 bytes, at the start of their 32.
 * - There is no red zone: the signal's frame lies where a return address has just been taken
 *   from. So the pc is set to the real address, and no word is looked at below the stack pointer.
 * - Programs call the kernel by call *%gs:16, or by int $0x80 where nothing stands at %gs:16. A jump
 *   stands there, or before, to "hook".
 *
 * handler: esp points to the return address, then signal, siginfo, ucontext. The kernel puts every
 * register back behind it; one of the program's that we go on to finds them as the kernel leaves them.
 *   ebp   the first area      edi   ucontext      esi   siginfo     ebx   pc of the trap
 *
 * hook: esp points to where to go on. All registers but eax stay, and the flags.
 */

	.include "guard.inc"

	/* struct guard_site, guard_hash() */
	.set	SLOT_PART, 4
	.set	INT3, 0xcc
	.set	HASH_HIGH, 0x9e3779b9
	.set	HASH_LOW, 0x7f4a7c15
	.set	HASH_SHIFT, 8		/* of the upper half */

	/* struct guard_return */
	.set	RETURN_REACH, 4096	/* bytes of arguments that a ret may pop */

	/* struct guard_data */
	.set	CHAIN_TRIES, 100000	/* how long another setter may take: some 50 ms */

	/* the kernel's: sigaction, siginfo, ucontext */
	.set	SA_FLAGS, 4
	.set	SA_RESTORER_AT, 8
	.set	SA_MASK, 12
	.set	SA_LEN, 20
	.set	SA_KNOWN, 0xdc000807	/* the flags that it keeps */
	.set	SA_SIGINFO, 4
	.set	SA_RESTORER, 0x04000000
	.set	UC_EDI, 36
	.set	UC_ESI, 40
	.set	UC_EBP, 44
	.set	UC_ESP, 48
	.set	UC_EBX, 52
	.set	UC_EIP, 76
	.set	UC_EFLAGS, 84
	.set	UC_SIGMASK, 108

	.set	SI_KERNEL, 0x80
	.set	SIGKILL_SIGSTOP_BITS, 0x40100
	.set	FLAG_TF, 0x100

	.set	NR_GETPID, 20
	.set	NR_SIGPROCMASK, 126
	.set	NR_SCHED_YIELD, 158
	.set	NR_RT_SIGRETURN, 173
	.set	NR_RT_SIGACTION, 174
	.set	NR_RT_SIGPROCMASK, 175
	.set	NR_GETTID, 224
	.set	NR_TGKILL, 270
	.set	NR_RT_TGSIGQUEUEINFO, 335
	.set	SIGSET_LEN, 8

	/* Five words of an action, through a register. */
	.macro	copy_action from, from_base, to, to_base, reg
	.irp	at, 0, SA_FLAGS, SA_RESTORER_AT, SA_MASK, SA_MASK + 4
	mov	\from + \at\from_base, \reg
	mov	\reg, \to + \at\to_base
	.endr
	.endm

	.text
code:

/* --- the handler ------------------------------------------------------------------ */

handler:
	call	1f
1:	pop	%ebp
	sub	$(1b - code + AREA_GUARD), %ebp
	mov	8(%esp), %esi
	mov	12(%esp), %edi
	mov	UC_EIP(%edi), %ebx
	mov	SI_CODE(%esi), %eax
	cmp	$SI_KERNEL, %eax
	je	breakpoint
	test	%eax, %eax
	jle	sent
	/* A step of a tracer that died, in a slot? */
	lea	-TRAP_BRKPT(%eax), %ecx
	cmp	$(TRAP_TRACE - TRAP_BRKPT), %ecx
	ja	chain
	call	in_area
	jnc	chain
	ret

/* A signal that was pending when the thread met a breakpoint: as in arch/x86/guard.S. */
sent:	lea	-1(%ebx), %edx
	call	find_site
	jz	chain
	test	$SLOT_PART, %al
	jz	chain
	cmpb	$INT3, (%edx)
	jne	chain
	mov	%edx, UC_EIP(%edi)
	jmp	chain

breakpoint:
	lea	-1(%ebx), %edx
	call	find_site
	jz	1f
	mov	%eax, %edx
	and	$~SLOT_FLAGS, %eax	/* no slot: no rescue */
	jz	chain
	add	%ecx, %eax
	mov	%eax, UC_EIP(%edi)
	test	$SLOT_UNWIND, %edx
	jnz	put_back
	ret
1:	lea	AREA_TRAMPOLINE + 1(%ebp), %eax
	cmp	%eax, %ebx
	je	returned
	/* The tracer had moved the pc when it died: into an area, back to the site. */
	call	in_area
	jc	leave
	mov	%ebx, %edx
	call	find_site
	jz	chain
leave:	ret

/*
 * A function returned to the trampoline. Its entry is that of the word below the stack pointer,
 * or further down if the callee popped arguments. Those that are over have no real address any more.
 */
returned:
	push	%edi
	mov	UC_ESP(%edi), %edi
	call	find_home
	pop	%edi
	test	%esi, %esi
	jz	leave
	mov	%esi, UC_EIP(%edi)
	ret

/*
 * For the stack pointer edi: the real address, in esi; or 0.
 *   ecx   the table      edx   the word      eax   index      ebx   entries that are left, less one
 */
find_home:
	xor	%esi, %esi
	mov	HEAD_RETURNS(%ebp), %ecx
	test	%ecx, %ecx
	jz	leave
	mov	%edi, %edx
1:	sub	$4, %edx		/* the next word */
	mov	%edx, %eax
	shr	$3, %eax
	mov	HEAD_RETURNS_MASK(%ebp), %ebx
2:	and	HEAD_RETURNS_MASK(%ebp), %eax
	mov	%eax, %esi
	shl	$SITE_SHIFT, %esi
	mov	(%ecx,%esi), %esi	/* once: it may change */
	cmp	%edx, %esi
	je	5f
	test	%esi, %esi
	jz	4f
3:	inc	%eax
	sub	$1, %ebx
	jnc	2b
4:	mov	%edi, %eax
	sub	%edx, %eax
	cmp	$RETURN_REACH, %eax
	jb	1b
	xor	%esi, %esi
	ret
5:	mov	%eax, %esi
	shl	$SITE_SHIFT, %esi
	cmpl	$0, RETURN_REAL(%ecx,%esi)
	je	3b
	lea	RETURN_REAL(%ecx,%esi), %ecx
	mov	(%ecx), %esi
	movl	$0, (%ecx)
	ret

/*
 * The same without a trap, when a tracer went away in good order, for a stack that was copied
 * away at that time: as in arch/x86/guard.S. Where there is no entry the word is the way.
 */
	.set	N_SAVED, 8
	.macro	restore_all
	pop	%edi
	pop	%esi
	pop	%ebp
	pop	%ebx
	pop	%edx
	pop	%ecx
	pop	%eax
	popf
	.endm

go_back:
	lea	-4(%esp), %esp		/* over the word, which the ret takes off again */
	pushf
	push	%eax
	push	%ecx
	push	%edx
	push	%ebx
	push	%ebp
	push	%esi
	push	%edi
	call	1f
1:	pop	%ebp
	sub	$(1b - code + AREA_GUARD), %ebp
	lea	4 * N_SAVED + 4(%esp), %edi
	call	find_home
	test	%esi, %esi
	jz	2f
	mov	%esi, -4(%edi)
2:	lea	AREA_TRAMPOLINE(%ebp), %eax
	cmp	%eax, -4(%edi)
	je	3f
	restore_all
	ret
3:	restore_all
	int3				/* nobody has made this address for it */
	ud2

/*
 * An unwinder is about to read the stack: every hijacked return address of it goes back. What is
 * left to other stacks is noted, so that most unwinders to come need not look again.
 *   esi, edi   from where to where       ecx   the table       edx   offset in it      ebx   a word
 *   (esp), 4(esp)   from where to where words of others lie
 *   8(esp)     the table's mask, as an offset; then the data
 */
put_back:
	mov	UC_ESP(%edi), %esi
	call	known_end
	test	%eax, %eax
	jz	0f
	cmp	%esi, %eax
	jbe	leave			/* all are below this stack */
0:	mov	%esi, %edi
	push	%esi
	pushl	$STACK_PAGES
	and	$-PAGE, %edi
1:	add	$PAGE, %edi
	mov	$NO_SUCH_HOW, %ebx
	mov	%edi, %ecx
	xor	%edx, %edx
	mov	$SIGSET_LEN, %esi
	mov	$NR_RT_SIGPROCMASK, %eax
	int	$0x80
	cmp	$-EFAULT, %eax
	je	2f
	subl	$1, (%esp)
	jnz	1b
2:	pop	%eax
	pop	%esi
	call	known_end
	test	%eax, %eax
	jz	0f
	cmp	%edi, DATA_LIVE_LO(%ecx)
	jae	leave			/* all are above it */
0:	mov	HEAD_RETURNS_MASK(%ebp), %edx
	shl	$SITE_SHIFT, %edx
	push	%edx
	pushl	$1
	pushl	$-1
	mov	HEAD_RETURNS(%ebp), %ecx
	test	%ecx, %ecx
	jz	7f
3:	mov	(%ecx,%edx), %ebx
	cmpl	$0, RETURN_REAL(%ecx,%edx)
	je	6f
	cmp	%esi, %ebx
	jb	of_other_word
	cmp	%edi, %ebx
	jae	of_other_word
	mov	%ebx, %eax
	shr	$3, %eax
	shl	$SITE_SHIFT, %eax
4:	and	8(%esp), %eax
	cmp	%ebx, (%ecx,%eax)
	je	5f
	add	$(1 << SITE_SHIFT), %eax
	jmp	4b			/* it is in the table: this ends */
5:	cmp	%edx, %eax
	jne	6f
	mov	RETURN_REAL(%ecx,%edx), %eax
	cmp	%eax, (%ebx)
	je	6f			/* it is back */
	lea	AREA_TRAMPOLINE(%ebp), %eax
	cmp	%eax, (%ebx)
	jne	of_other_word		/* over, or moved away for a while */
	mov	RETURN_REAL(%ecx,%edx), %eax
	mov	%eax, (%ebx)
	jmp	6f
of_other_word:
	call	note_other
6:	sub	$(1 << SITE_SHIFT), %edx
	jnc	3b
	/* And those that detours have hijacked: one entry for each word. */
7:	mov	HEAD_DATA(%ebp), %eax
	test	%eax, %eax
	jz	not_noted
	mov	%eax, 8(%esp)
	mov	DATA_HIJACKS(%eax), %ecx
	test	%ecx, %ecx
	jz	looked
	mov	DATA_HIJACKS_MASK(%eax), %edx
	shl	$HIJACK_SHIFT, %edx
	mov	DATA_RETURN_VADDR(%eax), %ebp
8:	mov	(%ecx,%edx), %ebx
	mov	HIJACK_REAL(%ecx,%edx), %eax
	test	%eax, %eax
	jz	9f
	cmp	%esi, %ebx
	jb	of_other_hijack
	cmp	%edi, %ebx
	jae	of_other_hijack
	cmp	%eax, (%ebx)
	je	9f
	cmp	%ebp, (%ebx)
	jne	of_other_hijack
	mov	%eax, (%ebx)
	jmp	9f
of_other_hijack:
	call	note_other
9:	sub	$(1 << HIJACK_SHIFT), %edx
	jnc	8b
	/* In a process that was let go of, detours go on to replace them, as long as its tracer lives. */
looked:	mov	8(%esp), %ecx
	cmpl	$0, GATE_ALONE(%ecx)
	je	1f
	mov	GATE(%ecx), %eax
	cmp	$GATE_TRAP, %eax
	jbe	1f
	testl	$OWNER_DIED, OWNER_BEFORE_BASE(%eax)
	jz	not_noted
1:	mov	(%esp), %eax
	mov	%eax, DATA_LIVE_LO(%ecx)
	mov	4(%esp), %eax
	mov	%eax, DATA_LIVE_END(%ecx)
not_noted:
	add	$12, %esp
	ret

/* The word at ebx stays. Uses eax. */
note_other:
	cmp	%ebx, 4(%esp)
	jbe	1f
	mov	%ebx, 4(%esp)
1:	lea	4(%ebx), %eax
	cmp	%eax, 8(%esp)
	jae	2f
	mov	%eax, 8(%esp)
2:	ret

/* Where words of others end: eax, and ecx the data. 0: nobody has looked, or there are no data. */
known_end:
	xor	%eax, %eax
	mov	HEAD_DATA(%ebp), %ecx
	test	%ecx, %ecx
	jz	1f
	mov	DATA_LIVE_END(%ecx), %eax
1:	ret

/* Is ebx in an area? Carry says so. Uses eax, ecx. */
in_area:
	mov	%ebp, %ecx
1:	mov	%ebx, %eax
	sub	%ecx, %eax
	cmp	HEAD_LEN(%ecx), %eax
	jb	2f
	mov	HEAD_NEXT(%ecx), %ecx
	test	%ecx, %ecx
	jnz	1b			/* the test clears carry */
2:	ret

/*
 * The site at edx: zero flag clear, ecx its area, eax the offset of its slot; set: there is none.
 */
find_site:
	push	%esi
	push	%edi
	mov	%ebp, %ecx
1:	mov	$HASH_LOW, %eax
	push	%edx
	mul	%edx
	imul	$HASH_HIGH, (%esp), %eax
	add	%edx, %eax
	shr	$HASH_SHIFT, %eax
	pop	%edx
	mov	HEAD_TABLE_MASK(%ecx), %esi	/* entries that are left, less one */
2:	and	HEAD_TABLE_MASK(%ecx), %eax
	mov	%eax, %edi
	shl	$SITE_SHIFT, %edi
	mov	AREA_TABLE(%ecx,%edi), %edi	/* once: it may change */
	cmp	%edx, %edi
	je	4f
	test	%edi, %edi
	jz	3f
	inc	%eax
	sub	$1, %esi
	jnc	2b
3:	mov	HEAD_NEXT(%ecx), %ecx
	test	%ecx, %ecx
	jnz	1b
	jmp	5f
4:	shl	$SITE_SHIFT, %eax
	mov	AREA_TABLE + SITE_SLOT(%ecx,%eax), %eax
	test	%ecx, %ecx
5:	pop	%edi
	pop	%esi
	ret

/* --- what is the program's own ---------------------------------------------------- */

/*
 * ecx: from struct guard_data to what begins as that does, with the action of this very process. Uses
 * eax, ebx, edx.
 */
own_chain:
	cmpl	$0, DATA_N_SHARERS(%ecx)
	je	3f
	mov	$NR_GETPID, %eax
	int	$0x80
	lea	DATA_SHARERS(%ecx), %edx
	mov	$SHARERS, %ebx
1:	cmp	%eax, DATA_OWNER(%edx)
	je	2f
	add	$SHARER_LEN, %edx
	sub	$1, %ebx
	jnz	1b
	ret
2:	mov	%edx, %ecx
3:	ret

/* Nothing is on the stack here but the signal's frame. */
chain:
	mov	HEAD_DATA(%ebp), %ecx
	test	%ecx, %ecx
	jz	default
	call	own_chain
1:	mov	DATA_CHAIN_AT(%ecx), %edx
	mov	%edx, %ebx
	and	$1, %ebx
	shl	$DATA_CHAIN_SHIFT, %ebx
	lea	DATA_CHAIN(%ecx,%ebx), %ebx
	pushl	SA_MASK + 4(%ebx)
	pushl	SA_MASK(%ebx)
	pushl	SA_RESTORER_AT(%ebx)
	pushl	SA_FLAGS(%ebx)
	pushl	(%ebx)
	cmp	%edx, DATA_CHAIN_AT(%ecx)
	jne	again			/* it was replaced meanwhile */
	mov	(%esp), %eax
	cmp	$SIG_IGN, %eax
	jb	3f
	je	2f
	lea	handler - code + AREA_GUARD(%ebp), %edx
	cmp	%edx, %eax		/* somebody found ours and set it again */
	je	3f
	/* SA_RESETHAND is the sign: of several threads one gets the handler. */
	cmpl	$0, SA_FLAGS(%esp)
	jns	call_it
	xor	%edx, %edx
	lock cmpxchg %edx, (%ebx)
	je	call_it
again:	lea	SA_LEN(%esp), %esp
	jmp	1b
2:	lea	SA_LEN(%esp), %esp
	jmp	ignore
3:	lea	SA_LEN(%esp), %esp
	jmp	default

	/* A restorer for the other kind of frame would not do: this is one with a siginfo. */
call_it:
	testl	$SA_RESTORER, SA_FLAGS(%esp)
	jz	1f
	testl	$SA_SIGINFO, SA_FLAGS(%esp)
	jz	1f
	mov	SA_RESTORER_AT(%esp), %eax
	mov	%eax, SA_LEN(%esp)
	/* The breakpoints must go on to work in it: never SIGTRAP. */
1:	andl	$~SIGTRAP_BIT, SA_MASK(%esp)
	mov	$SIG_BLOCK, %ebx
	lea	SA_MASK(%esp), %ecx
	xor	%edx, %edx
	mov	$SIGSET_LEN, %esi
	mov	$NR_RT_SIGPROCMASK, %eax
	int	$0x80
	mov	(%esp), %eax
	mov	%eax, SA_LEN - 4(%esp)
	lea	SA_LEN - 4(%esp), %esp
	/* The handler's address, the return address, signal, siginfo, ucontext. */
	mov	16(%esp), %ecx
	mov	UC_EBX(%ecx), %ebx
	mov	UC_ESI(%ecx), %esi
	mov	UC_EDI(%ecx), %edi
	mov	UC_EBP(%ecx), %ebp
	mov	12(%esp), %edx
	mov	8(%esp), %eax
	ret

ignore:
	cmpl	$0, SI_CODE(%esi)
	jle	leave
	/* The kernel ignores no trap that an instruction made. */
default:
	cmpl	$TRAP_TRACE, SI_CODE(%esi)
	jne	die
	andl	$~FLAG_TF, UC_EFLAGS(%edi)	/* what a tracer's step left behind */
	ret

/*
 * Die of the signal, as by default: it is sent once more, and comes when the
 * kernel has put the registers back, so that a core dump shows the right ones.
 */
die:
	mov	%esp, %ebp
	andl	$~SIGTRAP_BIT, UC_SIGMASK(%edi)
	pushl	$0
	pushl	$SIGTRAP_BIT
	mov	$SIG_BLOCK, %ebx
	mov	%esp, %ecx
	xor	%edx, %edx
	mov	$SIGSET_LEN, %esi
	mov	$NR_RT_SIGPROCMASK, %eax
	int	$0x80
	mov	$NR_GETPID, %eax
	int	$0x80
	mov	%eax, %edi
	cmp	$1, %edi
	jne	1f
	/* A namespace's init: a default action passes it by unless forced. */
	mov	8(%ebp), %esi
	cmpl	$0, SI_CODE(%esi)
	jle	3f
	jmp	2f
1:	pushl	$0			/* SIG_DFL */
	pushl	$0
	pushl	$0
	pushl	$0
	pushl	$0
	mov	$SIGTRAP, %ebx
	mov	%esp, %ecx
	xor	%edx, %edx
	mov	$SIGSET_LEN, %esi
	mov	$NR_RT_SIGACTION, %eax
	int	$0x80
	test	%eax, %eax		/* forbidden by a filter? */
	jnz	2f
	mov	$NR_GETTID, %eax
	int	$0x80
	mov	%edi, %ebx
	mov	%eax, %ecx
	mov	$SIGTRAP, %edx
	mov	8(%ebp), %esi
	mov	$NR_RT_TGSIGQUEUEINFO, %eax
	int	$0x80
	test	%eax, %eax
	jz	3f
	mov	$NR_TGKILL, %eax	/* some forbid but that one */
	int	$0x80
	test	%eax, %eax
	jz	3f
2:	int3				/* blocked: nobody can survive this one */
3:	mov	%ebp, %esp
	ret

/* --- the restorer ----------------------------------------------------------------- */

/* Unwinders know a signal's frame by these very bytes. */
	.balign	16, 0xcc
restorer:
	.byte	0xb8, NR_RT_SIGRETURN, 0, 0, 0	/* mov $173,%eax */
	int	$0x80
	int3

/* --- system calls that would take the guard away ------------------------------------ */

hook:
	pushf
	cmp	$NR_RT_SIGACTION, %eax
	je	emulate_action
	cmp	$NR_RT_SIGPROCMASK, %eax
	je	2f
	cmp	$NR_SIGPROCMASK, %eax
	jne	plain
2:	test	%ecx, %ecx		/* no new mask */
	jz	direct
	test	$~2, %ebx		/* not SIG_BLOCK, SIG_SETMASK */
	jnz	direct
	testl	$SIGTRAP_BIT, (%ecx)	/* is not in it */
	jz	direct
	push	%ecx
	sub	$SIGSET_LEN, %esp
	push	%eax
	mov	(%ecx), %eax
	and	$~SIGTRAP_BIT, %eax
	mov	%eax, 4(%esp)
	cmpl	$NR_RT_SIGPROCMASK, (%esp)
	jne	3f			/* that one's mask is a word */
	mov	4(%ecx), %eax
	mov	%eax, 8(%esp)
3:	pop	%eax
	mov	%esp, %ecx
	int	$0x80
	lea	SIGSET_LEN(%esp), %esp
	pop	%ecx
	popf
	ret
plain:
	popf
	jmp	*%gs:16
direct:
	popf
	int	$0x80
	ret

/* --- rt_sigaction(SIGTRAP) -------------------------------------------------------- */

	/* On the stack: the new action, the old one, words; then what is saved. */
	.set	NEW, 0
	.set	OLD, 24
	.set	TRIES, 48
	.set	HANDLER, 52
	.set	LOCALS, 56
	.set	SAVED_OACT, LOCALS + 12
	.set	SAVED_ACT, LOCALS + 16

	.macro	restore
	lea	LOCALS(%esp), %esp
	pop	%ebp
	pop	%edi
	pop	%esi
	pop	%edx
	pop	%ecx
	pop	%ebx
	popf
	.endm

/* ebp: struct guard_data. esi: the process's id. */
emulate_action:
	push	%ebx
	push	%ecx
	push	%edx
	push	%esi
	push	%edi
	push	%ebp
	sub	$LOCALS, %esp
	call	1f
1:	pop	%ebp
	lea	handler - 1b(%ebp), %eax
	mov	%eax, HANDLER(%esp)
	mov	code - AREA_GUARD + HEAD_DATA - 1b(%ebp), %ebp
	test	%ebp, %ebp
	jz	real
	cmpl	$0, DATA_RETIRED(%ebp)
	jne	real
	cmp	$SIGSET_LEN, %esi
	jne	real
	cmp	$SIGTRAP, %ebx
	jne	other
	mov	%ecx, %edi
	mov	%ebp, %ecx
	call	own_chain
	mov	%ecx, %ebp
	mov	%edi, %ecx
	test	%ecx, %ecx
	jz	get

	/* Can it be read? The kernel looks at the set before it refuses the "how". */
	mov	$NO_SUCH_HOW, %ebx
	xor	%edx, %edx
1:	mov	$NR_RT_SIGPROCMASK, %eax
	int	$0x80
	cmp	$-EFAULT, %eax
	je	fault
	add	$4, %ecx
	lea	SA_LEN - SIGSET_LEN(%edi), %eax
	cmp	%eax, %ecx
	jbe	1b

	/* What the kernel would keep of it. */
	copy_action 0, "(%edi)", NEW, "(%esp)", %eax
	andl	$SA_KNOWN, NEW + SA_FLAGS(%esp)
	andl	$~SIGKILL_SIGSTOP_BITS, NEW + SA_MASK(%esp)

	/*
	 * A child of vfork() or posix_spawn() resets its actions, in its parent's
	 * memory: that counts for neither. Nor is ours set again as the program's.
	 */
	mov	$NR_GETPID, %eax
	int	$0x80
	mov	%eax, %esi
	mov	NEW(%esp), %eax
	cmp	HANDLER(%esp), %eax
	je	get
	test	%eax, %eax
	jnz	set
	cmp	%esi, DATA_OWNER(%ebp)
	jne	get

	/* chain_at: its low half counts, its high half is who writes. See arch/x86/guard.S. */
set:	movl	$CHAIN_TRIES, TRIES(%esp)
1:	mov	DATA_CHAIN_AT(%ebp), %eax
	mov	DATA_CHAIN_AT + 4(%ebp), %edx
	cmp	%esi, %edx
	jne	2f			/* nobody, or not of this process: left over */
	cmpl	$0, TRIES(%esp)
	je	2f
	decl	TRIES(%esp)
	mov	$NR_SCHED_YIELD, %eax
	int	$0x80
	jmp	1b
2:	mov	%eax, %ebx
	mov	%esi, %ecx
	lock cmpxchg8b DATA_CHAIN_AT(%ebp)
	jne	1b
	mov	%ebx, %edi
	and	$1, %edi
	shl	$DATA_CHAIN_SHIFT, %edi
	copy_action DATA_CHAIN, "(%ebp,%edi)", OLD, "(%esp)", %eax
	xor	$(1 << DATA_CHAIN_SHIFT), %edi	/* the other */
	copy_action NEW, "(%esp)", DATA_CHAIN, "(%ebp,%edi)", %eax
	mov	%esi, DATA_OWNER(%ebp)
	movl	$0, DATA_OWNER + 4(%ebp)
	mov	%ebx, %eax
	mov	%ecx, %edx
	inc	%ebx			/* one change more, and nobody writes */
	xor	%ecx, %ecx
	lock cmpxchg8b DATA_CHAIN_AT(%ebp)
	jne	1b

	/* The guard is put where it may be missing. See arch/x86/guard.S. */
	call	1f
1:	pop	%edi
	lea	code - AREA_GUARD - 1b(%edi), %edi
	lea	HEAD_ACTION(%edi), %ecx
	call	set_action
	mov	HEAD_DATA(%edi), %edi
	cmpl	$0, DATA_RETIRED(%edi)
	je	give
	mov	%esp, %ecx		/* NEW */
	call	set_action
	jmp	give

get:	mov	DATA_CHAIN_AT(%ebp), %edx
	mov	%edx, %edi
	and	$1, %edi
	shl	$DATA_CHAIN_SHIFT, %edi
	copy_action DATA_CHAIN, "(%ebp,%edi)", OLD, "(%esp)", %eax
	cmp	%edx, DATA_CHAIN_AT(%ebp)
	jne	get			/* it was replaced meanwhile */

	/* As by the kernel the new action stands even if the old can't be told. */
give:	mov	SAVED_OACT(%esp), %edi
	test	%edi, %edi
	jz	2f
	mov	%edi, %edx
	mov	$SIG_BLOCK, %ebx
	xor	%ecx, %ecx
	mov	$SIGSET_LEN, %esi
1:	mov	$NR_RT_SIGPROCMASK, %eax
	int	$0x80
	cmp	$-EFAULT, %eax
	je	fault
	add	$4, %edx
	lea	SA_LEN - SIGSET_LEN(%edi), %eax
	cmp	%eax, %edx
	jbe	1b
	copy_action OLD, "(%esp)", 0, "(%edi)", %eax
2:	xor	%eax, %eax
	jmp	done
fault:	mov	$-EFAULT, %eax
done:	restore
	ret

/* The action at ecx becomes that of SIGTRAP. */
set_action:
	mov	$SIGTRAP, %ebx
	xor	%edx, %edx
	mov	$SIGSET_LEN, %esi
	mov	$NR_RT_SIGACTION, %eax
	int	$0x80
	ret

/* Another signal: see arch/x86/guard.S. edi: 1: the new action is ours. */
other:	lea	-1(%ebx), %eax
	cmp	$63, %eax
	ja	real
	xor	%edi, %edi
	test	%ecx, %ecx
	jz	1f
	testb	$SIGTRAP_BIT, SA_MASK(%ecx)
	jz	1f
	copy_action 0, "(%ecx)", NEW, "(%esp)", %eax
	andl	$~SIGTRAP_BIT, NEW + SA_MASK(%esp)
	mov	%esp, %ecx		/* NEW */
	inc	%edi
	jmp	2f
1:	bt	%eax, DATA_MASKED(%ebp)
	jnc	real
2:	mov	$NR_RT_SIGACTION, %eax
	int	$0x80
	test	%eax, %eax
	jnz	done
	lea	-1(%ebx), %esi
	xor	%ecx, %ecx
	bt	%esi, DATA_MASKED(%ebp)
	adc	$0, %ecx		/* what was noted */
	cmpl	$0, SAVED_ACT(%esp)
	je	5f
	mov	$NR_GETPID, %eax
	int	$0x80
	cmp	%eax, DATA_OWNER(%ebp)
	jne	5f
	test	%edi, %edi
	jz	4f
	lock bts %esi, DATA_MASKED(%ebp)
	jmp	5f
4:	lock btr %esi, DATA_MASKED(%ebp)
5:	test	%ecx, %ecx
	jz	6f
	test	%edx, %edx
	jz	6f
	cmpl	$SIG_IGN, (%edx)
	jbe	6f
	orb	$SIGTRAP_BIT, SA_MASK(%edx)
6:	xor	%eax, %eax
	jmp	done

real:	restore
	mov	$NR_RT_SIGACTION, %eax
	int	$0x80
	ret
end:
