/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/page_edit.h"

#include "engine/trace/mem.h"

uint8_t *page_edit_at(struct page_edit *edit, uint64_t vaddr, size_t len)
{
	uint64_t page = vaddr / PAGE_EDIT_SIZE * PAGE_EDIT_SIZE;

	if (vaddr - page + len > PAGE_EDIT_SIZE)
		return NULL;
	if (page != edit->vaddr) {
		page_edit_end(edit);
		if (mem_peek(edit->mem, page, edit->bytes, PAGE_EDIT_SIZE) != PAGE_EDIT_SIZE)
			return NULL;
		edit->vaddr = page;
	}
	return edit->bytes + (vaddr - page);
}

void page_edit_changed(struct page_edit *edit)
{
	edit->is_changed = true;
}

void page_edit_end(struct page_edit *edit)
{
	if (edit->is_changed)
		edit->has_failed |=
			mem_write(edit->mem, 0, edit->vaddr, edit->bytes, PAGE_EDIT_SIZE) < 0;
	edit->is_changed = false;
	edit->vaddr = 0;
}
