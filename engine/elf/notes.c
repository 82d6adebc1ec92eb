/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/notes.h"

#include <string.h>

#include "engine/elf/elf_size.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"

#define NOTE_TYPE 3 /* of the only form there is */
#define NOTE_NAME "stapsdt"

/* Where .stapsdt.base is loaded: notes are written before a linker may move code. */
static uint64_t base_vaddr(const struct object *object)
{
	GElf_Shdr header;

	return section_named(object->elf, NULL, ".stapsdt.base", &header) ? header.sh_addr : 0;
}

/*
 * The string at *at, NUL-ended before @end; *at goes behind it. NULL: none, or none that
 * could be printed in a line.
 */
static const char *take_string(const char **at, const char *end)
{
	const char *string = *at, *nul = memchr(string, '\0', (size_t)(end - string));

	if (!nul)
		return NULL;
	for (const char *c = string; c < nul; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	*at = nul + 1;
	return string;
}

/* address, base, semaphore; three strings */
static bool read_note(const struct object *object, uint64_t base, const uint8_t *desc,
		      size_t len, struct object_note *ret_note)
{
	size_t word = object_is_64bit(object) ? 8 : 4;
	const char *at = (const char *)desc + 3 * word, *end = (const char *)desc + len;
	uint64_t moved;

	if (len < 3 * word)
		return false;
	ret_note->base = object_number(object, desc + word, word);
	moved = base ? base - ret_note->base : 0;
	ret_note->elf_vaddr = object_number(object, desc, word) + moved;
	ret_note->semaphore = object_number(object, desc + 2 * word, word);
	if (ret_note->semaphore)
		ret_note->semaphore += moved;
	ret_note->provider = take_string(&at, end);
	ret_note->name = ret_note->provider ? take_string(&at, end) : NULL;
	ret_note->args = ret_note->name ? take_string(&at, end) : NULL;
	return ret_note->args != NULL;
}

static int each_in_data(const struct object *object, Elf_Data *data,
			int (*each)(void *ctx, const struct object_note *note), void *ctx)
{
	uint64_t base = base_vaddr(object);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr header;

	while ((at = gelf_getnote(data, at, &header, &name_at, &desc_at)) > 0) {
		const uint8_t *bytes = data->d_buf;
		struct object_note note;
		int rc;

		if (header.n_type != NOTE_TYPE || header.n_namesz != sizeof(NOTE_NAME) ||
		    memcmp(bytes + name_at, NOTE_NAME, sizeof(NOTE_NAME)) != 0 ||
		    !read_note(object, base, bytes + desc_at, header.n_descsz, &note))
			continue;
		rc = each(ctx, &note);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* A file without sections has those notes that are loaded, if there are any. */
static int each_in_segments(const struct object *object,
			    int (*each)(void *ctx, const struct object_note *note), void *ctx)
{
	GElf_Phdr header;
	int rc = 0;

	for (size_t i = 0; i < object->ehdr.e_phnum && rc == 0; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(object->elf, (int)i, &header) || header.p_type != PT_NOTE ||
		    header.p_filesz > SECTION_LEN_MAX)
			continue;
		data = elf_getdata_rawchunk(object->elf, (int64_t)header.p_offset,
					    header.p_filesz,
					    header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && data->d_buf)
			rc = each_in_data(object, data, each, ctx);
	}
	return rc;
}

int object_each_note(struct object *object,
		     int (*each)(void *ctx, const struct object_note *note), void *ctx)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int rc = 0;

	if (object->n_sections == 0)
		return each_in_segments(object, each, ctx);
	while (rc == 0 && (section = elf_nextscn(object->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
			continue;
		data = object_section_data(section, false);
		if (data && data->d_buf)
			rc = each_in_data(object, data, each, ctx);
	}
	return rc;
}
