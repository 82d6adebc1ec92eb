/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/files/debug_sources.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/files/debug_file.h"
#include "engine/files/debug_search.h"
#include "engine/files/debug_unpack.h"
#include "engine/files/debuginfod.h"

/* Packed names of functions (.gnu_debugdata): a few megabytes of the largest programs. */
#define PACKED_MAX (UINT64_C(128) << 20)

const struct debug_file *debug_given(struct object *object)
{
	struct object_debug *debug = debug_of(object);
	struct debug_file file;

	if (!debug || !debug->options.symbols)
		return NULL;
	if (debug->sought_given)
		return debug->given.elf ? &debug->given : NULL;
	debug->sought_given = true;
	if (debug_open_given(object, debug->options.symbols, &file, debug->given_misfit,
			     sizeof(debug->given_misfit)) < 0)
		return NULL;
	debug->given = file;
	return &debug->given;
}

/* --- .gnu_debugdata ------------------------------------------------------------------ */

const struct debug_file *debug_embedded(struct object *object)
{
	struct object_debug *debug = debug_of(object);
	struct debug_file file = { .fd = -1 };
	const char *why = NULL;
	Elf_Data *data;
	Elf_Scn *section;
	GElf_Shdr header;
	size_t len = 0;

	if (!debug)
		return NULL;
	if (debug->sought_embedded)
		return debug->embedded.elf ? &debug->embedded : NULL;
	debug->sought_embedded = true;
	section = section_with_bytes(object->elf, ".gnu_debugdata", &header);
	if (!section || header.sh_size > PACKED_MAX)
		return NULL;
	data = object_section_data(section, true);
	if (!data || data->d_size == 0)
		return NULL;
	switch (debug_unpack(data->d_buf, data->d_size, &file.image, &len)) {
	case 0:
		file.elf = elf_memory(file.image, len);
		file.path = strdup(object->path);
		if (!file.elf || !file.path)
			why = "no ELF file";
		else
			why = debug_check_kind(object, &file);
		break;
	case -EFBIG:
		why = "too large";
		break;
	case -ENOMEM:
		why = "too large for memory";
		break;
	case -EINTR:
		why = "not read to its end";
		break;
	default:
		why = "corrupt";
	}
	if (why) {
		debug_note_misfit(object, ".gnu_debugdata of %.160s is %s", object->path, why);
		debug_file_close(&file);
		return NULL;
	}
	debug->embedded = file;
	return &debug->embedded;
}

/* --- separate files ------------------------------------------------------------------ */

static void want_separate(struct object *object, struct debug_wanted *wanted)
{
	struct build_id id = debug_build_id(object->elf);
	GElf_Word crc = 0;
	const char *link = dwelf_elf_gnu_debuglink(object->elf, &crc);

	*wanted = (struct debug_wanted){ .build_id = id.bytes, .build_id_len = id.len };
	/* A name, no path: what it means is in the folders to look into. */
	if (link && link[0] != '\0' && !strchr(link, '/')) {
		wanted->link = link;
		wanted->crc = crc;
	}
}

const struct debug_file *debug_separate(struct object *object)
{
	struct object_debug *debug = debug_of(object);
	struct debug_wanted wanted;

	if (!debug)
		return NULL;
	if (!debug->sought_separate) {
		debug->sought_separate = true;
		want_separate(object, &wanted);
		if (debug_search(object, &wanted, &debug->separate) < 0)
			debug->separate = (struct debug_file){ .fd = -1 };
	}
	return debug->separate.elf ? &debug->separate : NULL;
}

const struct debug_file *debug_alt(struct object *object, Elf *elf, const char *path)
{
	struct object_debug *debug = debug_of(object);
	struct debug_wanted wanted = { .near = path };
	Elf_Data *data = debug_section(elf, ".gnu_debugaltlink");
	const char *nul = data && data->d_size ? memchr(data->d_buf, '\0', data->d_size) : NULL;

	if (!debug || !nul)
		return NULL;
	if (debug->sought_alt)
		return debug->alt.elf ? &debug->alt : NULL;
	debug->sought_alt = true;
	/* A path, then the build-id. */
	wanted.alt = data->d_buf;
	wanted.build_id = nul + 1;
	wanted.build_id_len =
		data->d_size - (size_t)(nul + 1 - (const char *)(const void *)data->d_buf);
	if (wanted.build_id_len < 2 || wanted.build_id_len > BUILD_ID_MAX ||
	    debug_search(object, &wanted, &debug->alt) < 0)
		return NULL;
	return &debug->alt;
}

void debug_say_sought(struct object *object, char *text, size_t size)
{
	struct object_debug *debug = debug_of(object);
	struct debug_wanted wanted;
	char id[2 * BUILD_ID_MAX + 1];

	want_separate(object, &wanted);
	if (debug && debug->given_misfit[0] != '\0')
		snprintf(text, size, "%s", debug->given_misfit);
	else if (debug && debug->misfit[0] != '\0')
		snprintf(text, size, "%s", debug->misfit);
	else if (wanted.build_id_len) {
		debug_spell_id((struct build_id){ wanted.build_id, wanted.build_id_len }, id);
		/* Mostly the link is the end of the same path. */
		if (wanted.link && strstr(wanted.link, id + 2) == wanted.link)
			wanted.link = NULL;
		snprintf(
			text, size,
			"no /usr/lib/debug/.build-id/%.2s/%s.debug%s%.64s: install the -dbgsym "
			"package, or %s",
			id, id + 2, wanted.link ? " or " : "", wanted.link ? wanted.link : "",
			debuginfod_advice);
	} else if (wanted.link)
		snprintf(text, size,
			 "no %.64s near it or in /usr/lib/debug: use --symbols or --debug-dir",
			 wanted.link);
	else
		snprintf(text, size,
			 "no build-id or .gnu_debuglink tells where to look: use "
			 "--symbols, or compile it with -g");
}
