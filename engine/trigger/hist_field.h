/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Fields of a histogram: made, named, looked for. Where NULL is returned without a word, memory is short. */

#ifndef UBP_TRIGGER_HIST_FIELD_H
#define UBP_TRIGGER_HIST_FIELD_H

#include "engine/trigger/hist.h"

/* *ret_rc is -ENOMEM for fields that cannot be used, too. */
struct hist_field *hist_field_new(struct hist *hist, const struct trigger_field *field,
				  unsigned flags, const char *var_name);
/* What it is called, without modifiers. */
const char *hist_field_name(const struct hist_field *field);
/* [VAR=]NAME[.MODIFIER], as the trigger file has it. */
void hist_field_text(const struct hist_field *field, struct sink_buf *out);
/* The text of an expression. */
const char *hist_expr_text(struct hist *hist, const struct hist_field *expr);

/* Variables. */
struct hist_field *hist_var_in(const struct hist *hist, const char *name);
/* In @hist or any histogram of its event. */
struct hist_field *hist_var_near(const struct hist *hist, const char *name);
/* A variable of another histogram; NULL, told in the log only if there are several: it was not found. */
struct hist_field *hist_var_find(struct hist *hist, const char *system, const char *event_name,
				 const char *name);
/* A variable of entries that no text names. NULL: the name is taken, there are too many, or memory is short. */
struct hist_field *hist_var_make(struct hist *hist, const char *name, unsigned size,
				 const char *type);
/* The reference of @hist to @var, made if it has none yet. */
struct hist_field *hist_ref_make(struct hist *hist, const struct hist_field *var,
				 const char *system, const char *event_name);
/* Is a variable of @hist used by another histogram? */
bool hist_is_used(const struct hist *hist);

/*
 * Parse @text, which is cut, as part of @hist on its event. hist_parse_atom() takes what has no operators; it adds to
 * *flags. Returns 0 or a negative errno.
 */
int hist_parse_expr(struct hist *hist, char *text, unsigned flags, const char *var_name,
		    unsigned *n_operators, struct hist_field **ret);
int hist_parse_atom(struct hist *hist, char *text, unsigned *flags, const char *var_name,
		    struct hist_field **ret);
/* Is this $NAME? */
bool hist_is_ref(const char *text);
/* The operator that is carried out last: + - * / or _ for a minus in front, 0: none. *ret_at is where it stands. */
char hist_operator(const char *text, char **ret_at);

#endif
