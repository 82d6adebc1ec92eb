/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* How windows are looked for, for the files that do (window.c, window_ret.c). */

#ifndef UBP_CODE_WINDOW_PRIV_H
#define UBP_CODE_WINDOW_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"

struct lead;
struct object;
struct ubp_arch;
struct ubp_err;

struct window_site {
	struct object *object;
	const struct ubp_arch *arch;
	uint64_t vaddr;      /* elf_vaddr of the window */
	uint64_t first;      /* what nobody may lead to: that, or all behind its first byte */
	uint64_t start, end; /* of its function */
	bool is_run_up, is_behind; /* a return is caught there; it has a lead */
	struct window *window;
	struct ubp_err *err;
};

/* -EOPNOTSUPP, for @why. */
int window_refuse(const struct window_site *s, enum window_refusal why, const char *text);

/* All of a jump, at @foffset; behind its lead, if @lead is not NULL. Errors as of object_window(), here and below. */
int window_look(struct window_site *s, uint64_t foffset, struct lead *lead);
/* A punned one. */
int window_look_punned(struct window_site *s, uint64_t foffset);

/* The bytes at @foffset: *ret_len that can be read, and how many of them are the function's. */
int window_read_start(struct window_site *s, uint64_t foffset, uint8_t code[UBP_WINDOW_MAX],
		      size_t *ret_len, size_t *ret_own);
/* Whole instructions for a jump at s->vaddr, and fill behind the function where they are too few. */
int window_find(struct window_site *s);
/* Of the window that was found: what does Go's runtime say against it; and who leads there? */
int window_check_go(const struct window_site *s);
int window_check_landings(const struct window_site *s);

#endif
