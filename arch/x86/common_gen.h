/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours of both widths, 64 bits and 32 (common_detour*.c): what differs between them is in a table
 * that each hands over (struct x86_gen): which register is for what, where things are in the frame, and
 * some functions. What is one number in a register here and two of them there is written twice.
 *
 * Comments have the names of 64 bits: rax is eax in 32. OP_W stands for a whole word of either.
 * rax, rcx, rdx are scratch, rdi is the accumulator.
 */

#ifndef UBP_ARCH_X86_COMMON_GEN_H
#define UBP_ARCH_X86_COMMON_GEN_H

#include "arch/gen.h"
#include "arch/x86/emit.h"
#include "arch/x86/x86.h"

#define INT3 0xcc

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
	/* Note when the function was entered. Clobbers rax and rdx. */
	void (*note_entry)(struct gen *g, label_t trap);
	/* rcx = where the common code stands, which began at @start. Clobbers rax. */
	void (*find_self)(struct gen *g, label_t start);
};

/* What differs: struct gen_isa, .frame. */
struct x86_gen {
	struct x86_roles {
		int base;   /* of the rings */
		int thread; /* struct ring_thread, up to the record's head */
		int record;
		int end; /* where the next string goes, while that is worked with */
	} regs;
	/* Offsets in it. */
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
	/* The gate, to @reg. */
	void (*gate)(struct gen *g, int reg, label_t trap);
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
	const struct x86_returns *returns;
};

static inline const struct x86_gen *x86_gen(const struct gen *g)
{
	return g->isa->frame;
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

/* The program's stack, with the frame below it. */
static inline struct emit_mem x86_stack(const struct gen *g, int disp)
{
	return MEM(G_SP, x86_gen(g)->frame.len + disp);
}

/* --- ways in and out (struct gen_isa) --------------------------------------------------- */

/* Where in the frame the register's value is. */
struct emit_mem x86_slot(const struct gen *g, int gpr);
void x86_enter(struct gen *g, label_t no_stack);
void x86_undo_frame(struct gen *g);
void x86_move_regs(struct gen *g, bool store, uint32_t which);
/* rax, the flags, the registers of @which. */
void x86_save_first(struct gen *g, uint32_t which);
/* The first of all: the frame, then the same. */
void x86_begin(struct gen *g, uint32_t which);
/* On return the stack pointer is .ret_below what it is to be. */
void x86_restore(struct gen *g, uint32_t which, enum gen_way way);
void x86_lead_again(struct gen *g);
void x86_find_base(struct gen *g, label_t trap, label_t leave);
void x86_jump_if(struct emit *e, unsigned cond, label_t label);
void x86_breakpoint(struct emit *e);
void x86_align(struct emit *e);

/* --- the stack that is looked through (struct gen_scan) ---------------------------------- */

/* Registers. */
struct x86_scan {
	int at, stop;
};

/*
 * .at is the first word of the thread's stack to look at, .stop is where they end; to @trap if that is
 * not for the detour to do, to @leave if nobody records.
 */
void x86_scan_begin(struct gen *g, const struct x86_scan *scan, label_t trap, label_t leave);
/* To @next for the next word, or on behind the last one. */
void x86_scan_next(struct gen *g, const struct x86_scan *scan, label_t next);

/* --- the record (common_detour_record.c; struct gen_records) ------------------------------ */

/* Member of struct ring_thread, of struct ring_record. */
struct emit_mem x86_thread_mem(const struct gen *g, size_t member);
struct emit_mem x86_record_mem(const struct gen *g, size_t member);
/* .find_thread, once .regs.thread has the hash's offset, and the register @key the key. */
void x86_find_entry(struct gen *g, int key);
/* Where struct ring_thread is: a register, @to if need be. */
int x86_load_thread(struct gen *g, int to);
void x86_record_head(struct gen *g);
void x86_note_length(struct gen *g);
void x86_store_size(struct gen *g, uint32_t size);
void x86_commit(struct gen *g);
/* .give_back of what is no longer the last: it becomes void. */
void x86_void(struct gen *g, uint32_t max, label_t then);
void x86_count_lost(struct gen *g);
void x86_count_dropped(struct gen *g);

/* --- the time -------------------------------------------------------------------------- */

/* rdx, rax: the time, ecx: the processor. @cpu_vaddr: where a thread has that. */
void x86_read_clock(struct gen *g, struct emit_mem cpu_vaddr);
/* rax = what rdx and rax have of 64 bits; where that is one word. */
void x86_join(struct emit *e);
/* rdx, rax: the time when all that came before is done. Clobbers rcx. */
void x86_read_clock_behind(struct gen *g);

/* --- pointers in the program ------------------------------------------------------------ */

/* A displacement for @imm; what does not fit goes into the accumulator. Clobbers rax. */
int32_t x86_disp(struct gen *g, uint64_t imm);
/* A load of what was checked; memory may have gone meanwhile: then to gen.fail. */
void x86_load(struct gen *g, unsigned op, int reg, struct emit_mem mem);

/* --- returns (common_detour_return.c; struct gen_returns) --------------------------------- */

void x86_hijack(struct gen *g, label_t back, label_t trap, label_t leave);
void x86_come_back(struct gen *g, label_t gone);
void x86_return_code(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline);
/* Does the function take its return address off the stack right away? Or do that with an
 * instruction that @reads tells, unless that is NULL. */
bool x86_touches_return(const struct detour_plan *plan,
			bool (*reads)(const uint8_t *code, size_t len));

/* struct guard_hijack has 1 << X86_HIJACK_SHIFT bytes. */
#define X86_HIJACK_SHIFT 5
/* Member of the entry whose offset is in register @at, of the table at @table. */
struct emit_mem x86_hijack_mem(const struct gen *g, uint64_t table, int at, size_t member);
/* @at = a stack word's address: the offset of the first entry to look at; then of the next. */
void x86_hijack_offset(struct gen *g, uint64_t mask, int at);
void x86_hijack_next(struct gen *g, uint64_t mask, int at);
/* Compare rax with @address. Clobbers rcx in 64 bits. */
void x86_compare_address(struct gen *g, uint64_t address);

/* --- strings (common_detour_string.c) ---------------------------------------------------- */

extern const struct gen_strings x86_strings;
/* Where the next string goes: from the frame to .regs.end, or from register @reg, if it is there. */
void x86_load_end(struct gen *g);
void x86_store_end(struct gen *g, int reg);
/* rax = how far behind the data's start the next string goes; OP_W in @w: as a whole word. */
void x86_end_offset(struct gen *g, unsigned w);

/* --- the user's stack (common_detour_stack.c) -------------------------------------------- */

extern const struct gen_stacks x86_stacks;

/* --- numbers (common_detour_fetch.c; struct gen_numbers) -------------------------------------- */

/* Why code for so many bits does not know the register; NULL: it does. */
const char *x86_check_reg(unsigned bits, unsigned user_reg);
/* The register that has the value of @user_reg now, or G_NONE. */
int x86_live(const struct gen *g, unsigned user_reg);
/* Its value, to register @to. */
void x86_take_reg(struct gen *g, unsigned user_reg, int to);
/* A word of a source that needs no memory, to register @to, which is not rcx. Clobbers rcx. */
void x86_plain_source(struct gen *g, const struct fetch_op *op, int to);
void x86_source(struct gen *g, const struct fetch_op *op);
void x86_deref(struct gen *g, const struct fetch_op *op, uint64_t imm);
void x86_cut_size(struct emit *e, unsigned size);
void x86_load_value(struct gen *g, const struct fetch_op *store);
void x86_address_value(struct gen *g, const struct fetch_op *store);
void x86_store_value(struct gen *g, const struct fetch_op *store);
int32_t x86_check_array(struct gen *g, const struct fetch_op *op, uint32_t len);
void x86_copy_piece(struct gen *g, int32_t disp, const struct fetch_op *op, uint32_t at,
		    unsigned size);
void x86_copy_loop(struct gen *g, int32_t disp, const struct fetch_op *op, unsigned size,
		   uint32_t n);

/* --- what numbers and filters need -------------------------------------------------------------------- */

/* Instructions for so many bytes, zeros above them; 32 bits: of 8 the lower half. */
unsigned x86_load_op(unsigned size);
unsigned x86_store_op(unsigned size);

/* --- filters (common_detour_filter.c; struct gen_filters) ---------------------------------- */

/* To rax, extended to 32 or 64 bits: those may be in rdx and rax. */
void x86_number(struct gen *g, const struct filter_pred *pred, const struct fetch_op *arg);
/* The instruction that loads the predicate's number so. */
unsigned x86_load_extended(const struct filter_pred *pred);
/* What it is compared for, after a cmp, or a test for FILTER_AND. */
enum cond x86_cond_of(const struct filter_pred *pred);
/* Texts are at rdi, rcx bytes with the NUL. */
void x86_text(struct gen *g, const struct filter_pred *pred);
void x86_compare_length(struct gen *g, uint32_t len);
void x86_skip_to_tail(struct gen *g, uint32_t len);
void x86_compare_bytes(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
		       label_t no);

#endif
