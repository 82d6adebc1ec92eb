/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Functions by their names and by their addresses, as the symbols of a file, of its debug files, a Go
 * program's own table and unwinding tables know them.
 */

#ifndef UBP_SYMBOLS_FUNCTIONS_H
#define UBP_SYMBOLS_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct object;
struct ubp_err;

struct object_symbol {
	const char *name;    /* without version; owned by the object; NULL only from
			      * object_function_at() where just an FDE is known */
	const char *version; /* or NULL */
	uint64_t elf_vaddr;
	uint64_t size; /* bytes; 0: not known */
	uint64_t foffset;
	bool is_ifunc;    /* elf_vaddr is the resolver */
	bool is_function; /* STT_FUNC or IFUNC (else NOTYPE in executable code) */
	bool is_global;
	/* Bytes from .foffset to where everybody who calls it comes by (arch->entry_off()): a probe
	 * on its name stands there. 0 of nearly all. */
	uint8_t entry_off;
	const char *file; /* source of a local one, as far as the symbol table tells; or NULL */
};

/*
 * Find a function by name; "name@VERSION" and "name@@VERSION" choose a version,
 * else the default version wins; "name@FILE" a static function of that source file.
 * .symtab and .dynsym are searched, then, by the name as people write it, those of C++ and
 * Rust; then what other files know (engine/files/debug.h). Symbols at one address are one function; a global
 * function wins over static ones of its name. Errors: -ENOENT (the text suggests near names, or
 * says that the symbol is imported, not defined here, or that it is data); -EEXIST when
 * static functions of that name (or old versions, none of them the default, or
 * overloads) stand at several addresses (the text tells what chooses); -ENOEXEC: symbol
 * table corrupt.
 */
int object_find_symbol(struct object *object, const char *name,
		       struct object_symbol *ret_symbol, struct ubp_err *err);

/*
 * The elf_vaddr (or TLS offset) of any defined symbol, function or not, by its
 * exact name without version: _r_debug, _dl_debug_state. The default version
 * wins, a global symbol wins over local ones (of which the first is taken).
 * Returns 0, -ENOENT, or why the symbol tables can't be read: -ENOEXEC, -ENOMEM, -EINTR.
 */
int object_symbol_value(struct object *object, const char *name, uint64_t *ret_elf_vaddr);

/*
 * What object_function_at() does not know by name may be in other files (engine/files/debug.h): look for
 * them. False: there is no more. Names that were told before stay good.
 */
bool object_more_symbols(struct object *object);

/*
 * The function that contains @foffset: the last function symbol at or below it
 * that reaches over it (one without size reaches to the next, or to the end of its
 * section); where no symbol serves, a Go program's own table, or else the .eh_frame
 * FDE that covers it: then name is NULL. Returns 0 or -ENOENT (padding, data, not executable).
 */
int object_function_at(struct object *object, uint64_t foffset,
		       struct object_symbol *ret_symbol);

/* The same at @elf_vaddr, by other files, too, if a name is not known without them. False: no function is known there. */
bool object_function_around(struct object *object, uint64_t elf_vaddr,
			    struct object_symbol *ret_symbol);

/*
 * The bytes of the function that contains @foffset, elf_vaddrs: by its symbol, a Go
 * program's own table, or its FDE. Returns 0 or -ENOENT.
 */
int object_extent(struct object *object, uint64_t foffset, uint64_t *ret_start,
		  uint64_t *ret_end);

#endif
