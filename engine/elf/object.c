/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/object.h"

#include <stdlib.h>
#include <unistd.h>

#include "engine/elf/chunks.h"
#include "engine/elf/object_priv.h"

void object_free(struct object *object)
{
	if (!object)
		return;
	annexes_free(&object->annexes); /* before the elf: they have parts of it */
	elf_end(object->elf);
	if (object->fd >= 0)
		close(object->fd);
	chunks_free(object->chunks);
	free(object->needed);
	free(object->interp);
	free(object->segments);
	free(object->path);
	free(object);
}

const char *object_path(const struct object *object)
{
	return object->path;
}

uint64_t object_dev(const struct object *object)
{
	return object->dev;
}

uint64_t object_ino(const struct object *object)
{
	return object->ino;
}

uint64_t object_size(const struct object *object)
{
	return object->size;
}

const struct ubp_arch *object_arch(const struct object *object)
{
	return object->arch;
}

const char *object_machine_name(const struct object *object)
{
	return object->machine_name;
}

uint16_t object_machine(const struct object *object)
{
	return object->ehdr.e_machine;
}

bool object_is_64bit(const struct object *object)
{
	return gelf_getclass(object->elf) == ELFCLASS64;
}

uint64_t object_entry(const struct object *object)
{
	GElf_Ehdr header;

	return gelf_getehdr(object->elf, &header) ? header.e_entry : 0;
}

bool object_is_pie(const struct object *object)
{
	return object->ehdr.e_type == ET_DYN;
}

bool object_has_no_code(const struct object *object)
{
	return object->has_no_code;
}

const char *object_interp(const struct object *object)
{
	return object->interp;
}

const char *object_soname(const struct object *object)
{
	return object->soname;
}

const char *object_needed(const struct object *object, size_t i)
{
	return i < object->n_needed ? object->needed[i] : NULL;
}

uint64_t object_number(const struct object *object, const uint8_t *bytes, size_t len)
{
	bool is_lsb = object->ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++)
		number = number << 8 | bytes[is_lsb ? len - 1 - i : i];
	return number;
}
