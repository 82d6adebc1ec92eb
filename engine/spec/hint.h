/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What a person may have meant whose definition or filter is refused: a hint beside the kernel's message. Each is called when that
 * message is in the record. None in strict grammar, which tells what the kernel tells.
 */

#ifndef UBP_SPEC_HINT_H
#define UBP_SPEC_HINT_H

#include "engine/spec/parse.h"

struct filter_parser;
struct value_names;

/* %NAME is no register: those of other assemblers, as %rdi, have other names here. */
void hint_register(const struct spec_parse *p, struct spec_span name);

/* $NAME is not known. */
void hint_variable(const struct spec_parse *p, struct spec_span name);

/* @text=VALUE, where @text is no name: as if it were set. */
void hint_set(const struct spec_parse *p, struct spec_span text);

/* A value is a number alone, @text. */
void hint_number(const struct spec_parse *p, struct spec_span text);

/* $arg@number, and there is no such one. */
void hint_argument(const struct spec_parse *p, struct spec_span number);

/* An argument of the function where that returns: @text is what would be right. */
void hint_at_entry(const struct spec_parse *p, const char *text);

/* $retval of an entry. */
void hint_retval(const struct spec_parse *p);

/* entry(@expr) of a probe that does not stand at a return. */
void hint_entry(const struct spec_parse *p, struct spec_span expr);

/* entry(entry(EXPR)): @inner is "entry(EXPR)". */
void hint_entry_once(const struct spec_parse *p, struct spec_span inner);

/* string[@name] of the arg at column @col, and no arg before it is called so. */
void hint_length(const struct spec_parse *p, size_t col, struct spec_span name);

/* A type is not known. The second of extended grammar. */
void hint_type(const struct spec_parse *p, struct spec_span name);
void hint_type_name(struct spec_span name, struct ubp_err *err);

/* A string of what is no memory: @expr, as %di; @type, as hex[4]. */
void hint_string(const struct spec_parse *p, struct spec_span expr, struct spec_span type);

/* A filter with another language's operator at @at, or word between terms. */
void hint_operator(struct filter_parser *p, size_t at);

/* A filter's value at @at is no number, of a field that @is_signed: its unit is none, or what is before that is wrong. */
void hint_unit(struct filter_parser *p, size_t at, bool is_signed);

/* A filter's field is not known: @len bytes at @name. */
void hint_field(struct filter_parser *p, const char *name, size_t len);

/* A filter begins with what is no field. */
void hint_no_field(struct filter_parser *p);

/* A filter's value at @at is none of those that have names, @known. */
void hint_value(struct filter_parser *p, size_t at, const struct value_names *known);

#endif
