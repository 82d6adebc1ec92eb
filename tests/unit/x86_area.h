/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The areas that the planter makes in a target, made in this very process, with
 * the guard installed as its SIGTRAP handler.
 */

#ifndef UBP_TESTS_X86_AREA_H
#define UBP_TESTS_X86_AREA_H

#ifdef __x86_64__

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/guard.h"

#define AREA_LEN     0x4000
#define AREA_SLOTS   0x2000 /* behind the largest site table */
#define AREA_N       2
#define AREA_RETURNS 4096

/* What rt_sigaction() takes. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/* The areas and the program's text, each mapped twice: to run and to be written. */
struct area_space {
	uint64_t area[AREA_N];
	uint8_t *area_rw[AREA_N];
	uint64_t text; /* of AREA_LEN bytes */
	uint8_t *text_rw;
	size_t used[AREA_N];
	struct guard_data *data;
	struct guard_return *returns;
};

extern struct area_space area_space;

/* The table of the instruction set. */
const struct ubp_arch *area_arch(void);

/*
 * Make everything anew: @n_sites entries in each site table (a power of two), an
 * empty return table, no action of the program's own; and install the handler.
 */
void area_make(unsigned n_sites);

/* Take the handler away again. */
void area_unmake(void);

/* Put bytes into the program's text. Returns where they stand. */
uint64_t area_text(size_t at, const void *bytes, size_t len);

/* Put code for a slot into area @i. Returns its offset there. */
uint32_t area_slot(unsigned i, const void *code, size_t len);

/* Enter a site into the table of area @i. */
void area_site(unsigned i, uint64_t vaddr, uint32_t slot);

/* Plant a breakpoint at @vaddr of the text, with the slot that belongs to it. */
void area_plant(unsigned i, uint64_t vaddr);

/*
 * Enter the return address at @word into the return table and put the trampoline's
 * there. Any thread.
 */
void area_hijack(uint64_t *word);

/* rt_sigaction() as the kernel knows it. Returns 0 or -errno. */
int64_t area_sigaction(int signo, const struct kernel_action *act, struct kernel_action *oact);

/* Set the action that the program has, in the table. */
void area_chain(const struct kernel_action *act);

/* All registers but the stack pointer, flags and vectors. */
struct area_regs {
	uint64_t gpr[16]; /* in the order of their encoding; that of rsp does not count */
	uint64_t flags;
	uint8_t xmm[16][16];
};

/* Call the function at @fn with these registers, and tell what it leaves. One thread. */
void area_call(uint64_t fn, const struct area_regs *in, struct area_regs *ret_out);

/* A good generator of numbers that are not random at all. */
uint64_t area_next(uint64_t *state);

#endif
#endif
