/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/page_edit.h"

#include <stdlib.h>
#include <string.h>

/* The pages are left, and written: those that follow one another together. */
static void put_away(struct page_edit *edit)
{
	edit->writes.mem = edit->mem;
	edit->writes.goes_on = true;
	for (size_t i = 0, end; i < edit->n; i = end) {
		for (end = i; end < edit->n && edit->is_changed[end]; end++)
			edit->is_changed[end] = false;
		if (end > i)
			mem_writes_add(&edit->writes, edit->vaddr + i * PAGE,
				       edit->bytes + i * PAGE, (end - i) * PAGE);
		else
			end++;
	}
	edit->n = 0;
}

/* How many are worth reading from @page on: more, the longer it has gone on upwards. Others' pages come ahead by themselves. */
static size_t pages_from(const struct page_edit *edit, uint64_t page)
{
	size_t n = 2 * edit->n;

	if (!n || page != edit->vaddr + edit->n * PAGE || !mem_is_sure(edit->mem, 0))
		return 1;
	return n < PAGE_EDIT_RUN ? n : PAGE_EDIT_RUN;
}

uint8_t *page_edit_at(struct page_edit *edit, uint64_t vaddr, size_t len)
{
	uint64_t page = vaddr / PAGE * PAGE;

	if (vaddr - page + len > PAGE)
		return NULL;
	if (page < edit->vaddr || page - edit->vaddr >= edit->n * PAGE) {
		size_t n = pages_from(edit, page);

		put_away(edit);
		/* Behind what is still to be written, as it is now. */
		if (page <= edit->highest)
			page_edit_end(edit);
		edit->n = mem_peek_ahead(edit->mem, &edit->ahead, page, edit->bytes, n * PAGE) /
			  PAGE;
		if (!edit->n)
			return NULL;
		edit->vaddr = page;
		edit->highest = page + (edit->n - 1) * PAGE;
	}
	edit->at = (page - edit->vaddr) / PAGE;
	return edit->bytes + (vaddr - edit->vaddr);
}

void page_edit_changed(struct page_edit *edit)
{
	edit->is_changed[edit->at] = true;
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
