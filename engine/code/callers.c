/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/code/callers.h"

#include <errno.h>

#include "arch/arch.h"
#include "engine/base/err.h"
#include "engine/base/map.h"
#include "engine/elf/image.h"
#include "engine/elf/object.h"

#define LARGE (32u << 20)

static void see(void *ctx, uint64_t at, uint64_t target, enum code_ref kind)
{
	struct called *called = map_get(ctx, target);

	(void)at;
	(void)kind;
	if (called)
		called->n_calls++;
}

static size_t code_len(const struct image *image)
{
	size_t len = 0;

	for (size_t i = 0; i < image->n; i++)
		len += image->parts[i].is_exec ? image->parts[i].len : 0;
	return len;
}

static int scan(const struct ubp_arch *arch, const struct image *image, struct map *wanted)
{
	if (code_len(image) > LARGE)
		return -EFBIG;
	for (size_t i = 0; i < image->n; i++)
		if (image->parts[i].is_exec)
			arch->insn.scan_refs(image->parts[i].bytes, image->parts[i].len,
					     image->parts[i].elf_vaddr, REF_BRANCH, see,
					     wanted);
	return 0;
}

int callers_count(const struct object *object, struct called *places, size_t n)
{
	const struct ubp_arch *arch = object_arch(object);
	struct image image = { 0 };
	struct map wanted = { 0 };
	struct ubp_err ignored;
	int rc = arch && arch->insn.scan_refs ? 0 : -ENOTSUP;

	ubp_err_reset(&ignored);
	for (size_t i = 0; i < n && rc == 0; i++) {
		places[i].n_calls = 0;
		rc = map_put(&wanted, places[i].elf_vaddr, &places[i]);
	}
	if (rc == 0)
		rc = image_read(object, &image, &ignored);
	if (rc == 0)
		rc = scan(arch, &image, &wanted);
	image_free(&image);
	map_free(&wanted);
	return rc;
}
