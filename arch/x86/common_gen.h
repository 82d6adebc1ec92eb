/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours of both widths, 64 bits and 32 (common_detour*.c): what differs between them is in a table
 * that each hands over (struct x86_gen): which register is for what, where things are in the frame, and
 * some functions. Most of what works with numbers of 64 bits, which take two registers in 32, is written twice.
 *
 * Comments have the names of 64 bits: rax is eax in 32. OP_W stands for a whole word of either.
 * rax, rcx, rdx are scratch, rdi is the accumulator.
 */

#ifndef UBP_ARCH_X86_COMMON_GEN_H
#define UBP_ARCH_X86_COMMON_GEN_H

#include "arch/gen.h"
#include "arch/x86/emit.h"
#include "engine/base/ring.h"

#define X86_ACC G_DI /* the accumulator: addresses in the program */

/* In a frame: it is in its register all the time. */
#define X86_STAYS (-1)

/* The frame lies so far below the program's stack. In 64 bits that is the red zone. In 32 nothing may be
 * kept below the stack pointer; code by hand may do so all the same, and return addresses that a callee
 * left there are looked for. */
#define X86_DISTANCE 128

/* Return probes (common_detour_return.c). */
struct x86_returns {
	/*
	 * Registers, of those in gen_returns.regs: of an entry, the stack word, and the table.
	 * .hijack is the entry's offset in the table; when the detour's return code begins, its
	 * address. .table is G_NONE in 32 bits: then .hijack is the address as soon as the entry
	 * was found.
	 */
	int hijack, word, table;
	/* Where no word tells which one was returned by: so many bytes the callee may have
	 * taken off the stack. */
	int pops_max;
	/* Functions that were entered by jumps get entries of a chain, else they take the trap. */
	bool chains;
	/* Note when the function was entered. Clobbers rax and rdx. */
	void (*note_entry)(struct gen *g, label_t trap);
	/* rcx = where the common code stands, which began at @start. Clobbers rax. */
	void (*find_self)(struct gen *g, label_t start);
};

/* Threads that claim rings (common_detour_claim.c). */
struct x86_claim {
	int tid, word; /* registers */
	/* In the frame: what the program had in .word, or X86_STAYS, if that is there anyway; where to go on. */
	int saved, way_back;
	/* rax = the thread pointer, which the thread has; the 32-bit word that is @at behind it. */
	void (*load_pointer)(struct emit *e, unsigned has);
	void (*load_self)(struct emit *e, int32_t at);
};

/* Calls of the kernel that make processes: their numbers, and the register that has the flags of
 * clone(), and points to those of clone3(). */
struct x86_calls {
	uint32_t fork, clone, clone3;
	int flags;
};

/* What differs: struct gen_isa, .own. */
struct x86_gen {
	struct x86_roles {
		int base;   /* of the rings */
		int thread; /* struct ring_thread, up to the record's head */
		int record;
		int end; /* where the next string goes, while that is worked with */
	} regs;
	/* Offsets from the stack pointer, which does not move. */
	struct x86_frame {
		const int *slots; /* of registers, by enum gpr */
		int flags;        /* as lahf and seto have them */
		int end;          /* .regs.end, or X86_STAYS */
		int index;        /* 32 bits: element of an array of strings */
		int thread;       /* .regs.thread, or X86_STAYS */
		int position;     /* 64 bits: of what is reserved */
		int real;         /* return: the real return address */
		int duration;     /* 64 bits; return: nanoseconds since entry */
		int array;        /* array of strings: where its pointers are */
		int stack;        /* the stack: where it is in the record */
		int len;          /* with what lies between it and the program's stack */
	} frame;
	/* The word @at of struct guard_gate, to @reg; where it cannot be read, to @fixup. */
	void (*gate_word)(struct gen *g, int reg, size_t at, label_t fixup);
	/* May @n bytes at the accumulator + @disp be read? Else to gen.fail. */
	void (*check)(struct gen *g, int32_t disp, uint32_t n, uint32_t cell);
	/*
	 * Behind a check(): rcx = how many bytes of a string there may be, in the range and in
	 * the record, of which it may fill @limit bytes.
	 */
	void (*string_room)(struct gen *g, int32_t limit);
	/* Where in the word rax lies the first NUL? To @none if nowhere, else rdx: its byte. */
	void (*find_nul)(struct gen *g, label_t none);
	/* regs[.reg] + (regs[.index] << .shift) + .imm, cut to a word, to register @to, which is not
	 * rcx. Clobbers rcx. */
	void (*sum)(struct gen *g, const struct fetch_op *op, int to);
	/* Where %fs or %gs begins, to register @to, or to gen.fail. */
	void (*segment_base)(struct gen *g, unsigned user_reg, int to);
	/* .regs.thread = how far behind the table's start to look first for the key rax. Clobbers rcx, rdx. */
	void (*hash)(struct gen *g);
	const struct x86_returns *returns;
	const struct x86_claim *claim;
	struct x86_calls calls;
};

static inline const struct x86_gen *x86_gen(const struct gen *g)
{
	return g->isa->own;
}

/* Bytes of the program's addresses. */
static inline int32_t x86_word(const struct gen *g)
{
	return (int32_t)g->isa->bits / 8;
}

/* Does a number of so many bytes take two registers: rdx has the upper half then? */
static inline bool x86_takes_two(const struct gen *g, unsigned size)
{
	return size > (unsigned)x86_word(g);
}

/* The upper half of what is in memory. */
static inline struct emit_mem x86_upper(struct emit_mem mem)
{
	mem.disp += 4;
	return mem;
}

/* Data of the record, that many bytes behind its start. */
static inline struct emit_mem x86_data_at(const struct gen *g, uint32_t at)
{
	return MEM(x86_gen(g)->regs.record, RECORD_DATA + (int32_t)at);
}

/* struct gen_loads (common_detour_claim.c). */
void x86_claim(struct gen *g, label_t at, label_t found);

/* So far from where the program has its stack pointer. */
static inline struct emit_mem x86_stack(const struct gen *g, int disp)
{
	return MEM(G_SP, x86_gen(g)->frame.len + disp);
}

#endif
