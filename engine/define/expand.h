/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Definitions by source: lines, variables, functions that only the debug information knows. Each
 * becomes plain definitions, one for every place.
 */

#ifndef UBP_DEFINE_EXPAND_H
#define UBP_DEFINE_EXPAND_H

#include "engine/base/probe_kind.h"
#include "engine/define/plain.h"
#include "engine/dwarf/dwarf.h"
#include "engine/spec/words.h"

struct definitions;
struct object;
struct ubp_err;

enum expand_kind {
	EXPAND_FUNCTION, /* NAME[+OFFSET] */
	EXPAND_LINE,     /* NAME:LINE, of a function */
	EXPAND_FILE,     /* NAME:LINE, of a file */
	EXPAND_OFFSET,   /* a number: offset in the file */
};

enum expand_arg_kind {
	EXPAND_PLAIN,      /* a fetch arg */
	EXPAND_VARIABLE,   /* EXPR[:TYPE], an expression of variables */
	EXPAND_POINTED,    /* HEAD EXPR TAIL[:TYPE]: dereferences around a variable */
	EXPAND_PARAMETERS, /* $params */
	EXPAND_VARIABLES,  /* $vars */
};

/* One argument; the spans point into the definition's words. */
struct expand_arg {
	enum expand_arg_kind kind;
	struct spec_span word, name; /* .name.len 0: none */
	struct spec_span expr, type; /* .expr: of EXPAND_PLAIN with its type */
	struct spec_span head, tail; /* of EXPAND_POINTED: "+8(+0(" and "))" */
};

struct expand_definition {
	struct spec_words words;
	unsigned line; /* of a text of several; 0: not of one */
	enum probe_kind probe_kind;
	char *group, *event; /* as typed; NULL: not */
	enum expand_kind kind;
	char *target, *name;
	bool is_cpp; /* "cpp:" stood before .name */
	uint64_t offset;
	unsigned lineno;
	size_t name_col; /* where the place stands in .words.text */
	struct expand_arg *args;
	size_t n_args;
	bool has_variables;
};

/*
 * Cut a definition. @is_line: one of a text, which begins with p or r; else the perf-tools form. True:
 * it could be one by source; false, also when memory is short: it is not, and
 * *ret_definition need not be freed.
 */
bool expand_parse(const char *text, size_t len, bool is_line,
		  struct expand_definition *ret_definition);
void expand_free(struct expand_definition *d);
/* Lines or variables: can it be nothing else? */
bool expand_is_source(const struct expand_definition *d);

/* NAME of NAME:LINE: has it an ending as source files have, or a folder? Else it is a function. */
bool expand_is_file_name(struct spec_span name);

/* Add what it stands for; carets point into the definition. */
int expand_add(struct definitions *defs, const struct expand_definition *d, const char *filter,
	       struct ubp_err *err);

/* Would it be accepted, its filter apart? Adds nothing. Else @err says why. */
bool expand_can_add(struct definitions *defs, const struct expand_definition *d,
		    struct ubp_err *err);

/* Put a caret under column @col of the definition; returns -err->code. */
int expand_at(const struct expand_definition *d, size_t col, struct ubp_err *err);

/* --- places and args of one definition ------------------------------------------ */

/* The args that one place has. */
struct expand_args {
	struct plain_arg *v;
	size_t n, cap;
	char **texts; /* that they own */
	size_t n_texts, cap_texts;
};

/* Variables of $params and $vars that have no value somewhere: told once for all places. */
struct expand_left_out {
	char **names;
	size_t n, cap;
	char why[160]; /* of the first */
};

void expand_left_out_free(struct expand_left_out *left_out);

/*
 * The args at @place. Free them in any case. Errors have a caret; -ENODATA, -ENOENT: a variable that has no
 * value here, or is not there, may have one elsewhere.
 */
int expand_args_at(struct dwarf *dwarf, const struct expand_definition *d,
		   const struct dwarf_place *place, struct expand_args *ret_args,
		   struct expand_left_out *left_out, struct ubp_err *err);
void expand_args_free(struct expand_args *args);

/* --- what a person may have meant (expand_hint.c) -------------------------------- */

/*
 * @d is refused, as @err says: is one of its arguments written as another tool has it (arg0, retval, str(arg1), NAME=99)? @has_dwarf: the caret shows
 * which one; else each that would be a variable is at fault.
 */
void expand_hint_foreign_args(const struct expand_definition *d, bool has_dwarf,
			      struct ubp_err *err);

/* Variable @arg of a return probe has @value where the function is entered. */
void expand_hint_entry_value(const struct expand_arg *arg, const struct dwarf_value *value,
			     struct ubp_err *err);

/* No function is called @name: those of that name with other parameters. */
void expand_hint_overloads(struct object *object, const char *name, struct ubp_err *err);

/*
 * A filter of @definition is refused, as @err says: what is no field of it may be one if the definition had one argument more. @is_line: as of
 * expand_parse().
 */
void expand_hint_missing_arg(struct definitions *defs, const char *definition, bool is_line,
			     struct ubp_err *err);

#endif
