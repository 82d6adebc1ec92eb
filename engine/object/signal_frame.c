/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Signal trampolines: call frame information marks them. */

#include <elfutils/libdw.h>
#include <stdlib.h>

#include "engine/object/object_priv.h"

bool object_is_signal_frame(struct object *object, uint64_t elf_vaddr)
{
	Dwarf_Frame *frame = NULL;
	bool is_signal = false;

	if (!object->cfi)
		object->cfi = dwarf_getcfi_elf(object->elf);
	if (!object->cfi || dwarf_cfi_addrframe(object->cfi, elf_vaddr, &frame) != 0)
		return false;
	(void)dwarf_frame_info(frame, NULL, NULL, &is_signal);
	free(frame);
	return is_signal;
}

void object_free_cfi(struct object *object)
{
	if (object->cfi)
		dwarf_cfi_end(object->cfi);
}
