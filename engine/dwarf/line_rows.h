/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How many rows would libdw make of a line table? It makes all of a unit's in one call, each of 100 bytes. */

#ifndef UBP_DWARF_LINE_ROWS_H
#define UBP_DWARF_LINE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libdw takes two seconds and 300 MiB for so many: the longest tables of large programs have a tenth. */
#define LINE_ROWS_MAX 3000000u

/*
 * Does the table at @table (.debug_line from there on, @len bytes) have more rows than that? So does one of more than
 * 64 MiB, or with as many bytes of names of files; each byte behind a place where it is corrupt counts as a row.
 */
bool line_rows_are_many(const uint8_t *table, size_t len);

#endif
