/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Fuzzer: the text of /proc/PID/maps, in which file names are the target's own. */

#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "engine/base/err.h"
#include "engine/files/mapped.h"
#include "engine/os/maps.h"

static void look_up(const struct maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i], *found = maps_at(maps, m->start);
		uint64_t gap = maps_find_gap(maps, m->start, m->end, 0x4000, 0x7fff0000);

		CLAIM(found && found->start <= m->start && found->end > m->start);
		CLAIM(!m->path || strlen(m->path) < 1u << 20);
		CLAIM(!gap || !maps_at(maps, gap));
		(void)maps_has_file(maps, m->dev, m->ino);
	}
	(void)maps_at(maps, 0);
	(void)maps_at(maps, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct mapped_files files = { 0 };
	struct maps maps = { 0 };
	char *text = fuzz_text(&in);

	CLAIM(maps_parse(text, &maps) == 0); /* takes the text over */
	look_up(&maps);
	CLAIM(mapped_from(&maps, &files) == 0);
	CLAIM(files.n <= maps.n);
	for (size_t i = 0; i < files.n; i++)
		CLAIM(files.files[i].path[0] == '/');
	mapped_free(&files);
	maps_free(&maps);
	return 0;
}
