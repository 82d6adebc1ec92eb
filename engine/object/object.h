/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ELF files: where functions are, which bytes may be probed. Reads files only;
 * a file is not trusted (sizes and offsets are checked before use).
 *
 * Three kinds of address, never mixed: foffset is a byte in the file, elf_vaddr
 * an address as linked, vaddr (elsewhere) an address in a running process.
 */

#ifndef UBP_OBJECT_OBJECT_H
#define UBP_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ubp_arch;
struct ubp_err;

/* Opaque: an open ELF file, its segments, and on demand its symbols. */
struct object;

/*
 * Open @path (followed through symlinks). Errors: errno of open(), -EINVAL for
 * what is no regular file, -ENOEXEC for what is no ELF file of a known machine
 * or is cut short (the text says what and where).
 */
int object_open(const char *path, struct object **ret_object, struct ubp_err *err);
void object_free(struct object *object);

const char *object_path(const struct object *object);
uint64_t object_dev(const struct object *object);
uint64_t object_ino(const struct object *object);
uint64_t object_size(const struct object *object); /* of the file, bytes */
/* NULL: an instruction set ubp cannot trace (yet); machine says which. */
const struct ubp_arch *object_arch(const struct object *object);
const char *object_machine_name(const struct object *object);
bool object_is_pie(const struct object *object);     /* ET_DYN */
/* PT_INTERP, or NULL for a static program. */
const char *object_interp(const struct object *object);

/* PT_LOAD arithmetic. Return 0 or -ENOENT: no segment (with file bytes) there. */
int object_foffset_to_vaddr(const struct object *object, uint64_t foffset,
			    uint64_t *ret_elf_vaddr);
int object_vaddr_to_foffset(const struct object *object, uint64_t elf_vaddr,
			    uint64_t *ret_foffset);
/* Is this file byte in an executable segment? */
bool object_is_executable(const struct object *object, uint64_t foffset);
/* Bytes of the file. Returns the number read (short at the end), or -errno. */
ssize_t object_read(const struct object *object, uint64_t foffset, void *buf, size_t len);

struct object_symbol {
	const char *name;    /* without version; owned by the object */
	const char *version; /* or NULL */
	uint64_t elf_vaddr;
	uint64_t size;       /* 0: not known */
	uint64_t foffset;
	bool is_ifunc;       /* elf_vaddr is the resolver */
	bool is_function;    /* STT_FUNC or IFUNC (else NOTYPE in executable code) */
	bool is_global;
};

/*
 * Find a function by name; "name@VERSION" and "name@@VERSION" choose a version,
 * else the default version wins. .symtab and .dynsym are searched. Symbols at
 * one address are one function. Errors: -ENOENT (the text suggests near names,
 * or says that the symbol is imported, not defined here, or that it is data);
 * -EEXIST when local functions of that name stand at several addresses (the
 * text lists the offsets).
 */
int object_find_symbol(struct object *object, const char *name,
		       struct object_symbol *ret_symbol, struct ubp_err *err);

/*
 * The function that contains @foffset: the last function symbol at or below it
 * (an .eh_frame FDE's start where no symbol serves). Returns 0 or -ENOENT.
 */
int object_function_at(struct object *object, uint64_t foffset,
		       struct object_symbol *ret_symbol);

/* All defined functions, sorted by name, each name once. Stops when @each
 * returns non-zero, and returns that. */
int object_each_function(struct object *object,
			 int (*each)(void *ctx, const struct object_symbol *symbol), void *ctx,
			 struct ubp_err *err);

/*
 * Where a process keeps the choice of an IFUNC: elf_vaddrs of GOT words of this
 * object. Two kinds: IRELATIVE slots whose resolver is at @resolver_elf_vaddr
 * (of this object), and slots of the imported symbol @name (JUMP_SLOT or
 * GLOB_DAT; @resolver 0). Fills up to @max and returns how many there are.
 */
size_t object_ifunc_slots(struct object *object, const char *name,
			  uint64_t resolver_elf_vaddr, uint64_t *slots, size_t max);

enum object_boundary {
	BOUNDARY_OK,      /* an instruction of its function starts here */
	BOUNDARY_INSIDE,  /* falls into an instruction; *ret_start is where that starts */
	BOUNDARY_UNKNOWN, /* no symbol or FDE to decode from */
};

/*
 * Does an instruction start at @foffset? Decodes from the start of the function.
 * Returns an enum object_boundary, or -EILSEQ when undecodable bytes lie between.
 */
int object_check_boundary(struct object *object, uint64_t foffset, uint64_t *ret_start);

#endif
