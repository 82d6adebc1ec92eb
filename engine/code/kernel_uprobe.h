/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Has the kernel a uprobe in a file? */

#ifndef UBP_CODE_KERNEL_UPROBE_H
#define UBP_CODE_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/page.h"

struct object;

/* The page that was looked at last. Zero-initialise. */
struct object_page {
	const struct object *object;
	uint64_t at;
	size_t len; /* bytes that are known */
	uint8_t now[PAGE], file[PAGE];
};

/* Is there a uprobe of the kernel's, for all processes, as far as that can be seen? */
bool object_has_kernel_uprobe(const struct object *object, uint64_t foffset,
			      struct object_page *page);

#endif
