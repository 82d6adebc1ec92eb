/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The text of a variable, or of a part of one: "buf->req.name[2]", "*p", "ns::x.__0". Pure:
 * what the names mean is for others to find out.
 */

#ifndef UBP_DWARF_VAR_EXPR_H
#define UBP_DWARF_VAR_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ubp_err;

#define VAR_STEPS_MAX 24

enum var_step_kind {
	VAR_MEMBER,  /* .NAME */
	VAR_ARROW,   /* ->NAME */
	VAR_INDEX,   /* [N] */
	VAR_DEREF,   /* *(...) */
	VAR_ADDRESS, /* &(...) */
};

struct var_step {
	enum var_step_kind kind;
	size_t at;        /* byte of the text: of the name, the number, the sign */
	const char *name; /* in the text */
	size_t len;
	int64_t index;
};

struct var_expr {
	const char *name; /* in the text; may hold "::" */
	size_t at, len;
	size_t n;
	struct var_step steps[VAR_STEPS_MAX]; /* first carried out first */
};

/*
 * Parse @len bytes of @text. Returns 0, or -EINVAL with *ret_at, the byte where it stops
 * making sense; -E2BIG: more steps than VAR_STEPS_MAX.
 */
int var_expr_parse(const char *text, size_t len, struct var_expr *ret_expr, size_t *ret_at,
		   struct ubp_err *err);

#endif
