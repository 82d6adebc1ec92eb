/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/dwarf/type.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/dwarf/children.h"
#include "engine/dwarf/die.h"

/* Typedefs and qualifiers in a row; longer ones go in circles. */
#define QUALIFIERS_MAX 128

static bool is_qualifier(int tag)
{
	switch (tag) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_shared_type:
	case DW_TAG_packed_type:
	case DW_TAG_immutable_type:
		return true;
	default:
		return false;
	}
}

/* What has a unit of its own (-fdebug-types-section) is but referred to. */
void type_enter_unit(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die in_unit;

	if (dwarf_attr(die, DW_AT_signature, &attr) && dwarf_formref_die(&attr, &in_unit))
		*die = in_unit;
}

static bool strip(struct type *type)
{
	for (unsigned i = 0; i < QUALIFIERS_MAX; i++) {
		type->tag = dwarf_tag(&type->die);
		if (!is_qualifier(type->tag) && type->tag != DW_TAG_typedef &&
		    type->tag != DW_TAG_template_alias) {
			type_enter_unit(&type->die);
			type->tag = dwarf_tag(&type->die);
			return type->tag > 0;
		}
		if (!dw_ref(&type->die, DW_AT_type, &type->die)) {
			type->tag = 0;
			return true;
		}
	}
	return false;
}

bool type_of(Dwarf_Die *die, struct type *ret_type)
{
	*ret_type = (struct type){ .tag = 0 };
	return !dw_inherited_ref(die, DW_AT_type, &ret_type->die) || strip(ret_type);
}

bool type_target(const struct type *type, struct type *ret_type)
{
	Dwarf_Die die = type->die;

	return type_of(&die, ret_type);
}

static unsigned dimensions(const struct type *array)
{
	Dwarf_Die die = array->die;
	unsigned n = 0;

	for (struct children c = children_of(&die); c.has_one; children_next(&c))
		n += dwarf_tag(&c.die) == DW_TAG_subrange_type ||
		     dwarf_tag(&c.die) == DW_TAG_enumeration_type;
	return n;
}

bool type_element(const struct type *array, struct type *ret_type)
{
	if (array->dim + 1 >= dimensions(array))
		return type_target(array, ret_type);
	*ret_type = *array;
	ret_type->dim++;
	return true;
}

bool type_count(const struct type *array, uint64_t *ret_count)
{
	Dwarf_Die die = array->die;
	Dwarf_Word count, lower = 0;
	unsigned n = 0;

	for (struct children c = children_of(&die); c.has_one; children_next(&c)) {
		if (dwarf_tag(&c.die) != DW_TAG_subrange_type &&
		    dwarf_tag(&c.die) != DW_TAG_enumeration_type)
			continue;
		if (n++ != array->dim)
			continue;
		if (dw_number(&c.die, DW_AT_count, &count)) {
			*ret_count = count;
			return count <= INT64_MAX;
		}
		if (!dw_number(&c.die, DW_AT_upper_bound, &count))
			return false;
		dw_number(&c.die, DW_AT_lower_bound, &lower);
		/* "int v[0]" ends at -1, by some compilers in 32 bits. */
		*ret_count = count == UINT32_MAX ? 0 : count - lower + 1;
		return *ret_count <= INT64_MAX;
	}
	return false;
}

/* An array's; arrays of arrays go deeper. */
static bool size_of(const struct type *type, unsigned addr_size, unsigned depth,
		    uint64_t *ret_size)
{
	struct type element;
	Dwarf_Die die = type->die;
	uint64_t count;
	Dwarf_Word size;

	if (type->tag == DW_TAG_array_type) {
		return depth < 16 && type_count(type, &count) && type_element(type, &element) &&
		       size_of(&element, addr_size, depth + 1, ret_size) &&
		       !__builtin_mul_overflow(*ret_size, count, ret_size);
	}
	if (dw_number(&die, DW_AT_byte_size, &size)) {
		*ret_size = type->half ? size / 2 : size;
		return true;
	}
	*ret_size = addr_size;
	return type->tag == DW_TAG_pointer_type || type->tag == DW_TAG_reference_type ||
	       type->tag == DW_TAG_rvalue_reference_type;
}

bool type_size(const struct type *type, unsigned addr_size, uint64_t *ret_size)
{
	return size_of(type, addr_size, 0, ret_size);
}

static void spell(struct type_facts *facts, char letter)
{
	facts->is_signed = letter == 's';
	snprintf(facts->spelling, sizeof(facts->spelling), "%c%u", letter, facts->size * 8);
}

static bool is_fetchable(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static enum type_pair pair_of(Dwarf_Word encoding, Dwarf_Word size)
{
	if (size == 16 && (encoding == DW_ATE_signed || encoding == DW_ATE_unsigned))
		return TYPE_WIDE;
	return encoding == DW_ATE_complex_float && (size == 8 || size == 16) ? TYPE_COMPLEX
									     : TYPE_NO_PAIR;
}

static void number_of(Dwarf_Die *die, Dwarf_Word *ret_encoding, Dwarf_Word *ret_size)
{
	*ret_encoding = DW_ATE_unsigned;
	*ret_size = 0;
	dw_number(die, DW_AT_encoding, ret_encoding);
	dw_number(die, DW_AT_byte_size, ret_size);
}

enum type_pair type_pair(const struct type *type)
{
	Dwarf_Die die = type->die;
	Dwarf_Word encoding, size;

	if (type->tag != DW_TAG_base_type || type->half)
		return TYPE_NO_PAIR;
	number_of(&die, &encoding, &size);
	return pair_of(encoding, size);
}

static const char *why_not(Dwarf_Word encoding)
{
	switch (encoding) {
	case DW_ATE_complex_float:
		return "a complex number of long doubles";
	case DW_ATE_float:
		return "a floating-point number of 128 bits";
	default:
		return "a number of another size";
	}
}

/* A long double of x86, which fills ten of its bytes. _Float128 and __float128 are as large. */
static bool is_x87(Dwarf_Die *die, Dwarf_Word encoding, Dwarf_Word size)
{
	const struct ubp_arch *arch;
	const char *name;
	GElf_Ehdr ehdr;

	if (encoding != DW_ATE_float || (size != 16 && size != 12))
		return false;
	name = dw_name(die);
	if (!name || (strcmp(name, "long double") != 0 && strcmp(name, "_Float64x") != 0) ||
	    !gelf_getehdr(dwarf_getelf(dwarf_cu_getdwarf(die->cu)), &ehdr))
		return false;
	arch = ubp_arch_of_machine(ehdr.e_machine);
	return arch && arch->elf.has_x87;
}

static void base_facts(Dwarf_Die *die, unsigned half, struct type_facts *facts)
{
	const char *name = dw_name(die);
	Dwarf_Word encoding, size;

	number_of(die, &encoding, &size);
	if (pair_of(encoding, size) != TYPE_NO_PAIR) {
		if (!half) {
			facts->why = encoding == DW_ATE_complex_float ? "a complex number"
								      : "a number of 128 bits";
			return;
		}
		size /= 2;
		if (encoding == DW_ATE_complex_float)
			encoding = DW_ATE_float;
		else if (half == 1)
			encoding = DW_ATE_unsigned;
	}
	if (!half && is_x87(die, encoding, size)) {
		*facts = (struct type_facts){
			.kind = TYPE_FLOAT, .size = 8, .is_x87 = true, .spelling = "f80"
		};
		return;
	}
	if (encoding == DW_ATE_float && (size == 4 || size == 8)) {
		facts->kind = TYPE_FLOAT;
		facts->size = (unsigned)size;
		spell(facts, 'f');
		return;
	}
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
	    encoding == DW_ATE_imaginary_float || !is_fetchable(size)) {
		facts->why = why_not(encoding);
		return;
	}
	facts->kind = TYPE_NUMBER;
	facts->size = (unsigned)size;
	facts->has_names = encoding == DW_ATE_boolean;
	switch (encoding) {
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (size == 1 && name && strcmp(name, "char") == 0) {
			facts->kind = TYPE_CHAR;
			facts->is_signed = encoding == DW_ATE_signed_char;
			memcpy(facts->spelling, "char", sizeof("char"));
			return;
		}
		spell(facts, encoding == DW_ATE_signed_char ? 's' : 'u');
		return;
	case DW_ATE_signed:
	case DW_ATE_signed_fixed:
		spell(facts, 's');
		return;
	case DW_ATE_address:
		spell(facts, 'x');
		return;
	default:
		spell(facts, 'u');
	}
}

/* Is one of the values below zero? Not all compilers say what type an enumeration is of. */
static bool has_negative(Dwarf_Die *enumeration)
{
	for (struct children c = children_of(enumeration); c.has_one; children_next(&c)) {
		Dwarf_Attribute attr;
		Dwarf_Sword value;

		if (dwarf_tag(&c.die) == DW_TAG_enumerator &&
		    dw_attr(&c.die, DW_AT_const_value, &attr) &&
		    dwarf_whatform(&attr) == DW_FORM_sdata &&
		    dwarf_formsdata(&attr, &value) == 0 && value < 0)
			return true;
	}
	return false;
}

static void enum_facts(Dwarf_Die *die, struct type_facts *facts)
{
	struct type of;
	Dwarf_Word size = 4;

	dw_number(die, DW_AT_byte_size, &size);
	if (!is_fetchable(size)) {
		facts->why = "an enumeration of another size";
		return;
	}
	facts->kind = TYPE_NUMBER;
	facts->size = (unsigned)size;
	facts->has_names = true;
	spell(facts, has_negative(die) ? 's' : 'u');
	if (type_of(die, &of) && of.tag == DW_TAG_base_type) {
		struct type_facts base = { .kind = TYPE_OTHER };

		base_facts(&of.die, 0, &base);
		if (base.kind == TYPE_NUMBER)
			spell(facts, base.is_signed ? 's' : 'u');
	}
}

static void pointer_facts(struct type_facts *facts, enum type_kind kind, unsigned addr_size)
{
	facts->kind = kind;
	facts->size = addr_size;
	spell(facts, 'x');
}

void type_facts(const struct type *type, unsigned addr_size, struct type_facts *ret_facts)
{
	Dwarf_Die die = type->die;

	*ret_facts = (struct type_facts){ .kind = TYPE_OTHER };
	switch (type->tag) {
	case 0:
		ret_facts->kind = TYPE_VOID;
		return;
	case DW_TAG_base_type:
		base_facts(&die, type->half, ret_facts);
		if (type->has_variants) {
			ret_facts->has_names = true;
			if (!ret_facts
				     ->is_signed) /* it may be a part of the value: a pointer */
				spell(ret_facts, 'x');
		}
		return;
	case DW_TAG_enumeration_type:
		enum_facts(&die, ret_facts);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_unspecified_type: /* nullptr_t */
		pointer_facts(ret_facts, TYPE_POINTER, addr_size);
		return;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		pointer_facts(ret_facts, TYPE_REFERENCE, addr_size);
		return;
	case DW_TAG_array_type:
		ret_facts->kind = TYPE_ARRAY;
		return;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		ret_facts->kind = TYPE_RECORD;
		return;
	case DW_TAG_ptr_to_member_type:
		ret_facts->why = "a pointer to a member";
		return;
	case DW_TAG_subroutine_type:
		ret_facts->why = "a function";
		return;
	default:
		ret_facts->why = "of a type that is not known here";
	}
}
