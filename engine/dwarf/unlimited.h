/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The calls of dwarf.h without their limits (limits.h): calls.c puts those around them. */

#ifndef UBP_DWARF_UNLIMITED_H
#define UBP_DWARF_UNLIMITED_H

#include "engine/dwarf/dwarf.h"

int dw_function_places(struct dwarf *d, const char *name, bool after_prologue,
		       struct dwarf_places *ret_places, struct ubp_err *err);
bool dw_place_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_place *ret_place);
bool dw_skip_prologue(struct dwarf *d, struct dwarf_place *place);
int dw_function_line(struct dwarf *d, const char *function, unsigned line,
		     struct dwarf_places *ret_places, struct ubp_err *err);
int dw_file_line(struct dwarf *d, const char *file, unsigned line,
		 struct dwarf_places *ret_places, struct ubp_err *err);
int dw_lines_of(struct dwarf *d, const char *function, struct dwarf_lines *ret_lines,
		struct ubp_err *err);
size_t dw_frames_at(struct dwarf *d, uint64_t elf_vaddr, struct dwarf_frame *frames,
		    size_t max);
int dw_value(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
	     const char *type, struct dwarf_value *ret_value, size_t *ret_at,
	     struct ubp_err *err);
int dw_pointer(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
	       struct dwarf_value *ret_value, int64_t *ret_addend, size_t *ret_at,
	       struct ubp_err *err);
int dw_each_part(struct dwarf *d, const struct dwarf_place *place, const char *text, size_t len,
		 int (*each)(void *ctx, const char *step, const char *name), void *ctx,
		 struct ubp_err *err);
int dw_each_variable(struct dwarf *d, const struct dwarf_place *place,
		     int (*each)(void *ctx, const struct dwarf_variable *variable), void *ctx,
		     struct ubp_err *err);

#endif
