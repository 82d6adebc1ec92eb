/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The calls of dwarf.h, each with a limit of what it may take. */

#include "engine/dwarf/limits.h"
#include "engine/dwarf/unlimited.h"

/* The end of a call that has filled @places. */
static int leave_with_places(struct dwarf *d, int rc, struct dwarf_places *places,
			     struct ubp_err *err)
{
	rc = dw_leave_with(d, rc, err);
	if (rc < 0)
		dwarf_places_free(places);
	return rc;
}

int dwarf_function_places(struct dwarf *d, const char *name, bool after_prologue,
			  struct dwarf_places *ret_places, struct ubp_err *err)
{
	dw_enter(d);
	return leave_with_places(d,
				 dw_function_places(d, name, after_prologue, ret_places, err),
				 ret_places, err);
}

bool dwarf_place_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_place *ret_place)
{
	bool is_known;

	dw_enter(d);
	is_known = dw_place_at(d, elf_vaddr, ret_place) && !dw_is_late();
	dw_leave(d);
	return is_known;
}

bool dwarf_skip_prologue(struct dwarf *d, struct dwarf_place *place)
{
	struct dwarf_place moved = *place;
	bool has_moved;

	dw_enter(d);
	has_moved = dw_skip_prologue(d, &moved) && !dw_is_late();
	dw_leave(d);
	if (has_moved)
		*place = moved;
	return has_moved;
}

int dwarf_function_line(struct dwarf *d, const char *function, unsigned line,
			struct dwarf_places *ret_places, struct ubp_err *err)
{
	dw_enter(d);
	return leave_with_places(d, dw_function_line(d, function, line, ret_places, err),
				 ret_places, err);
}

int dwarf_file_line(struct dwarf *d, const char *file, unsigned line,
		    struct dwarf_places *ret_places, struct ubp_err *err)
{
	dw_enter(d);
	return leave_with_places(d, dw_file_line(d, file, line, ret_places, err), ret_places,
				 err);
}

int dwarf_lines_of(struct dwarf *d, const char *function, struct dwarf_lines *ret_lines,
		   struct ubp_err *err)
{
	int rc;

	dw_enter(d);
	rc = dw_leave_with(d, dw_lines_of(d, function, ret_lines, err), err);
	if (rc < 0)
		dwarf_lines_free(ret_lines);
	return rc;
}

size_t dwarf_frames_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_frame *frames,
		       size_t max)
{
	size_t n;

	dw_enter(d);
	n = dw_frames_at(d, elf_vaddr, frames, max);
	if (dw_is_late())
		n = 0;
	dw_leave(d);
	return n;
}

int dwarf_value(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
		const char *type, struct dwarf_value *ret_value, size_t *ret_at,
		struct ubp_err *err)
{
	dw_enter(d);
	return dw_leave_with(d, dw_value(d, place, text, len, type, ret_value, ret_at, err),
			     err);
}

int dwarf_pointer(struct dwarf *d, const struct dwarf_place *place, const char *text,
		  size_t len, struct dwarf_value *ret_value, int64_t *ret_addend,
		  size_t *ret_at, struct ubp_err *err)
{
	dw_enter(d);
	return dw_leave_with(
		d, dw_pointer(d, place, text, len, ret_value, ret_addend, ret_at, err), err);
}

int dwarf_each_part(struct dwarf *d, const struct dwarf_place *place, const char *text,
		    size_t len, int (*each)(void *ctx, const char *step, const char *name),
		    void *ctx, struct ubp_err *err)
{
	dw_enter(d);
	return dw_leave_with(d, dw_each_part(d, place, text, len, each, ctx, err), err);
}

int dwarf_each_variable(struct dwarf *d, const struct dwarf_place *place,
			int (*each)(void *ctx, const struct dwarf_variable *variable),
			void *ctx, struct ubp_err *err)
{
	dw_enter(d);
	return dw_leave_with(d, dw_each_variable(d, place, each, ctx, err), err);
}
