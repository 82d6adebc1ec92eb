/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A file's DWARF: opened, if it is fit for that, and freed. */

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/dwarf/die.h"
#include "engine/dwarf/dwarf_priv.h"
#include "engine/elf/object.h"
#include "engine/files/debug.h"

/*
 * libdw takes what is in the sections of strings for strings: do they end in a NUL? And how long are those of
 * DIEs, which libdw has unpacked?
 */
static int check_sections(struct dwarf *d, Dwarf *dw, struct ubp_err *err)
{
	Elf *elf = dw ? dwarf_getelf(dw) : NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		const Elf_Data *data;

		if (name && strstr(name, "debug_info") && header.sh_type != SHT_NOBITS)
			d->info_len += header.sh_size;
		if (!name || !strstr(name, "debug_") || !strstr(name, "str"))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && data->d_size && !strstr(name, "str_offsets") &&
		    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
			return ubp_fail(err, ENOEXEC,
					"%s: corrupt debug information: %s does not end",
					object_path(d->object), name);
	}
	return 0;
}

int dwarf_open(struct object *object, struct dwarf **ret_dwarf, struct ubp_err *err)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return ubp_fail(err, ENOMEM, "out of memory");
	d->object = object;
	rc = object_dwarf(object, &d->dw, &d->bias, err);
	if (rc == 0)
		rc = check_sections(d, d->dw, err);
	if (rc == 0)
		rc = check_sections(d, dwarf_getalt(d->dw), err);
	if (rc < 0)
		dwarf_free(d);
	else
		*ret_dwarf = d;
	return rc;
}

static void free_texts(struct map *map)
{
	size_t at = 0;
	void *text;

	while (map_next(map, &at, NULL, &text))
		free(text);
	map_free(map);
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	annexes_free(&d->annexes);
	for (size_t i = 0; i < d->n_units; i++) {
		free(d->units[i].functions);
		free(d->units[i].scopes);
		free(d->units[i].code);
	}
	free_texts(&d->full_names);
	free_texts(&d->paths);
	map_free(&d->unit_of);
	free(d->units);
	free(d->ranges);
	free(d);
}

int dw_grow(void *list, size_t *cap, size_t n, size_t size_of_one, struct ubp_err *err)
{
	return vec_room(list, cap, n, size_of_one) < 0 ? ubp_fail(err, ENOMEM, "out of memory")
						       : 0;
}

const char *dw_path(struct dwarf *d, Dwarf_Die *die, const char *file)
{
	const char *dir = NULL, *known;
	char *path = NULL;
	Dwarf_Attribute a;
	Dwarf_Die unit;

	if (!file || file[0] == '/')
		return file;
	known = map_get(&d->paths, (uintptr_t)file);
	if (known)
		return known;
	if (dwarf_diecu(die, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_comp_dir, &a))
		dir = dw_string(&a);
	if (!dir || asprintf(&path, "%s/%s", dir, file) < 0)
		return file;
	if (map_put(&d->paths, (uintptr_t)file, path) == 0)
		return path;
	free(path);
	return file;
}
