/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/elf/cfi_check.h"
#include "engine/elf/elf_size.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"

/*
 * What is read at a hit, while others wait: a tenth of a second, or two where it is packed. Made for that, libdw's longest
 * call takes two seconds: to the last of three million entries without an index.
 */
#define AT_ONCE_MAX (64ULL << 20)

struct cfi {
	struct object *object;
	unsigned n_regs;
	bool eh_tried, debug_tried;
	Dwarf_CFI *eh;
	Dwarf *dwarf;
	Dwarf_CFI *debug; /* the dwarf's */
	bool is_left_out; /* .why tells why, and was not asked for yet */
	struct ubp_err why;
};

struct cfi *cfi_new(struct object *object, unsigned n_regs)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));

	if (!cfi)
		return NULL;
	cfi->object = object;
	cfi->n_regs = n_regs;
	return cfi;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->eh)
		dwarf_cfi_end(cfi->eh);
	if (cfi->dwarf)
		dwarf_end(cfi->dwarf);
	free(cfi);
}

const char *cfi_left_out(struct cfi *cfi)
{
	bool is_left_out = cfi->is_left_out;

	cfi->is_left_out = false;
	return is_left_out ? cfi->why.text : NULL;
}

static bool is_sound(Elf *elf, Elf_Scn *section, bool is_eh)
{
	const uint8_t *ident = (const uint8_t *)elf_getident(elf, NULL);
	Elf_Data *data = object_section_data(section, true);

	return ident && data && cfi_is_sound(ident, data, is_eh);
}

static bool is_short(struct cfi *cfi, const GElf_Shdr *section)
{
	if (section->sh_size <= AT_ONCE_MAX)
		return true;
	(void)ubp_fail(&cfi->why, EFBIG,
		       "%s: its .eh_frame has more than %llu MiB, and is not read",
		       cfi->object->path, AT_ONCE_MAX >> 20);
	cfi->is_left_out = true;
	return false;
}

static void open_eh(struct cfi *cfi)
{
	Elf *elf = cfi->object->elf;
	GElf_Shdr header;
	Elf_Scn *section = section_with_bytes(elf, ".eh_frame", &header);

	cfi->eh_tried = true;
	if (section && is_short(cfi, &header) && is_sound(elf, section, true))
		cfi->eh = dwarf_getcfi_elf(elf);
}

/* Opening all of DWARF for nothing would take long. */
static void open_debug(struct cfi *cfi)
{
	Elf *elf = cfi->object->elf;
	GElf_Shdr header;
	Elf_Scn *section = section_with_bytes(elf, ".debug_frame", &header);

	cfi->debug_tried = true;
	if (!section)
		return;
	cfi->is_left_out =
		elf_check_debug_max(elf, AT_ONCE_MAX, cfi->object->path, &cfi->why) < 0;
	if (cfi->is_left_out)
		return;
	/* This also decompresses the section. */
	cfi->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (cfi->dwarf && is_sound(elf, section, false))
		cfi->debug = dwarf_getcfi(cfi->dwarf);
}

static Dwarf_Frame *frame_at(struct cfi *cfi, uint64_t elf_vaddr)
{
	Dwarf_Frame *frame = NULL;

	if (!cfi->eh_tried)
		open_eh(cfi);
	if (cfi->eh && dwarf_cfi_addrframe(cfi->eh, elf_vaddr, &frame) == 0)
		return frame;
	if (!cfi->debug_tried)
		open_debug(cfi);
	if (cfi->debug && dwarf_cfi_addrframe(cfi->debug, elf_vaddr, &frame) == 0)
		return frame;
	return NULL;
}

/* Register and offset are what it is nearly always. */
static bool read_cfa(const struct cfi *cfi, Dwarf_Frame *frame, struct cfi_rule *rule)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) < 0 || n == 0)
		return false;
	*rule = (struct cfi_rule){ .how = CFI_EXPR, .ops = ops, .n_ops = n };
	if (n != 1 ||
	    (ops->atom != DW_OP_bregx && (ops->atom < DW_OP_breg0 || ops->atom > DW_OP_breg31)))
		return true;
	/* These operations are the frame's. */
	*rule = (struct cfi_rule){ .how = CFI_VALUE };
	if (ops->atom == DW_OP_bregx) {
		if (ops->number >= cfi->n_regs)
			return false;
		rule->other = (uint8_t)ops->number;
		rule->offset = (int64_t)ops->number2;
	} else {
		rule->other = (uint8_t)(ops->atom - DW_OP_breg0);
		rule->offset = (int64_t)ops->number;
	}
	return rule->other < cfi->n_regs;
}

/* False: the register is not known in the caller. */
static bool read_rule(const struct cfi *cfi, Dwarf_Frame *frame, unsigned reg,
		      struct cfi_rule *rule)
{
	Dwarf_Op mine[3], *ops = mine;
	bool is_value;
	size_t n = 0;

	if (dwarf_frame_register(frame, (int)reg, mine, &ops, &n) < 0)
		return false;
	*rule = (struct cfi_rule){ .reg = (uint8_t)reg, .how = CFI_SAME };
	if (n == 0)
		return ops == NULL;
	if (ops != mine) {
		is_value = ops[n - 1].atom == DW_OP_stack_value;
		rule->how = is_value ? CFI_EXPR : CFI_SAVED_EXPR;
		rule->ops = ops;
		rule->n_ops = n;
		return true;
	}
	if (ops->atom == DW_OP_regx) {
		rule->how = CFI_REGISTER;
		rule->other = (uint8_t)ops->number;
		return ops->number < cfi->n_regs;
	}
	if (ops->atom != DW_OP_call_frame_cfa)
		return false;
	is_value = ops[n - 1].atom == DW_OP_stack_value;
	rule->how = is_value ? CFI_VALUE : CFI_SAVED;
	if (n > 1 && ops[1].atom == DW_OP_plus_uconst)
		rule->offset = (int64_t)ops[1].number;
	return true;
}

Dwarf_CFI *cfi_open(Elf *elf, Dwarf *dwarf, bool *ret_left_out)
{
	GElf_Shdr header;
	Elf_Scn *section =
		section_with_bytes(elf, dwarf ? ".debug_frame" : ".eh_frame", &header);

	if (!section && dwarf)
		section = section_with_bytes(elf, ".zdebug_frame", &header);
	*ret_left_out = section && header.sh_size > AT_ONCE_MAX;
	if (!section || *ret_left_out || !is_sound(elf, section, !dwarf))
		return NULL;
	return dwarf ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(elf);
}

struct cfi_row *cfi_row_at(struct cfi *cfi, uint64_t elf_vaddr)
{
	Dwarf_Frame *frame = frame_at(cfi, elf_vaddr);
	struct cfi_rule rules[UBP_DWARF_REGS_MAX];
	struct cfi_row *row = NULL;
	struct cfi_rule cfa;
	bool is_signal = false;
	uint8_t n = 0;
	int ret_reg;

	if (!frame)
		return NULL;
	ret_reg = dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (ret_reg >= 0 && ret_reg < (int)cfi->n_regs && read_cfa(cfi, frame, &cfa)) {
		for (unsigned reg = 0; reg < cfi->n_regs && n < UBP_DWARF_REGS_MAX; reg++)
			if (read_rule(cfi, frame, reg, &rules[n]))
				n++;
		row = malloc(sizeof(*row) + n * sizeof(rules[0]));
	}
	free(frame);
	if (!row)
		return NULL;
	*row = (struct cfi_row){
		.is_signal = is_signal,
		.ret_reg = (uint8_t)ret_reg,
		.n_rules = n,
		.cfa = cfa,
	};
	memcpy(row->rules, rules, n * sizeof(rules[0]));
	return row;
}
