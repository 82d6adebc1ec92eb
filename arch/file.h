/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Of the table of an instruction set (arch/arch.h): what files, notes and the kernel's texts say there in words of their own. */

#ifndef UBP_ARCH_FILE_H
#define UBP_ARCH_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct operand;
struct ubp_arch;
struct ubp_err;

/* What files of this machine say in numbers and names of their own. */
struct arch_elf {
	/*
	 * Relocations that fill a word of the GOT: with what a resolver at an address says, with the address of
	 * a function that is called, of any symbol. Without the first no indirect function (IFUNC) is
	 * found in a running process.
	 */
	uint32_t irelative, jump_slot, glob_dat;
	/*
	 * The word of a property note with features that all of a file has
	 * (GNU_PROPERTY_..._FEATURE_1_AND), and bits in it: made for a shadow stack; indirect branches lead
	 * to landing pads only. 0: there is no such bit.
	 */
	uint32_t features, shadow_stack, landings;
	/* No address is relative to the pc: code counts from the GOT, in tables and in itself. */
	bool counts_from_got;
	bool has_x87; /* a long double of C is an x87's, of ten bytes */
	/* NULL, or the register (arch_reg.more_by_name) at whose address a program's thread-local variables end. */
	const char *tls_end;
	/* What libunwind calls this machine in names of its functions, "_UL%s_step". NULL: it has none. */
	const char *libunwind;
};

/* A word on the line of a text that begins with a label. */
struct arch_text {
	const char *label, *word; /* NULL: there is none such */
};

/* How the kernel tells of shadow stacks of programs. */
struct arch_shadow {
	struct arch_text in_status;  /* of /proc/PID/status: a thread has one */
	struct arch_text in_cpuinfo; /* there can be some; the first processor speaks for all */
};

/* Operands of static probes, and variables' registers (arch/operand.h). */
struct arch_operand {
	/*
	 * What follows SIZE@ in the note: moves *@at over what it has taken, and leaves it where the text stopped
	 * making sense. .size is 0 where the note does not say. NULL: none is understood.
	 */
	int (*parse)(const char **at, struct operand *operand, struct ubp_err *err);
	bool has_blanks; /* in brackets */
	/* As operand_dwarf_register(). NULL: no register is known. */
	const char *(*dwarf_register)(unsigned number, bool *ret_is_vector);
};

/* Table for an ELF machine of whatever class: for text of static probes, which is the same in all of them. Or NULL. */
const struct ubp_arch *ubp_arch_of_machine(uint16_t e_machine);

#endif
