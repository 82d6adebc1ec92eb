/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Debug information of one file: source lines, functions and their inlined copies,
 * variables. Addresses are elf_vaddrs throughout. A file is not trusted: whatever makes no
 * sense is an error or passed over, never a crash or an endless loop.
 *
 * One thread at a time, as for the object. Names live as long as the struct.
 */

#ifndef UBP_DWARF_DWARF_H
#define UBP_DWARF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/value_names.h"
#include "engine/spec/spec.h"

struct object;
struct ubp_err;

/* Opaque. */
struct dwarf;

/* @object stays the caller's and must stay open. Errors: those of object_dwarf(). */
int dwarf_open(struct object *object, struct dwarf **ret_dwarf, struct ubp_err *err);
void dwarf_free(struct dwarf *dwarf);

/*
 * What is said where a file's debug information took more than @limit_ns of processor time: -EFBIG. Calls of this
 * page that fail have said so themselves; it is for whoever gives one up (engine/base/aside.h).
 */
int dwarf_fail_late(const char *path, uint64_t limit_ns, struct ubp_err *err);

/* --- places (lines.c, functions.c) ------------------------------------------- */

/* Where a probe can stand. */
struct dwarf_place {
	uint64_t elf_vaddr;
	const char *function; /* innermost, inlined or not */
	const char *file;     /* full path, as far as the compiler told */
	unsigned line;
	bool is_inlined;   /* in an inlined copy */
	bool is_entry;     /* first instruction of a function that is called */
	const void *scope; /* of .function: here, not what else is inlined into it at the same
			    * address; NULL: the innermost */
};

struct dwarf_places {
	struct dwarf_place *v;
	size_t n;
};
void dwarf_places_free(struct dwarf_places *places);

/*
 * All places where function @name begins: out of line and each inlined copy. @name as in
 * the source, with namespaces ("ns::f") or without, or the linkage name. @after_prologue: where
 * code is not optimised, and variables of the frame have no value at the entry, behind the
 * prologue, as gdb and perf probe have it. -ENOENT: no such function, with near names.
 */
int dwarf_function_places(struct dwarf *dwarf, const char *name, bool after_prologue,
			  struct dwarf_places *ret_places, struct ubp_err *err);

/* The place at @elf_vaddr, in the function out of line that it is in. False: nothing is known of it. */
bool dwarf_place_at(struct dwarf *dwarf, uint64_t elf_vaddr, struct dwarf_place *ret_place);

/*
 * Move @place, the entry of a function whose code is not optimised, to where its variables
 * have their values. False: it stays, there is no need or no way. Parameters that the caller left on
 * the stack have theirs at the entry, too: whoever wants no others need not ask.
 */
bool dwarf_skip_prologue(struct dwarf *dwarf, struct dwarf_place *place);

/*
 * Line @line (0: its first) of function @function, counted from the line where that is declared, or
 * line @line of source file @file (a path's end: "x.c", "src/x.c"): where a
 * statement of it begins, in each function and each inlined copy once; or once in each of their
 * blocks, since compilers double statements. -ENOENT: no code for that line,
 * with the nearest that has some; no such file or function.
 */
int dwarf_function_line(struct dwarf *dwarf, const char *function, unsigned line,
			struct dwarf_places *ret_places, struct ubp_err *err);
int dwarf_file_line(struct dwarf *dwarf, const char *file, unsigned line,
		    struct dwarf_places *ret_places, struct ubp_err *err);

/*
 * The lines of a function, as perf probe -L: where several lines begin at one address, the first
 * alone is probeable, though others are accepted, too.
 */
struct dwarf_lines {
	const char *function, *file;
	unsigned first, last; /* in .file */
	bool *is_probeable;   /* last - first + 1 */
};
int dwarf_lines_of(struct dwarf *dwarf, const char *function, struct dwarf_lines *ret_lines,
		   struct ubp_err *err);
void dwarf_lines_free(struct dwarf_lines *lines);

/* One of the functions that an address is in: the innermost inlined first. */
struct dwarf_frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	unsigned line;        /* in .file: of the address, or of the call that was inlined */
};

/* Returns how many (at most @max), 0: nothing is known of @elf_vaddr. */
size_t dwarf_frames_at(struct dwarf *dwarf, uint64_t elf_vaddr, struct dwarf_frame *frames,
		       size_t max);

/* --- variables (variables.c, location.c, type.c) ------------------------------- */

#define DWARF_EXPR_MAX 64
/* "ustring[NAME]" is the longest. */
#define DWARF_TYPE_MAX (SPEC_ARG_NAME_MAX + 10)

/* A variable, or a part of one, as a fetch arg. */
struct dwarf_value {
	char expr[DWARF_EXPR_MAX];       /* "+8(%di)"; the extended grammar */
	char type[DWARF_TYPE_MAX];       /* "s32", "string", "f64", "u8[4]" */
	const struct value_names *names; /* of an enumeration or bool; NULL: none */
	/* With -ENOTSUP: it is a text that ends by no NUL. Its member "data" is where it is, "len" or "size" how long. */
	bool is_counted;
};

/*
 * What @text ("buf->req.name", "v[3]", "s->x", "*p"), @len bytes, names at @place. @type:
 * what the user wants it to be; NULL: as its type says. Errors, with *ret_at the byte of @text
 * that is at fault: -ENOENT no such variable, member or element in scope (near names are told);
 * -ENODATA optimised out here; -ENOTSUP a form that no fetch arg has (a whole struct, ...): the text
 * says what to do.
 */
int dwarf_value(struct dwarf *dwarf, const struct dwarf_place *place, const char *text,
		size_t len, const char *type, struct dwarf_value *ret_value, size_t *ret_at,
		struct ubp_err *err);

/*
 * dwarf_value() of a pointer, for dereferences to be written around, with *ret_addend for the innermost of
 * them; of an array, or "&x", it is where that is. Errors are those of dwarf_value(); -EINVAL: it is none of these.
 */
int dwarf_pointer(struct dwarf *dwarf, const struct dwarf_place *place, const char *text,
		  size_t len, struct dwarf_value *ret_value, int64_t *ret_addend,
		  size_t *ret_at, struct ubp_err *err);

/*
 * The parts of a whole struct, or of an array of structs or arrays, that @text names: @each gets what
 * leads to one from there (".x", "[1]") and what to call it ("x", "1"). What it returns, if not 0,
 * ends it and is returned. -ENOTSUP, without a text: it is neither; else as of dwarf_value().
 */
int dwarf_each_part(struct dwarf *dwarf, const struct dwarf_place *place, const char *text,
		    size_t len, int (*each)(void *ctx, const char *step, const char *name),
		    void *ctx, struct ubp_err *err);

/* A variable that can be seen at a place. */
struct dwarf_variable {
	const char *name;
	const char *type; /* as C, C++ or Rust write it */
	bool is_parameter;
	bool has_value; /* it can be probed here; else .why_not says why (optimised out, ...) */
	const char *why_not;
};

/* Innermost scope first; a name hidden by an inner one is left out. Globals are not listed. */
int dwarf_each_variable(struct dwarf *dwarf, const struct dwarf_place *place,
			int (*each)(void *ctx, const struct dwarf_variable *variable),
			void *ctx, struct ubp_err *err);

#endif
