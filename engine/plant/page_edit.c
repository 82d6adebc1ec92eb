/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/page_edit.h"

/* The page is left, and written with others. */
static void put_away(struct page_edit *edit)
{
	edit->writes.mem = edit->mem;
	edit->writes.goes_on = true;
	if (edit->is_changed)
		mem_writes_add(&edit->writes, edit->vaddr, edit->bytes, PAGE);
	edit->is_changed = false;
	edit->vaddr = 0;
}

uint8_t *page_edit_at(struct page_edit *edit, uint64_t vaddr, size_t len)
{
	uint64_t page = vaddr / PAGE * PAGE;

	if (vaddr - page + len > PAGE)
		return NULL;
	if (page != edit->vaddr) {
		put_away(edit);
		/* Behind what is still to be written, as it is now. */
		if (page <= edit->highest)
			page_edit_end(edit);
		if (mem_peek_ahead(edit->mem, &edit->ahead, page, edit->bytes, PAGE) != PAGE)
			return NULL;
		edit->vaddr = edit->highest = page;
	}
	return edit->bytes + (vaddr - page);
}

void page_edit_changed(struct page_edit *edit)
{
	edit->is_changed = true;
}

void page_edit_end(struct page_edit *edit)
{
	put_away(edit);
	edit->has_failed |= mem_writes_end(&edit->writes) < 0;
	edit->writes.rc = 0;
	edit->ahead = edit->highest = 0;
}
