/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The functions that an address is in, and where in the source. */

#include "engine/dwarf/die.h"
#include "engine/dwarf/functions.h"
#include "engine/dwarf/limits.h"
#include "engine/dwarf/rows.h"
#include "engine/dwarf/scopes.h"
#include "engine/dwarf/units.h"
#include "engine/dwarf/unlimited.h"

static void fill_line(struct dwarf *d, struct dw_unit *unit, Dwarf_Addr addr,
		      struct dwarf_frame *frame)
{
	Dwarf_Line *line =
		dw_can_read_lines(&unit->die) ? dwarf_getsrc_die(&unit->die, addr) : NULL;
	int lineno = 0;

	if (!line)
		return;
	frame->file = dw_path(d, &unit->die, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &lineno) == 0 && lineno > 0)
		frame->line = (unsigned)lineno;
}

size_t dw_frames_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_frame *frames, size_t max)
{
	struct dwarf_place place = { .elf_vaddr = elf_vaddr };
	struct dw_unit *unit = dw_unit_at(d, elf_vaddr);
	struct dwarf_frame at = { 0 };
	Dwarf_Die scopes[DW_DEPTH_MAX];
	size_t n_scopes, n = 0;

	if (!unit || max == 0)
		return 0;
	fill_line(d, unit, dw_addr(d, elf_vaddr), &at);
	n_scopes = dw_scopes_at(d, &place, scopes, DW_DEPTH_MAX);
	for (size_t i = 0; i < n_scopes && n < max; i++) {
		if (!dw_is_function(&scopes[i]))
			continue;
		at.function = dw_full_name(d, &scopes[i]);
		frames[n++] = at;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			break;
		/* The next is in its caller. */
		at = (struct dwarf_frame){ .file = dw_path(d, &scopes[i],
							   dw_call_file(&scopes[i])),
					   .line = dw_call_line(&scopes[i]) };
	}
	if (n == 0 && at.file)
		frames[n++] = at;
	return n;
}
