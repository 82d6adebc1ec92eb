/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/page_edit.h"

#include <stdlib.h>
#include <string.h>

void page_edit_begin(struct page_edit *edit, const struct trace_mem *mem)
{
	memset(edit, 0, offsetof(struct page_edit, writes));
	memset(&edit->writes, 0, offsetof(struct mem_writes, v));
	edit->mem = mem;
}

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

/* Each by a write of its own: words are poked, or many go by one request. */
static void write_each(const struct trace_mem *mem, pid_t tid, const struct sort_item *places,
		       size_t n)
{
	struct mem_writes writes = { .mem = mem, .tid = tid, .goes_on = true };

	for (size_t i = 0; i < n; i++) {
		const struct page_patch *patch = places[i].value;

		mem_writes_add(&writes, places[i].key, patch->bytes, patch->len);
	}
	(void)mem_writes_end(&writes);
}

void page_edit_each(const struct trace_mem *mem, pid_t tid, struct sort_item *places, size_t n)
{
	struct page_edit *edit = n ? malloc(sizeof(*edit)) : NULL;

	if (!n)
		return;
	sort_items(places, n);
	if (!edit || (mem->pokes && mem->pokes->needed) || !mem_is_sure(mem, tid)) {
		write_each(mem, tid, places, n);
		free(edit);
		return;
	}
	page_edit_begin(edit, mem);
	for (size_t i = 0; i < n; i++) {
		const struct page_patch *patch = places[i].value;
		uint8_t *at = page_edit_at(edit, places[i].key, patch->len);

		if (!at) {
			page_edit_end(edit);
			write_each(mem, tid, places + i, 1);
			continue;
		}
		memcpy(at, patch->bytes, patch->len);
		page_edit_changed(edit);
	}
	page_edit_end(edit);
	if (edit->has_failed)
		write_each(mem, tid, places, n);
	free(edit);
}
