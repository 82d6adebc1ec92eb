/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Adding, by a thread of its own (engine/base/aside.h): a file on a file system that does not answer keeps whoever
 * reads it for ever, and one that was made for that keeps libdw for hours. So the caller goes on without it, and the
 * definitions are left to it. Else it stays until no more will be added.
 */

#ifndef UBP_DEFINE_ADDING_H
#define UBP_DEFINE_ADDING_H

#include <stdbool.h>
#include <stddef.h>

struct definitions;
struct ubp_err;

enum adding_kind { ADD_WORD, ADD_EVENTS, ADD_USDT };

/* What definitions_add() and its like do, of definitions that are not given up. */
int adding_do(struct definitions *defs, enum adding_kind kind, const char *text, size_t len,
	      const char *filter, struct ubp_err *err);
/*
 * No more will be added. True: the thread that did so was left behind, and still needs the definitions. It
 * will call @release with them.
 */
bool adding_end(struct definitions *defs, void (*release)(struct definitions *defs));

#endif
