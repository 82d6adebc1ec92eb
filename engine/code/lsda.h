/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Where exceptions enter functions: the landing pads in the tables that .eh_frame
 * points to (.gcc_except_table).
 */

#ifndef UBP_CODE_LSDA_H
#define UBP_CODE_LSDA_H

struct image;
struct landings;
struct object;

/*
 * Add the landing pads of @object, and the starts of its FDEs. Where a table can't be
 * read, every byte is one.
 */
void lsda_mark(struct object *object, const struct image *image, struct landings *landings);

#endif
