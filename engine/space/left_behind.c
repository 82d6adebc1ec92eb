/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/space/left_behind.h"

void plant_left_note(struct plant_left *left, const char *what, uint64_t vaddr, int rc)
{
	if (left->n++)
		return;
	left->what = what;
	left->vaddr = vaddr;
	left->code = -rc;
}

void plant_left_live(struct plant_left *left, const char *what, uint64_t vaddr, int rc)
{
	plant_left_note(left, what, vaddr, rc);
	left->is_live = true;
}
