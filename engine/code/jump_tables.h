/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Jump tables: distances of 4 bytes from the start of the table to places in code. Nothing tells where they are, or how
 * long: any address that code makes may be the start of one.
 */

#ifndef UBP_CODE_JUMP_TABLES_H
#define UBP_CODE_JUMP_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct image;
struct landings;
struct object;
struct ubp_err;

/* Zero-initialise. */
struct jump_tables {
	struct jump_table {
		uint64_t vaddr; /* elf_vaddr that code makes */
		uint64_t at;    /* elf_vaddr of that code */
	} * all;
	size_t n, room;
};

/* What code at @at makes may be a table. Returns 0 or -ENOMEM. */
int jump_tables_note(struct jump_tables *tables, uint64_t elf_vaddr, uint64_t at);

/*
 * Add what they lead to. A table goes on for as long as its entries lead into code, and so into the next table, whose
 * entries count from elsewhere. Behind the start of another one an entry is the other one's, and not counted, if it
 * would lead to a function that does not use this table, by its name, or leads, counted from there, to one that uses the
 * other; or if all code that makes the table's address compares the index with a number that is less. Returns 0 or -EFBIG.
 */
int jump_tables_mark(struct jump_tables *tables, struct object *object,
		     const struct image *image, struct landings *landings, struct ubp_err *err);

void jump_tables_free(struct jump_tables *tables);

#endif
