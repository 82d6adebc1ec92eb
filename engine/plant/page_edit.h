/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Many small changes to code, a page at a time: for threads that are all held, so that they
 * stand still for as short as can be. The kernel copies a page in one go, so no end of ours
 * comes in between.
 */

#ifndef UBP_PLANT_PAGE_EDIT_H
#define UBP_PLANT_PAGE_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/page.h"
#include "engine/base/sort.h"
#include "engine/trace/mem.h"

/* Who goes through memory upwards has so many pages read, and written, by one system call. */
#define PAGE_EDIT_RUN (MEM_WRITES_ROOM / PAGE)

/* Begun by page_edit_begin(). */
struct page_edit {
	const struct trace_mem *mem;
	uint64_t ahead;
	uint64_t vaddr;   /* of the pages that were read ... */
	size_t n;         /* ... so many; 0: none yet */
	size_t at;        /* the one that was looked at last */
	uint64_t highest; /* that was read since the last page_edit_end() */
	bool is_changed[PAGE_EDIT_RUN];
	bool has_failed; /* a page could not be written, ever */
	/* What follows is long, and not zeroed: */
	struct mem_writes writes; /* pages that are changed */
	uint8_t bytes[PAGE_EDIT_RUN * PAGE];
};

void page_edit_begin(struct page_edit *edit, const struct trace_mem *mem);
/*
 * The bytes [vaddr, vaddr + len), to look at and, with page_edit_changed(), to change; NULL where
 * they cannot be read or lie in two pages. What was changed on another page before is written.
 */
uint8_t *page_edit_at(struct page_edit *edit, uint64_t vaddr, size_t len);
void page_edit_changed(struct page_edit *edit);
/* What is written at several places. */
struct page_patch {
	const void *bytes;
	size_t len;
};

/*
 * At @n places of our own areas, which nobody writes to but us: others may run there meanwhile, since all
 * else stays as it is. @places: vaddr and struct page_patch; they are sorted. What can't be written is passed over.
 */
void page_edit_each(const struct trace_mem *mem, pid_t tid, struct sort_item *places, size_t n);
/* Write what is left, and forget the page: before it is written to by other ways, too. */
void page_edit_end(struct page_edit *edit);

#endif
