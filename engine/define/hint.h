/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a person may have meant whose definition by source is refused: what stands in another tool's place of an argument. */

#ifndef UBP_DEFINE_HINT_H
#define UBP_DEFINE_HINT_H

#include "engine/define/expand.h"

/*
 * @d is refused, as @err says: is one of its arguments written as another tool has it (arg0, retval, str(arg1), NAME=99)? @has_dwarf: the caret shows
 * which one; else each that would be a variable is at fault.
 */
void hint_foreign_args(const struct expand_definition *d, bool has_dwarf, struct ubp_err *err);

/* Variable @arg of a return probe has @value where the function is entered. */
void hint_entry_value(const struct expand_arg *arg, const struct dwarf_value *value,
		      struct ubp_err *err);

/* No function is called @name: those of that name with other parameters. */
void hint_overloads(struct object *object, const char *name, struct ubp_err *err);

/*
 * A filter of @definition is refused, as @err says: what is no field of it may be one if the definition had one argument more. @is_line: as of
 * expand_parse().
 */
void hint_missing_arg(struct definitions *defs, const char *definition, bool is_line,
		      struct ubp_err *err);

#endif
