/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The ELF header: what kind of file it is, and whether all of it is there. */

#ifndef UBP_ELF_HEADER_H
#define UBP_ELF_HEADER_H

#include <stdint.h>

struct object;
struct ubp_err;

/*
 * Check the header of an object whose file is open; fills ehdr, arch and
 * machine_name. Program and section headers are made sure to lie in the file.
 * Returns 0, -ENOEXEC with a text, or the errno of a read.
 */
int header_check(struct object *object, struct ubp_err *err);

/* header_check() of a debug file, whatever its type. Of @object, path, fd and size are used. */
int header_check_tables(struct object *object, struct ubp_err *err);

/* What a file is, without opening it as an object. */
struct elf_ident {
	uint16_t machine; /* EM_* */
	uint8_t elf_class;
};

/*
 * Is the file at @path an ELF file? Returns 0; -ENOEXEC: no; -EINVAL: no regular
 * file; or another -errno. Devices and fifos are not opened.
 */
int header_peek(const char *path, struct elf_ident *ret_ident);

#endif
