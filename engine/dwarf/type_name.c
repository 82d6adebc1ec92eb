/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A variable's type as it is written in C. */

#include "engine/dwarf/die.h"
#include "engine/dwarf/type.h"
#include "engine/spec/out.h"

#define NEST_MAX 32

/* Without const, volatile and restrict; a typedef keeps its name. */
static bool next(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	if (!dw_inherited_ref(die, DW_AT_type, ret_type))
		return false;
	for (unsigned i = 0; i < DW_DEPTH_MAX; i++) {
		switch (dwarf_tag(ret_type)) {
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_shared_type:
		case DW_TAG_atomic_type:
			if (!dw_ref(ret_type, DW_AT_type, ret_type))
				return false;
			break;
		default:
			return true;
		}
	}
	return false;
}

static void put_type(struct spec_out *t, Dwarf_Die *of, unsigned depth)
{
	Dwarf_Die type;
	const char *name, *kind = "";

	if (depth > NEST_MAX) {
		spec_out_add(t, "...");
		return;
	}
	if (!next(of, &type)) {
		spec_out_add(t, "void");
		return;
	}
	type_enter_unit(&type);
	name = dw_name(&type);
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type:
		if (name) { /* Rust's have names: "&str" */
			spec_out_add(t, "%s", name);
			return;
		}
		put_type(t, &type, depth + 1);
		spec_out_add(t, "*");
		return;
	case DW_TAG_array_type:
		put_type(t, &type, depth + 1);
		spec_out_add(t, "*");
		return;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		put_type(t, &type, depth + 1);
		spec_out_add(t, dwarf_tag(&type) == DW_TAG_reference_type ? "&" : "&&");
		return;
	case DW_TAG_subroutine_type:
		spec_out_add(t, "(function_type)");
		return;
	case DW_TAG_union_type:
		kind = "union ";
		break;
	case DW_TAG_structure_type:
		kind = "struct ";
		break;
	case DW_TAG_enumeration_type:
		kind = "enum ";
		break;
	}
	spec_out_add(t, "%s%s", kind, name ? name : *kind ? "" : "(unknown_type)");
}

size_t type_name(Dwarf_Die *variable, char *text, size_t size)
{
	struct spec_out t = { text, size, 0 };

	text[0] = '\0';
	put_type(&t, variable, 0);
	return t.len < size ? t.len : size - 1;
}
