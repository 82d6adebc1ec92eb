/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the engine needs to know about an instruction set.
 *
 * One const table per tracee ISA. The table is picked per tracee (an x86_64
 * tracer meets i386 tracees), so nothing here is chosen with #ifdef.
 *
 * These functions are pure: bytes and numbers in, bytes and numbers out. They do
 * no I/O and know no tracee, so every back-end is compiled and unit-tested on
 * every host. Any thread may call them. Moving registers in and out of a thread
 * is arch/host.h.
 *
 * Words: swbp = software breakpoint; SSOL = single-step (or execute) out of
 * line, XOL in the kernel's source, displaced stepping in gdb.
 */

#ifndef UBP_ARCH_ARCH_H
#define UBP_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch_detour.h"
#include "arch/arch_jump.h"
#include "arch/batch.h"
#include "arch/file.h"

struct detour;
struct detour_plan;
struct fetch_program;
struct lead;
struct ubp_err;
struct window;
struct window_copy;

#define UBP_INSN_MAX  16
#define UBP_SLOT_SIZE 64
#define UBP_REGS_MAX  48
/* As many of DWARF's registers are unwound. */
#define UBP_DWARF_REGS_MAX 66
/* Words that have a bit for each of UBP_DWARF_REGS_MAX registers. */
#define UBP_DWARF_KNOWN ((UBP_DWARF_REGS_MAX + 63) / 64)

/* Numbers of vector registers: UBP_REG_VECTOR + 0..UBP_VECTORS - 1. */
#define UBP_REG_VECTOR 0x100
#define UBP_VECTORS    32

#define UBP_STUB_FRAME_MAX     10240
#define UBP_SIGACTION_CALL_MAX 8
#define UBP_SIGACTION_LOOK     80
#define UBP_SIGRETURN_MAX      16

/*
 * Calls of the kernel, by what may set a filter for them. UBP_CALL_PRCTL is behind an instruction as long as a jump; UBP_CALL_ANY is in the C
 * library's syscall(), at whose start a number and its arguments are those of a function.
 */
enum ubp_call_kind { UBP_CALL_OTHER, UBP_CALL_UNKNOWN, UBP_CALL_PRCTL, UBP_CALL_ANY };

/* A whole instruction, by its bytes. len 0: there is none. */
struct ubp_known_insn {
	uint8_t len;
	uint8_t bytes[7];
};

/*
 * The general registers of a stopped thread, in the order in which the kernel
 * hands them out (x86-64: struct user_regs_struct), so that reading them is one
 * ptrace request and no copying. Index with the numbers the arch table gives.
 */
struct ubp_regs {
	uint64_t r[UBP_REGS_MAX];
};

/* The low 64 bits of the vector registers of a stopped thread. */
struct ubp_vectors {
	uint64_t v[UBP_VECTORS];
};

/*
 * What ubp_host_get_more() tells of a stopped thread besides its general registers; only the
 * back-end knows what that is.
 */
#define UBP_MORE_MAX 9728
struct ubp_more {
	bool is_known;
	_Alignas(16) uint8_t bytes[UBP_MORE_MAX];
};

/* How a displaced instruction is carried out after its probe was hit. */
enum insn_class {
	INSN_BOOST, /* slot code has the whole effect and ends in its own jump */
	INSN_SKIP,  /* what the swbp leaves behind is a nop: the pc needs no change
		     * (endbr64). A slot is built all the same, for late traps. */
};

/* Whether, and how, an instruction may leave its function. Calls do not. */
enum insn_leave {
	LEAVE_NOT,
	LEAVE_RET,     /* to the return address, which it takes off the stack, if it is there;
			* arch->insn.is_taken() tells when, of one with a condition */
	LEAVE_JUMP,    /* to .target, if at all: arch->insn.is_taken() tells when */
	LEAVE_JUMP_TO, /* to where an operand says */
};

/* A displaced instruction, decoded once when its probe is planted. */
struct displaced_insn {
	uint64_t vaddr;  /* where it stands in the tracee */
	uint64_t target; /* of a direct branch, or of a pc-relative operand */
	enum insn_class kind;
	enum insn_leave leave;
	uint32_t form;     /* the back-end's own */
	uint16_t ret_pops; /* LEAVE_RET: bytes it takes off the stack, with the address */
	uint8_t bytes[UBP_INSN_MAX]; /* original bytes */
	uint8_t len;
	/* Bytes that it loads from .target, where the compiler has put them among the code;
	 * 0: none, or not known. */
	uint8_t literal_len;
	/* Has a memory operand relative to the pc: its slot must lie within reach of that.
	 * Every other instruction, branches too, works from a slot anywhere; but where
	 * branches have no long form (arm64), from one near by. */
	bool pc_relative;
	bool is_call; /* leaves a return address, on the stack or in a register */
	/* Must not be single-stepped in its slot: it stores the flags, so the program
	 * would see it, or it leaves the slot, so that a step left by a tracer that was
	 * killed would end anywhere. */
	bool no_step;
	/* What follows is the back-end's own. */
	uint8_t disp_at; /* offset in bytes[] of the pc-relative displacement */
	uint8_t bits;    /* of the mode it runs in: 32 or 64 */
	bool addr_half;  /* addresses are computed in half of that */
};

struct insn_text {
	char s[80];
};

/* What bytes may mean, if they are instructions: arch->insn.scan_refs(). */
enum code_ref {
	REF_BRANCH = 1 << 0,  /* a branch or call to anywhere near */
	REF_SHORT = 1 << 1,   /* a branch with a displacement of one byte */
	REF_ADDRESS = 1 << 2, /* makes an address, pc-relative, for whatever purpose */
};

/* How far a REF_SHORT leads, from its first byte, and more. */
#define UBP_SHORT_REACH 130

/* Code for one slot. */
struct slot_code {
	uint8_t code[UBP_SLOT_SIZE];
	uint8_t len;
	/* Offset of the jump back that runs once the instruction's effect is complete;
	 * a pc there means "behind it". 0xff: none. */
	uint8_t done_at;
	/* Offset of the jump to the branch target; 0xff: none. */
	uint8_t taken_at;
};

/* The software breakpoint. */
struct arch_swbp {
	uint8_t code[4];
	uint8_t len;        /* of .code */
	uint8_t nop[4];     /* does nothing, .len bytes: may take the breakpoint's place */
	uint8_t pc_advance; /* pc - probe address at the trap */
	int si_code;        /* si_code of its SIGTRAP, which no single step has */
};

/* Registers: their names, and those that have a part to play. */
struct arch_reg {
	uint8_t n; /* in struct ubp_regs, into which those below are indexes */
	uint8_t pc, sp, fp, retval;
	bool returns_in_vector; /* a float, in vector register 0; else where none can be read */
	uint8_t tp;             /* what a thread's own memory is found by */
	uint8_t link; /* RETURN_IN_REGISTER: where a call leaves the return address; else .n */
	/*
	 * What a handler may change (engine/ubp_handler.h): a bit for each register; of .flags those in .flags_own, which any program changes
	 * by itself. .flags_landing: bits there that tell that the last branch was indirect.
	 */
	uint64_t own;
	uint8_t flags;
	uint64_t flags_own, flags_landing;
	/* Where arguments of C functions are that are integers or pointers, at the first instruction: the first .n_args in these registers, the others so many bytes above
	 * the stack pointer, word by word; -1: not told. */
	uint8_t n_args, args[8];
	int16_t stack_args;
	/*
	 * Register of a %REG fetch arg by the kernel's name (without the '%', @len
	 * bytes). Returns an index into struct ubp_regs, or -1.
	 */
	int (*by_name)(const char *name, size_t len);
	/* The names that it knows, from 0 on; NULL: there are no more. */
	const char *(*name)(size_t i);
	/*
	 * As .by_name(), for registers that no fetch arg of the kernel's has, as fs_base; vector
	 * registers are UBP_REG_VECTOR + their number. NULL: there are none.
	 */
	int (*more_by_name)(const char *name, size_t len);
	/*
	 * May the thread have entered the kernel by a breakpoint? False: certainly
	 * by a system call or an interrupt. True says only that it was an exception,
	 * which is all that registers tell; it saves asking for the siginfo.
	 */
	bool (*came_by_exception)(const struct ubp_regs *regs);
	/*
	 * NULL, or: is this thread in another mode than its program's, by a far jump? Then it
	 * cannot run code for it.
	 */
	bool (*in_other_mode)(const struct ubp_regs *regs);
};

/* Unwinding stacks. */
struct arch_unwind {
	/*
	 * The registers that call frame information speaks of: .regs[] of DWARF's number is the
	 * index into struct ubp_regs, arch_reg.n: none of those. The pc must have a number, if need
	 * be one that is nobody's.
	 */
	uint8_t n_regs;
	const uint8_t *regs;
	/*
	 * Is @code what a signal handler returns to (@len bytes, UBP_SIGRETURN_MAX are enough)?
	 * Then register N, by DWARF's number, of the code that was interrupted is sigframe_at[N] bytes
	 * above the stack pointer.
	 */
	bool (*is_sigreturn)(const uint8_t *code, size_t len);
	const uint16_t *sigframe_at;
	/* Where there are several kinds of such frames: sigframe_at[] of the kind that @code leaves. NULL: there is
	 * one kind. */
	const uint16_t *(*sigframe_of)(const uint8_t *code, size_t len);
};

/* Instructions: decoded, and what must not be probed. */
struct arch_insn {
	uint8_t align; /* addresses of instructions are multiples of this */
	/*
	 * Length of the instruction at @code (at most @len bytes may be read), or
	 * 0 if it is none. Half a microsecond: used to walk a function to an
	 * address.
	 */
	int (*len)(const uint8_t *code, size_t len, uint64_t vaddr);
	/*
	 * Decode the instruction at @code and say how it can be displaced.
	 * Returns 0; -EILSEQ: not an instruction; -EOPNOTSUPP: one that must not
	 * be probed (the text names it and says why; .len, .form and .text are those of
	 * the instruction even so).
	 */
	int (*analyze)(const uint8_t *code, size_t len, uint64_t vaddr,
		       struct displaced_insn *ret_insn, struct ubp_err *err);
	/*
	 * May there be a breakpoint, or a jump, at offset @at of these @len bytes of a
	 * function, for all that stands around it? Returns why not, words that stay, or NULL.
	 * Bytes in front of the function's start don't matter. NULL: anywhere.
	 */
	const char *(*refuse_at)(const uint8_t *code, size_t len, size_t at);
	/*
	 * Must the return address not be replaced at offset @at of @len bytes: may it be another
	 * thing there than it was when the function was entered, at @start, or is it what the
	 * function hands out? @code: some bytes in front of @start, too, if there are any. Returns
	 * why, words that stay, or NULL. NULL: never.
	 */
	const char *(*refuse_return_at)(const uint8_t *code, size_t len, size_t start,
					size_t at);
	/*
	 * Does a function that begins so take its return address off the stack right away, as vfork() does
	 * for its two returns? Nobody can put back then what replaced that. NULL: none does.
	 */
	bool (*takes_return)(const uint8_t *code, size_t len);
	/* Make of @insn the instruction that its bytes are at @vaddr. */
	void (*move)(struct displaced_insn *insn, uint64_t vaddr);
	/* What it is called, of a refused one too, for messages and --explain; "?" if it was not analyzed. */
	struct insn_text (*text)(const struct displaced_insn *insn);
	/*
	 * Would the jump @insn (LEAVE_JUMP), or the return (LEAVE_RET), be taken by a thread
	 * with these registers?
	 */
	bool (*is_taken)(const struct displaced_insn *insn, const struct ubp_regs *regs);
	/*
	 * NULL, or: of a thread directly behind @insn, which is no longer than a breakpoint: does it
	 * look as if it had carried it out? @top: the word on top of its stack. This is known of
	 * instructions that push a register, with which most functions begin; false for all others.
	 */
	bool (*looks_done)(const struct displaced_insn *insn, const struct ubp_regs *regs,
			   uint64_t top);
	/*
	 * Tells what may jump into a window: calls each() for whatever may be a reference of one of
	 * @kinds (enum code_ref) in @len bytes at @vaddr. Nothing is decoded: each byte may begin one, so far
	 * more are told than there are. @at is the vaddr of the branch's opcode.
	 */
	void (*scan_refs)(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
			  void (*each)(void *ctx, uint64_t at, uint64_t target,
				       enum code_ref kind),
			  void *ctx);
	/*
	 * NULL, or: can it have a number of 4 bytes or more that begins at its byte @at: an immediate, or a
	 * displacement? No: these bytes are parts of several numbers, or of none.
	 */
	bool (*has_number_at)(const struct displaced_insn *insn, size_t at);
	/*
	 * NULL, or: is the address that the first instruction at @code makes put into memory that is no stack, and is its
	 * register then lost? So nobody counts from there, as for a table of distances between labels.
	 */
	bool (*only_stores_address)(const uint8_t *code, size_t len);
	/*
	 * NULL, or: how many entries of 4 bytes has the table whose address is made at @code + @at? Told where @code
	 * compares a register with a number, leaves if it is above that, makes the address, and loads the entry by
	 * that register: *ret_load is where. 0: not told.
	 */
	uint64_t (*table_len)(const uint8_t *code, size_t len, size_t at, size_t *ret_load);
	/* Bytes of fill at @code, up to @len: nops, breakpoints, zeros. */
	size_t (*fill_len)(const uint8_t *code, size_t len);
	/*
	 * Bytes of the check for room on the stack that the Go compiler begins
	 * functions with; 0: none. Goroutines are not preempted within.
	 */
	size_t (*go_check_len)(const uint8_t *code, size_t len);
	/*
	 * NULL, or: does a function with this code set flags before it asks for them, or leave without asking? Not every one of Go's does: asyncPreempt()
	 * keeps what it finds.
	 */
	bool (*ignores_flags)(const uint8_t *code, size_t len);
	/* With .ignores_flags: may it read or write what is not there? Words of the stack and of the program are there. */
	bool (*may_fault)(const struct displaced_insn *insn);
};

/* Slots, where displaced instructions are carried out. */
struct arch_slot {
	/*
	 * Code for a slot at @slot_vaddr that has the effect of @insn. Returns 0,
	 * or -ERANGE when a pc-relative operand can't be reached from there.
	 *
	 * A thread enters at the start of the slot only. The first instruction in it
	 * is the one that can fault, with all registers but the pc as they would be
	 * at @insn (the exceptions: .leave()).
	 */
	int (*build)(const struct displaced_insn *insn, uint64_t slot_vaddr,
		     struct slot_code *ret_code, struct ubp_err *err);
	/*
	 * Turn the registers of a thread whose pc is in the slot at @slot_vaddr (code
	 * @code) into those it would have in the program: pc at the instruction, or
	 * behind it, or at the branch target; where an imitated call is half done, it
	 * is taken back (stack pointer too). For reports: signals, stacks. Returns
	 * whether the result is exact; false: a syscall that has not got its rcx yet,
	 * or a call taken back that has written below the stack pointer.
	 */
	bool (*leave)(const struct displaced_insn *insn, const struct slot_code *code,
		      uint64_t slot_vaddr, struct ubp_regs *regs);
	/* A slot that leads to @target and has no other effect. */
	void (*build_jump)(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);
};

/* The return trampoline. */
struct arch_trampoline {
	/*
	 * A breakpoint, then a jump to the address that the tracer put back into the slot on the
	 * stack the return address came from. Or (RETURN_IN_REGISTER): to what it put into reg.link.
	 */
	int (*build)(struct slot_code *ret_code);
	/*
	 * What the tracer leaves in place of that breakpoint, arch_swbp.len bytes, where the trampoline
	 * stands in front of the guard's code: the way home, by the guard's table. (Elsewhere a nop:
	 * then the word below the stack pointer is the only way there is.)
	 */
	uint8_t way_home[4];
	/*
	 * NULL: a thread at the trampoline's breakpoint goes on as it is. Or make the registers
	 * those it must go on with, once the real address stands in the word below its stack
	 * pointer: where a signal's frame may be written over that.
	 */
	void (*leave)(struct ubp_regs *regs);
	bool needs_guard; /* it is no way home by itself: the guard's code stands behind it */
};

/* The stub that makes remote system calls (docs/architecture.md). */
struct arch_stub {
	/*
	 * Takes number and arguments from a frame on the stack, makes the call, restores every
	 * register from the frame and returns. Position-independent, re-entrant.
	 */
	const uint8_t *code;
	uint8_t len;
	uint8_t syscall_end; /* offset behind the stub's syscall instruction */
	/*
	 * Build the frame that continues a thread with @regs after its remote
	 * call: @orig tells the registers at the stop, @more what else it had
	 * (ubp_host_get_more()); a system call that the stop interrupted is set to restart.
	 * Fills @ret_frame (at most UBP_STUB_FRAME_MAX bytes), *ret_len and the
	 * stack address *ret_sp where it must be written.
	 */
	void (*frame)(const struct ubp_regs *orig, const struct ubp_more *more,
		      uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
	/*
	 * .frame() for a frame that will be written below @top, on whatever stack that is. NULL: a frame
	 * stands on the thread's own stack, since it is small enough for any.
	 */
	void (*frame_below)(uint64_t top, const struct ubp_regs *orig,
			    const struct ubp_more *more, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			    size_t *ret_len, uint64_t *ret_sp);
	/* Offset in a frame of a buffer (32 bytes) that a remote call may point to. */
	uint8_t buffer_at;
	/* Put number and six arguments at the start of a frame: 7 u64. */
	void (*args)(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
	/*
	 * Make of the registers at the stop those that start the stub at @stub_vaddr
	 * with a frame at @sp. A further call: write new arguments at @sp while the
	 * thread sits in the stub's syscall-exit-stop, and do this again.
	 */
	void (*regs)(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp);
	/*
	 * Of a thread that starts the stub with these: let it sign, before its call, the
	 * address at the start of the buffer with the modifier behind that, by key A or B of
	 * the instruction keys. NULL: addresses are never signed.
	 */
	void (*sign)(struct ubp_regs *regs, uint64_t stub_vaddr, bool key_b);
	struct arch_batch batch; /* many calls in a row */
};

/* System calls. */
struct arch_call {
	/*
	 * Registers of a thread whose stop interrupted a system call: make them such
	 * that it is restarted when they are written back, as the kernel would have
	 * done if nobody had touched them. EINTR is a result as others are here: see
	 * ubp_host_redo_eintr().
	 */
	void (*restart)(struct ubp_regs *regs);
	/*
	 * May the system call of a thread that the kernel has sent back to its instruction be
	 * one of which only the rest is to be made, by restart_syscall()? The registers do not
	 * tell before it enters that. @code: what stands at its pc. NULL: .restart() knows.
	 * Then: the register that holds the number of a call, and the number of
	 * restart_syscall().
	 */
	bool (*may_resume)(const struct ubp_regs *regs, const uint8_t code[8]);
	uint8_t reg;
	int nr_restart;
	/* Of a thread that is about to enter a system call: make it this one. */
	void (*enter)(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
	/* Bytes of the instruction that makes a system call. */
	uint8_t len;
	/* Result of the system call a thread has just come out of. */
	int64_t (*result)(const struct ubp_regs *regs);
	/* Numbers of the system calls that the engine makes remotely. */
	int nr_mmap, nr_munmap, nr_mremap, nr_mprotect, nr_madvise, nr_prctl, nr_rt_sigaction,
		nr_read, nr_memfd_create, nr_close;
	int nr_ptrace;
	uint8_t regs[3]; /* of a call's number and its first two arguments */
	/* fork(), vfork(), clone() and clone3(), those that there are; then 0. */
	uint16_t nr_births[5];
	/* Calls that wait, and go on by themselves behind a stop, whatever they wait for; then 0. */
	uint16_t nr_steady[17];
	/*
	 * How code makes a call: an instruction loads the number of ptrace(), of execve() or execveat(), or of one of .nr_births (where
	 * .detour.asks), and behind some others stands one of those that call the kernel. .ptracer_option is how code begins a call of
	 * prctl(PR_SET_PTRACER).
	 */
	/* What the call of the kernel at @call does, behind @before bytes of code that may be read. *ret_back: so far in front of it a
	 * bell may stand. NULL: that cannot be told. */
	enum ubp_call_kind (*kind)(const uint8_t *call, size_t before, size_t *ret_back);
	/* How the C library's vfork() begins, which pops its return address: two instructions, the second of which loads the number. */
	struct ubp_known_insn vfork_begin;
	struct ubp_known_insn ptrace_number, exec_numbers[2], birth_numbers[4], kernel_calls[2],
		ptracer_option;
};

/* The guard (arch/guard.h). */
struct arch_guard {
	/*
	 * .code stands UBP_AREA_GUARD bytes behind an area's start and finds struct guard_head from there. .handler and
	 * .restorer are offsets into it: the SIGTRAP handler, and what it returns through. .flags is for
	 * rt_sigaction(). .code NULL: there is no guard for this instruction set.
	 */
	const uint8_t *code;
	uint16_t len, handler, restorer;
	uint64_t flags;
	/*
	 * What the kernel takes as an action for a signal: 0: 32 bytes (four words: handler,
	 * flags, restorer, mask); else as many, as guard.pack_action() makes them with an empty mask.
	 * The handler comes first, of addr_size bytes.
	 */
	uint8_t action_len;
	void (*pack_action)(uint64_t handler, uint64_t flags, uint64_t restorer,
			    uint64_t ret_action[4]);
};

/* Where a program changes its signal actions or a mask by itself. */
struct arch_hook {
	/*
	 * A program changes them by a system call. What is looked for are .n_calls sequences, .call_len bytes each: an
	 * instruction and the system call behind it, or what .call_at() goes on from. The instruction, .patch_len
	 * bytes, gives way to a jump that .build() encodes.
	 */
	const uint8_t (*calls)[UBP_SIGACTION_CALL_MAX];
	uint8_t n_calls, call_len, patch_len;
	/*
	 * NULL: that instruction is the sequence's first. Else: does a sequence, found at @code,
	 * make such a call, and how far behind its start does the instruction stand? Up to
	 * UBP_SIGACTION_LOOK bytes may be read.
	 */
	bool (*call_at)(const uint8_t *code, size_t len, size_t *ret_at);
	/*
	 * The jump (@ret_patch, .patch_len bytes) from a call (@len bytes of @call: up to
	 * UBP_SIGACTION_LOOK are wanted, the jump alone does with that instruction)
	 * found at @vaddr to a slot at @slot_vaddr, and that slot's code, which begins
	 * with the instruction itself: the system call as the program means it, but
	 * rt_sigaction(SIGTRAP) goes to the guard of the area at @area_vaddr, which keeps it
	 * for its chain, and rt_sigprocmask() blocks no SIGTRAP. -ERANGE: too far for a jump.
	 */
	int (*build)(const uint8_t *call, size_t len, uint64_t vaddr, uint64_t slot_vaddr,
		     uint64_t area_vaddr, uint8_t *ret_patch, struct slot_code *ret_code,
		     struct ubp_err *err);
};

/* Leads: the instruction in front of a site that stands behind the first. */
struct arch_lead {
	/*
	 * The lead at @code, of which @len bytes may be read, all of one function: one
	 * instruction, or several that do nothing. False: what it does can't be told. NULL: of
	 * no instruction can it.
	 */
	bool (*find)(const uint8_t *code, size_t len, struct lead *ret_lead);
	/*
	 * Bytes @now stand where the file has @lead. Has it the same effect all the same? A
	 * breakpoint of the kernel's in it has, and what the kernel puts in the place of nops.
	 */
	bool (*stands)(const struct lead *lead, const uint8_t *now);
};

/* Where a call leaves the return address: engine/returns has a table of operations for each. */
enum arch_return_in {
	RETURN_IN_STACK,    /* in the word at the stack pointer */
	RETURN_IN_REGISTER, /* in reg.link */
};

struct ubp_arch {
	const char *name;   /* "x86_64" */
	uint16_t e_machine; /* ELF EM_* of the tracee */
	uint8_t elf_class;  /* ELFCLASS* */
	uint8_t addr_size;  /* bytes in a pointer */
	uint8_t torn_max;   /* bytes the kernel keeps of a value it cannot read whole; 0: all */
	/* Of an address, bits that loads ignore; the kernel does if ubp_host_takes_tags(). */
	uint64_t tag_mask;
	uint64_t near_max; /* how far from its object an SSOL area may lie, bytes */
	/*
	 * NULL, or: how far behind a function's symbol callers of the same file enter it, by
	 * the symbol's st_other. All callers come by there, so a probe on SYMBOL without an
	 * offset stands there.
	 */
	uint64_t (*entry_off)(uint8_t st_other);
	enum arch_return_in return_in;

	struct arch_swbp swbp;
	struct arch_elf elf;
	struct arch_operand operand;
	struct arch_shadow shadow;
	struct arch_reg reg;
	struct arch_unwind unwind;
	struct arch_insn insn;
	struct arch_slot slot;
	struct arch_trampoline trampoline;
	struct arch_stub stub;
	struct arch_call call;
	struct arch_guard guard;
	struct arch_hook hook;
	struct arch_lead lead;
	struct arch_jump jump;
	struct arch_detour detour;
};

/* Of a word with a program's address: behind these bits are tags, and signatures of return
 * addresses in registers. */
#define UBP_ADDRESS_MASK ((1ULL << 48) - 1)

/* Table for an ELF machine and class, or NULL. Static storage. */
const struct ubp_arch *ubp_arch_find(uint16_t e_machine, uint8_t elf_class);

/* Table by name, or NULL. */
const struct ubp_arch *ubp_arch_by_name(const char *name);

#endif
