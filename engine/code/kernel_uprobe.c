/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Uprobes of the kernel's in a file. Nothing lists them: those of perf and BPF are in no file of
 * tracefs. But who maps the file, to execute it, gets their breakpoints, and so do we. Those for one
 * process alone we do not see.
 */

#include "engine/code/kernel_uprobe.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/segments.h"

/* Not by loads: the file may be cut short. Nor where its file system has to be asked first, which may
 * take any time. */
static bool read_mapped(uint8_t *from, struct object_page *page)
{
	struct iovec here = { page->now, sizeof(page->now) },
		     there = { from, sizeof(page->now) };
	unsigned char is_there = 0;

	return mincore(from, sizeof(page->now), &is_there) == 0 && is_there & 1 &&
	       process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof(page->now);
}

static void look(const struct object *object, uint64_t at, struct object_page *page)
{
	ssize_t len = object_read(object, at, page->file, sizeof(page->file));
	uint8_t *mapped = mmap(NULL, sizeof(page->now), PROT_READ | PROT_EXEC, MAP_PRIVATE,
			       object->fd, (off_t)at);

	page->object = object;
	page->at = at;
	page->len = 0;
	if (mapped == MAP_FAILED)
		return;
	if (len > 0 && read_mapped(mapped, page))
		page->len = (size_t)len;
	munmap(mapped, sizeof(page->now));
}

bool object_has_kernel_uprobe(const struct object *object, uint64_t foffset,
			      struct object_page *page)
{
	uint64_t in_page = foffset % sizeof(page->now);
	size_t len = object->arch ? object->arch->swbp.len : 0;

	if (page->object != object || page->at != foffset - in_page)
		look(object, foffset - in_page, page);
	return len && in_page + len <= page->len &&
	       memcmp(page->now + in_page, page->file + in_page, len) != 0;
}
