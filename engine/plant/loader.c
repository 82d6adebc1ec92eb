/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The dynamic loader calls an empty function, r_brk of struct r_debug, whenever
 * it has mapped or unmapped libraries, for debuggers to break on. Both glibc
 * and musl name it _dl_debug_state.
 */

#include <stdio.h>

#include "engine/base/err.h"
#include "engine/object/object.h"
#include "engine/plant/plant.h"
#include "engine/object/maps.h"

#define AT_BASE_KEY 7 /* auxv: where the loader was mapped */

static uint64_t loader_base(pid_t pid)
{
	uint64_t pair[2], base = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fread(pair, sizeof(pair), 1, f) == 1 && pair[0] != 0)
		if (pair[0] == AT_BASE_KEY)
			base = pair[1];
	fclose(f);
	return base;
}

static uint64_t hook_in_file(pid_t pid, const struct mapping *m)
{
	struct object *object;
	uint64_t elf_vaddr = 0;
	struct ubp_err err;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
		 (unsigned long)m->start, (unsigned long)m->end);
	if (object_open(path, &object, &err) < 0) {
		char in_root[4352];

		/* Without privilege map_files is out of reach. */
		snprintf(in_root, sizeof(in_root), "/proc/%d/root%s", (int)pid, m->path);
		if (object_open(in_root, &object, &err) < 0)
			return 0;
	}
	if (object_symbol_value(object, "_dl_debug_state", &elf_vaddr) < 0)
		elf_vaddr = 0;
	object_free(object);
	return elf_vaddr;
}

uint64_t loader_hook(struct plant *plant, pid_t pid, const struct maps *maps)
{
	uint64_t base = loader_base(pid);
	const struct mapping *m = base ? maps_at(maps, base) : NULL;

	if (!m || !m->ino)
		return 0;
	if (plant->loader_ino != m->ino || plant->loader_dev != m->dev) {
		plant->loader_elf_vaddr = hook_in_file(pid, m);
		plant->loader_dev = m->dev;
		plant->loader_ino = m->ino;
	}
	return plant->loader_elf_vaddr ? base + plant->loader_elf_vaddr : 0;
}
