/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * .gopclntab, the table by which a Go program finds its functions. It is there in a
 * stripped program too. Read as Go 1.2, 1.16, 1.18 and 1.20 (and later) write it.
 */

#ifndef UBP_SYMBOLS_GOPCLNTAB_H
#define UBP_SYMBOLS_GOPCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct object_symbol;

struct go_function {
	uint64_t start, end; /* elf_vaddrs; the end may have padding before it */
	const char *name;    /* owned by the object; NULL: cannot be read */
};

/* Is there such a table, which can be read? */
bool gopclntab_is_there(struct object *object);

/* The function that holds @elf_vaddr. Returns 0, or -ENOENT (also without a table). */
int gopclntab_at(struct object *object, uint64_t elf_vaddr, struct go_function *ret_function);

/* The function of this name, "main.add". Returns 0 or -ENOENT. */
int gopclntab_find(struct object *object, const char *name, struct go_function *ret_function);

/*
 * Is no goroutine ever preempted in [@from, @to) of the function that holds @from, so that no saved pc is among these instructions but behind calls? The
 * runtime leaves assembly alone, itself, and what the compiler marked: functions that must not grow the stack above all. Told by tables since Go 1.18. False
 * where a stack ends: the runtime makes such frames by hand (runtime.goexit + 1).
 */
bool gopclntab_never_parks(struct object *object, uint64_t from, uint64_t to);

/* Do stacks end at the function that holds @elf_vaddr, or is that not known? Then threads may return to behind an instruction that nobody has carried out (runtime.goexit + 1). */
bool gopclntab_may_end_stacks(struct object *object, uint64_t elf_vaddr);

/*
 * Does the function that holds @from have nothing on the stack but its return address, at each instruction of [@from, @to)? Told by tables since Go 1.18.
 */
bool gopclntab_is_frameless(struct object *object, uint64_t from, uint64_t to);

/* Fill @ret_symbol. Returns 0, or -ENOENT when its code is not in the file. */
int gopclntab_describe(const struct object *object, const struct go_function *function,
		       struct object_symbol *ret_symbol);

#endif
