/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * ELF files: where functions are, which bytes may be probed. Reads files only;
 * a file is not trusted (sizes and offsets are checked before use).
 *
 * Three kinds of address, never mixed: foffset is a byte in the file, elf_vaddr
 * an address as linked, vaddr (elsewhere) an address in a running process.
 *
 * Threads: symbols and the like are read on first use, so one object belongs to
 * one thread at a time. Names and other strings live as long as the object.
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
 * Open @path (followed through symlinks; a fifo or device is never opened).
 * Errors: errno of open(), -EINVAL for what is no regular file, -ENOEXEC for what
 * is no ELF program or library (text, object file, core) or is cut short or
 * corrupt (the text says what and where). Any machine is accepted: see
 * object_arch(). Every later answer stands on the file as it was here; bytes are
 * read from it when asked for.
 */
int object_open(const char *path, struct object **ret_object, struct ubp_err *err);
void object_free(struct object *object);

const char *object_path(const struct object *object);
uint64_t object_dev(const struct object *object);
uint64_t object_ino(const struct object *object);
uint64_t object_size(const struct object *object); /* of the file, bytes */
/* NULL: an instruction set ubp cannot trace (yet); machine_name says which. */
const struct ubp_arch *object_arch(const struct object *object);
const char *object_machine_name(const struct object *object);
uint16_t object_machine(const struct object *object); /* EM_X86_64, ... */
bool object_is_64bit(const struct object *object);    /* ELFCLASS64 */
bool object_is_pie(const struct object *object);      /* ET_DYN: a PIE or a library */
/* Made by the Go compiler: its runtime moves stacks, and reads return addresses. */
bool object_is_go(const struct object *object);
/*
 * Can exceptions pass through it, and is the code that unwinds them linked into it
 * without a name (a stripped program, whatever other files know)? Then nobody can tell when it
 * is at work.
 */
bool object_hides_unwinder(struct object *object);
/* Is it marked as made for shadow stacks (GNU_PROPERTY_X86_FEATURE_1_SHSTK)? */
bool object_wants_shadow_stack(const struct object *object);
/*
 * Is it marked so that indirect branches may lead to landing pads alone
 * (GNU_PROPERTY_AARCH64_FEATURE_1_BTI)?
 */
bool object_needs_landings(const struct object *object);
/* Where it is entered, elf_vaddr (e_entry); 0: nowhere. */
uint64_t object_entry(const struct object *object);
/* PT_INTERP, or NULL for a static program. */
const char *object_interp(const struct object *object);
/* DT_SONAME, or NULL. */
const char *object_soname(const struct object *object);
/* The @i-th library it asks for (DT_NEEDED), or NULL: there are no more. */
const char *object_needed(const struct object *object, size_t i);
/* Is @soname among them? */
bool object_has_needed(const struct object *object, const char *soname);

/*
 * PT_LOAD arithmetic. Return 0 or -ENOENT: no segment (with file bytes) there.
 * Where two segments hold one file byte, the executable one counts.
 */
int object_foffset_to_vaddr(const struct object *object, uint64_t foffset,
			    uint64_t *ret_elf_vaddr);
int object_vaddr_to_foffset(const struct object *object, uint64_t elf_vaddr,
			    uint64_t *ret_foffset);
/*
 * The same for data that need not be in the file (.bss): where it would be if all of the
 * segment were there. That is how the kernel finds a REF_CTR in mappings.
 */
int object_data_foffset(const struct object *object, uint64_t elf_vaddr, uint64_t *ret_foffset);
/* Is such an offset one of data that is in no file? */
bool object_is_bss(const struct object *object, uint64_t foffset);
/* Is this file byte in an executable segment? */
bool object_is_executable(const struct object *object, uint64_t foffset);
/* The page that was looked at last. Zero-initialise. */
struct object_page {
	const struct object *object;
	uint64_t at;
	size_t len; /* bytes that are known */
	uint8_t now[4096], file[4096];
};

/* Is there a uprobe of the kernel's, for all processes, as far as that can be seen? */
bool object_has_kernel_uprobe(const struct object *object, uint64_t foffset,
			      struct object_page *page);
/* Bytes of the file. Returns the number read (short at the end), or -errno. */
ssize_t object_read(const struct object *object, uint64_t foffset, void *buf, size_t len);

/*
 * A code cave: the zero bytes between the end of an executable segment and the
 * end of its last 4 KiB page (the longest such, if it has several executable
 * segments). *ret_elf_vaddr is a multiple of 16. Only segments with p_filesz ==
 * p_memsz count. -ENOSPC: less than @need bytes.
 */
int object_find_bytes_slack(const struct object *object, uint64_t need, uint64_t *ret_elf_vaddr,
			    uint64_t *ret_len);

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
 * Rust; then what other files know (debug.h). Symbols at one address are one function; a global
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
 * What object_function_at() does not know by name may be in other files (debug.h): look for
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

/*
 * All defined functions, sorted by name (strcmp), each name once. Stops when
 * @each returns non-zero, and returns that.
 */
int object_each_function(struct object *object,
			 int (*each)(void *ctx, const struct object_symbol *symbol), void *ctx,
			 struct ubp_err *err);

/* Which functions object_match_functions() is to find. */
struct object_wanted {
	const char *text; /* a pattern, as fnmatch(3) has it */
	bool is_name; /* no: one name, of C++ and Rust as people write it, with parameters or
			   * without; NAME@FILE, NAME@VERSION, or NAME@* for all of that
			   * name. Where there is no such name, it is a pattern after all */
	const char *const *exclude; /* patterns of what is left out, NULL-ended; or NULL */
};

/*
 * The names of functions that are wanted, or of all (NULL), as object_each_function() has them.
 */
int object_each_wanted(struct object *object, const struct object_wanted *wanted,
		       int (*each)(void *ctx, const struct object_symbol *symbol), void *ctx,
		       struct ubp_err *err);

/*
 * The functions that are wanted, by their own or by their demangled names: one for each address, by
 * the best of its names that match, sorted by name. *ret_v: free with free(). Returns 0, -ENOMEM,
 * -ENOEXEC.
 */
int object_match_functions(struct object *object, const struct object_wanted *wanted,
			   struct object_symbol **ret_v, size_t *ret_n, struct ubp_err *err);
/* Has it a table of all functions, or only names of those that it exports? */
bool object_has_symtab(struct object *object);
/* Of a stripped object: where more names were looked for, and what can be done. */
void object_say_stripped(struct object *object, char *text, size_t size);

/*
 * Where a process keeps the choice of an IFUNC: elf_vaddrs of GOT words of this
 * object. Two kinds: IRELATIVE slots whose resolver is at @resolver_elf_vaddr
 * (of this object; 0: none wanted), and slots of the symbol @name (JUMP_SLOT or
 * GLOB_DAT; NULL: none wanted). A JUMP_SLOT that was not yet bound holds the
 * address of its PLT entry, in this object. Fills up to @max and returns how many
 * there are.
 */
size_t object_ifunc_slots(struct object *object, const char *name, uint64_t resolver_elf_vaddr,
			  uint64_t *slots, size_t max);

/*
 * The bytes of the function that contains @foffset, elf_vaddrs: by its symbol, a Go
 * program's own table, or its FDE. Returns 0 or -ENOENT.
 */
int object_extent(struct object *object, uint64_t foffset, uint64_t *ret_start,
		  uint64_t *ret_end);

enum object_exit_kind {
	EXIT_RET,
	EXIT_JUMP,    /* to another function, if it is taken */
	EXIT_JUMP_TO, /* to where an operand says: into a table, or elsewhere */
};

/* An instruction by which a function is, or may be, left. */
struct object_exit {
	uint64_t foffset;
	enum object_exit_kind kind;
};

struct object_exits {
	struct object_exit *exits; /* free with free() */
	size_t n;
};

/*
 * Where the function that starts at @foffset is left: decoded from its start to its
 * end, with the parts that compilers put elsewhere (NAME.cold). Errors: -ENOENT
 * (no function is known to start there), -EILSEQ (some of it cannot be decoded),
 * -ENOTSUP (no decoder), -ENOMEM, -EIO.
 */
int object_find_exits(struct object *object, uint64_t foffset, struct object_exits *ret_exits,
		      struct ubp_err *err);

/*
 * Does the function that contains @foffset jump back there, from there or from further on? What only a
 * table or a register leads to is not seen; nor is what stands behind bytes that cannot be decoded.
 */
bool object_is_loop_head(struct object *object, uint64_t foffset);

enum object_boundary {
	BOUNDARY_OK,      /* an instruction of its function starts here */
	BOUNDARY_INSIDE,  /* falls into an instruction; *ret_start is where that starts */
	BOUNDARY_UNKNOWN, /* no symbol or FDE to decode from, or no decoder for this ISA */
};

/*
 * Does an instruction start at @foffset? Decodes from the start of the function (a
 * symbol or FDE, whichever is nearer). Returns an enum object_boundary, -EILSEQ
 * when undecodable bytes lie between, or another -errno when reading fails.
 * *ret_start is written for BOUNDARY_INSIDE only.
 */
int object_check_boundary(struct object *object, uint64_t foffset, uint64_t *ret_start);

/*
 * Why neither a breakpoint nor a jump may stand at @foffset, for what its function does
 * around it (arch->insn.refuse_at()): words that stay; NULL: nothing speaks against it.
 */
const char *object_refuse_at(struct object *object, uint64_t foffset);

/* Why a return address cannot be replaced at @foffset (arch->insn.refuse_return_at()); NULL: nothing speaks against it. */
const char *object_refuse_return_at(struct object *object, uint64_t foffset);

#endif
