/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/page_edit.h"

#include <stdlib.h>
#include <string.h>

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

static int compare_places(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* Each by a write of its own: words are poked, or many go by one request. */
static void write_each(const struct trace_mem *mem, pid_t tid, const uint64_t *places, size_t n,
		       const void *bytes, size_t len)
{
	struct mem_writes writes = { .mem = mem, .tid = tid, .goes_on = true };

	for (size_t i = 0; i < n; i++)
		mem_writes_add(&writes, places[i], bytes, len);
	(void)mem_writes_end(&writes);
}

void page_edit_each(const struct trace_mem *mem, pid_t tid, uint64_t *places, size_t n,
		    const void *bytes, size_t len)
{
	struct page_edit *edit = n ? calloc(1, sizeof(*edit)) : NULL;

	if (!n)
		return;
	qsort(places, n, sizeof(*places), compare_places);
	if (!edit || (mem->pokes && mem->pokes->needed) || !mem_is_sure(mem, tid)) {
		write_each(mem, tid, places, n, bytes, len);
		free(edit);
		return;
	}
	edit->mem = mem;
	for (size_t i = 0; i < n; i++) {
		uint8_t *at = page_edit_at(edit, places[i], len);

		if (!at) {
			page_edit_end(edit);
			write_each(mem, tid, places + i, 1, bytes, len);
			continue;
		}
		memcpy(at, bytes, len);
		page_edit_changed(edit);
	}
	page_edit_end(edit);
	if (edit->has_failed)
		write_each(mem, tid, places, n, bytes, len);
	free(edit);
}
