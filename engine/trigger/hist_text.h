/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The items of a histogram's text: keys=, vals=, handlers, variables. */

#ifndef UBP_TRIGGER_HIST_TEXT_H
#define UBP_TRIGGER_HIST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/trigger/hist_map.h"

struct pool;
struct trigger_log;

struct hist_text {
	char *keys, *vals, *sort, *name, *clock; /* NULL: not given, but for .clock */
	unsigned bits;                           /* of the table's size */
	bool pause, cont, clear, nohitcount;
	char *vars[HIST_VARS_MAX]; /* items VAR=EXPR[,VAR=EXPR...] */
	size_t n_vars;
	char *doers[8];
	size_t n_doers;
	/* What the items of variables define. */
	const char *var_names[HIST_VARS_MAX];
	char *var_exprs
		[HIST_VARS_MAX]; /* cut when they are parsed: what is left is the first operand */
	size_t n_defined;
};

/* @text is cut into pieces, which are kept. */
int hist_text_parse(struct trigger_log *log, struct pool *pool, char *text,
		    struct hist_text *ret);
/* Cut the items of variables: .var_names, .var_exprs. */
int hist_text_vars(struct trigger_log *log, struct pool *pool, struct hist_text *text);

#endif
