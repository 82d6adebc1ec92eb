/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/cfi_check.h"

#include <dwarf.h>
#include <elf.h>

#define REGS_MAX     256 /* all of DWARF's numbers that machines have for themselves */
#define REMEMBER_MAX 64
#define TIMES_MAX    8 /* so often the length of the section */

struct program {
	const uint8_t *at, *end;
	int n_remembered; /* and not restored yet */
};

static bool skip(struct program *p, uint64_t len)
{
	if (len > (uint64_t)(p->end - p->at))
		return false;
	p->at += len;
	return true;
}

/* Signed ones are as long. */
static bool take_leb(struct program *p, uint64_t *ret)
{
	unsigned shift = 0;

	*ret = 0;
	while (p->at < p->end) {
		uint8_t byte = *p->at++;

		if (shift < 64)
			*ret |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool take_reg(struct program *p)
{
	uint64_t reg;

	return take_leb(p, &reg) && reg < REGS_MAX;
}

static bool take_regs(struct program *p, unsigned n)
{
	while (n && take_reg(p))
		n--;
	return n == 0;
}

static bool take_any(struct program *p)
{
	uint64_t ignored;

	return take_leb(p, &ignored);
}

static bool take_block(struct program *p)
{
	uint64_t len;

	return take_leb(p, &len) && skip(p, len);
}

static bool check_extended(struct program *p, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* arm64: return addresses are signed from here on */
		return true;
	case DW_CFA_remember_state:
		return p->n_remembered++ < REMEMBER_MAX;
	case DW_CFA_restore_state:
		return p->n_remembered-- > 0;
	case DW_CFA_advance_loc1:
		return skip(p, 1);
	case DW_CFA_advance_loc2:
		return skip(p, 2);
	case DW_CFA_advance_loc4:
		return skip(p, 4);
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		return take_reg(p);
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		return take_reg(p) && take_any(p);
	case DW_CFA_register:
		return take_regs(p, 2);
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		return take_any(p);
	case DW_CFA_def_cfa_expression:
		return take_block(p);
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return take_reg(p) && take_block(p);
	default: /* DW_CFA_set_loc too */
		return false;
	}
}

/* What a CIE says of its FDEs. */
struct shape {
	Dwarf_Off at; /* of the CIE */
	bool is_known;
	bool has_data;   /* between the addresses and the program */
	uint8_t pointer; /* DW_EH_PE_* */
};

struct check {
	const uint8_t *ident;
	Elf_Data *data;
	bool is_eh_frame;
	struct shape shape; /* of the CIE that was met last */
	uint64_t budget; /* bytes that may still be looked at: many FDEs may have long CIEs */
};

static bool check_program(struct check *check, struct program p)
{
	uint64_t len = (uint64_t)(p.end - p.at);

	if (len > check->budget)
		return false;
	check->budget -= len;
	while (p.at < p.end) {
		uint8_t op = *p.at++;
		bool good = true;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
		case DW_CFA_restore:
			break;
		case DW_CFA_offset:
			good = take_any(&p);
			break;
		default:
			good = check_extended(&p, op);
			break;
		}
		if (!good)
			return false;
	}
	return true;
}

static bool take_pointer(struct program *p, const uint8_t *ident, uint8_t form)
{
	switch (form & 0x0f) {
	case DW_EH_PE_absptr:
		return skip(p, ident[EI_CLASS] == ELFCLASS64 ? 8 : 4);
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return skip(p, 2);
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return skip(p, 4);
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return skip(p, 8);
	default:
		return false;
	}
}

/* The letters of its augmentation, each with what it has in the data. */
static bool read_shape(const struct check *check, const Dwarf_CIE *cie, struct shape *shape)
{
	struct program p = { .at = cie->augmentation_data,
			     .end = cie->augmentation_data + cie->augmentation_data_size };
	const char *letter = cie->augmentation;

	if (!*letter)
		return true;
	if (*letter++ != 'z' || !cie->augmentation_data)
		return false;
	shape->has_data = true;
	for (; *letter; letter++) {
		uint8_t form = p.at < p.end ? *p.at : 0;

		switch (*letter) {
		case 'R':
			shape->pointer = form;
			if (!skip(&p, 1))
				return false;
			break;
		case 'L':
			if (!skip(&p, 1))
				return false;
			break;
		case 'P':
			if (!skip(&p, 1) || !take_pointer(&p, check->ident, form))
				return false;
			break;
		case 'S': /* a signal's frame */
		case 'B': /* arm64: another key signs return addresses */
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool check_cie(struct check *check, Dwarf_Off at, const Dwarf_CIE *cie)
{
	struct program p = { .at = cie->initial_instructions,
			     .end = cie->initial_instructions_end };

	check->shape = (struct shape){ .at = at, .pointer = DW_EH_PE_absptr };
	check->shape.is_known = read_shape(check, cie, &check->shape);
	return check->shape.is_known && cie->return_address_register < REGS_MAX &&
	       check_program(check, p);
}

static bool check_fde(struct check *check, const Dwarf_FDE *fde)
{
	struct program p = { .at = fde->start, .end = fde->end };
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if ((!check->shape.is_known || check->shape.at != fde->CIE_pointer) &&
	    (dwarf_next_cfi(check->ident, check->data, check->is_eh_frame, fde->CIE_pointer,
			    &next, &entry) != 0 ||
	     !dwarf_cfi_cie_p(&entry) || !check_cie(check, fde->CIE_pointer, &entry.cie)))
		return false;
	/* The first address, how many. */
	if (!take_pointer(&p, check->ident, check->shape.pointer) ||
	    !take_pointer(&p, check->ident, check->shape.pointer & 0x0f))
		return false;
	return (!check->shape.has_data || take_block(&p)) && check_program(check, p);
}

bool cfi_is_sound(const uint8_t *ident, Elf_Data *data, bool is_eh_frame)
{
	struct check check = { .ident = ident,
			       .data = data,
			       .is_eh_frame = is_eh_frame,
			       .budget = (uint64_t)data->d_size * TIMES_MAX };
	Dwarf_Off at = 0, next = 0;
	Dwarf_CFI_Entry entry;
	int rc;

	while ((rc = dwarf_next_cfi(ident, data, is_eh_frame, at, &next, &entry)) == 0) {
		if (dwarf_cfi_cie_p(&entry) ? !check_cie(&check, at, &entry.cie)
					    : !check_fde(&check, &entry.fde))
			return false;
		if (next <= at)
			break;
		at = next;
	}
	return rc == 1;
}
