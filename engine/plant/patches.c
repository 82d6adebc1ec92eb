/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/patches.h"

#include <stdlib.h>

#include "engine/base/sort.h"
#include "engine/base/vec.h"
#include "engine/space/space.h"

void patches_add(struct patches *patches, uint64_t at, const struct page_patch *patch)
{
	struct sort_item item = { at, (void *)(uintptr_t)patch };

	if (VEC_DOUBLE(patches->v, patches->n) == 0)
		patches->v[patches->n++] = item;
	else /* without memory for them one by one */
		page_edit_each(&patches->space->mem, patches->tid, &item, 1);
}

void patches_end(struct patches *patches)
{
	page_edit_each(&patches->space->mem, patches->tid, patches->v, patches->n);
	free(patches->v);
}
