/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The guard's code (arch/guard.h says what it is for). It stands at
 * UBP_AREA_GUARD of the first area of a space, at any address, and finds that
 * area's head from its own. guard.sh makes guard_code.h of this file; the library
 * is built from that, on every host.
 *
 * No register but the general ones is touched, and not x18, which some systems
 * keep for themselves. Nothing newer than ARMv8.0 is used: hints do nothing there.
 *
 * handler: the kernel calls it with x0 signal, x1 siginfo, x2 ucontext, x30 where to
 * return to, and puts every register back behind it. So all are free, but a handler
 * of the program's that we go on to shall see what the kernel would have shown it:
 *   x1, x2          as they came, always
 *   x7              where to return to
 *   x8              pc of the trap, which is the breakpoint's address
 *   x9              the first area
 *   x0 x3-x6 x10-x17   scratch
 *   x19-x28         only where nothing but the return follows (returned, put_back, die)
 * x3 to x17 are loaded again before the program's handler.
 *
 * emulate: rt_sigaction(SIGTRAP) of the program, called from a slot with x0 to x3 the
 * arguments: only x0 and x30 are other ones behind it.
 *   x9              struct guard_data
 *   x10             a pointer of the program's, or the process's id
 *   x11             offset in a structure, or tries left
 */

	.include "guard.inc"

	/* struct guard_site, guard_hash() */
	.set	HASH_SHIFT, 40
	.set	BRK, 0xd42eac40		/* our breakpoint */

	/* struct guard_data */
	.set	CHAIN_TRIES, 50000	/* how long another setter may take: some 50 ms */

	/* the kernel's: sigaction, siginfo, ucontext */
	.set	SA_FLAGS, 8
	.set	SA_RESTORER_AT, 16
	.set	SA_MASK, 24
	.set	SA_LEN, 32
	.set	SA_KNOWN_LOW, 0x0807	/* the flags that it keeps */
	.set	SA_KNOWN_HIGH, 0xdc00
	.set	SA_RESTORER_BIT, 26
	.set	SA_RESETHAND_BIT, 31
	.set	UC_SIGMASK, 40
	.set	UC_X0, 184
	.set	UC_X30, UC_X0 + 240
	.set	UC_SP, UC_X0 + 248
	.set	UC_PC, UC_X0 + 256

	.set	NR_SCHED_YIELD, 124
	.set	NR_TGKILL, 131
	.set	NR_RT_SIGACTION, 134
	.set	NR_RT_SIGPROCMASK, 135
	.set	NR_RT_SIGRETURN, 139
	.set	NR_GETPID, 172
	.set	NR_GETTID, 178
	.set	NR_RT_TGSIGQUEUEINFO, 240

	/* Hints, for assemblers that do not know their names. */
	.macro	strip_x30
	hint	#7			/* xpaclri */
	.endm
	.macro	sign_a			/* x17, with x16 as the modifier */
	hint	#8			/* pacia1716 */
	.endm
	.macro	sign_b
	hint	#10			/* pacib1716 */
	.endm

	.macro	call nr
	mov	x8, #\nr
	svc	#0
	.endm

	.text
code:
	.set	head, code - AREA_GUARD

/* --- the handler ------------------------------------------------------------------ */

handler:
	mov	x7, x30
	adr	x9, head
	ldr	x8, [x2, #UC_PC]
	ldr	w10, [x1, #SI_CODE]
	cmp	w10, #TRAP_BRKPT
	b.eq	breakpoint
	/* A step of a tracer that died, in a slot? */
	cmp	w10, #TRAP_TRACE
	b.ne	chain
	bl	in_area
	cbz	x10, chain
leave:	ret	x7

breakpoint:
	bl	find_site
	cbz	x10, 1f
	and	w12, w11, #~SLOT_FLAGS	/* no slot: no rescue */
	cbz	w12, chain
	add	x10, x10, x12
	str	x10, [x2, #UC_PC]
	tbnz	w11, #0, put_back	/* SLOT_UNWIND */
	ret	x7
1:	add	x10, x9, #AREA_TRAMPOLINE
	cmp	x8, x10
	b.eq	returned
	bl	in_area
	cbz	x10, chain
	/* The tracer had moved the pc when it died; or a detour wanted to tell it something. */
	ldr	w10, [x8]
	movz	w11, #(BRK >> 16), lsl #16
	movk	w11, #(BRK & 0xffff)
	cmp	w10, w11
	b.ne	leave
	add	x8, x8, #4
	str	x8, [x2, #UC_PC]
	ret	x7

/*
 * A function returned to the trampoline, with the stack pointer that it was entered
 * with: that tells where it returns to.
 */
returned:
	ldr	x19, [x9, #HEAD_RETURNS]
	cbz	x19, chain
	ldr	x20, [x9, #HEAD_RETURNS_MASK]
	ldr	x21, [x2, #UC_SP]
	lsr	x10, x21, #3
	mov	x11, x20		/* entries that are left, less one */
1:	and	x10, x10, x20
	add	x12, x19, x10, lsl #SITE_SHIFT
	ldr	x13, [x12]		/* once: it may change */
	cmp	x13, x21
	b.eq	2f
	cbz	x13, chain
	add	x10, x10, #1
	subs	x11, x11, #1
	b.hs	1b
	b	chain
2:	ldr	x13, [x12, #RETURN_REAL]
	cbz	x13, chain
	str	x13, [x2, #UC_X30]
	str	x13, [x2, #UC_PC]
	ret	x7

/*
 * An unwinder is about to read the stack: every hijacked return address that it can find
 * there goes back, and that in x30. Nobody hijacks any more. They are where the functions
 * have put them, signed or not, and belong to the nearest stack word of a table that is
 * further up; a signature tells it exactly. Other threads' stacks are left alone: they may be
 * unmapped at any moment. This one ends where nothing can be read: each thread's has a guard
 * page below it.
 *   x19, x20   from where to where          x28   where to return to
 *   x21, x22, x23, x24   a table: where it is, its mask, log2 of an entry's size, what stands
 *                        for its addresses
 */
put_back:
	mov	x28, x7
	ldr	x19, [x2, #UC_SP]
	mov	x27, x2
	and	x19, x19, #~7
	and	x20, x19, #-PAGE
	mov	w26, #STACK_PAGES
1:	add	x20, x20, #PAGE
	mov	x0, #NO_SUCH_HOW
	mov	x1, x20
	mov	x2, #0
	mov	x3, #8
	call	NR_RT_SIGPROCMASK
	cmn	x0, #EFAULT
	b.eq	2f
	subs	w26, w26, #1
	b.ne	1b
2:	ldr	x21, [x9, #HEAD_RETURNS]
	ldr	x22, [x9, #HEAD_RETURNS_MASK]
	mov	x23, #SITE_SHIFT
	add	x24, x9, #AREA_TRAMPOLINE
	bl	put_back_table
	/* And those that detours have hijacked. */
	ldr	x10, [x9, #HEAD_DATA]
	cbz	x10, 3f
	ldr	x21, [x10, #DATA_HIJACKS]
	ldr	x22, [x10, #DATA_HIJACKS_MASK]
	mov	x23, #HIJACK_SHIFT
	ldr	x24, [x10, #DATA_RETURN_VADDR]
	bl	put_back_table
3:	ret	x28

/* Uses x0 to x6, x10 to x17, x25, x26. */
put_back_table:
	mov	x26, x30
	cbz	x21, 4f
	/* In x30 it is as the function will find its stack pointer. */
	ldr	x0, [x27, #UC_X30]
	cmp	x0, x24
	b.ne	1f
	sub	x25, x19, #1
	bl	find_real
	cbz	x1, 1f
	str	x1, [x27, #UC_X30]
1:	mov	x25, x19
2:	ldr	x0, [x25]
	mov	x30, x0
	strip_x30
	cmp	x30, x24
	b.ne	3f
	bl	find_real
	cbz	x1, 3f
	str	x1, [x25]
3:	add	x25, x25, #8
	cmp	x25, x20
	b.lo	2b
4:	ret	x26

/*
 * What to put where x0 stands, at x25: in x1; 0: it is not known. Uses x2 to x6, x16, x17.
 */
find_real:
	mov	x1, #0
	mov	x2, #-1			/* the nearest so far */
	mov	x3, x22
1:	lsl	x4, x3, x23
	add	x4, x21, x4
	ldr	x5, [x4]
	ldr	x6, [x4, #RETURN_REAL]
	cbz	x6, 3f			/* over */
	cmp	x5, x25
	b.ls	3f
	cmp	x5, x20
	b.hi	3f
	cmp	x0, x24
	b.eq	2f
	/* Signed: with its stack word? */
	mov	x16, x5
	mov	x17, x24
	sign_a
	cmp	x17, x0
	b.ne	4f
	mov	x17, x6
	sign_a
	mov	x1, x17
	ret
4:	mov	x17, x24
	sign_b
	cmp	x17, x0
	b.ne	3f
	mov	x17, x6
	sign_b
	mov	x1, x17
	ret
2:	cmp	x5, x2
	b.hs	3f
	mov	x2, x5
	mov	x1, x6
3:	subs	x3, x3, #1
	b.hs	1b
	ret

/* Is x8 in an area? x10: which; 0: in none. Uses x11, x12. */
in_area:
	mov	x10, x9
1:	sub	x11, x8, x10
	ldr	x12, [x10, #HEAD_LEN]
	cmp	x11, x12
	b.lo	2f
	ldr	x10, [x10, #HEAD_NEXT]
	cbnz	x10, 1b
2:	ret

/*
 * The site at x8: x10 its area, w11 the offset of its slot; x10 is 0: there is none.
 * Uses x11 to x16.
 */
find_site:
	movz	x15, #0x7c15		/* guard_hash() */
	movk	x15, #0x7f4a, lsl #16
	movk	x15, #0x79b9, lsl #32
	movk	x15, #0x9e37, lsl #48
	mul	x15, x15, x8
	lsr	x15, x15, #HASH_SHIFT
	mov	x10, x9
1:	ldr	x12, [x10, #HEAD_TABLE_MASK]
	mov	x13, x12		/* entries that are left, less one */
	mov	x11, x15
2:	and	x11, x11, x12
	add	x14, x10, x11, lsl #SITE_SHIFT
	add	x14, x14, #AREA_TABLE
	ldar	x16, [x14]		/* once: it may change */
	cmp	x16, x8
	b.eq	4f
	cbz	x16, 3f
	add	x11, x11, #1
	subs	x13, x13, #1
	b.hs	2b
3:	ldr	x10, [x10, #HEAD_NEXT]
	cbnz	x10, 1b
	ret
4:	ldr	w11, [x14, #SITE_SLOT]
	ret

/* --- what is the program's own ---------------------------------------------------- */

/*
 * x10: from struct guard_data to what begins as that does, with the action of this very process. Uses
 * x0, x8, x11 to x13, x30.
 */
own_chain:
	ldr	x11, [x10, #DATA_N_SHARERS]
	cbz	x11, 3f
	call	NR_GETPID
	add	x11, x10, #DATA_SHARERS
	mov	w12, #SHARERS
1:	ldr	x13, [x11, #DATA_OWNER]
	cmp	x13, x0
	b.eq	2f
	add	x11, x11, #SHARER_LEN
	subs	w12, w12, #1
	b.ne	1b
	ret
2:	mov	x10, x11
3:	ret

/* Nothing is on the stack here but the signal's frame. */
chain:
	ldr	x10, [x9, #HEAD_DATA]
	cbz	x10, die
	bl	own_chain
1:	ldar	w12, [x10]		/* DATA_CHAIN_AT */
	and	x13, x12, #1
	add	x14, x10, x13, lsl #DATA_CHAIN_SHIFT
	add	x14, x14, #DATA_CHAIN
	ldr	x15, [x14]
	ldr	x16, [x14, #SA_FLAGS]
	ldr	x17, [x14, #SA_RESTORER_AT]
	ldr	x6, [x14, #SA_MASK]
	dmb	ishld
	ldr	w13, [x10]
	cmp	w13, w12
	b.ne	1b			/* it was replaced meanwhile */
	cmp	x15, #SIG_IGN
	b.lo	die
	b.eq	ignore
	adr	x13, handler
	cmp	x15, x13		/* somebody found ours and set it again */
	b.eq	die
	/* SA_RESETHAND: of several threads one gets the handler. */
	tbz	w16, #SA_RESETHAND_BIT, 3f
2:	ldaxr	x13, [x14]
	cmp	x13, x15
	b.ne	5f
	stlxr	w12, xzr, [x14]
	cbnz	w12, 2b
3:	tbz	w16, #SA_RESTORER_BIT, 4f
	mov	x7, x17
	/* The breakpoints must go on to work in it: never SIGTRAP. */
4:	and	x6, x6, #~SIGTRAP_BIT
	mov	x4, x1
	mov	x5, x2
	mov	x3, #8
	str	x6, [sp, #-16]!
	mov	x0, #SIG_BLOCK
	mov	x1, sp
	mov	x2, #0
	call	NR_RT_SIGPROCMASK
	add	sp, sp, #16
	mov	x1, x4
	mov	x2, x5
	mov	x16, x15		/* a landing pad takes a jump by this register */
	mov	x30, x7
	ldr	w0, [x1]
	add	x17, x2, #UC_X0
	ldp	x3, x4, [x17, #24]
	ldp	x5, x6, [x17, #40]
	ldp	x7, x8, [x17, #56]
	ldp	x9, x10, [x17, #72]
	ldp	x11, x12, [x17, #88]
	ldp	x13, x14, [x17, #104]
	ldr	x15, [x17, #120]
	ldr	x17, [x17, #136]
	br	x16
5:	clrex
	b	1b

	/* The kernel ignores no trap that an instruction made. */
ignore:
	ldr	w10, [x1, #SI_CODE]
	cmp	w10, #0
	b.le	leave

/*
 * Die of the signal, as by default: it is sent once more, and comes when the
 * kernel has put the registers back, so that a core dump shows the right ones.
 */
die:
	mov	x19, x1
	mov	x22, sp
	ldr	x10, [x2, #UC_SIGMASK]
	and	x10, x10, #~SIGTRAP_BIT
	str	x10, [x2, #UC_SIGMASK]
	mov	x10, #SIGTRAP_BIT
	str	x10, [sp, #-16]!
	mov	x0, #SIG_BLOCK
	mov	x1, sp
	mov	x2, #0
	mov	x3, #8
	call	NR_RT_SIGPROCMASK
	call	NR_GETPID
	mov	w20, w0
	call	NR_GETTID
	mov	w21, w0
	cmp	w20, #1
	b.ne	1f
	/* A namespace's init: a default action passes it by unless forced. */
	ldr	w10, [x19, #SI_CODE]
	cmp	w10, #0
	b.le	3f
	b	2f
1:	stp	xzr, xzr, [sp, #-16]!	/* SIG_DFL */
	stp	xzr, xzr, [sp, #-16]!
	mov	x0, #SIGTRAP
	mov	x1, sp
	mov	x2, #0
	mov	x3, #8
	call	NR_RT_SIGACTION
	cbnz	w0, 2f			/* forbidden by a filter? */
	mov	x0, x20
	mov	x1, x21
	mov	x2, #SIGTRAP
	mov	x3, x19
	call	NR_RT_TGSIGQUEUEINFO
	cbz	w0, 3f
	mov	x0, x20
	mov	x1, x21
	mov	x2, #SIGTRAP
	call	NR_TGKILL		/* some forbid but that one */
	cbz	w0, 3f
2:	brk	#0			/* blocked: nobody can survive this one */
3:	mov	sp, x22
	ret	x7

/*
 * The same without a trap, when a tracer went away in good order: it cannot know where all
 * the functions have put what it gave them. The stack pointer is as it was at entry, and
 * only x30 is another register than it will be.
 */
go_back:
	stp	x0, x1, [sp, #-32]!
	stp	x2, x3, [sp, #16]
	adr	x30, head
	ldp	x0, x1, [x30, #HEAD_RETURNS]
	cbz	x0, 3f
	add	x2, sp, #32
	lsr	x3, x2, #3
1:	and	x3, x3, x1
	add	x30, x0, x3, lsl #SITE_SHIFT
	ldr	x30, [x30]
	cbz	x30, 3f
	sub	x30, x30, x2		/* no flags */
	cbz	x30, 2f
	add	x3, x3, #1
	b	1b
2:	add	x30, x0, x3, lsl #SITE_SHIFT
	ldr	x30, [x30, #RETURN_REAL]
	cbz	x30, 3f
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #32
	ret
3:	brk	#0			/* nobody has made this address for it */

/* --- the restorer ----------------------------------------------------------------- */

/* Unwinders know a signal's frame by these very instructions. */
	.balign	16
restorer:
	mov	x8, #NR_RT_SIGRETURN
	svc	#0
	brk	#0

/* --- rt_sigaction(SIGTRAP) -------------------------------------------------------- */

	/* On the stack: the new action, the old one, then what is saved. */
	.set	NEW, 0
	.set	OLD, SA_LEN
	.set	SAVED, 2 * SA_LEN
	.set	SAVED_OACT, SAVED + 8
	.set	SAVED_FLAGS, SAVED + 136
	.set	SAVED_LINK, SAVED + 144
	.set	LOCALS, SAVED + 160

	/* The chain's entry at x14 to the old action. */
	.macro	take_old
	ldr	x15, [x14]
	ldr	x16, [x14, #SA_FLAGS]
	stp	x15, x16, [sp, #OLD]
	ldr	x15, [x14, #SA_RESTORER_AT]
	ldr	x16, [x14, #SA_MASK]
	stp	x15, x16, [sp, #OLD + SA_RESTORER_AT]
	.endm

	/* All but x0 and the stack pointer. */
	.macro	restore
	ldp	x16, x30, [sp, #SAVED_FLAGS]
	msr	nzcv, x16
	ldp	x1, x2, [sp, #SAVED]
	ldp	x3, x4, [sp, #SAVED + 16]
	ldp	x5, x6, [sp, #SAVED + 32]
	ldp	x7, x8, [sp, #SAVED + 48]
	ldp	x9, x10, [sp, #SAVED + 64]
	ldp	x11, x12, [sp, #SAVED + 80]
	ldp	x13, x14, [sp, #SAVED + 96]
	ldp	x15, x16, [sp, #SAVED + 112]
	ldr	x17, [sp, #SAVED + 128]
	.endm

emulate:
	sub	sp, sp, #LOCALS
	stp	x1, x2, [sp, #SAVED]
	stp	x3, x4, [sp, #SAVED + 16]
	stp	x5, x6, [sp, #SAVED + 32]
	stp	x7, x8, [sp, #SAVED + 48]
	stp	x9, x10, [sp, #SAVED + 64]
	stp	x11, x12, [sp, #SAVED + 80]
	stp	x13, x14, [sp, #SAVED + 96]
	stp	x15, x16, [sp, #SAVED + 112]
	str	x17, [sp, #SAVED + 128]
	mrs	x16, nzcv
	stp	x16, x30, [sp, #SAVED_FLAGS]
	adr	x9, head
	ldr	x9, [x9, #HEAD_DATA]
	cbz	x9, real
	ldr	x10, [x9, #DATA_RETIRED]
	cbnz	x10, real
	cmp	x3, #8
	b.ne	real
	cmp	w0, #SIGTRAP
	b.ne	other
	mov	x10, x9
	bl	own_chain
	mov	x9, x10
	cbz	x1, get

	/* Can it be read? The kernel looks at the set before it refuses the "how". */
	mov	x10, x1
	mov	x11, #0
1:	mov	x0, #NO_SUCH_HOW
	add	x1, x10, x11
	mov	x2, #0
	mov	x3, #8
	call	NR_RT_SIGPROCMASK
	cmn	x0, #EFAULT
	b.eq	fault
	add	x11, x11, #8
	cmp	x11, #SA_LEN
	b.lo	1b

	/* What the kernel would keep of it: of the mask all but SIGKILL and SIGSTOP. */
	ldp	x12, x13, [x10]
	movz	w14, #SA_KNOWN_HIGH, lsl #16
	movk	w14, #SA_KNOWN_LOW
	and	w13, w13, w14
	stp	x12, x13, [sp, #NEW]
	ldp	x14, x15, [x10, #SA_RESTORER_AT]
	and	x15, x15, #~0x100
	and	x15, x15, #~0x40000
	stp	x14, x15, [sp, #NEW + SA_RESTORER_AT]

	/*
	 * A child of vfork() or posix_spawn() resets its actions, in its parent's
	 * memory: that counts for neither. Nor is ours set again as the program's.
	 */
	call	NR_GETPID
	mov	w10, w0
	adr	x13, handler
	cmp	x12, x13
	b.eq	get
	cbnz	x12, set
	ldr	x13, [x9, #DATA_OWNER]
	cmp	x13, x10
	b.ne	get

	/*
	 * chain_at: its low half counts the changes, the lowest bit is the entry that
	 * counts; its high half is the id of the process that writes the other one.
	 * No lock: nobody may wait for ever, for a thread that did not come along in
	 * a fork(), nor one below us on this stack or in priority. Who was overtaken
	 * sees it and writes again.
	 */
set:	mov	w11, #CHAIN_TRIES
1:	ldar	x12, [x9]		/* DATA_CHAIN_AT */
	lsr	x13, x12, #32
	cmp	w13, w10
	b.ne	2f			/* nobody, or not of this process: left over */
	cbz	w11, 2f
	sub	w11, w11, #1
	call	NR_SCHED_YIELD
	b	1b
2:	mov	w13, w12
	bfi	x13, x10, #32, #32
3:	ldaxr	x14, [x9]
	cmp	x14, x12
	b.ne	4f
	stlxr	w15, x13, [x9]
	cbnz	w15, 3b
	and	x12, x13, #1
	add	x14, x9, x12, lsl #DATA_CHAIN_SHIFT
	add	x14, x14, #DATA_CHAIN
	take_old
	eor	x12, x12, #1		/* the other */
	add	x14, x9, x12, lsl #DATA_CHAIN_SHIFT
	add	x14, x14, #DATA_CHAIN
	ldp	x15, x16, [sp, #NEW]
	str	x15, [x14]
	str	x16, [x14, #SA_FLAGS]
	ldp	x15, x16, [sp, #NEW + SA_RESTORER_AT]
	str	x15, [x14, #SA_RESTORER_AT]
	str	x16, [x14, #SA_MASK]
	str	x10, [x9, #DATA_OWNER]
	add	w12, w13, #1		/* one change more, and nobody writes */
5:	ldaxr	x14, [x9]
	cmp	x14, x13
	b.ne	4f
	stlxr	w15, x12, [x9]
	cbnz	w15, 5b

	/* The guard is put where it may be missing. See arch/x86/guard.S. */
	adr	x13, head
	add	x1, x13, #HEAD_ACTION
	ldr	x13, [x13, #HEAD_DATA]
	add	x13, x13, #DATA_RETIRED
	mov	w14, #0
6:	mov	x0, #SIGTRAP
	mov	x2, #0
	mov	x3, #8
	call	NR_RT_SIGACTION
	cbnz	w14, give
	ldar	x14, [x13]
	add	x1, sp, #NEW
	cbnz	w14, 6b
	b	give
4:	clrex
	b	1b

get:	ldar	w12, [x9]
	and	x13, x12, #1
	add	x14, x9, x13, lsl #DATA_CHAIN_SHIFT
	add	x14, x14, #DATA_CHAIN
	take_old
	dmb	ishld
	ldr	w13, [x9]
	cmp	w13, w12
	b.ne	get			/* it was replaced meanwhile */

	/* As by the kernel the new action stands even if the old can't be told. */
give:	ldr	x10, [sp, #SAVED_OACT]
	cbz	x10, 2f
	mov	x11, #0
1:	mov	x0, #SIG_BLOCK
	mov	x1, #0
	add	x2, x10, x11
	mov	x3, #8
	call	NR_RT_SIGPROCMASK
	cmn	x0, #EFAULT
	b.eq	fault
	add	x11, x11, #8
	cmp	x11, #SA_LEN
	b.lo	1b
	ldp	x12, x13, [sp, #OLD]
	stp	x12, x13, [x10]
	ldp	x12, x13, [sp, #OLD + SA_RESTORER_AT]
	stp	x12, x13, [x10, #SA_RESTORER_AT]
2:	mov	x0, #0
	b	done
fault:	mov	x0, #-EFAULT
done:	restore
	add	sp, sp, #LOCALS
	ret

/*
 * Another signal: see arch/x86/guard.S.
 *   w10   the signal's bit by number      x11   1: the new action is ours
 */
other:	sub	w10, w0, #1
	cmp	w10, #63
	b.hi	real
	mov	x11, #0
	cbz	x1, 1f
	ldr	x12, [x1, #SA_MASK]
	tbz	x12, #4, 1f
	and	x12, x12, #~SIGTRAP_BIT
	ldp	x13, x14, [x1]
	stp	x13, x14, [sp, #NEW]
	ldr	x13, [x1, #SA_RESTORER_AT]
	stp	x13, x12, [sp, #NEW + SA_RESTORER_AT]
	add	x1, sp, #NEW
	mov	x11, #1
	b	2f
1:	ldr	x12, [x9, #DATA_MASKED]
	lsr	x12, x12, x10
	tbz	x12, #0, real
2:	call	NR_RT_SIGACTION
	cbnz	x0, done
	mov	x12, #1
	lsl	x12, x12, x10
	add	x13, x9, #DATA_MASKED
	ldr	x15, [x13]		/* what was noted */
	ldr	x14, [sp, #SAVED]	/* the program's new action */
	cbz	x14, 5f
	call	NR_GETPID
	ldr	x14, [x9, #DATA_OWNER]
	cmp	x14, x0
	b.ne	5f
3:	ldaxr	x14, [x13]
	bic	x16, x14, x12
	cbz	x11, 4f
	orr	x16, x14, x12
4:	stlxr	w17, x16, [x13]
	cbnz	w17, 3b
5:	tst	x15, x12
	b.eq	6f
	ldr	x13, [sp, #SAVED_OACT]
	cbz	x13, 6f
	ldr	x14, [x13]
	cmp	x14, #SIG_IGN
	b.ls	6f
	ldr	x14, [x13, #SA_MASK]
	orr	x14, x14, #SIGTRAP_BIT
	str	x14, [x13, #SA_MASK]
6:	mov	x0, #0
	b	done

real:	restore
	mov	x8, #NR_RT_SIGACTION
	svc	#0
	ldr	x8, [sp, #SAVED + 56]
	add	sp, sp, #LOCALS
	ret
end:
