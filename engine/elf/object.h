/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * An open ELF file: which machine it is for, and what it asks for. Reads files only;
 * a file is not trusted (sizes and offsets are checked before use).
 *
 * Three kinds of address, never mixed: foffset is a byte in the file, elf_vaddr
 * an address as linked, vaddr (elsewhere) an address in a running process.
 *
 * Threads: symbols and the like are read on first use, so one object belongs to
 * one thread at a time. Names and other strings live as long as the object.
 */

#ifndef UBP_ELF_OBJECT_H
#define UBP_ELF_OBJECT_H

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
/* Where it is entered, elf_vaddr (e_entry); 0: nowhere. */
uint64_t object_entry(const struct object *object);
/* Has it a program's debug information (objcopy --only-keep-debug), and none of its code? Then names, lines and variables can be listed. */
bool object_has_no_code(const struct object *object);
/* PT_INTERP, or NULL for a static program. */
const char *object_interp(const struct object *object);
/* DT_SONAME, or NULL. */
const char *object_soname(const struct object *object);
/* The @i-th library it asks for (DT_NEEDED), or NULL: there are no more. */
const char *object_needed(const struct object *object, size_t i);

#endif
