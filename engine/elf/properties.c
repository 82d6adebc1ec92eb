/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/elf/properties.h"

#include <string.h>

#include "arch/arch.h"
#include "engine/elf/object_priv.h"
#include "engine/elf/sections.h"
#include "engine/elf/segments.h"

#define PROPERTY_MAX 1024 /* bytes of notes that are looked at */

bool object_is_go(const struct object *object)
{
	GElf_Shdr header;

	/* Also there when the program is stripped: the runtime needs them. */
	return section_named(object->elf, NULL, ".gopclntab", &header) ||
	       section_named(object->elf, NULL, ".go.buildinfo", &header);
}

bool object_has_go_variable(const struct object *object)
{
	bool is_fixed = object->ehdr.e_type == ET_EXEC, is_loaded = false, has_own = false;
	bool has_tls = false;

	for (size_t i = 0; i < object->ehdr.e_phnum; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(object->elf, (int)i, &header))
			return false;
		is_loaded |= header.p_type == PT_INTERP;
		has_tls |= header.p_type == PT_TLS;
		has_own |=
			header.p_type == PT_TLS && header.p_memsz == 8 && header.p_align <= 8;
	}
	/* Go's linker tells nobody of it where there is nobody to tell. Libraries have none of the first places. */
	return object_is_go(object) &&
	       (has_tls ? has_own && (is_fixed || is_loaded) : is_fixed && !is_loaded);
}

/* The features of that type in a property note's contents: pairs of type and size, then data. */
static uint32_t features_in(const struct object *object, uint32_t features,
			    const uint8_t *bytes, size_t len)
{
	size_t align = object_is_64bit(object) ? 8 : 4;

	while (len >= 12) {
		uint64_t type = object_number(object, bytes, 4);
		uint64_t size = object_number(object, bytes + 4, 4);

		if (size > len - 8)
			return 0;
		if (type == features && size >= 4)
			return (uint32_t)object_number(object, bytes + 8, 4);
		size = 8 + (size + align - 1) / align * align;
		if (size > len)
			return 0;
		bytes += size;
		len -= size;
	}
	return 0;
}

/* What the file says that all of its code can do. */
static uint32_t features_of(const struct object *object, uint32_t features)
{
	uint8_t note[PROPERTY_MAX];
	GElf_Phdr phdr;
	size_t n;

	if (elf_getphdrnum(object->elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ssize_t got;

		if (!gelf_getphdr(object->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_PROPERTY)
			continue;
		got = object_read(object, phdr.p_offset, note,
				  phdr.p_filesz < sizeof(note) ? phdr.p_filesz : sizeof(note));
		/* size of the name 4, of the contents 4, type 4, "GNU" */
		if (got < 16 || object_number(object, note, 4) != 4 ||
		    memcmp(note + 12, "GNU", 4) != 0 ||
		    object_number(object, note + 8, 4) != NT_GNU_PROPERTY_TYPE_0 ||
		    object_number(object, note + 4, 4) > (uint64_t)got - 16)
			continue;
		return features_in(object, features, note + 16,
				   object_number(object, note + 4, 4));
	}
	return 0;
}

/* @bit of the table's features; 0: none. */
static bool has_feature(const struct object *object, uint32_t bit)
{
	return bit && features_of(object, object->arch->elf.features) & bit;
}

bool object_wants_shadow_stack(const struct object *object)
{
	return object->arch && has_feature(object, object->arch->elf.shadow_stack);
}

bool object_needs_landings(const struct object *object)
{
	return object->arch && has_feature(object, object->arch->elf.landings);
}
