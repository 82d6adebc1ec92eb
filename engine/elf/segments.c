/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/segments.h"

#include <errno.h>
#include <unistd.h>

#include "engine/base/page.h"
#include "engine/elf/chunks.h"
#include "engine/elf/object_priv.h"

#define CAVE_ALIGN UINT64_C(16)

int object_foffset_to_vaddr(const struct object *object, uint64_t foffset,
			    uint64_t *ret_elf_vaddr)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (foffset < s->foffset || foffset - s->foffset >= s->file_len)
			continue;
		if (!found || (s->is_exec && !found->is_exec))
			found = s;
	}
	if (!found)
		return -ENOENT;
	*ret_elf_vaddr = found->elf_vaddr + (foffset - found->foffset);
	return 0;
}

const struct segment *object_segment_of(const struct object *object, uint64_t elf_vaddr)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (elf_vaddr >= s->elf_vaddr && elf_vaddr - s->elf_vaddr < s->file_len)
			return s;
	}
	return NULL;
}

int object_vaddr_to_foffset(const struct object *object, uint64_t elf_vaddr,
			    uint64_t *ret_foffset)
{
	const struct segment *s = object_segment_of(object, elf_vaddr);

	if (!s)
		return -ENOENT;
	*ret_foffset = s->foffset + (elf_vaddr - s->elf_vaddr);
	return 0;
}

int object_data_foffset(const struct object *object, uint64_t elf_vaddr, uint64_t *ret_foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (elf_vaddr < s->elf_vaddr || elf_vaddr - s->elf_vaddr >= s->mem_len ||
		    s->is_exec)
			continue;
		*ret_foffset = s->foffset + (elf_vaddr - s->elf_vaddr);
		return 0;
	}
	return -ENOENT;
}

bool object_is_bss(const struct object *object, uint64_t foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (!s->is_exec && foffset >= s->foffset &&
		    foffset - s->foffset >= s->file_len && foffset - s->foffset < s->mem_len)
			return true;
	}
	return false;
}

bool object_is_executable(const struct object *object, uint64_t foffset)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (s->is_exec && foffset >= s->foffset && foffset - s->foffset < s->file_len)
			return true;
	}
	return false;
}

ssize_t object_read(const struct object *object, uint64_t foffset, void *buf, size_t len)
{
	size_t done = 0;

	if (foffset > INT64_MAX || len > INT64_MAX - foffset)
		return -EINVAL;
	if (chunks_read(object->chunks, object->fd, foffset, buf, len) == (ssize_t)len)
		return (ssize_t)len;
	while (done < len) {
		ssize_t n = pread(object->fd, (char *)buf + done, len - done,
				  (off_t)(foffset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Does a segment other than @own use memory in [@from, @to)? */
static bool is_used_by_another(const struct object *object, const struct segment *own,
			       uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct segment *s = &object->segments[i];

		if (s != own && s->mem_len != 0 && s->elf_vaddr < to &&
		    s->elf_vaddr + s->mem_len > from)
			return true;
	}
	return false;
}

/* The cave behind one segment: its start, and its length (0: none). */
static uint64_t cave_behind(const struct object *object, const struct segment *s,
			    uint64_t *ret_elf_vaddr)
{
	uint64_t end = s->elf_vaddr + s->file_len, start, page_end, foffset;
	uint8_t bytes[PAGE] = { 0 };
	size_t len, n;

	if (!s->is_exec || s->file_len == 0 || s->file_len != s->mem_len ||
	    end > UINT64_MAX - PAGE)
		return 0;
	start = (end + CAVE_ALIGN - 1) & ~(CAVE_ALIGN - 1);
	page_end = (end + PAGE - 1) & ~(PAGE - 1);
	if (start >= page_end || is_used_by_another(object, s, start, page_end))
		return 0;
	len = page_end - start;
	foffset = s->foffset + s->file_len + (start - end);
	/* Behind the end of the file the kernel fills the page with zeroes. */
	if (foffset < object->size && object_read(object, foffset, bytes, len) < 0)
		return 0;
	for (n = 0; n < len && bytes[n] == 0; n++)
		;
	*ret_elf_vaddr = start;
	return n;
}

int object_find_bytes_slack(const struct object *object, uint64_t need, uint64_t *ret_elf_vaddr,
			    uint64_t *ret_len)
{
	uint64_t best = 0, best_vaddr = 0;

	for (size_t i = 0; i < object->n_segments; i++) {
		uint64_t vaddr = 0;
		uint64_t len = cave_behind(object, &object->segments[i], &vaddr);

		if (len > best) {
			best = len;
			best_vaddr = vaddr;
		}
	}
	if (best == 0 || best < need)
		return -ENOSPC;
	*ret_elf_vaddr = best_vaddr;
	*ret_len = best;
	return 0;
}
