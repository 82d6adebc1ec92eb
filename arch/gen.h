/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Writing detours (arch/detour.h): what is the same whatever the machine. In which order things are
 * done stands in gen_block.c, gen_record.c, gen_data.c and gen_filter.c; with which instructions, in
 * arch/NAME/detour*.c, which hand tables of functions over.
 *
 * The code uses few registers, each for one thing: one for a number, one for pointers into the
 * program (the accumulator), one for the record. What the program had in them is in a frame below
 * its stack; which are there now, gen.clobbered tells.
 */

#ifndef UBP_ARCH_GEN_H
#define UBP_ARCH_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour_parts.h"
#include "arch/emit.h"

struct leaf;
struct leaf_at;
struct leaf_copy;
struct ubp_err;

/* What a pointer is followed for: how that is done where nobody would make a fault good (detour_plan.reads). */
enum gen_read_kind {
	GEN_READ_NOT,    /* not at all: gen.fail */
	GEN_READ_NEAR,   /* the memory is there: a load */
	GEN_READ_WORD,   /* a word, to be followed; or .fault, with a number of 0 */
	GEN_READ_STACK,  /* the same; what cannot be read is 0 */
	GEN_READ_VALUE,  /* what cannot be read of it is 0 */
	GEN_READ_ARRAY,  /* the same of each element of .store, right into the record */
	GEN_READ_STRING, /* right into the record; then to .done */
	GEN_READ_STRINGS, /* an array of them, noted by gen_strings.array: to .done, which reads one by one */
};

struct gen_read {
	enum gen_read_kind kind;
	const struct fetch_op *store;
	label_t fault, done;
};

/* A check of a pointer that did not find its range in its cell. */
struct gen_miss {
	label_t at, retry, fail;
	label_t done; /* behind the check */
	struct gen_read read;
	const struct detour_probe *probe;
	int32_t disp;
	uint32_t n;
	uint32_t cell;
	/* It is of few bytes from the stack pointer on; where to go on if they are known to be there, whatever ranges are. */
	bool near;
	label_t on;
};

struct gen;

/* What hardly any hit needs stands behind all else: the others jump less, and less of their code has to be in the caches. */
struct gen_aside {
	void (*put)(struct gen *g, const struct gen_aside *a); /* sets .at */
	label_t at, on; /* where it begins, where it goes on */
	label_t other;  /* what .put makes of it */
	uint32_t n;     /* the same */
	bool is_full;   /* gen_tally.c */
	label_t fail;   /* gen.fail, .probe, .clobbered as they were */
	const struct detour_probe *probe;
	uint32_t clobbered;
};

/* Where an arg's data is made that of a fault, or an array's strings are read by calls; then to .next. */
struct gen_fault {
	label_t at, strings, next, fail;
	const struct fetch_op *store;
	const struct detour_probe *probe;
};

/* Bytes behind the code. */
struct gen_literal {
	label_t label;
	const void *bytes;
	size_t len;
};

struct gen {
	struct emit e;
	const struct gen_isa *isa;
	const struct detour_plan *plan;
	struct detour *out;
	struct {
		const uint8_t *window;        /* its code */
		const struct leaf_copy *leaf; /* of the function; NULL: there is none */
		label_t window_at;            /* with .leaf: where the window's begins */
	} copies;
	const struct detour_probe *probe; /* the one at hand */
	uint32_t used;                    /* registers the code uses: bit by number */
	uint32_t early;     /* of .used, before it is known that there is something to record */
	uint32_t clobbered; /* those whose value is in the frame now */
	label_t fail;       /* where what can't be done leads now */
	size_t n_before;    /* probes of the plan that this one follows (detour_plan.then) */
	label_t search;
	label_t read_call;           /* the call that reads, for all */
	struct gen_read read;        /* of the next check */
	label_t low_bits, high_bits; /* words that an instruction set wants behind the code */
	bool needs_words;
	bool calls; /* the function is called (struct gen_calls) */
	struct gen_miss *misses;
	size_t n_misses, cap_misses;
	struct gen_aside *asides;
	size_t n_asides, cap_asides;
	struct gen_fault *faults;
	size_t n_faults, cap_faults;
	struct {
		struct gen_literal *v;
		size_t n, cap;
	} literals;
	size_t cap_loads;
};

/* --- what an instruction set does ----------------------------------------------------- */

/* Pointers in the program: is there something to read? */
struct gen_loads {
	/* A check missed: look at all ranges (gen.search), then once more, or to .fail. */
	void (*miss)(struct gen *g, const struct gen_miss *miss);
	/* At gen.search, for all of them. */
	void (*search)(struct gen *g);
	/* An array's pointer whose turn it is, to the accumulator, or to @fault; a string there. By calls of the kernel. NULL: as .zero. */
	void (*element)(struct gen *g, label_t fault);
	void (*string)(struct gen *g);
	/* The thread claims a ring, in code that stands @at; gen.fail is what it has then. NULL: it has no plan.self_at. */
	void (*claim)(struct gen *g, label_t at, label_t found);
};

/* Detours that call their function (UBP_CALLED_AT). */
struct gen_calls {
	size_t len; /* of a call */
	/* Of what is at @on. Sets detour.call_word. */
	void (*call)(struct gen *g, label_t on);
	/* Where it returns to, right behind it: the entry is looked up, as the common code does, whose registers are saved then. At @back,
	 * which it sets, the common code leads here. To @other where it is not that simple. */
	void (*called)(struct gen *g, label_t back, label_t other);
	/* At @other: on to the common code. @called: where the function returned to. */
	void (*other)(struct gen *g, label_t called);
	/* All the way home, from where but .early is as it is to be. */
	void (*home)(struct gen *g);
};

/* The way back of return probes. */
struct gen_returns {
	uint32_t regs; /* saved by the common code, and used on entry */
	/* Is it a table that the code can use? */
	bool (*can_hijack)(uint64_t hijacks, uint64_t mask);
	/*
	 * On entry, with .regs saved: replace the return address. To @trap: it can't be done; to
	 * @leave: the gate has changed. @back: the detour's return code. @call: where a call will replace it, or NULL.
	 */
	void (*hijack)(struct gen *g, label_t back, label_t trap, label_t leave,
		       const label_t *call);
	const struct gen_calls *calls; /* NULL: there are none */
	/* On return, as it comes from the common code: the entry is over, the real address is in the
	 * frame and where the way home goes by. To @gone if it was over just now. */
	void (*come_back)(struct gen *g, label_t gone);
	/* Then: how long it took, to the frame. */
	void (*duration)(struct gen *g);
	/* Of a detour at a ret (detour_plan.run_up): the return address, to where .come_back leaves it. NULL: there are none. */
	void (*at_ret)(struct gen *g);
	/* A copy of a function, whose returns are told in it (detour_plan.code.leaf): as x86_build_leaf(). NULL: there are none. */
	int (*build_leaf)(const struct leaf *leaf, const struct leaf_at *at,
			  struct leaf_copy *ret_copy, struct ubp_err *err);
	/* What is at @gone. NULL: it is the way out. */
	void (*gone)(struct gen *g);
	/* All of the common code. */
	void (*common)(struct gen *g, uint64_t hijacks, uint64_t mask, uint64_t trampoline);
};

/* Detours that ask the tracer to come (detour_plan.asks). */
struct gen_bell {
	uint32_t regs; /* it uses */
	/*
	 * With them saved: to @traced if the process is traced, or is traced again by now; to @leave if it is not. @is_full: for a hit that cannot be
	 * counted, which waits longer, but not where one has waited in vain.
	 */
	void (*ring)(struct gen *g, bool is_full, label_t traced, label_t leave);
};

/* Detours that scan the stack (detour_plan.scans). */
struct gen_scan {
	uint32_t regs; /* it uses */
	/* With them saved: to @leave if there is nothing on the stack. */
	void (*look)(struct gen *g, label_t trap, label_t leave);
	const struct gen_bell *bell; /* NULL: it makes none that ask */
};

/* Counting (base/tally_table.h). */
struct gen_tallies {
	/* The probe's counter. */
	void (*count)(struct gen *g);
	/* The same of a thread that was not looked for yet, by the shorter way (ring_quick); or to @other, where it has none. */
	void (*count_quick)(struct gen *g, label_t other);
	/*
	 * The entry of what is in the record, which is not complete; or to @full, where there is no room for one, or @cannot. Then there, one hit
	 * more, and values.
	 */
	void (*entry)(struct gen *g, label_t full, label_t cannot);
	/* At such labels: what the record needs is where it was. A head says that there was no room. */
	void (*restore)(struct gen *g);
	void (*note_full)(struct gen *g);
};

/* Sampling (base/sample_plan.h). */
struct gen_samples {
	uint32_t regs; /* it uses, beside those of .find_thread */
	/* The hit is counted, with its thread known; to @skip if it is not taken. @source: what makes the argument's value; NULL: it is in the record. */
	void (*take)(struct gen *g, const struct fetch_op *source, label_t skip);
	/* One that was taken is not: as if it had not been counted. */
	void (*put_back)(struct gen *g, const struct fetch_op *source);
	/* The record, whose head is written, says that it was taken. */
	void (*mark)(struct gen *g);
	/* One more that was not. */
	void (*count_left_out)(struct gen *g);
};

/* The record (engine/base/ring.h). What is not possible goes to gen.fail. */
struct gen_records {
	const struct gen_samples *samples; /* NULL: all is recorded, and ubp samples */
	const struct gen_tallies *tallies; /* NULL: all is recorded */
	/* To @off if the probe with this number is switched off (ring_head.off). With the rings known, and early registers saved. */
	void (*unless_off)(struct gen *g, uint32_t number, label_t off);
	/* Behind a record: it is from now on. NULL: the tracer does that alone. */
	void (*switch_off)(struct gen *g, uint32_t number);
	bool has_marks; /* what changes from one detour to the next is said (emit_mark()), all of it */
	void (*find_thread)(struct gen *g);
	/* @max bytes, or to @full. */
	void (*reserve)(struct gen *g, uint32_t max, label_t full);
	/* All that is known before the data. */
	void (*head)(struct gen *g);
	/* There are strings: their end tells the data's length. */
	void (*note_length)(struct gen *g);
	/* What was reserved is more than it took, or is just that. */
	void (*shorten)(struct gen *g, uint32_t max);
	void (*store_size)(struct gen *g, uint32_t max);
	/* The record is there when this is done. */
	void (*commit)(struct gen *g);
	/* Nothing is recorded: give back what was reserved, or say that it is void; to @then. */
	void (*give_back)(struct gen *g, uint32_t max, label_t then);
	/* No room for it; the filter said no. */
	void (*count_lost)(struct gen *g);
	void (*count_dropped)(struct gen *g);
	/* If nobody would take a trap, the hit is counted as missed, and to @leave; with flags and early registers saved. NULL:
	 * processes of this kind are never let go of. */
	void (*unless_alone)(struct gen *g, label_t leave);
};

/* Numbers and arrays. */
struct gen_numbers {
	unsigned sp; /* the stack pointer's number among registers of the program */
	/* A source to the accumulator; a word at it + @imm, by @op's cell. */
	void (*source)(struct gen *g, const struct fetch_op *op);
	void (*deref)(struct gen *g, const struct fetch_op *op, uint64_t imm);
	/* The value to be stored, cut to its size: of a source that needs no memory, of what the
	 * accumulator points to, the accumulator itself. */
	void (*plain)(struct gen *g, const struct fetch_op *op, const struct fetch_op *store);
	void (*load)(struct gen *g, const struct fetch_op *store);
	void (*address)(struct gen *g, const struct fetch_op *store);
	void (*cut_bits)(struct emit *e, const struct fetch_op *store);
	void (*cut_size)(struct emit *e, unsigned size);
	void (*store)(struct gen *g, const struct fetch_op *store);
	/* From a register right into the record; false: not done. */
	bool (*store_reg)(struct gen *g, unsigned user_reg, const struct fetch_op *store);
	/* All of it is 0. NULL: .reads of a plan is not for this instruction set. */
	void (*zero)(struct gen *g, const struct fetch_op *store);
	/* May an array of @len bytes be read? Returns the displacement it is at then. */
	int32_t (*check_array)(struct gen *g, const struct fetch_op *store, uint32_t len);
	/* Copy @n elements of @size bytes, bit-fields cut; @size bytes that are @at behind its start. */
	void (*copy_loop)(struct gen *g, int32_t disp, const struct fetch_op *store,
			  unsigned size, uint32_t n);
	void (*copy_piece)(struct gen *g, int32_t disp, const struct fetch_op *store,
			   uint32_t at, unsigned size);
};

/* Strings: what they have in common is where the next one goes. */
struct gen_strings {
	/* It goes there, @at behind the data's start. */
	void (*start)(struct gen *g, uint32_t at);
	/* The place of one that begins; when it is there, its length. */
	void (*begin)(struct gen *g, const struct fetch_op *store);
	void (*end)(struct gen *g, const struct fetch_op *store);
	/* That at the accumulator + @imm. */
	void (*copy)(struct gen *g, uint64_t imm, uint32_t cell);
	/* An array of them: note where it is; the pointer to the one whose turn it is, to the
	 * accumulator; one further, and if there are more, to @loop. */
	void (*array)(struct gen *g, const struct fetch_op *store);
	void (*element)(struct gen *g);
	void (*next)(struct gen *g, const struct fetch_op *store, label_t loop);
	/* What could not be read: a place and no length, to @n words @at behind the data's start. */
	void (*fault)(struct gen *g, uint32_t at, uint32_t n);
};

/* Entries of the user's stack, behind the data. */
struct gen_stacks {
	/* Room for their number, and the first: where the program is. */
	void (*begin)(struct gen *g);
	/* All frames, with the load's cell; then to @done. */
	void (*walk)(struct gen *g, uint32_t cell, label_t done);
	/* Note how many there are. */
	void (*end)(struct gen *g);
};

/* Predicates. Conditions are the instruction set's; the lowest bit turns one round. */
struct gen_filters {
	unsigned not_equal, above, below;
	/* A register that has no value before the thread is known, or FETCH_NO_REG. */
	unsigned late_reg;
	/* Where .number leaves its result. */
	int scratch;
	/* The register that has the value of @user_reg now, or negative. */
	int (*live)(const struct gen *g, unsigned user_reg);
	/* The value, extended to 32 or 64 bits; @arg: of this arg, for the record is not there yet. */
	void (*number)(struct gen *g, const struct filter_pred *pred,
		       const struct fetch_op *arg);
	/* Compare the register, returns the condition to go on by. */
	unsigned (*compare)(struct gen *g, const struct filter_pred *pred, int reg);
	/* Is the bit in @set, whose number .number left? */
	unsigned (*in_set)(struct gen *g, const struct filter_pred *pred, label_t set);
	/* A text to look at, and its length with the NUL; 0: it could not be read. */
	void (*text)(struct gen *g, const struct filter_pred *pred);
	void (*compare_length)(struct gen *g, uint32_t len);
	/* Look at its last @len bytes and the NUL. */
	void (*skip_to_tail)(struct gen *g, uint32_t len);
	/* @len bytes of it, a power of two, are @want, or to @no. */
	void (*compare_bytes)(struct gen *g, const uint8_t *want, uint32_t at, uint32_t len,
			      label_t no);
};

/* What a thread is to find in its registers. */
enum gen_way {
	GEN_LEAVE,  /* what it had when it came: behind the lead, if there is one */
	GEN_TRAP,   /* what it had in front of that */
	GEN_CALL,   /* what it had when it came, in front of a call of the same function */
	GEN_RETURN, /* what its caller is to find */
	GEN_RET,    /* the same, in front of a ret */
};

struct gen_isa {
	unsigned bits;
	uint8_t fill;      /* what stands where nothing does */
	uint8_t ret_below; /* struct detour */
	const void *own;   /* what its functions want to know beside this table */
	emit_fix_fn *fix;
	const struct gen_loads *loads;
	const struct gen_returns *returns;
	const struct gen_records *records;
	const struct gen_numbers *numbers;
	const struct gen_strings *strings;
	const struct gen_stacks *stacks;
	const struct gen_scan *scan; /* NULL: it makes no such detours */
	const struct gen_filters *filters;
	/* --- before anything is written */
	/* What this instruction set can't do of a plan that is good otherwise. */
	int (*check_plan)(const struct detour_plan *plan, struct ubp_err *err);
	const char *(*check_program)(const struct fetch_program *program);
	int (*build_copy)(const struct window *window, uint64_t vaddr,
			  struct window_copy *ret_copy, struct ubp_err *err);
	/* Registers that the probe's code changes; *ret_early: before there is a record. */
	uint32_t (*regs_of)(const struct gen *g, const struct detour_probe *probe,
			    uint32_t *ret_early);
	/* --- ways in and out */
	/* The frame, or to @no_stack; the registers as they were before it, there. */
	void (*enter)(struct gen *g, label_t no_stack);
	void (*undo_frame)(struct gen *g);
	/* Then the flags, and the registers of @which; none was clobbered before. */
	void (*save_first)(struct gen *g, uint32_t which);
	/* The registers of @which, to the frame or from it. */
	void (*move_regs)(struct gen *g, bool store, uint32_t which);
	/* Flags, the registers of @which, the stack pointer. */
	void (*restore)(struct gen *g, uint32_t which, enum gen_way way);
	/* From in front of the lead to behind it. NULL: there are no leads. */
	void (*lead_again)(struct gen *g);
	/* The rings, or to @trap; nobody to record for: to @leave. */
	void (*find_base)(struct gen *g, label_t trap, label_t leave);
	void (*jump)(struct emit *e, label_t label);
	void (*jump_if)(struct emit *e, unsigned cond, label_t label);
	void (*breakpoint)(struct emit *e);
	void (*go_home)(struct emit *e);
	/* Up to a multiple of UBP_SLOT_SIZE, where nobody goes. */
	void (*align)(struct emit *e);
	/* What gen.needs_words asks for. NULL: nothing does. */
	void (*words)(struct gen *g);
};

/* --- gen_block.c ---------------------------------------------------------------------- */

/* struct ubp_arch, .build_detour and .build_return_code. */
int gen_detour(const struct gen_isa *isa, const struct detour_plan *plan,
	       struct detour *ret_detour, struct ubp_err *err);
int gen_return_code(const struct gen_isa *isa, uint64_t hijacks, uint64_t hijacks_mask,
		    uint64_t trampoline, uint8_t *code, size_t max, size_t *ret_len,
		    struct ubp_err *err);

/* --- gen_list.c ----------------------------------------------------------------------- */

/* The next instruction may fault; the thread goes on at the label then. */
void gen_may_fault(struct gen *g, label_t fixup);
/* Bytes that code refers to, 8-aligned. They must live as long as @g. */
label_t gen_literal(struct gen *g, const void *bytes, size_t len);
/* @aside comes behind the code. Sets its .fail and .probe. */
void gen_put_aside(struct gen *g, const struct gen_aside *aside);
/* What leads to @at claims a ring, and comes to @found or to gen.fail. */
void gen_claim(struct gen *g, label_t at, label_t found);
/* A check that may miss. */
void gen_miss(struct gen *g, const struct gen_miss *miss);
/* Code for an arg, by its labels .at, .strings and .next. */
void gen_fault(struct gen *g, const struct gen_fault *fault);

/* --- gen_copy.c ----------------------------------------------------------------------- */

/* The function's copy (detour_plan.code.leaf), for behind that of the window. *ret_copy is to be freed with free(). 0 or -errno. */
int gen_copy_build_leaf(const struct gen_isa *isa, const struct detour_plan *plan,
			const struct window_copy *window, struct leaf_copy **ret_copy,
			struct ubp_err *err);
/*
 * The window's copy, and the function's, if there is one. Returns where what records a return there begins. *ret_copy: where those go on who have only come in. *ret_ret:
 * where who has been recorded carries out the ret.
 */
label_t gen_copy_put(struct gen *g, label_t *ret_copy, label_t *ret_ret);

/* --- gen_check.c ---------------------------------------------------------------------- */

/* Returns 0, or a negative errno with the reason why there is no such detour. */
int gen_check(const struct gen_isa *isa, const struct detour_plan *plan, struct ubp_err *err);

/* --- gen_data.c ----------------------------------------------------------------------- */

/* Value of a numeric arg: the accumulator of @op's arg, or what it points to, with bit-fields
 * cut and zeros above its size. */
void gen_value(struct gen *g, const struct fetch_op *op);
/* All data of the record. */
void gen_data(struct gen *g);
/* What gen_fault() was told. */
void gen_put_faults(struct gen *g);

/* --- gen_filter.c --------------------------------------------------------------------- */

/* What its filter needs and tells before there is a record. */
struct detour_early gen_filter_look(const struct gen *g, const struct detour_probe *probe);
/* Does it look at the record? */
bool gen_filter_is_late(const struct gen *g, const struct detour_probe *probe);
/* Code that goes to @drop, or on to what follows. */
void gen_filter_early(struct gen *g, label_t drop);
/* gen_filter_early() when there is a record. Returns whether the reader need not look any more. */
bool gen_filter_late(struct gen *g, label_t drop);

#endif
