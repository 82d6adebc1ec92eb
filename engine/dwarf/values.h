/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What is kept as long as the struct dwarf: texts, and names of values. */

#ifndef UBP_DWARF_VALUES_H
#define UBP_DWARF_VALUES_H

#include "engine/dwarf/dwarf_priv.h"

/* A copy; NULL: memory is short. */
const char *values_keep(struct dwarf *d, const char *text);

/* Of bool: "false", "true". */
const struct value_names *values_bool(void);
/* Of an enumeration; the same for the same one. NULL: it has none, or memory is short. */
const struct value_names *values_enum(struct dwarf *d, Dwarf_Die *enumeration);
/* Of a DW_TAG_variant_part: which variant it is. As values_enum(). */
const struct value_names *values_variants(struct dwarf *d, Dwarf_Die *variants);

#endif
